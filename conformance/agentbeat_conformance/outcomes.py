"""How a check ends, and how the run as a whole does.

Every check is registered before the run and ends in exactly one outcome. Nothing that was not shown is a
pass: a precondition that failed makes the verdict incomplete, and a run in which nothing was tested has a
verdict and an exit code of its own.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum, StrEnum

from agentbeat_conformance.requirements import Finding, Level, Requirement

__all__ = ["ExitCode", "Outcome", "Result", "Verdict", "verdict_of"]


class Outcome(StrEnum):
    """The end of one check."""

    PASS = "pass"  # noqa: S105 - an outcome
    FAIL = "fail"
    #: A SHOULD that is not met.
    WARN = "warn"
    #: A capability that it needs was not declared; out of the count.
    NOT_APPLICABLE = "not_applicable"
    #: A precondition failed.
    COULD_NOT_RUN = "could_not_run"
    #: A fault of the suite's own.
    ERROR = "error"


class Verdict(StrEnum):
    """What the run shows of the endpoint."""

    CONFORMANT = "conformant"
    NOT_CONFORMANT = "not_conformant"
    INCOMPLETE = "incomplete"
    NOTHING_TESTED = "nothing_tested"
    ERROR = "error"


class ExitCode(IntEnum):
    """The command's exit status."""

    CONFORMANT = 0
    NOT_CONFORMANT = 1
    USAGE = 2
    INCOMPLETE = 3
    NOTHING_TESTED = 4
    ERROR = 5

    @classmethod
    def of(cls, verdict: Verdict) -> ExitCode:
        """The exit status for a verdict."""
        return cls[verdict.name]


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """One check's end.

    Attributes:
        findings: what is wrong; empty unless `fail` or `warn`.
        reason: why it could not run, is not applicable, or what our fault was.
        exchanges: the indexes of its exchanges in the transcript.
    """

    requirement: Requirement
    outcome: Outcome
    findings: tuple[Finding, ...] = ()
    reason: str | None = None
    exchanges: tuple[int, ...] = ()

    @classmethod
    def of_findings(
        cls, requirement: Requirement, findings: Iterable[Finding], exchanges: tuple[int, ...]
    ) -> Result:
        """A check that ran: pass without findings, else fail for a MUST and warn for a SHOULD."""
        found = tuple(findings)
        bad = Outcome.FAIL if requirement.level is Level.MUST else Outcome.WARN
        return cls(
            requirement=requirement,
            outcome=bad if found else Outcome.PASS,
            findings=found,
            exchanges=exchanges,
        )


def verdict_of(results: Iterable[Result], *, reachable: bool) -> Verdict:
    """The run's verdict: our own fault first, then a failure, then what is missing.

    Args:
        results: every planned check's end.
        reachable: whether the endpoint gave any answer at all.
    """
    outcomes = [result.outcome for result in results]
    if Outcome.ERROR in outcomes:
        return Verdict.ERROR
    shown = [outcome for outcome in outcomes if outcome in (Outcome.PASS, Outcome.FAIL, Outcome.WARN)]
    if not reachable or not shown:
        return Verdict.NOTHING_TESTED
    if Outcome.FAIL in shown:
        return Verdict.NOT_CONFORMANT
    if Outcome.COULD_NOT_RUN in outcomes:
        return Verdict.INCOMPLETE
    return Verdict.CONFORMANT
