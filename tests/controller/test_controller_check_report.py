"""What `agentbeat controller check` says: the report's exit code and text, and its progress."""

import io
import re

import pytest

from agentbeat_controller.checking.conformance import ConformanceResult
from agentbeat_controller.checking.findings import Finding, ProfileResult
from agentbeat_controller.checking.progress import Progress, time_left
from agentbeat_controller.checking.report_texts import report_text
from agentbeat_controller.checking.reports import Report


def result(*severities, name="p", verdicts=("pass", "pass", "attack_blocked")):
    findings = tuple(Finding(severity=each, code="c", tried="t", found="f") for each in severities)
    return ProfileResult(
        profile_id=name, verdicts=verdicts, plays=1, dropped=0, altered=0, attacks=0, findings=findings
    )


def judged(verdict, *severities):
    findings = tuple(Finding(severity=each, code="CTL-1.a", tried="t", found="f") for each in severities)
    return ConformanceResult(verdict=verdict, counts={"pass": 3}, findings=findings)


def report(*profiles, conformance=None, **more):
    return Report(environment="e", profiles=profiles, conformance=conformance, **more)


@pytest.mark.parametrize(
    ("own", "suite", "code"),
    [
        ((), None, 0),
        (("note",), judged("conformant"), 0),
        (("known",), None, 0),
        (("known", "weakness"), None, 1),
        (("known", "untried"), None, 3),
        (("fault",), None, 1),
        (("weakness", "untried"), None, 1),
        (("untried",), None, 3),
        ((), judged("not_conformant", "fault"), 1),
        ((), judged("incomplete", "untried"), 3),
        ((), judged("nothing_tested"), 3),
        ((), judged(None, "untried"), 3),
    ],
)
def test_the_exit_code_follows_from_what_was_found(own, suite, code):
    whole = report(result(*own), conformance=suite)
    assert whole.exit_code == code
    assert whole.as_json()["exit_code"] == code
    word = {0: "HOLDS", 1: "DOES NOT HOLD", 3: "INCOMPLETE"}[code]
    assert report_text(whole, coloured=False).splitlines()[-1].startswith(f"{word}  e: ")


def test_an_interrupted_check_says_so_and_what_it_has_found():
    whole = report(result("fault"), interrupted=True)
    assert (whole.exit_code, whole.as_json()["interrupted"]) == (130, True)
    last = report_text(whole, coloured=False).splitlines()[-1]
    assert last == "INTERRUPTED  e: 1 fault, 0 weaknesses, 0 untried, 0 known, 0 notes"


def test_colours_change_no_word():
    whole = report(
        result("fault", "weakness", "untried", "known", "note"),
        result(verdicts=None),
        conformance=judged("conformant"),
    )
    plain, coloured = report_text(whole, coloured=False), report_text(whole, coloured=True)
    assert "\x1b[31m" in coloured
    assert re.sub(r"\x1b\[\d+m", "", coloured) == plain


def test_the_worst_is_told_first_each_kind_with_what_it_means():
    text = report_text(report(result("note", "known", "untried", "weakness", "fault")), coloured=False)
    headings = [line for line in text.splitlines() if re.match(r"[A-Z][a-z]+: ", line)]
    assert [line.partition(":")[0] for line in headings] == [
        "Faults",
        "Weaknesses",
        "Untried",
        "Known",
        "Notes",
    ]
    assert all(line.partition(": ")[2] for line in headings)


@pytest.mark.parametrize(
    ("names", "where"),
    [(("a",), "a"), (("a", "b"), "a and 1 more profile"), (("a", "b", "c"), "a and 2 more profiles")],
)
def test_what_is_the_same_in_many_profiles_is_told_once(names, where):
    text = report_text(report(*(result("weakness", name=name) for name in names)), coloured=False)
    assert text.count("found  f") == 1
    assert f"  weakness c  {where}\n" in text


def test_a_broken_rule_is_told_as_one():
    text = report_text(report(conformance=judged("not_conformant", "fault")), coloured=False)
    assert "  fault CTL-1.a  the CTL rules\n" in text
    assert "CTL rules  not conformant: 3 pass" in text


# Progress


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_on_a_terminal_one_line_is_written_over_and_never_wraps(monkeypatch):
    monkeypatch.setenv("COLUMNS", "20")
    stream = Terminal()
    progress = Progress(stream, clock=lambda: 0)
    progress.part(1, 3, "x" * 100)
    progress.end()
    first, last = stream.getvalue().split("\r\x1b[K")[1:]
    assert (len(first), first[:8], last) == (19, "1 of 3: ", "")


def test_elsewhere_there_is_a_line_now_and_then():
    stream, now = io.StringIO(), [0.0]
    progress = Progress(stream, clock=lambda: now[0])
    for number in range(1, 41):
        now[0] = float(number)
        progress.part(number, 40, f"p{number}")
    progress.end()
    assert stream.getvalue().splitlines() == [
        "16 of 40, less than a minute left: p16",
        "32 of 40, less than a minute left: p32",
    ]


@pytest.mark.parametrize(
    ("seconds", "done", "total", "words"),
    [
        (0.0, 0, 100, ""),
        (60.0, 9, 100, ""),
        (60.0, 20, 120, ", about 5 min left"),
        (1.0, 50, 100, ", less than a minute left"),
    ],
)
def test_the_time_that_is_left_is_told_when_there_is_something_to_go_by(seconds, done, total, words):
    assert time_left(seconds, done, total) == words
