"""Secrets in a text that is streamed in pieces (EVD-13).

A model's text comes a few characters at a time, so a secret rarely stands in one piece: `sk-`, `abc`, `123`.
A `DeltaStream` looks at each piece together with the ones before it. When the last piece shows that they
belonged to a secret, they are hidden afterwards; what has been hidden once stays hidden. An older piece never
grows: the mark stands in the newest piece, and `*` stands where a whole older piece is gone.

>>> stream = DeltaStream(Redactor(), limit=100)
>>> pieces = [stream.feed(text) for text in ("use ", "sk-", "abc123", " now")]
>>> [piece.shown for piece in pieces]
['use ', '*', '[redacted]', ' now']
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from agentbeat_sdk.bounded import encoded
from agentbeat_sdk.redaction import MARK, Redactor, repaired
from agentbeat_sdk.secret_shapes import REACH

__all__ = ["DeltaStream", "Piece"]

#: How much text before a new piece is looked at when no secret has been recognised in it yet.
_CONTEXT = 256


@dataclass(slots=True, eq=False)
class Piece:
    """One piece of a stream: what came, what is shown of it, which parts are hidden, and its event.

    `event` is the index of the piece's event, or None while it has none; `members` are that event's data.
    """

    text: str
    shown: str = ""
    hidden: list[tuple[int, int]] = field(default_factory=list)
    event: int | None = None
    members: dict[str, str] = field(default_factory=dict)

    def hide(self, start: int, end: int) -> bool:
        """Hide this part, clipped to the piece, from now on; whether that was new."""
        start, end = max(start, 0), min(end, len(self.text))
        if start >= end or any(first <= start and end <= last for first, last in self.hidden):
            return False
        touching = [(first, last) for first, last in self.hidden if first < end and start < last]
        others = [part for part in self.hidden if part not in touching]
        merged = (min([start, *(a for a, _ in touching)]), max([end, *(b for _, b in touching)]))
        self.hidden = sorted([*others, merged])
        return True

    def rendered(self, mark: str) -> str:
        """The text with `mark` for each hidden part."""
        out: list[str] = []
        position = 0
        for start, end in self.hidden:
            out += (self.text[position:start], mark)
            position = end
        return "".join([*out, self.text[position:]]) or "*"


class DeltaStream:
    """The pieces of one role's streamed text, as far back as a secret may reach.

    Args:
        limit: the longest piece that is shown, in code points.
    """

    def __init__(self, redactor: Redactor, *, limit: int) -> None:
        self._redactor = redactor
        self._limit = limit
        self._context = max(_CONTEXT, redactor.longest)
        self._pieces: deque[Piece] = deque()
        #: Older pieces whose `shown` the last `feed` has changed.
        self.changed: list[Piece] = []

    def feed(self, text: str) -> Piece:
        """The next piece, not empty; afterwards `changed` holds the older ones that show less than before."""
        self.changed = []
        if len(text) > self._limit:
            # What is cut off is not in the document, so the next piece does not follow on it.
            self._pieces.clear()
            return Piece(text, self._redactor.clean(text, self._limit).text)
        newest = Piece(repaired(text))
        self._pieces.append(newest)
        spans = self._redactor.spans("".join(piece.text for piece in self._pieces))
        position = 0
        for piece in self._pieces:
            fresh = [piece.hide(start - position, end - position) for start, end in spans]
            if piece is not newest and any(fresh):
                self._show_less(piece)
            position += len(piece.text)
        newest.shown = newest.rendered(MARK)
        if len(newest.shown) > self._limit:
            newest.shown = newest.rendered("")
        self._forget(position, spans[-1] if spans else None)
        return newest

    def _show_less(self, piece: Piece) -> None:
        shown = piece.rendered(MARK)
        if len(encoded(shown).encode()) > len(encoded(piece.shown).encode()):
            shown = piece.rendered("")
        if shown != piece.shown:
            piece.shown = shown
            self.changed.append(piece)

    def _forget(self, length: int, last: tuple[int, int] | None) -> None:
        """Drop the pieces that no secret can reach back to; one that may still go on is held whole."""
        keep = self._context
        if last is not None and last[1] == length:
            keep = max(keep, min(length - last[0] + self._context, REACH))
        while length - len(self._pieces[0].text) >= keep:
            length -= len(self._pieces.popleft().text)
