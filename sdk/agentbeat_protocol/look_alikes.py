"""Letters that pass for ASCII letters (spec 1, "Runtime overrides"). The tables are ours.

A look-alike counts when a reader who expects an ASCII word may read it as that letter in some common type
face. The tables are grouped by the letter that is passed for, so that a gap is easy to see, and hold code
points as escapes, because printed they would look like their group's name.

Letters of any script that NFKC turns into ASCII (full-width, mathematical, circled …) need no entry, nor do
letters with accents, strokes, hooks or tails: `confusables.fold` looks through those.

>>> LOOK_ALIKES["\\u043e"], LOOK_ALIKES["\\u0397"]
('o', 'H')
"""

from __future__ import annotations

from types import MappingProxyType
from typing import Final

__all__ = ["BEFORE_NFKC", "LOOK_ALIKES", "SECOND_READINGS"]

_CYRILLIC: Final = {
    "A": "\u0410",
    "B": "\u0411\u0412",
    "C": "\u0421",
    "D": "\u0500",
    "E": "\u0404\u0415",
    "G": "\u050c",
    "H": "\u041d\u04ba",
    "I": "\u0406\ua646",
    "J": "\u0408",
    "K": "\u041a",
    "M": "\u041c",
    "N": "\u0418",
    "O": "\u041e\u0472",
    "P": "\u0420",
    "Q": "\u051a",
    "R": "\u042f",
    "S": "\u0405",
    "T": "\u0422",
    "U": "\u0426",
    "V": "\u0474",
    "W": "\u0428\u0429\u0460\u051c",
    "X": "\u0425",
    "Y": "\u0423\u04ae",
    "a": "\u0430",
    "b": "\u042c\u0431\u0432\u044c\u1c80",
    "c": "\u0441\u1c83",
    "d": "\u0501",
    "e": "\u0435\u0454\u04bd",
    "g": "\u050d",
    "h": "\u043d\u04bb",
    "i": "\u0456\ua647",
    "j": "\u0458",
    "k": "\u043a",
    "l": "\u04c0\u04cf",
    "m": "\u043c",
    "n": "\u0438\u043f",
    "o": "\u043e\u0473\u1c82",
    "p": "\u0440",
    "q": "\u051b",
    "r": "\u0433\u044f",
    "s": "\u0455",
    "t": "\u0442\u1c84\u1c85",
    "u": "\u0446",
    "v": "\u0475",
    "w": "\u0448\u0449\u0461\u051d",
    "x": "\u0445",
    "y": "\u0443\u04af",
}

_GREEK: Final = {
    "A": "\u0391\u039b",
    "B": "\u0392",
    "E": "\u0395\u039e\u03a3",
    "F": "\u03dc",
    "H": "\u0397",
    "I": "\u0399",
    "J": "\u037f",
    "K": "\u039a",
    "M": "\u039c\u03fa",
    "N": "\u039d",
    "O": "\u0398\u039f",
    "P": "\u03a1",
    "T": "\u03a4",
    "X": "\u03a7",
    "Y": "\u03a5",
    "Z": "\u0396",
    "a": "\u03b1",
    "b": "\u03b2",
    "c": "\u03c2",
    "d": "\u03b4",
    "e": "\u03b5",
    "f": "\u03dd",
    "i": "\u03b9",
    "j": "\u03f3",
    "k": "\u03ba",
    "m": "\u03fb",
    "n": "\u03b7\u03c0",
    "o": "\u03b8\u03bf\u03c3",
    "p": "\u03c1",
    "t": "\u03c4",
    "u": "\u03bc\u03c5",
    "v": "\u03bd",
    "w": "\u03c9",
    "x": "\u03c7",
    "y": "\u03b3",
    "z": "\u03b6",
}

# Latin letters whose name does not say "letter X with …" or "small capital X"; those, `fold` reads by name.
_LATIN: Final = {
    "A": "\u2c6d",
    "B": "\ua7b4",
    "F": "\ua798",
    "G": "\ua7ac",
    "J": "\ua7b2",
    "N": "\u014a",
    "OO": "\ua74e",
    "R": "\u01a6",
    "S": "\u01bc",
    "X": "\ua7b3",
    "a": "\u0251",
    "b": "\u0184\u0185",
    "e": "\u025b\uab32",
    "f": "\ua799\uab35",
    "g": "\u018d\u0261",
    "i": "\u0131\u0269",
    "j": "\u0237",
    "k": "\u0138",
    "l": "\u0196\u01c0",
    "n": "\u014b",
    "o": "\u1d11\uab3d",
    "oo": "\ua74f",
    "r": "\uab47\uab48",
    "s": "\u01bd",
    "u": "\u028a\ua79f",
    "w": "\u026f",
    "y": "\u0263",
}

# Scripts with many letters of Latin shape in common fonts: Armenian, Cherokee, Coptic, Lisu.
_OTHERS: Final = {
    "A": "\u13aa\u2c80\ua4ee",
    "B": "\u13f4\u2c82\ua4d0",
    "C": "\u13df\u2ca4\ua4da",
    "D": "\u13a0\ua4d3",
    "E": "\u13ac\u2c88\ua4f0",
    "F": "\ua4dd",
    "G": "\u13c0\u13f3\ua4d6",
    "H": "\u13bb\u2c8e\ua4e7",
    "I": "\u2c92\ua4f2",
    "J": "\u13ab\ua4d9",
    "K": "\u13e6\u2c94\ua4d7",
    "L": "\u053c\u13de\u2cd0\ua4e1",
    "M": "\u13b7\u2c98\ua4df",
    "N": "\u2c9a\ua4e0",
    "O": "\u0555\u2c9e\ua4f3",
    "P": "\u13e2\u2ca2\ua4d1",
    "R": "\u13a1\u13d2\ua4e3",
    "S": "\u054f\u13d5\u13da\ua4e2",
    "T": "\u13a2\u2ca6\ua4d4",
    "U": "\u054d\ua4f4",
    "V": "\u13d9\ua4e6",
    "W": "\u13b3\u13d4\ua4ea",
    "X": "\u2cac\ua4eb",
    "Y": "\u13bd\u2ca8\ua4ec",
    "Z": "\u13c3\ua4dc",
    "a": "\u2c81",
    "b": "\u13cf",
    "c": "\u2ca5",
    "d": "\u13e7\ua4d2",
    "e": "\u2c89",
    "f": "\u0584",
    "g": "\u0581",
    "h": "\u0570\u13c2",
    "i": "\u13a5\u2c93",
    "j": "\u0575",
    "k": "\u2c95",
    "m": "\u2c99",
    "n": "\u0578\u057c\u2c9b",
    "o": "\u0585\u2c9f",
    "p": "\u2ca3",
    "q": "\u0563\u0566",
    "r": "\u2c85",
    "t": "\u2ca7",
    "u": "\u057d",
    "w": "\u0561",
    "x": "\u2cad",
    "y": "\u13a9\u2ca9",
}

#: After NFKC: each look-alike, and the ASCII that it passes for in the same letter case.
LOOK_ALIKES: Final = MappingProxyType(
    {
        twin: letter
        for table in (_CYRILLIC, _GREEK, _LATIN, _OTHERS)
        for letter, twins in table.items()
        for twin in twins
    }
    # Cherokee small letters are the capitals' shapes, smaller.
    | {
        twin.lower(): letter.lower()
        for letter, twins in _OTHERS.items()
        for twin in twins
        if "\u13a0" <= twin <= "\u13f4"
    }
)

#: Letters that pass for two ASCII letters, after NFKC: what they stand for beside what `fold` says.
SECOND_READINGS: Final = MappingProxyType(
    {
        "\u03a3": "S",  # Greek Sigma, else E
        "\u03b7": "h",  # Greek eta, else n
        "\u03bc": "m",  # Greek mu, else u
        "\u03bd": "n",  # Greek nu, else v
        "\u03c2": "s",  # Greek final sigma, else c
        "\u03c3": "s",  # Greek sigma, else o
        "\u03c5": "y",  # Greek upsilon, else u
        "\u0438": "u",  # Cyrillic i, else n
        "\u043d": "n",  # Cyrillic en, else h
        "\u04c0": "I",  # Cyrillic palochka, else l
        "\u04cf": "i",
    }
)

#: For `str.translate` before NFKC: what NFKC would keep, turn into `(a)`, or into a letter of another shape.
BEFORE_NFKC: Final = MappingProxyType(
    {
        first + offset: chr(ord("A") + offset)
        for first in (
            0x249C,  # parenthesized, small
            0x1F110,  # parenthesized, capital
            0x1F150,  # negative circled
            0x1F170,  # negative squared
            0x1F1E6,  # regional indicators
        )
        for offset in range(26)
    }
    | {0x03F2: "c", 0x03F9: "C"}  # Greek lunate sigma
)
