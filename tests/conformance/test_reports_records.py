"""What every form of a report is made of."""

from __future__ import annotations

import dataclasses
from datetime import date

import pytest

from agentbeat_conformance.expected_failures import ExpectedFailure
from agentbeat_conformance.outcomes import ExitCode, Outcome, Verdict
from agentbeat_conformance.reports.excerpts import answer_text, body_text, request_text, visible
from agentbeat_conformance.reports.wording import (
    NEEDS,
    OUTCOMES,
    VERDICTS,
    counts_line,
    meaning,
    next_step,
    outcome_words,
    plan_line,
)
from agentbeat_conformance.requirements import Capability, Finding, Level
from support import reports


def test_results_are_read_by_rule_and_part_whatever_the_order_of_the_checks():
    ids = ["RCP-2", "INV-10.b", "INV-10.a", "EVD-1.a", "INV-2.b", "HLT-1", "CTL-1", "INV-2.a", "INV-2"]
    rules = reports.report(*(reports.passed(id) for id in ids)).rules()
    assert list(rules) == ["HLT-1", "INV-2", "INV-10", "EVD-1", "CTL-1", "RCP-2"]
    assert [result.requirement.id for result in rules["INV-2"]] == ["INV-2", "INV-2.a", "INV-2.b"]


def test_a_failure_is_shown_by_the_exchanges_of_its_findings():
    findings = Finding("a", 2), Finding("b", None), Finding("c", 0), Finding("d", 2), Finding("e", 99)
    failed = reports.failed("INV-1", *findings, exchanges=(1,))
    report = reports.report(failed, exchanges=reports.EXCHANGES)
    assert [exchange.index for exchange in report.shown_by(failed)] == [2, 0]


def test_what_has_no_findings_is_shown_by_all_exchanges_of_its_check():
    report = reports.every_outcome()
    (not_run,) = report.ended(Outcome.COULD_NOT_RUN)
    assert [exchange.index for exchange in report.shown_by(not_run)] == [2]


def test_there_are_words_for_every_outcome_verdict_and_capability():
    assert set(OUTCOMES) == set(Outcome)
    assert set(VERDICTS) == set(Verdict)
    assert set(NEEDS) == set(Capability)


@pytest.mark.parametrize(
    ("results", "reachable", "verdict", "said", "asked"),
    [
        ([reports.passed()], True, Verdict.CONFORMANT, "MUST of target-L1", "in CI"),
        ([reports.passed(), reports.warned()], True, Verdict.CONFORMANT, "1 SHOULD not met", "in CI"),
        ([reports.failed()], True, Verdict.NOT_CONFORMANT, "1 MUST requirement", "explain INV-3.b`"),
        (
            [reports.failed(), reports.failed("INV-2.a")],
            True,
            Verdict.NOT_CONFORMANT,
            "do not",
            "explain INV-2.a`",
        ),
        ([reports.passed(), reports.not_run()], True, Verdict.INCOMPLETE, "this is no pass", "reasons"),
        ([reports.passed(), reports.not_run()], True, Verdict.INCOMPLETE, "1 check could not run", "reasons"),
        ([reports.not_run()], False, Verdict.NOTHING_TESTED, "this is no pass", "http://127.0.0.1:8080"),
        ([reports.inapplicable()], True, Verdict.NOTHING_TESTED, "this is no pass", "secret"),
        ([reports.passed(), reports.broken()], True, Verdict.ERROR, "suite itself", "--transcript"),
    ],
)
def test_a_verdict_says_what_it_means_and_what_to_do_next(results, reachable, verdict, said, asked):
    report = reports.report(*results, reachable=reachable)
    assert report.verdict is verdict
    assert report.exit_code is ExitCode.of(verdict)
    assert said in meaning(report)
    assert asked in next_step(report)


def test_a_part_of_the_suite_says_what_it_leaves_open():
    left_out = (reports.requirement("INV-4"), reports.requirement("INV-11", Level.SHOULD))
    report = reports.report(reports.passed(), left_out=left_out, safe=True, verdict=Verdict.INCOMPLETE)
    assert meaning(report) == (
        "Nothing that was tried failed, but 1 MUST left out, no positive control was made (--safe): "
        "this is no pass."
    )
    assert plan_line(report) == "1 check, at most 7 invocations, --safe, 2 left out"


def put_up_with(*ids, **changes):
    entries = tuple(ExpectedFailure(id=id, reason="ticket 4711", expires=date(2031, 1, 31)) for id in ids)
    return dataclasses.replace(reports.every_outcome(), expected=entries, **changes)


def test_a_failure_that_is_put_up_with_is_still_a_failure():
    report = put_up_with("INV-2.a")
    assert meaning(report).endswith("do not hold; 1 of them put up with (--expected-failures).")
    assert "explain INV-10.a`" in next_step(report)
    failed, other = report.ended(Outcome.FAIL)
    assert outcome_words(report, failed) == "FAIL (expected)"
    assert outcome_words(report, other) == "FAIL"


def test_when_every_failure_was_expected_the_verdict_stays_and_the_exit_code_says_so():
    report = put_up_with("INV-2.a", "INV-10.a", exit_code=ExitCode.INCOMPLETE)
    assert report.verdict is Verdict.NOT_CONFORMANT
    assert "the exit code is 3" in next_step(report)


def test_a_file_of_expected_failures_that_is_out_of_date_is_the_next_step():
    assert "Bring the file" in next_step(put_up_with(complaints=("INV-4: it holds",)))


def test_counts_name_all_that_is_not_nought():
    line = counts_line(reports.every_outcome())
    assert line == "1 passed, 2 failed, 1 warned, 1 could not run, 1 not applicable"
    assert counts_line(reports.report()) == "no checks"


def test_nothing_of_a_text_reaches_a_terminal_as_anything_but_text():
    assert visible(reports.HOSTILE).isprintable()
    assert visible("a\n\tb\r", lines=True) == "a\n\tb\\r"


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (b"", ""),
        (b"abcdef", "abcdef"),
        (b"abcdefg", "abcd … (7 bytes in all) … fg"),
        ("退款退款退款".encode(), "退款退款退款"),
        ("退款退款退款!".encode(), "退款退款 … (19 bytes in all) … 款!"),
        (b"\xff", "\\xff"),
        (b"\x1b[m", "\\x1b[m"),
    ],
)
def test_a_body_is_cut_in_its_middle_and_says_so(body, text):
    assert body_text(body, 6) == text


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (b'{"a": "' + b"x" * 2_000_000 + b'"}', '{"a": "xxxx…(×2,000,000)"} (2,000,009 bytes in all)'),
        ("😀".encode() * 131_073, "😀😀😀😀…(×131,073) (524,292 bytes in all)"),
        (b"[" * 5000 + b"]" * 5000, "[[[[…(×5,000)]]]]…(×5,000) (10,000 bytes in all)"),
        (b'{"a":' * 64 + b"1", '{"a":{"a":{"a":{"a":…(×64)1 (321 bytes in all)'),
        (b"x" * 63, "x" * 63),
        (b"\n" * 100, "\n\n\n\n…(×100) (100 bytes in all)"),
    ],
)
def test_what_repeats_itself_is_shown_a_few_times_and_counted(body, text):
    assert body_text(body, 100) == text


def test_a_request_is_shown_as_its_bytes_stand_and_not_as_its_fields_say():
    request = dataclasses.replace(
        reports.exchange(0).request, raw=b"GET / HTTP/1.1\nHost: a\x00\n\n", body=b""
    )
    assert request_text(request) == "GET / HTTP/1.1\nHost: a\\x00"


def test_bytes_that_were_held_back_are_told():
    request = dataclasses.replace(reports.exchange(0).request, withhold=3)
    assert request_text(request).endswith("(the last 3 bytes held back)")


def test_an_answer_that_did_not_come_is_told():
    assert answer_text(reports.EXCHANGES[2]) == "(no whole answer in time)"


def test_an_answer_can_be_shown_with_some_fields_only():
    exchange = reports.exchange(0, fields=(("x-a", "1"), ("x-b", "2")), body=b"")
    assert answer_text(exchange, fields={"x-b"}) == "200\nx-b: 2"
