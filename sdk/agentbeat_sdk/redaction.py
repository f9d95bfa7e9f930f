"""Secrets leave a text before the text is stored, and before it is cut (EVD-13).

A `Redactor` knows the secrets that must not appear (the Target's bearer secret above all) and what others
look like (`secret_shapes`). It puts `[redacted]` in the place of each, inside longer texts too.

`clean` is the one way from a text of the Agent to a text of the document: it repairs surrogates, redacts, and
only then cuts. A secret that lies across the cut is seen whole and goes whole; were the text cut first, its
first half would stay.

>>> Redactor(["hunter2-hunter2"]).clean("login with hunter2-hunter2 now", 100)
Cleaned(text='login with [redacted] now', whole=True)
>>> Redactor(["hunter2-hunter2"]).clean("login with hunter2-hunter2 now", 14)
Cleaned(text='login with [re', whole=False)
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import NamedTuple
from urllib.parse import quote, quote_plus

from agentbeat_sdk.secret_shapes import MARK, REACH, is_secret_name, shaped_spans

__all__ = ["MARK", "Cleaned", "Redactor", "repaired"]


class Cleaned(NamedTuple):
    """A text that may be stored, and whether it is all of the original but for what was redacted."""

    text: str
    whole: bool


def repaired(text: str) -> str:
    """`text` as it can be written in UTF-8: surrogate pairs joined, a lone surrogate replaced by U+FFFD."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


class Redactor:
    """Takes secrets out of texts. It holds no state of a run and may be shared by threads.

    Args:
        secrets: texts that must not appear, however short; blank ones are ignored. Each is also looked for as
            it reads inside JSON and inside a URL.

    Raises:
        TypeError: a secret is no `str`.
    """

    __slots__ = ("_literals", "_reach")

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        if isinstance(secrets, str):
            raise TypeError("secrets: got one str, expected an iterable of them")
        literals: set[str] = set()
        for secret in secrets:
            if not isinstance(secret, str):
                raise TypeError(f"a secret: got {type(secret).__name__}, expected str")
            if secret.strip():
                literals.update(_spellings(repaired(secret)))
        self._hold(literals)

    def _hold(self, literals: set[str]) -> None:
        self._literals = tuple(sorted(literals))
        self._reach = max([REACH, *map(len, literals)])

    def __repr__(self) -> str:
        return f"<Redactor of {len(self._literals)} spellings>"

    @property
    def longest(self) -> int:
        """The length of the longest of the secrets, in code points; 0 without any."""
        return max(map(len, self._literals), default=0)

    @property
    def reach(self) -> int:
        """How many code points past a cut are looked at, for a secret that begins before it."""
        return self._reach

    def including(self, secrets: Iterable[str]) -> Redactor:
        """A redactor that also takes out these."""
        more = Redactor(secrets)
        more._hold({*self._literals, *more._literals})
        return more

    def is_secret_name(self, name: str, *, number: bool = False) -> bool:
        """Whether the value of a member called `name` is to be redacted, whatever it is."""
        return is_secret_name(name, number=number)

    def hides_number(self, digits: str) -> bool:
        """Whether one of the secrets is spelt by a number's digits."""
        return any(literal in digits for literal in self._literals)

    def clean(self, text: str, limit: int) -> Cleaned:
        """The first `limit` code points of `text`, redacted, and at most `limit` long."""
        # No more of a long text is looked at than a secret that begins before the cut can need.
        partial = len(text) > limit + self._reach
        window = repaired(text[: limit + self._reach] if partial else text)
        if partial:
            # Joined surrogate pairs shorten the window; its end is still no place to trust.
            limit = max(0, min(limit, len(window) - self._reach))
        whole = len(window) <= limit
        if spans := self.spans(window):
            window = _replaced(window, spans, limit)
            whole = whole and len(window) <= limit
        return Cleaned(window[:limit], whole)

    def spans(self, text: str) -> list[tuple[int, int]]:
        """Where in `text` the secrets stand, in order, overlapping ones joined."""
        found = sorted([*self._literal_spans(text), *shaped_spans(text)])
        joined: list[tuple[int, int]] = []
        for start, end in found:
            if joined and start < joined[-1][1]:
                joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
            else:
                joined.append((start, end))
        return joined

    def _literal_spans(self, text: str) -> Iterator[tuple[int, int]]:
        for literal in self._literals:
            start = text.find(literal)
            while start >= 0:
                yield start, start + len(literal)
                start = text.find(literal, start + 1)


def _spellings(secret: str) -> set[str]:
    """The secret as it is, as it stands between the quotes of JSON, and as it is quoted in a URL."""
    in_json = {json.dumps(secret)[1:-1], json.dumps(secret, ensure_ascii=False)[1:-1]}
    return {secret, quote(secret, safe=""), quote_plus(secret), *in_json}


def _replaced(text: str, spans: list[tuple[int, int]], limit: int) -> str:
    """`text` up to `limit`, each span that begins there replaced by the mark."""
    pieces: list[str] = []
    position = 0
    for start, end in spans:
        if start >= limit:
            break
        pieces += (text[position:start], MARK)
        position = end
    pieces.append(text[position:limit])
    return "".join(pieces)
