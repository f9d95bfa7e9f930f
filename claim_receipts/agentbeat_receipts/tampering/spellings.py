"""One JSON value, spelled in other ways that a strict reader takes for the same.

What cannot be read as exact JSON is left as it is, so that respelling never mends a fault.

>>> Spelling(reverse=True, number=lambda value: f"{value}.0").write({"a": 1, "b": [0]})
'{"b":[0.0],"a":1.0}'
>>> Spelling(text=escaped).write({"café": "a"})
'{"c\\\\u0061fé":"\\\\u0061"}'
"""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from agentbeat_protocol import ProtocolError
from agentbeat_receipts.canonical import read_exact
from agentbeat_receipts.deliveries import Delivery

__all__ = ["Respelling", "Spelling", "decomposed", "escaped"]


def _plain(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def escaped(text: str) -> str:
    """A text with every `a` escaped."""
    return _plain(text).replace("a", "\\u0061")


def decomposed(value: Any) -> Any:
    """A text in normal form D; whatever else as it is."""
    return unicodedata.normalize("NFD", value) if isinstance(value, str) else value


@dataclass(frozen=True, kw_only=True)
class Spelling:
    """A way to write JSON. As it stands, without white space and in the order that is given.

    Args:
        comma, colon: with white space or without.
        reverse: whether members come in the opposite order.
        number: how an integer is written.
        text: how a text or member name is written.
    """

    comma: str = ","
    colon: str = ":"
    reverse: bool = False
    number: Callable[[int], str] = str
    text: Callable[[str], str] = _plain

    def write(self, value: Any) -> str:
        """The text of a value."""
        if isinstance(value, dict):
            items = reversed(value.items()) if self.reverse else value.items()
            members = (f"{self.text(name)}{self.colon}{self.write(member)}" for name, member in items)
            return "{" + self.comma.join(members) + "}"
        if isinstance(value, list):
            return "[" + self.comma.join(map(self.write, value)) + "]"
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, int) and not isinstance(value, bool):
            return self.number(value)
        return json.dumps(value)


class Respelling:
    """Writes every document that can be read in another way; each once, however often it is delivered.

    Args:
        spelling: the way.
        change: something that is done to the document's members first.
    """

    def __init__(
        self, spelling: Spelling | None = None, change: Callable[[dict[str, Any]], object] | None = None
    ) -> None:
        self._spelling = spelling or Spelling()
        self._change = change
        self._written = lru_cache(maxsize=1024)(self.write)

    def __call__(self, deliveries: list[Delivery]) -> list[Delivery]:
        """The same deliveries, written in this way."""
        return [Delivery(delivery.path, self._written(delivery.content)) for delivery in deliveries]

    def write(self, content: bytes) -> bytes:
        """One document."""
        try:
            value = read_exact(content)
        except ProtocolError:
            return content
        if not isinstance(value, dict):
            return content
        if self._change is not None:
            self._change(value)
        return self._spelling.write(value).encode()
