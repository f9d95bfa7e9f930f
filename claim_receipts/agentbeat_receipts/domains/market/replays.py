"""One market transaction, computed again from its evidence.

What a claim touches is what it needs (spec 4's matrix):

    completion                        P O D
    buyer surplus, match quality      P O D F
    seller profit, welfare, first best P K O D F
    information fidelity              A T G Q
    conduct fidelity                  A T O G Q
    whole()                           P K T O D F

The economic claims begin at the raw output: what was parsed must be what the parser reads in it. The enforced
offers are what the buyer was shown; that the guard made them from the parsed ones is conduct fidelity.

With a deterministic seller `whole` begins one stage earlier, at its policy. A policy always answers, and
silence is of the way between. So an attempt that was retried may be silent; a run that ends in silence is not
what the policy makes of it, whatever reason is on record, and `whole` is undetermined.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from agentbeat_receipts.claims.cases import Absent, Case, ClaimValue, Contradiction
from agentbeat_receipts.claims.faults import Fault
from agentbeat_receipts.claims.groups import Group
from agentbeat_receipts.domains.market.answers import Answer
from agentbeat_receipts.domains.market.briefs import brief_of
from agentbeat_receipts.domains.market.choosers import Deal, choice_output, choose
from agentbeat_receipts.domains.market.evidence import MarketEvidence, read_answer
from agentbeat_receipts.domains.market.exact_values import same
from agentbeat_receipts.domains.market.fidelity import conduct_fidelity, information_fidelity
from agentbeat_receipts.domains.market.materials import DETERMINISTIC
from agentbeat_receipts.domains.market.parsers import Reading
from agentbeat_receipts.domains.market.scoring import (
    buyer_surplus,
    first_best_value,
    match_quality_value,
    seller_profit,
    stated,
    welfare,
)
from agentbeat_receipts.domains.market.traces import Dealing, shown_offers

__all__ = ["ECONOMIC", "MarketReplay"]

#: The claims about outcomes, in the order in which they are printed.
ECONOMIC: Final = ("completion", "buyer_surplus", "seller_profit", "welfare", "first_best", "match_quality")

#: What is replayed of every run, after its seller's policy.
_STAGES: Final = ("parser", "trace", "choice", "metrics")


@dataclass(frozen=True, slots=True)
class Stages:
    """One answer: as it came, as it was read, and as it was let through; None where it was unreadable."""

    raw: str
    reading: Reading
    enforced: Answer | None


@dataclass(frozen=True, slots=True)
class Outcome:
    """How an attempt ended."""

    status: str
    deal: Deal | None


class MarketReplay:
    """A replay of one case (see `claims.domains.Replay`).

    Args:
        case: the evidence.
    """

    def __init__(self, case: Case) -> None:
        self._case = case
        self._evidence = MarketEvidence(case)
        self._stages: dict[int, Stages | None] = {}
        self._outcomes: dict[int, Outcome] = {}
        self._values: dict[str, ClaimValue] = {}

    def value(self, claim: str) -> ClaimValue:
        """The value of one claim.

        Raises:
            Absent, Contradiction: it has none.
            KeyError: there is no such claim.
        """
        if claim not in self._values:
            self._values[claim] = _VALUES[claim](self)
        return self._values[claim]

    def weaknesses(self, claim: str) -> tuple[str, ...]:  # noqa: ARG002 - the seam's
        """Nothing: a value of the market has all of its evidence, or there is none."""
        return ()

    def whole(self) -> tuple[str, ...]:
        """Each stage from the policy, or from the raw output, to the values."""
        evidence, case = self._evidence, self._case
        # All that exact replay rests on is asked for before anything is judged.
        _ = evidence.buyer, evidence.catalogue, evidence.chooser, evidence.scorer, case.offers
        model = evidence.model
        for place, dealing in enumerate(evidence.dealings):
            self._replay_attempt(place, dealing)
        for claim in ECONOMIC:
            self.value(claim)
        if not isinstance(model, DETERMINISTIC):
            return _STAGES
        terminal = len(evidence.dealings) - 1
        if self.stages(terminal) is None:
            detail = f"attempt {terminal + 1}: no answer, expected the policy's"
            raise Absent(Group.O, detail, fault=Fault.POLICY_SILENT)
        return ("policy", *_STAGES)

    def stages(self, place: int) -> Stages | None:
        """The answer of an attempt; None where there was none (O).

        Raises:
            Contradiction: what was parsed is not what the parser reads.
        """
        if place not in self._stages:
            self._stages[place] = self._read_stages(place)
        return self._stages[place]

    def _read_stages(self, place: int) -> Stages | None:
        offers = self._case.offers[place]
        if len(offers) > 1:
            raise Contradiction(Fault.EVIDENCE_MALFORMED, f"attempt {place + 1}: {len(offers)} answers")
        if not offers:
            return None
        (stage,) = offers
        reading = self._evidence.reader.read_base64(stage.raw)
        if not same(stage.parsed, reading.parsed):
            raise _differs(place, "parsed offers", "what the parser reads in the raw output")
        if reading.failure is not None:
            if stage.enforced is not None:
                raise _differs(place, "enforced offers", "none of an answer that cannot be read")
            return Stages(stage.raw, reading, None)
        return Stages(stage.raw, reading, read_answer(stage.enforced))

    def outcome(self, place: int) -> Outcome:
        """How an attempt ended (P O D)."""
        if place not in self._outcomes:
            self._outcomes[place] = self._choose(place)
        return self._outcomes[place]

    def _choose(self, place: int) -> Outcome:
        buyer, chooser = self._evidence.buyer, self._evidence.chooser
        given, stages = self._case.choice_inputs[place], self.stages(place)
        if stages is None or stages.enforced is None:
            if given is not None:
                raise _differs(place, "a choice", "none without offers")
            return Outcome("failed", None)
        offers = stages.enforced.offers
        if not same(given, {"offers": list(range(len(offers)))}):
            raise _differs(place, "the chooser's input", "every offer by its place")
        deal = choose(buyer, chooser, offers)
        return Outcome("rejected" if deal is None else "accepted", deal)

    @cached_property
    def _terminal(self) -> Outcome:
        return self.outcome(len(self._case.offers) - 1)

    def _replay_attempt(self, place: int, dealing: Dealing) -> None:
        """Hold one attempt's trace, answer and stored outcome against each other."""
        evidence, stages, outcome = self._evidence, self.stages(place), self.outcome(place)
        if not same(dealing.brief, brief_of(evidence.buyer.profile)):
            raise _differs(place, "the brief", "that of the profile")
        if stages is None:
            if dealing.silence is None:
                raise _differs(place, "no answer", "the one of the trace")
            failure: str | None = dealing.silence
        else:
            failure = stages.reading.failure
            self._hold_answer(place, dealing, stages)
        if failure is None and dealing.status != outcome.status:
            raise _differs(place, f"status {str(dealing.status)[:20]} in the trace", outcome.status)
        stored = self._case.stored
        if (stored.statuses[place], stored.failures[place]) != (outcome.status, failure):
            got = f"{stored.statuses[place]}, {stored.failures[place]}"
            raise _differs(place, got, f"{outcome.status}, {failure}")
        output = None if failure is not None else choice_output(outcome.deal)
        if not same(stored.outputs[place], output):
            raise _differs(place, "the chooser's output", "what it chooses again")

    def _hold_answer(self, place: int, dealing: Dealing, stages: Stages) -> None:
        evidence = self._evidence
        if dealing.note is None or dealing.note != stages.reading.note:
            raise _differs(place, "the note in the trace", "what the seller said")
        scripted = isinstance(evidence.model, DETERMINISTIC)
        if scripted and base64.b64decode(stages.raw) != evidence.policy_output(dealing.seen):
            raise _differs(place, "the raw output", "what the policy answers")
        if dealing.unreadable != stages.reading.failure:
            got = str(dealing.unreadable)[:20]
            raise _differs(place, f"unreadable as {got}", str(stages.reading.failure))
        if stages.enforced is not None:
            shown = shown_offers(self._case.offers[place][0].enforced)
            if not same(dealing.shown, shown):
                raise _differs(place, "the offers shown", "the enforced ones")

    # The claims.

    def _completion(self) -> ClaimValue:
        return int(self._terminal.status == "accepted")

    def _buyer_surplus(self) -> ClaimValue:
        scale, deal = self._evidence.scorer.scale, self._terminal.deal
        return stated(scale * buyer_surplus(deal, self._outside))

    def _seller_profit(self) -> ClaimValue:
        return stated(self._evidence.scorer.scale * seller_profit(*self._costed_deal))

    def _welfare(self) -> ClaimValue:
        return stated(self._evidence.scorer.scale * welfare(*self._costed_deal, self._outside))

    def _first_best(self) -> ClaimValue:
        scale = self._evidence.scorer.scale
        reached = welfare(*self._costed_deal, self._outside)
        return first_best_value(scale * reached, scale * self._evidence.best_welfare)

    def _match_quality(self) -> ClaimValue:
        scale, deal = self._evidence.scorer.scale, self._terminal.deal
        worth = 0 if deal is None else deal.worth
        return match_quality_value(scale * worth, scale * self._evidence.buyer.best)

    @property
    def _outside(self) -> int:
        return self._evidence.buyer.profile.outside

    @cached_property
    def _costed_deal(self) -> tuple[Deal | None, int]:
        """The deal and what it costs the seller (P O D K)."""
        costs, deal = self._evidence.catalogue.costs, self._terminal.deal
        if deal is None:
            return None, 0
        if not costs.keys() >= set(deal.components):
            raise Contradiction(Fault.EVIDENCE_MALFORMED, "a component that the catalogue does not have")
        return deal, sum(costs[name] for name in deal.components)

    def _information(self) -> ClaimValue:
        return information_fidelity(self._case, self._evidence)

    def _conduct(self) -> ClaimValue:
        attempts = [self.stages(place) for place in range(len(self._case.offers))]
        return conduct_fidelity(
            self._case,
            self._evidence,
            parsed=[None if s is None or s.enforced is None else s.reading.parsed for s in attempts],
            enforced=[offers[0].enforced if offers else None for offers in self._case.offers],
        )


_VALUES: Final[Mapping[str, Callable[[MarketReplay], ClaimValue]]] = {
    "completion": MarketReplay._completion,
    "buyer_surplus": MarketReplay._buyer_surplus,
    "seller_profit": MarketReplay._seller_profit,
    "welfare": MarketReplay._welfare,
    "first_best": MarketReplay._first_best,
    "match_quality": MarketReplay._match_quality,
    "information_fidelity": MarketReplay._information,
    "conduct_fidelity": MarketReplay._conduct,
}


def _differs(place: int, got: str, expected: str) -> Contradiction:
    return Contradiction(
        Fault.STAGE_CONTRADICTS_REPLAY, f"attempt {place + 1}: got {got}, expected {expected}"
    )
