"""What a report says of its outcomes and its verdict, in words that all forms of output share."""

from __future__ import annotations

from types import MappingProxyType
from typing import Final

from agentbeat_conformance.outcomes import ExitCode, Outcome, Result, Verdict
from agentbeat_conformance.reports.records import Report
from agentbeat_conformance.requirements import Capability

__all__ = [
    "NEEDS",
    "OUTCOMES",
    "VERDICTS",
    "counts_line",
    "meaning",
    "next_step",
    "outcome_words",
    "plan_line",
]

#: Each outcome as people read it.
OUTCOMES: Final = MappingProxyType(
    {
        Outcome.PASS: "pass",
        Outcome.FAIL: "FAIL",
        Outcome.WARN: "warn",
        Outcome.NOT_APPLICABLE: "n/a",
        Outcome.COULD_NOT_RUN: "could not run",
        Outcome.ERROR: "suite error",
    }
)

VERDICTS: Final = MappingProxyType(
    {
        Verdict.CONFORMANT: "CONFORMANT",
        Verdict.NOT_CONFORMANT: "NOT CONFORMANT",
        Verdict.INCOMPLETE: "INCOMPLETE",
        Verdict.NOTHING_TESTED: "NOTHING TESTED",
        Verdict.ERROR: "ERROR OF THE SUITE",
    }
)

#: What each capability is, for people.
NEEDS: Final = MappingProxyType(
    {
        Capability.AUTH: "an endpoint that asks for a secret (--token-env)",
        Capability.SOCKET: "a real connection, not an application in process",
        Capability.TASK: "a task that makes the Agent use tools (--task)",
        Capability.RESTART: "a command that restarts the server (--restart-command)",
        Capability.WRITE: "a command that writes to the environment (--write-command)",
        Capability.VERIFY_KEY: "the Controller's registered public key (--verify-key)",
        Capability.STATIC: "a profile with the binding mode deployment_static",
        Capability.CATALOG: "a profile with the binding mode catalog",
        Capability.INJECTION: "a profile with a surface for injections",
        Capability.EXPIRY: "leases that end within seconds",
        Capability.UNDECIDED: "a profile with a dimension that it cannot decide",
        Capability.UNDECIDED: "a profile that cannot decide one of the dimensions",
    }
)

_COUNTED: Final = MappingProxyType(
    {
        Outcome.PASS: "passed",
        Outcome.FAIL: "failed",
        Outcome.WARN: "warned",
        Outcome.COULD_NOT_RUN: "could not run",
        Outcome.ERROR: "suite errors",
        Outcome.NOT_APPLICABLE: "not applicable",
    }
)


def outcome_words(report: Report, result: Result) -> str:
    """The outcome as people read it; one that is put up with says so."""
    words = OUTCOMES[result.outcome]
    return f"{words} (expected)" if report.expectation(result) else words


def counts_line(report: Report) -> str:
    """The counts that are not 0: `31 passed, 2 failed, 1 not applicable`."""
    counts = {words: report.count(outcome) for outcome, words in _COUNTED.items()}
    return ", ".join(f"{count} {words}" for words, count in counts.items() if count) or "no checks"


def plan_line(report: Report) -> str:
    """What was planned: `31 checks, at most 12 invocations`."""
    parts = [_many(len(report.results), "check"), f"at most {_many(report.invocations, 'invocation')}"]
    if report.budget is not None and not report.safe:
        parts.append(f"budget {report.budget}")
    if report.safe:
        parts.append("--safe")
    if report.left_out:
        parts.append(f"{len(report.left_out)} left out")
    return ", ".join(parts)


def meaning(report: Report) -> str:
    """What the verdict says, in one sentence."""
    failed, warned = report.count(Outcome.FAIL), report.count(Outcome.WARN)
    match report.verdict:
        case Verdict.CONFORMANT:
            shoulds = f"; {_many(warned, 'SHOULD')} not met" if warned else ""
            return f"Every applicable MUST of {report.tier} that was planned holds{shoulds}."
        case Verdict.NOT_CONFORMANT:
            said = f"{_many(failed, 'MUST requirement')} of {report.tier} {_does(failed)} not hold"
            return f"{said}{_put_up_with(report)}."
        case Verdict.INCOMPLETE:
            return f"Nothing that was tried failed, but {_gaps(report)}: this is no pass."
        case Verdict.NOTHING_TESTED:
            return "The endpoint gave no answer, or no check could show anything: this is no pass."
        case Verdict.ERROR:
            return "The suite itself failed, so its verdict says nothing about the endpoint."


def next_step(report: Report) -> str:
    """What the reader does now, in one sentence."""
    if report.complaints:
        return "Bring the file of expected failures up to date; the complaints say where."
    match report.verdict:
        case Verdict.CONFORMANT:
            return "Keep it so: run the suite in CI, by conformance/action.yml or the pytest plugin."
        case Verdict.NOT_CONFORMANT:
            return _repair(report)
        case Verdict.INCOMPLETE:
            return "Run the whole suite, and give it what the reasons name."
        case Verdict.NOTHING_TESTED:
            return f"See that a server answers at {report.endpoint} and that the secret is the right one."
        case Verdict.ERROR:
            return "Run it again with `--transcript FILE` and report the fault with that file."


def _put_up_with(report: Report) -> str:
    count = sum(report.expectation(result) is not None for result in report.ended(Outcome.FAIL))
    return f"; {count} of them put up with (--expected-failures)" if count else ""


def _repair(report: Report) -> str:
    unexpected = [result for result in report.ended(Outcome.FAIL) if report.expectation(result) is None]
    if not unexpected:
        good = "0" if report.exit_code is ExitCode.CONFORMANT else f"{report.exit_code:d}"
        return f"Every failure was expected, so the exit code is {good}; the verdict stays as it is."
    first = unexpected[0].requirement.id
    return f"Read `agentbeat conformance explain {first}`, repair, and try again with `--only {first}`."


def _gaps(report: Report) -> str:
    """What keeps an incomplete run from being a pass."""
    missing = report.count(Outcome.COULD_NOT_RUN)
    gaps = [
        f"{_many(missing, 'check')} could not run" if missing else "",
        f"{_many(report.musts_left_out, 'MUST')} left out" if report.musts_left_out else "",
        "no positive control was made (--safe)" if report.safe else "",
    ]
    return ", ".join(gap for gap in gaps if gap)


def _many(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def _does(count: int) -> str:
    return "does" if count == 1 else "do"
