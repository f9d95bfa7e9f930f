"""The canonical bytes that one opening's commitments are over, each part of it written once.

    opening   the whole body without its nonce
    trace     events and treatments of each attempt
    offers    offers of each attempt
    outcome   how the last attempt ended, and the reported scalars
    body      the whole body with its nonce: what is digested, and delivered inside the document

The parts stand inside the whole, and canonical JSON writes a value in one way wherever it stands. So each
member is written once and the five are put together from the pieces.

>>> whole = {"attempts": [{"choice": None, "events": [], "failure": None, "offers": [7], "status": "accepted",
...     "treatments": []}], "nonce": "AA==", "reported": {}}
>>> contents = Contents.of(whole)
>>> contents.trace, contents.offers
(b'[[[],[]]]', b'[[7]]')
>>> contents.outcome
b'{"choice":null,"failure":null,"reported":{},"status":"accepted"}'
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Self

from agentbeat_receipts.canonical import spelled
from agentbeat_receipts.commitments import Tag, commit

__all__ = ["Contents"]


@dataclass(frozen=True, slots=True)
class Contents:
    """What is committed to, in canonical bytes (see above)."""

    opening: bytes
    trace: bytes
    offers: bytes
    outcome: bytes
    body: bytes

    @classmethod
    def of(cls, whole: Mapping[str, Any]) -> Self:
        """The contents of an opening's body as JSON values.

        Args:
            whole: all members, the nonce among them; exact, because they were read or checked.

        Raises:
            CanonicalError: C-SURROGATE.
        """
        attempts = [_members(attempt) for attempt in whole["attempts"]]
        members = _members(whole, but="attempts")
        members["attempts"] = _array(_object(attempt) for attempt in attempts)
        last = attempts[-1]
        ended = {name: last[name] for name in ("choice", "failure", "status")}
        return cls(
            opening=_object({name: raw for name, raw in members.items() if name != "nonce"}),
            trace=_array(_array((attempt["events"], attempt["treatments"])) for attempt in attempts),
            offers=_array(attempt["offers"] for attempt in attempts),
            outcome=_object({**ended, "reported": members["reported"]}),
            body=_object(members),
        )

    def under(self, tag: Tag) -> bytes:
        """The bytes that the commitment of this tag is over.

        Raises:
            ValueError: the tag is no commitment of a receipt.
        """
        match tag:
            case Tag.OPENING:
                return self.opening
            case Tag.TRACE:
                return self.trace
            case Tag.OFFERS:
                return self.offers
            case Tag.OUTCOME:
                return self.outcome
        raise ValueError(f"{tag} is no commitment of a receipt")

    def commitment(self, nonce: bytes, tag: Tag) -> str:
        """The commitment of this tag under the opening's nonce, or the ValueError of `commit`."""
        return commit(nonce, tag, self.under(tag))


def _members(value: Mapping[str, Any], *, but: str = "") -> dict[str, bytes]:
    return {name: _written(member) for name, member in value.items() if name != but}


def _written(value: Any) -> bytes:
    # An encoder is set up for every call: half of the members are not worth it.
    if value is None:
        return b"null"
    return b"%d" % value if type(value) is int else spelled(value)


def _object(members: Mapping[str, bytes]) -> bytes:
    """The object of these members. Their names are ours: ASCII, and nothing to escape."""
    return b"{%b}" % b",".join(b'"%b":%b' % (name.encode(), members[name]) for name in sorted(members))


def _array(items: Iterable[bytes]) -> bytes:
    return b"[%b]" % b",".join(items)
