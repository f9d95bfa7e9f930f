"""Every benign change of spec 4: none of them may raise an alarm, alone or beside any fault.

Those on the way respell, repeat, shuffle or add. The others are in how an honest batch is made: a failure
that was retried as declared, a buyer who takes nothing, a loss, nothing to be gained, an allowed difference.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from agentbeat_receipts.deliveries import Delivery
from agentbeat_receipts.domains.market import Enquiry, NoAnswer, Profile, Prompt
from agentbeat_receipts.domains.market.sellers import PolicySeller
from agentbeat_receipts.domains.market.streams import derived_seed
from agentbeat_receipts.objects import Document, TimeAnchor
from agentbeat_receipts.tampering.blocks import stamped
from agentbeat_receipts.tampering.cases import BenignCase
from agentbeat_receipts.tampering.exhibits import Exhibit
from agentbeat_receipts.tampering.makings import GUARDED, HONEST, MENU, Making, make
from agentbeat_receipts.tampering.spellings import Respelling, Spelling, decomposed, escaped

__all__ = ["BENIGN", "LOSING", "REJECTING", "LateSeller", "with_profile"]

#: The run that is retried where one is.
_RETRIED: Final = "p-1.plain.2"

#: Takes nothing, whatever is offered.
REJECTING: Final = Profile(values={"room": 13500, "breakfast": 3000, "spa": 0}, outside=1500, price_cap=5000)
#: Takes what costs the seller more than it is worth to the two of them: W = 15200 - 14000 - 1500 = -300.
LOSING: Final = Profile(values={"room": 12600, "breakfast": 0, "spa": 2600}, outside=1500)
#: No set is worth what it costs and the outside option: W* = 0.
_HOPELESS: Final = Profile(values={"room": 9000, "breakfast": 0, "spa": 6200}, outside=1500)


class LateSeller:
    """Does not answer an assignment in time at first, and then as the menu has it.

    Args:
        assignment: the run that it is asked in.
        silences: in how many attempts it does not answer.
        reason: why not.
    """

    def __init__(self, assignment: str, silences: int = 1, reason: str = "timeout") -> None:
        attempts = (f"attempt {number}" for number in range(1, silences + 1))
        self._silent = frozenset(derived_seed(assignment.encode(), attempt) for attempt in attempts)
        self._reason = reason

    def answer(self, enquiry: Enquiry) -> bytes:
        """The menu's answer, or none."""
        if enquiry.seed in self._silent:
            raise NoAnswer(self._reason)
        return PolicySeller(MENU).answer(enquiry)


def with_profile(making: Making, name: str, profile: Profile) -> Making:
    """The same with another buyer of one name."""
    return replace(making, profiles={**making.profiles, name: profile})


def _retried(making: Making) -> Making:
    return replace(making, sellers={**making.sellers, _RETRIED: LateSeller(_RETRIED)})


def _prompted(making: Making) -> Making:
    prompted = replace(making.promised[GUARDED], prompt=Prompt(prompt="brief", text="Be brief."))
    ran = {
        arm: replace(setting, prompt=prompted.prompt) for arm, setting in making.ran.items() if arm == GUARDED
    }
    return replace(making, promised={**making.promised, GUARDED: prompted}, ran={**making.ran, **ran})


def _stamped_on_the_way(members: dict[str, Any]) -> None:
    members["transport"] = {"sent_at": "2026-03-02T09:00:00Z", "received_at": "2026-03-02T09:00:01.5Z"}


#: Where declared sets stand, by the last part of a document's type.
_SETS: Final[Mapping[str, tuple[str, ...]]] = {
    "manifest.v1+json": ("disclosed", "treatment_flags"),
    "checkpoint.v1+json": ("tickets",),
}


def _sets_turned_round(members: dict[str, Any]) -> None:
    body = members["body"]
    for name in _SETS.get(members["type"].rsplit(".claims.")[-1], ()):
        body[name] = body[name][::-1]
    for arm in body.get("arms", ()):
        arm["treatments"] = arm["treatments"][::-1]
    for group in body.get("comparison_groups", ()):
        group["arms"] = group["arms"][::-1]


def _title_decomposed(members: dict[str, Any]) -> None:
    if "title" in members["body"]:
        members["body"]["title"] = decomposed(members["body"]["title"])


def _without_hint(members: dict[str, Any]) -> None:
    members.pop("key_id", None)


def _shuffled(deliveries: list[Delivery]) -> list[Delivery]:
    return sorted(deliveries, key=lambda delivery: hashlib.sha256(delivery.path.encode()).digest())


def _twice(deliveries: list[Delivery]) -> list[Delivery]:
    return [*deliveries, *(Delivery(f"again/{d.path}", d.content) for d in deliveries)]


def _upgraded(exhibit: Exhibit) -> Exhibit:
    """The proof beside the cited one, completed in the second block."""
    if "beside" not in exhibit.anchors:
        return exhibit
    before = exhibit.anchors["beside"].body
    if not isinstance(before, TimeAnchor):
        return exhibit
    proof, _ = stamped(bytes.fromhex(before.manifest.removeprefix("sha256:")), height=2)
    after = before.model_copy(update={"token": base64.b64encode(proof).decode()})
    return replace(exhibit, anchors={**exhibit.anchors, "beside": Document(body=after)})


#: Another batch by the same parties, whose tickets and receipts lie beside ours.
_ANOTHER: Final = replace(HONEST, manifest={"title": "Another market"})


def _with_others(exhibit: Exhibit) -> Exhibit:
    other = make(_ANOTHER)
    last = other.assignments[-1]
    return exhibit.also(other.tickets[last], other.receipts[last])


BENIGN: Final = (
    BenignCase(
        name="key order",
        done="members stand in the opposite order",
        delivered=Respelling(Spelling(reverse=True)),
    ),
    BenignCase(
        name="white space",
        done="blanks and line feeds between tokens",
        delivered=Respelling(Spelling(comma=" ,\n\t", colon=" : ")),
    ),
    BenignCase(
        name="integral number spelling",
        done="`12` is written `12.0` or `12e0`",
        delivered=Respelling(Spelling(number=lambda n: f"{n}.0" if n % 2 else f"{n}e0")),
    ),
    BenignCase(
        name="-0 and 0",
        done="`0` is written `-0`",
        delivered=Respelling(Spelling(number=lambda n: str(n) if n else "-0")),
    ),
    BenignCase(
        name="escapes",
        done="each `a` is written `\\u0061`",
        delivered=Respelling(Spelling(text=escaped)),
    ),
    BenignCase(
        name="normal form",
        done="text that is declared as NFC arrives in NFD",
        delivered=Respelling(change=_title_decomposed),
    ),
    BenignCase(
        name="set order",
        done="declared sets stand in the opposite order",
        delivered=Respelling(change=_sets_turned_round),
    ),
    BenignCase(
        name="key hint absent",
        done="no document names the key that signed it",
        delivered=Respelling(change=_without_hint),
    ),
    BenignCase(
        name="transport timestamps",
        done="each document says when it was sent and received",
        delivered=Respelling(change=_stamped_on_the_way),
    ),
    BenignCase(name="repeated delivery", done="each file arrives twice", delivered=_twice),
    BenignCase(name="shuffled deliveries", done="files arrive in another order", delivered=_shuffled),
    BenignCase(
        name="pending proof upgraded",
        done="a time anchor that no ticket cites is completed",
        beside=_upgraded,
    ),
    BenignCase(
        name="receipts of another manifest",
        done="a ticket and a receipt of another batch lie beside ours",
        beside=_with_others,
    ),
    BenignCase(
        name="retained, declared retry",
        done="a run timed out, was retried as declared, and lists both attempts",
        making=_retried,
    ),
    BenignCase(
        name="rejected terminals",
        done="a buyer takes nothing in any run; all values are 0",
        making=lambda making: with_profile(making, "p-2", REJECTING),
    ),
    BenignCase(
        name="negative welfare",
        done="a deal costs more than it is worth, and W is told as it is, below 0",
        making=lambda making: with_profile(making, "p-3", LOSING),
    ),
    BenignCase(
        name="typed null",
        done="W* is 0, so that first best is a null with its reason",
        making=lambda making: with_profile(making, "p-4", _HOPELESS),
    ),
    BenignCase(
        name="allowed field differs",
        done="one arm has another prompt, as its comparison group allows",
        making=_prompted,
    ),
)
