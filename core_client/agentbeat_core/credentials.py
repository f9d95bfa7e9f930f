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
import re
from collections.abc import Iterable, Iterator
from typing import Any, Final, NoReturn

__all__ = ["REDACTED", "Redactor", "Secret"]

REDACTED: Final = "[redacted]"

# What a bearer token may look like in a header (RFC 9110, section 5.5): visible ASCII. White space inside
# would end the token, anything else is refused by some servers and re-encoded by others.
_HEADER_SAFE: Final = re.compile(r"[\x21-\x7e]+")

#: How many characters of a secret tell it from chance, and how many excerpts of one error are looked at.
_LEAST_BEGINNING: Final = 4
_MOST_CUTS: Final = 16
_LONGEST_SPELLED: Final = 2_048
# As many as JSON in JSON in JSON has. Without a bound a text of backslashes would take its length squared.
_BACKSLASHES: Final = r"\\\\{0,6}"
_JSON_ESCAPES: Final = {
    '"': '"', "\\": r"\\", "/": "/", "\b": "b", "\f": "f", "\n": "n", "\r": "r", "\t": "t"
}  # fmt: skip


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

    A secret is found as it is, and with characters spelled as JSON or a URL may spell them: `\\u002F`, `\\/`,
    `%2f`; also in JSON that stands as text in other JSON. One that was encoded in another way (base64,
    reversed) is not recognised.
    """

    def __init__(self, secrets: Iterable[Secret] = ()) -> None:
        values = {secret.reveal() for secret in secrets} - {""}
        # The longest first, so that one secret inside another does not leave a rest behind.
        self._values = sorted(values, key=len, reverse=True)
        self._pattern = re.compile("|".join(map(_all_spellings, self._values))) if values else None

    def text(self, text: str) -> str:
        """`text` with every held secret replaced by `[redacted]`."""
        return text if self._pattern is None else self._pattern.sub(REDACTED, text)

    def excerpt(self, text: str) -> str:
        """`text` of an error, also without the beginning of a secret that an excerpt in it was cut in."""
        *cut, rest = self.text(text).split("…", _MOST_CUTS)
        return "…".join([*map(self._without_beginning, cut), rest])

    def _without_beginning(self, text: str) -> str:
        for value in self._values:
            for length in range(len(value) - 1, _LEAST_BEGINNING - 1, -1):
                if text.endswith(value[:length]):
                    return text[:-length] + REDACTED
        return text

    def value(self, value: Any) -> Any:
        """A JSON value with the secrets replaced in every string, member names too."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, dict):
            return {self.text(name): self.value(member) for name, member in value.items()}
        if isinstance(value, list | tuple):
            return type(value)(self.value(item) for item in value)
        return value


def _all_spellings(value: str) -> str:
    """A pattern of all spellings of a secret; of one that is too long for any header, of the plain one."""
    if len(value) > _LONGEST_SPELLED:
        return re.escape(value)
    rest = "".join(f"(?:{'|'.join(_spellings(character))})" for character in value[1:])
    # The first characters stand side by side: then the search skips to where one of them is.
    return "|".join(first + rest for first in _spellings(value[0]))


def _spellings(character: str) -> Iterator[str]:
    """Patterns of the spellings of one character."""
    yield re.escape(character)
    yield "".join(f"{_BACKSLASHES}u{unit}" for unit in _hex(character, "utf-16-be", 4))
    if character in _JSON_ESCAPES:
        yield _BACKSLASHES + _JSON_ESCAPES[character]
    yield "".join(f"%{unit}" for unit in _hex(character, "utf-8", 2))


def _hex(character: str, encoding: str, digits: int) -> list[str]:
    """The units of a character as patterns of hex digits in either case."""
    text = character.encode(encoding, "surrogatepass").hex()
    either = [digit if digit.isdigit() else f"[{digit}{digit.upper()}]" for digit in text]
    return ["".join(either[at : at + digits]) for at in range(0, len(either), digits)]
