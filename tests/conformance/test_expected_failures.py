"""Failures that are known: what the file says, and what becomes of a run in its light."""

from __future__ import annotations

import dataclasses
from datetime import date

import pytest

from agentbeat_conformance.expected_failures import (
    Assessment,
    ExpectedFailure,
    ExpectedFailuresError,
    assess,
    read_expected_failures,
)
from agentbeat_conformance.outcomes import ExitCode, Outcome, Result, Verdict
from agentbeat_conformance.plans import Plan
from agentbeat_conformance.requirements import Finding, Findings, Level, Requirement
from agentbeat_conformance.runs import Run
from agentbeat_conformance.target_probes import TargetProbe
from agentbeat_conformance.transcript_records import Header, Transcript
from support.conformance import catalogue_of, made, plan_of, subject

TODAY = date(2031, 1, 31)


async def never(target: TargetProbe) -> Findings:
    raise AssertionError(target)


CATALOGUE = catalogue_of(
    made("INV-1.a", never), made("INV-2.a", never), made("INV-6.a", never, level=Level.SHOULD)
)


def run_with(outcomes: dict[str, Outcome], *, plan: Plan | None = None, reached: bool = True) -> Run:
    plan = plan or plan_of(CATALOGUE)
    header = Header(
        suite_version="1.0",
        catalogue="1.0",
        catalogue_digest=plan.catalogue_digest,
        specs=(),
        tier="target-L1",
        subject=subject(),
        seed="a1",
        planned=tuple(made.id for made in plan.requirements),
        left_out=(),
        capabilities=frozenset(),
        budget=None,
        safe=False,
        started_at="2031-01-31T00:00:00Z",
    )

    def result(requirement: Requirement) -> Result:
        outcome = outcomes.get(requirement.id, Outcome.PASS)
        bad = outcome in (Outcome.FAIL, Outcome.WARN)
        return Result(requirement=requirement, outcome=outcome, findings=(Finding("bad"),) if bad else ())

    return Run(
        plan=plan,
        results=tuple(map(result, plan.requirements)),
        exchanges=(),
        reached=reached,
        transcript=Transcript(header=header, entries=()),
    )


def entry(id: str, expires: date = TODAY) -> ExpectedFailure:
    return ExpectedFailure(id=id, reason="A known fault.", expires=expires)


def assessed(run: Run, *entries: ExpectedFailure) -> Assessment:
    return assess(run, entries, known=CATALOGUE, today=TODAY)


# --- The file


def test_an_entry_has_an_id_a_reason_and_a_date() -> None:
    raw = b"""
        [[expected]]
        id = "INV-9.a"
        reason = "It queues."
        expires = 2031-01-31

        [[expected]]
        id = "INV-2.a"
        reason = "An old gateway."
        expires = 2030-12-31
    """
    assert read_expected_failures(raw) == (
        ExpectedFailure(id="INV-9.a", reason="It queues.", expires=date(2031, 1, 31)),
        ExpectedFailure(id="INV-2.a", reason="An old gateway.", expires=date(2030, 12, 31)),
    )


GOOD = 'id = "INV-9.a"\nreason = "It queues."\nexpires = 2031-01-31\n'
WRONG = {
    "no TOML": ("tea", "expected TOML"),
    "no UTF-8": ("\udcff", "expected TOML"),
    "empty": ("", "tables"),
    "no tables": ("expected = 3", "tables"),
    "something beside them": (f"strict = true\n[[expected]]\n{GOOD}", "nothing else"),
    "no reason": ("[[expected]]\n" + GOOD.replace("reason", "because"), "entry 1"),
    "a blank reason": ("[[expected]]\n" + GOOD.replace("It queues.", " "), "entry 1: .*words"),
    "a member too many": (f"[[expected]]\n{GOOD}level = 1", "entry 1: .*nothing else"),
    "a date as text": ("[[expected]]\n" + GOOD.replace("2031-01-31", '"2031-01-31"'), "as a date"),
    "a time": ("[[expected]]\n" + GOOD.replace("2031-01-31", "2031-01-31T00:00:00Z"), "as a date"),
    "an id that is a number": ("[[expected]]\n" + GOOD.replace('"INV-9.a"', "9"), "entry 1"),
    "an id twice": (f"[[expected]]\n{GOOD}[[expected]]\n{GOOD}", "two entries for INV-9.a"),
}


@pytest.mark.parametrize(("text", "message"), WRONG.values(), ids=WRONG.keys())
def test_a_file_that_is_not_so_is_refused(text: str, message: str) -> None:
    with pytest.raises(ExpectedFailuresError, match=message):
        read_expected_failures(text.encode("utf-8", "surrogateescape"))


# --- A run in its light


def test_a_run_without_entries_is_what_its_verdict_says() -> None:
    for outcome, code in {
        Outcome.PASS: ExitCode.CONFORMANT,
        Outcome.FAIL: ExitCode.NOT_CONFORMANT,
        Outcome.COULD_NOT_RUN: ExitCode.INCOMPLETE,
        Outcome.ERROR: ExitCode.ERROR,
    }.items():
        assert assessed(run_with({"INV-1.a": outcome})) == Assessment(exit_code=code)


def test_an_expected_failure_turns_the_exit_code_and_not_the_verdict() -> None:
    run = run_with({"INV-2.a": Outcome.FAIL})
    assessment = assessed(run, entry("INV-2.a"))
    assert assessment == Assessment(expected=(entry("INV-2.a"),), exit_code=ExitCode.CONFORMANT)
    assert run.verdict is Verdict.NOT_CONFORMANT


def test_another_failure_beside_it_still_counts() -> None:
    run = run_with({"INV-1.a": Outcome.FAIL, "INV-2.a": Outcome.FAIL})
    assert assessed(run, entry("INV-2.a")).exit_code is ExitCode.NOT_CONFORMANT


def test_what_could_not_run_beside_it_still_makes_it_incomplete() -> None:
    run = run_with({"INV-1.a": Outcome.COULD_NOT_RUN, "INV-2.a": Outcome.FAIL})
    assert assessed(run, entry("INV-2.a")).exit_code is ExitCode.INCOMPLETE


def test_a_part_of_the_requirements_stays_incomplete() -> None:
    plan = plan_of(CATALOGUE, only=["INV-2.a"])
    run = run_with({"INV-2.a": Outcome.FAIL}, plan=plan)
    assert assessed(run, entry("INV-2.a")).exit_code is ExitCode.INCOMPLETE


def test_an_entry_holds_on_its_last_day_and_not_on_the_next() -> None:
    run = run_with({"INV-2.a": Outcome.FAIL})
    assert assessed(run, entry("INV-2.a", date(2031, 1, 31))).exit_code is ExitCode.CONFORMANT
    expired = assessed(run, entry("INV-2.a", date(2031, 1, 30)))
    assert expired.exit_code is ExitCode.NOT_CONFORMANT
    assert expired.complaints == ("INV-2.a: the entry expired on 2031-01-30",)


COMPLAINTS = {
    "a surprise pass": ("INV-2.a", Outcome.PASS, "it holds"),
    "a surprise pass of a SHOULD": ("INV-6.a", Outcome.PASS, "it holds"),
    "an unknown id": ("INV-99.a", Outcome.PASS, "no such requirement"),
}


@pytest.mark.parametrize(("id", "outcome", "message"), COMPLAINTS.values(), ids=COMPLAINTS.keys())
def test_what_is_not_true_in_the_file_fails_a_conformant_run(id: str, outcome: Outcome, message: str) -> None:
    assessment = assessed(run_with({id: outcome}), entry(id))
    assert assessment.exit_code is ExitCode.NOT_CONFORMANT
    [complaint] = assessment.complaints
    assert message in complaint
    assert assessment.expected == ()


def test_an_expected_warning_is_true_and_changes_nothing() -> None:
    assessment = assessed(run_with({"INV-6.a": Outcome.WARN}), entry("INV-6.a"))
    assert (assessment.exit_code, assessment.complaints) == (ExitCode.CONFORMANT, ())


@pytest.mark.parametrize("outcome", [Outcome.COULD_NOT_RUN, Outcome.NOT_APPLICABLE])
def test_what_was_not_tried_is_no_surprise(outcome: Outcome) -> None:
    assert assessed(run_with({"INV-2.a": outcome}), entry("INV-2.a")).complaints == ()


def test_an_entry_for_a_requirement_that_is_not_planned_is_none_of_this_runs_business() -> None:
    run = run_with({}, plan=plan_of(CATALOGUE, skip=["INV-6.a"]))
    assessment = assessed(run, entry("INV-6.a", date(2000, 1, 1)))
    assert (assessment.exit_code, assessment.complaints) == (ExitCode.CONFORMANT, ())


def test_neither_our_own_error_nor_an_endpoint_out_of_reach_is_ever_expected() -> None:
    error = run_with({"INV-1.a": Outcome.ERROR, "INV-2.a": Outcome.FAIL})
    assert assessed(error, entry("INV-2.a")).exit_code is ExitCode.ERROR
    nothing = dataclasses.replace(run_with({"INV-2.a": Outcome.FAIL}), reached=False)
    assert assessed(nothing, entry("INV-2.a")).exit_code is ExitCode.NOTHING_TESTED
