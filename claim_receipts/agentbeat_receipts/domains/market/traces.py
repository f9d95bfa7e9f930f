"""The ordered events of an attempt: who saw what, and when.

    brief.written    hidden   the buyer's brief, private fields included
    brief.shown      visible  what the seller saw of it
    then one of
    seller.silent    hidden   {"reason"}                        no answer came
    seller.answered  hidden   {"note"}, answer.unreadable hidden {"reason"}
    seller.answered  hidden   {"note"}, note.shown visible {"text"},
                              offers.shown visible {"offers", "pressure"}, choice.made visible {"status"}

Any other order, a missing event or one too many contradicts the protocol of the market.

>>> events = dealing_events(Dealing(brief={"wants": []}, seen={"wants": []}, silence="timeout"))
>>> [event.type for event in events]
['brief.written', 'brief.shown', 'seller.silent']
>>> read_dealing(events).silence
'timeout'
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Any, Final

from agentbeat_receipts.claims.cases import Contradiction
from agentbeat_receipts.claims.faults import Fault
from agentbeat_receipts.objects import TraceEvent

__all__ = ["Dealing", "dealing_events", "read_dealing", "shown_offers"]

_SILENT: Final = ("brief.written", "brief.shown", "seller.silent")
_UNREADABLE: Final = ("brief.written", "brief.shown", "seller.answered", "answer.unreadable")
_DEALT: Final = (
    "brief.written",
    "brief.shown",
    "seller.answered",
    "note.shown",
    "offers.shown",
    "choice.made",
)
_VISIBLE: Final = frozenset({"brief.shown", "note.shown", "offers.shown", "choice.made"})
#: The members of each event that is not free in its members.
_MEMBERS: Final = {
    "seller.silent": {"reason"},
    "seller.answered": {"note"},
    "answer.unreadable": {"reason"},
    "note.shown": {"text"},
    "offers.shown": {"offers", "pressure"},
    "choice.made": {"status"},
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Dealing:
    """What an attempt's events say. What did not happen is None.

    Args:
        brief: the buyer's brief.
        seen: what the seller saw of it.
        silence: why there was no answer.
        note: what the seller said besides offers.
        unreadable: why the answer could not be read.
        noted: what the buyer saw of the note.
        shown: the offers that the buyer saw, in short.
        status: what came of it.
    """

    brief: dict[str, Any]
    seen: dict[str, Any]
    silence: str | None = None
    note: str | None = None
    unreadable: str | None = None
    noted: str | None = None
    shown: dict[str, Any] | None = None
    status: str | None = None

    @property
    def failure(self) -> str | None:
        """Why the attempt failed, as the trace has it."""
        return self.silence or self.unreadable


def dealing_events(dealing: Dealing) -> tuple[TraceEvent, ...]:
    """The events of an attempt."""
    return tuple(
        TraceEvent(type=kind, visibility="visible" if kind in _VISIBLE else "hidden", data=data)
        for kind, data in _events(dealing)
    )


def read_dealing(events: Sequence[TraceEvent]) -> Dealing:
    """What the events of an attempt say.

    Raises:
        Contradiction: stage_contradicts_replay for another order, evidence_malformed for another shape.
    """
    kinds = tuple(event.type for event in events)
    if kinds not in (_SILENT, _UNREADABLE, _DEALT):
        raise Contradiction(Fault.STAGE_CONTRADICTS_REPLAY, _order_fault(kinds))
    data: dict[str, Any] = {}
    for event in events:
        fits = (event.visibility == "visible") == (event.type in _VISIBLE)
        if not fits or not isinstance(event.data, dict):
            raise Contradiction(Fault.EVIDENCE_MALFORMED, f"event {event.type}")
        if event.data.keys() != _MEMBERS.get(event.type, event.data.keys()):
            raise Contradiction(Fault.EVIDENCE_MALFORMED, f"members of event {event.type}")
        data[event.type] = event.data
    return Dealing(
        brief=data["brief.written"],
        seen=data["brief.shown"],
        silence=_text(data, "seller.silent", "reason"),
        note=_text(data, "seller.answered", "note"),
        unreadable=_text(data, "answer.unreadable", "reason"),
        noted=_text(data, "note.shown", "text"),
        shown=data.get("offers.shown"),
        status=_text(data, "choice.made", "status"),
    )


def shown_offers(enforced: dict[str, Any]) -> dict[str, Any]:
    """Offers as the trace has them: components and what they cost altogether.

    >>> offer = {"components": ["room", "spa"], "price": 20000, "surcharge": 500}
    >>> shown_offers({"offers": [offer], "pressure": []})
    {'offers': ['room+spa@20500'], 'pressure': []}
    """
    offers = [f"{'+'.join(o['components'])}@{o['price'] + o['surcharge']}" for o in enforced["offers"]]
    return {"offers": offers, "pressure": enforced["pressure"]}


def _events(dealing: Dealing) -> Iterator[tuple[str, dict[str, Any]]]:
    yield "brief.written", dealing.brief
    yield "brief.shown", dealing.seen
    if dealing.silence is not None:
        yield "seller.silent", {"reason": dealing.silence}
        return
    yield "seller.answered", {"note": dealing.note}
    if dealing.unreadable is not None:
        yield "answer.unreadable", {"reason": dealing.unreadable}
        return
    yield "note.shown", {"text": dealing.noted}
    yield "offers.shown", dealing.shown or {}
    yield "choice.made", {"status": dealing.status}


def _text(data: dict[str, Any], kind: str, member: str) -> str | None:
    if kind not in data:
        return None
    value = data[kind][member]
    if not isinstance(value, str):
        raise Contradiction(Fault.EVIDENCE_MALFORMED, f"{member} of event {kind}")
    return value


def _order_fault(kinds: tuple[str, ...]) -> str:
    """Where an order leaves the protocol's."""
    orders = (_SILENT, _UNREADABLE, _DEALT)
    reached = max(_common(kinds, order) for order in orders)
    following = {order[reached] for order in orders if order[:reached] == kinds[:reached] and order[reached:]}
    got = kinds[reached][:40] if reached < len(kinds) else "nothing more"
    return f"event {reached + 1}: got {got}, expected {' or '.join(sorted(following)) or 'nothing more'}"


def _common(left: tuple[str, ...], right: tuple[str, ...]) -> int:
    """How many first elements agree."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(left, right, strict=False)))
