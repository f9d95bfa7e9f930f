"""Which tool calls are open, and under which ids (EVD-7).

A call id stands in the document once. A model may give the same id twice, an id too long, or one that holds
a secret; so the id in the document can differ from the id that was given. A result finds its call by either.

>>> book = CallBook(longest=256)
>>> book.claim("", ""), book.claim("a", "a"), book.claim("a", "a")
('call-1', 'a', 'a~2')
"""

from __future__ import annotations

import hashlib
from collections import deque
from dataclasses import dataclass

from agentbeat_sdk.drafts import joined

__all__ = ["CallBook", "OpenCall"]


@dataclass(frozen=True, slots=True)
class OpenCall:
    """A recorded call that waits for its result; id and name are JSON text."""

    call_id: str
    name: str

    @property
    def entry(self) -> str:
        """The call as `tool.unfinished` lists it."""
        return joined({"call_id": self.call_id, "name": self.name})

    @property
    def held(self) -> int:
        """Bytes that the entry may cost, with its comma."""
        return len(self.entry.encode()) + 1


class CallBook:
    """The calls of one run. It is not safe for threads by itself: the recorder holds a lock.

    Args:
        longest: code points of the longest call id.
    """

    def __init__(self, *, longest: int) -> None:
        self._longest = longest
        self._count = 0
        self._taken: set[str] = set()
        self._repeats: dict[str, int] = {}
        self._open: dict[str, OpenCall] = {}
        self._recorded_as: dict[str, deque[str]] = {}

    def claim(self, given: str, cleaned: str) -> str:
        """An id that no other call has: the given one as it may be shown, if it is free.

        Args:
            given: the Agent's id for the call; an empty one lets the book choose.
            cleaned: that id, redacted and at most `longest` long.
        """
        if not given or not cleaned:
            return self._numbered()
        call_id = cleaned
        while call_id in self._taken:
            self._repeats[cleaned] = self._repeats.get(cleaned, 1) + 1
            suffix = f"~{self._repeats[cleaned]}"
            call_id = cleaned[: self._longest - len(suffix)] + suffix
        self._taken.add(call_id)
        return call_id

    def _numbered(self) -> str:
        while True:
            self._count += 1
            call_id = f"call-{self._count}"
            if call_id not in self._taken:
                self._taken.add(call_id)
                return call_id

    def spare(self) -> str:
        """An id for a call that is not in the document."""
        self._count += 1
        return f"unrecorded-{self._count}"

    def open(self, given: str, call_id: str, call: OpenCall) -> None:
        """The call is in the document."""
        self._open[call_id] = call
        if given and given != call_id:
            self._recorded_as.setdefault(_key(given), deque()).append(call_id)

    def answer(self, call_id: str) -> OpenCall | None:
        """The open call with this id, recorded or given, the oldest first; it is open no more."""
        if call_id in self._open:
            return self._open.pop(call_id)
        candidates = self._recorded_as.get(_key(call_id), deque())
        while candidates:
            call = self._open.pop(candidates.popleft(), None)
            if call is not None:
                return call
        return None

    def unanswered(self) -> list[OpenCall]:
        """The calls that wait for their result, in the order in which they were made."""
        return list(self._open.values())


def _key(given: str) -> str:
    """`given`, or its digest where it is long: an id is kept as long as its run."""
    return given if len(given) <= 256 else hashlib.sha256(given.encode("utf-8", "surrogatepass")).hexdigest()
