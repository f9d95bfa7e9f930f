"""The tables behind the runtime overrides: what passes for ASCII letters, and what does not show."""

from __future__ import annotations

import re
import sys
import unicodedata

import pytest

from agentbeat_protocol.confusables import fold, is_ignorable
from agentbeat_protocol.look_alikes import BEFORE_NFKC, LOOK_ALIKES, SECOND_READINGS


def test_a_look_alike_passes_for_ascii_letters_of_its_own_case() -> None:
    for twin, letter in LOOK_ALIKES.items():
        assert not twin.isascii(), ascii(twin)
        assert re.fullmatch("[A-Za-z]{1,2}", letter)
        assert unicodedata.category(twin).startswith("L"), ascii(twin)
        assert fold(twin) == letter


@pytest.mark.parametrize(
    "letters",
    ["\u0430\u0435\u043e\u0440\u0441\u0443\u0445\u0456\u0455\u0458", "\u03b1\u03b9\u03ba\u03bf\u03c1\u03c4"],
    ids=["Cyrillic", "Greek"],
)
def test_the_letters_that_nobody_can_tell_apart_are_in_the_tables(letters: str) -> None:
    assert all(letter in LOOK_ALIKES for letter in letters + letters.upper())


def test_no_look_alike_is_lost_to_nfkc() -> None:
    """An entry that NFKC turns into something else would never be looked up."""
    for twin in [*LOOK_ALIKES, *SECOND_READINGS]:
        assert unicodedata.normalize("NFKC", twin) == twin, ascii(twin)


def test_second_readings_differ_from_the_first() -> None:
    for twin, letter in SECOND_READINGS.items():
        assert LOOK_ALIKES[twin] != letter


def test_enclosed_letters_are_named_for_the_letter_that_they_enclose() -> None:
    for code_point, letter in BEFORE_NFKC.items():
        assert unicodedata.name(chr(code_point)).split()[-1] in (letter.upper(), "SYMBOL")


def test_ordinary_letters_of_other_scripts_fold_to_themselves() -> None:
    for character in "\u0436\u043b\u03bb\u05d0\u0627\u6a21\uac00\u00df\u00e6":
        assert fold(character) == character


def test_ascii_never_folds() -> None:
    assert all(fold(chr(code)) == chr(code) for code in range(128))


def test_white_space_separates_and_is_never_ignorable() -> None:
    spaces = [chr(code) for code in range(sys.maxunicode + 1) if chr(code).isspace()]
    assert len(spaces) > 20
    assert not any(map(is_ignorable, spaces))


def test_every_format_character_is_ignorable() -> None:
    formats = [chr(code) for code in range(sys.maxunicode + 1) if unicodedata.category(chr(code)) == "Cf"]
    assert len(formats) > 100
    assert all(map(is_ignorable, formats))
