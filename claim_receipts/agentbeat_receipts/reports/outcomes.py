"""The whole verification in one word, one line and one exit code.

    0  Pass          everything that is claimed passes
    1  Invalid       something is Invalid
    3  Inconclusive  nothing is Invalid, but something claimed has no verdict, or nothing is claimed at all

What was never claimed does not count: a claim without a contract (I_C), and coverage below CR-3.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import Final, Literal

from agentbeat_receipts.claims.results import WEAKER_CAVEAT, ClaimReport
from agentbeat_receipts.verification.reasons import Verdict

__all__ = ["ExitCode", "Outcome", "headline", "judged", "outcome_of", "verdict_text"]


class ExitCode(IntEnum):
    """How `agentbeat claims verify` ends, beside 2 for a wrong command line and 4 for a fault of the kit."""

    PASS = 0
    INVALID = 1
    INCONCLUSIVE = 3


#: What is not claimed, and so neither passes nor fails.
_UNCLAIMED: Final = frozenset({Verdict.NO_CONTRACT, Verdict.NOT_CLAIMED})

#: How many claims a headline names.
_NAMED: Final = 16

_WORDS: Final[dict[ExitCode, Literal["Pass", "Invalid", "Inconclusive"]]] = {
    ExitCode.PASS: "Pass",
    ExitCode.INVALID: "Invalid",
    ExitCode.INCONCLUSIVE: "Inconclusive",
}

_MEANINGS: Final = {
    Verdict.PASS: "holds",
    Verdict.INVALID: "is contradicted by what is on record",
    Verdict.INCONCLUSIVE_COVERAGE: "something that was promised has not arrived",
    Verdict.INCONCLUSIVE: "evidence is not there, or cannot be opened",
    Verdict.NOT_CLAIMED: "is not claimed of such a batch",
    Verdict.NO_CONTRACT: "has no contract in the manifest, so it was never asserted",
    Verdict.NO_EVIDENCE: "the evidence does not cross the claim's boundary",
}


@dataclass(frozen=True, slots=True)
class Outcome:
    """One verification in short.

    Args:
        code: the exit code.
        concerned: the claims and questions that make it so; empty for a Pass.
    """

    code: ExitCode
    concerned: tuple[str, ...] = ()

    @property
    def word(self) -> Literal["Pass", "Invalid", "Inconclusive"]:
        """The outcome in one word."""
        return _WORDS[self.code]


def judged(report: ClaimReport) -> dict[str, Verdict]:
    """Every verdict by what it is about: the chain's four questions, then the claims."""
    chain = report.chain
    questions = {
        "integrity": chain.integrity,
        "coverage": chain.coverage,
        "openings": chain.openings,
        "retries": chain.retries,
    }
    return {**questions, **{claim.claim: claim.verdict for claim in report.claims}}


def outcome_of(report: ClaimReport) -> Outcome:
    """The outcome; no verification without a single claim that passes is a Pass."""
    found = judged(report)
    invalid = tuple(name for name, verdict in found.items() if verdict is Verdict.INVALID)
    if invalid:
        return Outcome(ExitCode.INVALID, invalid)
    opened = tuple(
        name for name, verdict in found.items() if verdict is not Verdict.PASS and verdict not in _UNCLAIMED
    )
    if opened or not any(claim.verdict is Verdict.PASS for claim in report.claims):
        return Outcome(ExitCode.INCONCLUSIVE, opened)
    return Outcome(ExitCode.PASS)


def headline(report: ClaimReport) -> str:
    """What the outcome means, in one sentence."""
    outcome = outcome_of(report)
    if outcome.code is ExitCode.PASS:
        weaker = WEAKER_CAVEAT in report.caveats
        beside = "; some values rest on weaker evidence than was promised" if weaker else ""
        return f"Everything that is claimed passes, within what was committed{beside}."
    if not outcome.concerned:
        return "Nothing is claimed of this batch, so nothing passes."
    named = ", ".join(outcome.concerned[:_NAMED])
    more = len(outcome.concerned) - _NAMED
    named += f" and {more} more" if more > 0 else ""
    if outcome.code is ExitCode.INVALID:
        return f"Contradicted by what is on record: {named}."
    return f"Nothing is contradicted, but there is no verdict on {named}."


def verdict_text(verdict: Verdict) -> str:
    """What a verdict says of a claim, in a few words."""
    return _MEANINGS[verdict]
