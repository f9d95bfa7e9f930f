"""Secrets that Core holds, and keeping them out of everything that it writes.

A `Secret` shows its value to nobody who does not ask for it by name: its `repr`, `str` and format are a
placeholder, it is not pickled, and comparing takes the same time wherever two values differ. A `Redactor`
takes the held secrets out of texts that others wrote: a Target may echo its own bearer secret in its answer,
and the answer goes into a result file.

>>> secret = Secret("a-long-random-value")
>>> f"{secret!r} {secret}"
'Secret(…) Secret(…)'
>>> Redactor([secret]).text("Authorization: Bearer a-long-random-value")
'Authorization: Bearer [redacted]'
"""

from __future__ import annotations

import hmac
import json
import re
from collections.abc import Iterable
from typing import Any, Final, NoReturn
from urllib.parse import quote

__all__ = ["REDACTED", "Redactor", "Secret"]

REDACTED: Final = "[redacted]"

# What a bearer token may look like in a header (RFC 9110, section 5.5): visible ASCII. White space inside
# would end the token, anything else is refused by some servers and re-encoded by others.
_HEADER_SAFE: Final = re.compile(r"[\x21-\x7e]+")


class Secret:
    """A bearer secret or key from the environment."""

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        self._value = value

    def reveal(self) -> str:
        """The value itself: for an Authorization header, and for looking it up in texts to redact."""
        return self._value

    @property
    def fits_a_header(self) -> bool:
        """Whether it can be sent as a bearer token: visible ASCII without white space."""
        return _HEADER_SAFE.fullmatch(self._value) is not None

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Secret):
            return NotImplemented
        return hmac.compare_digest(self._value.encode(), other._value.encode())

    def __hash__(self) -> int:
        return hash(self._value)

    def __repr__(self) -> str:
        return "Secret(…)"

    __str__ = __repr__

    def __reduce__(self) -> NoReturn:
        raise TypeError("a Secret is not pickled")


class Redactor:
    """Replaces held secrets in texts that come from outside.

    Looked for are the value itself and the spellings that JSON and URLs give it. A secret that was encoded in
    another way (base64, reversed) is not recognised.
    """

    def __init__(self, secrets: Iterable[Secret] = ()) -> None:
        spellings = {spelling for secret in secrets for spelling in _spellings(secret.reveal())}
        # The longest first, so that one secret inside another does not leave a rest behind.
        ordered = sorted(spellings, key=len, reverse=True)
        self._pattern = re.compile("|".join(map(re.escape, ordered))) if ordered else None

    def text(self, text: str) -> str:
        """`text` with every held secret replaced by `[redacted]`."""
        return text if self._pattern is None else self._pattern.sub(REDACTED, text)

    def value(self, value: Any) -> Any:
        """A JSON value with the secrets replaced in every string, member names too."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, dict):
            return {self.text(name): self.value(member) for name, member in value.items()}
        if isinstance(value, list | tuple):
            return type(value)(self.value(item) for item in value)
        return value


def _spellings(value: str) -> set[str]:
    if not value:
        return set()
    return {
        value,
        json.dumps(value)[1:-1],
        json.dumps(value, ensure_ascii=False)[1:-1],
        quote(value, safe=""),
    }
