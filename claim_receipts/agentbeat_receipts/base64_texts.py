"""Whether a text is base64 in its one spelling, without decoding it.

Standard alphabet, padding to four characters, and no bit set that stands for nothing: so two different texts
never stand for the same bytes, and an object has one canonical body.

>>> is_base64("AA=="), is_base64("AB=="), is_base64("AA"), is_base64("")
(True, False, False, True)
"""

from __future__ import annotations

from typing import Final

__all__ = ["is_base64"]

_ALPHABET: Final = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"

#: By padding: the characters that may stand before it, those whose spare bits are zero.
_LAST: Final = {b"==": _ALPHABET[::16], b"=": _ALPHABET[::4]}


def is_base64(text: str) -> bool:
    """Whether decoding `text` and encoding the bytes gives `text` again."""
    if len(text) % 4 or not text.isascii():
        return False
    raw = text.encode()
    padding = raw.translate(None, _ALPHABET)
    if not padding:
        return True
    last = _LAST.get(padding)
    return last is not None and raw.endswith(padding) and raw[-len(padding) - 1] in last
