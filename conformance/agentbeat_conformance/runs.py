"""A finished run: what each check showed, the verdict, and the transcript from which both follow again."""

from __future__ import annotations

from dataclasses import dataclass

from agentbeat_conformance.exchanges import Exchange
from agentbeat_conformance.outcomes import Outcome, Result, Verdict, verdict_of
from agentbeat_conformance.plans import Plan
from agentbeat_conformance.transcript_records import Transcript

__all__ = ["Run"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """A run of the suite against one endpoint. It holds no secret.

    Attributes:
        plan: what was to be checked.
        results: every planned check's end, in the order of the plan.
        exchanges: all that was said, each at its index.
        reached: whether the endpoint gave any answer.
        transcript: from which `judge` makes the same run.
    """

    plan: Plan
    results: tuple[Result, ...]
    exchanges: tuple[Exchange, ...]
    reached: bool
    transcript: Transcript

    @property
    def verdict(self) -> Verdict:
        """What the run shows; a part of the requirements shows a failure, but no conformance."""
        verdict = verdict_of(self.results, reachable=self.reached)
        partial = verdict is Verdict.CONFORMANT and not self.plan.is_whole
        return Verdict.INCOMPLETE if partial else verdict

    def count(self, outcome: Outcome) -> int:
        """How many checks ended so."""
        return sum(result.outcome is outcome for result in self.results)
