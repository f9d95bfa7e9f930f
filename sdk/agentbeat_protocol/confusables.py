"""What a character passes for: ASCII letters behind look-alikes, and code points that do not show.

Used for the names of metadata members (spec 1, "Runtime overrides"). Text goes through
`str.translate(BEFORE_NFKC)` and NFKC first.

>>> "".join(map(fold, "m\\u043ed\\u0435\\u0142"))
'model'
>>> is_ignorable("\\u200b"), is_ignorable(" ")
(True, False)
"""

from __future__ import annotations

import re
import unicodedata
from typing import Final

from agentbeat_protocol.look_alikes import LOOK_ALIKES

__all__ = ["fold", "is_ignorable"]

#: Default_Ignorable_Code_Point of the Unicode Character Database (DerivedCoreProperties.txt, version 16.0):
#: first and last code points. Reserved ones are in it, so that a later assignment changes nothing.
_DEFAULT_IGNORABLE: Final = (
    (0x00AD, 0x00AD),  # soft hyphen
    (0x034F, 0x034F),  # combining grapheme joiner
    (0x061C, 0x061C),  # Arabic letter mark
    (0x115F, 0x1160),  # Hangul fillers
    (0x17B4, 0x17B5),  # Khmer inherent vowels
    (0x180B, 0x180F),  # Mongolian variation selectors and vowel separator
    (0x200B, 0x200F),  # zero-width space, joiners, direction marks
    (0x202A, 0x202E),  # direction embeddings and overrides
    (0x2060, 0x206F),  # word joiner, invisible operators, direction isolates, deprecated format controls
    (0x3164, 0x3164),  # Hangul filler
    (0xFE00, 0xFE0F),  # variation selectors
    (0xFEFF, 0xFEFF),  # zero-width no-break space
    (0xFFA0, 0xFFA0),  # half-width Hangul filler
    (0xFFF0, 0xFFF8),  # reserved
    (0x1BCA0, 0x1BCA3),  # shorthand format controls
    (0x1D173, 0x1D17A),  # musical format controls
    (0xE0000, 0xE0FFF),  # tags, variation selectors supplement, reserved
)

_IGNORABLE = re.compile(
    "[" + "".join(f"{chr(first)}-{chr(last)}" for first, last in _DEFAULT_IGNORABLE) + "]"
)
_NAMED_LATIN = re.compile(r"LATIN (CAPITAL|SMALL) LETTER ([A-Z])|LATIN LETTER SMALL CAPITAL ([A-Z])")


def is_ignorable(character: str) -> bool:
    """Whether a code point may leave no trace when text is shown or cleaned.

    That is Unicode's Default_Ignorable_Code_Point and, beyond it, every control that is no white space, every
    format character and every code point that is not assigned to a character.
    """
    if _IGNORABLE.match(character):
        return True
    return unicodedata.category(character).startswith("C") and not character.isspace()


def fold(character: str) -> str:
    """The ASCII that a character passes for, in its letter case; the character when it passes for none.

    Combining marks fold to nothing, and a letter with a mark, stroke, hook or tail to the bare letter.
    """
    if character.isascii():
        return character
    if _is_mark(character):
        return ""
    # A precomposed letter is its base. Hangul syllables are taken apart too, but not into marks.
    decomposed = unicodedata.normalize("NFD", character)
    if len(decomposed) > 1 and all(map(_is_mark, decomposed[1:])):
        character = decomposed[0]
    # Strokes, hooks and tails are no marks to Unicode; only the name tells that they are there.
    name, detailed, _ = unicodedata.name(character, "").partition(" WITH ")
    if character in LOOK_ALIKES:
        return LOOK_ALIKES[character]
    latin = _NAMED_LATIN.fullmatch(name)
    if latin:
        return latin[2] if latin[1] == "CAPITAL" else (latin[2] or latin[3]).lower()
    return LOOK_ALIKES.get(_named(name), character) if detailed else character


def _is_mark(character: str) -> bool:
    return unicodedata.category(character).startswith("M")


def _named(name: str) -> str:
    try:
        return unicodedata.lookup(name)
    except KeyError:
        return ""
