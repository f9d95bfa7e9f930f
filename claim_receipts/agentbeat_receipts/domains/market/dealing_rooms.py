"""One attempt of a run: brief, answer, reading, guards and choice, with all of it on record.

The trace, the offers, the choice and the guards' decisions are written down as they happen, in the order that
`traces` asks for. Where there is no answer, or none that can be read, the attempt has failed.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Literal, TypeVar

from agentbeat_receipts.domains.market.briefs import brief_of
from agentbeat_receipts.domains.market.choosers import Deal, choice_output, choose
from agentbeat_receipts.domains.market.evidence import read_answer
from agentbeat_receipts.domains.market.guards import CONDUCT, INFO, hide_fields, hide_sentences, temper
from agentbeat_receipts.domains.market.materials import Enforcer
from agentbeat_receipts.domains.market.sellers import Enquiry, NoAnswer, Seller
from agentbeat_receipts.domains.market.settings import Setting
from agentbeat_receipts.domains.market.traces import Dealing, dealing_events, shown_offers
from agentbeat_receipts.domains.market.valuations import Valuation
from agentbeat_receipts.objects import Attempt, Choice, OfferStages, Status, TreatmentEvent

__all__ = ["DealingRoom"]

GuardedT = TypeVar("GuardedT")


class DealingRoom:
    """Where a seller answers a buyer, with the guards between them.

    Args:
        setting: what the arm runs with.
        valuation: the buyer.
        flags: the treatments that are on.
        seller: who answers.

    Raises:
        ValueError: a treatment that the market does not have.
    """

    def __init__(self, setting: Setting, valuation: Valuation, flags: frozenset[str], seller: Seller) -> None:
        unknown = flags - {INFO, CONDUCT}
        if unknown:
            raise ValueError(f"treatments {', '.join(sorted(unknown))}, expected {INFO} and {CONDUCT}")
        self._setting = setting
        self._valuation = valuation
        self._flags = flags
        self._seller = seller

    def attempt(self, number: int, cause: str, seed: bytes) -> tuple[Attempt, Deal | None]:
        """One try, and what was bought in it."""
        decisions: list[TreatmentEvent] = []
        brief = brief_of(self._valuation.profile)
        seen = self._guard(INFO, "brief", hide_fields, brief, decisions)
        try:
            raw = self._seller.answer(Enquiry(setting=self._setting, brief=seen, seed=seed))
        except NoAnswer as silence:
            dealing = Dealing(brief=brief, seen=seen, silence=silence.reason)
            return _failed(number, cause, dealing, decisions), None
        reading = self._setting.reader.read(raw)
        text = base64.b64encode(raw).decode()
        dealing = Dealing(brief=brief, seen=seen, note=reading.note, unreadable=reading.failure)
        if reading.failure is not None:
            stages = OfferStages(raw=text, parsed=reading.parsed, enforced=None)
            return _failed(number, cause, dealing, decisions, stages), None
        noted = self._guard(INFO, "note", hide_sentences, reading.note, decisions)
        enforced = self._guard(CONDUCT, "offers", temper, reading.parsed, decisions)
        answer = read_answer(enforced)
        deal = choose(self._valuation, self._setting.chooser, answer.offers)
        status: Status = "rejected" if deal is None else "accepted"
        dealing = replace(dealing, noted=noted, shown=shown_offers(enforced), status=status)
        choice = Choice(input={"offers": list(range(len(answer.offers)))}, output=choice_output(deal))
        attempt = Attempt(
            number=number,
            cause=cause,
            status=status,
            failure=None,
            events=dealing_events(dealing),
            offers=(OfferStages(raw=text, parsed=reading.parsed, enforced=enforced),),
            choice=choice,
            treatments=tuple(decisions),
        )
        return attempt, deal

    def _guard(
        self,
        flag: str,
        stage: str,
        guard: Callable[[GuardedT, Enforcer], tuple[GuardedT, int]],
        came: GuardedT,
        decisions: list[TreatmentEvent],
    ) -> GuardedT:
        """What a guard lets through; its decision is noted where its flag is on."""
        if flag not in self._flags:
            return came
        passed, changes = guard(came, self._setting.enforcer)
        decision: Literal["applied", "nothing_to_do"] = "applied" if changes else "nothing_to_do"
        data = {"changes": changes}
        decisions.append(TreatmentEvent(flag=flag, stage=stage, decision=decision, data=data))
        return passed


def _failed(
    number: int,
    cause: str,
    dealing: Dealing,
    decisions: Sequence[TreatmentEvent],
    *stages: OfferStages,
) -> Attempt:
    return Attempt(
        number=number,
        cause=cause,
        status="failed",
        failure=dealing.failure,
        events=dealing_events(dealing),
        offers=stages,
        choice=None,
        treatments=tuple(decisions),
    )
