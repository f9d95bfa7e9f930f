"""Canonical bytes and digests: every line of the case file, and what holds for all values."""

from __future__ import annotations

import base64
import enum
import hashlib
import json
import math
import struct
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentbeat_protocol.canonical import canonical_json, digest, digest_bytes, digest_text, is_digest
from agentbeat_protocol.errors import CanonicalError, JSONError, ProtocolError
from agentbeat_protocol.strict_json import MAX_DEPTH, read_json
from support import cases
from support.json_values import json_texts, json_values

CASES = cases.load("jcs_cases.jsonl")


def of_kind(kind: str) -> list[dict[str, Any]]:
    """The lines of one kind; lines without a kind are told apart by what they expect."""
    return [case for case in CASES if case.get("kind", case.get("expect")) == kind]


def input_of(case: dict[str, Any]) -> bytes:
    return base64.b64decode(case["input_b64"]) if "input_b64" in case else case["input"].encode()


def refusal(value: Any, **options: int) -> CanonicalError:
    with pytest.raises(CanonicalError) as caught:
        canonical_json(value, **options)
    return caught.value


def test_every_line_of_the_case_file_has_a_test() -> None:
    """The four kinds below are all there are."""
    kinds = [of_kind(kind) for kind in ("bytes", "reject", "pair", "receipt")]
    assert all(kinds)
    assert sum(map(len, kinds)) == len(CASES)


@pytest.mark.parametrize("case", of_kind("bytes"), ids=lambda case: case["id"])
def test_canonical_bytes(case: dict[str, Any]) -> None:
    """The bytes, their digest, and that they are a fixed point of reading and writing."""
    canonical = canonical_json(read_json(input_of(case)))
    assert canonical == base64.b64decode(case["canonical_b64"])
    assert digest(read_json(input_of(case))) == f"sha256:{case['sha256']}"
    assert canonical_json(read_json(canonical)) == canonical


@pytest.mark.parametrize("case", of_kind("reject"), ids=lambda case: case["id"])
def test_what_has_no_canonical_bytes(case: dict[str, Any]) -> None:
    """Refused by the reader or the writer: J-X is C-X, found a step earlier."""
    with pytest.raises(ProtocolError) as caught:
        canonical_json(read_json(input_of(case)))
    assert caught.value.rule.partition("-")[2] == case["rule"].partition("-")[2]


@pytest.mark.parametrize("case", of_kind("pair"), ids=lambda case: case["id"])
def test_which_documents_share_a_digest(case: dict[str, Any]) -> None:
    """Spelling and order fold; values, types and normal forms do not."""
    one, other = (digest(read_json(case[side].encode())) for side in ("a", "b"))
    assert (one == other) is case["same_digest"]


def holds(receipt: dict[str, Any]) -> bool:
    """The least that a digest-bound receipt asks for: this digest over this body, and this binding."""
    body, expected = receipt["body"], receipt["context"]
    claimed = f"sha256:{receipt['digest']}"
    bound = all(body.get(name) == value for name, value in expected.items())
    return is_digest(claimed) and digest(body) == claimed and bound


@pytest.mark.parametrize("case", of_kind("receipt"), ids=lambda case: case["id"])
def test_which_receipts_hold(case: dict[str, Any]) -> None:
    """A receipt holds for exactly its body and its run, compared code point by code point."""
    assert holds(case) is (case["expect"] == "accept")


class Colour(enum.StrEnum):
    RED = "red"


class Level(enum.IntEnum):
    HIGH = 3


WRITTEN = {
    "tuples are arrays": ((1, ("a",)), b'[1,["a"]]'),
    "enumerations are their values": ({Colour.RED: [Colour.RED, Level.HIGH]}, b'{"red":["red",3]}'),
    "booleans are not integers": ([True, 1, False, 0], b"[true,1,false,0]"),
    "the last safe integers": ([2**53 - 1, -(2**53) + 1], b"[9007199254740991,-9007199254740991]"),
    "integers equal to their double": ([2**53, -(2**60)], b"[9007199254740992,-1152921504606847000]"),
    "a large power of two": (2**1000, b"1.0715086071862673e+301"),
    "digits as RFC 8785 spells the double": (295147905179352830000, b"295147905179352830000"),
    "members by UTF-16 code units": ({"\uffff": 1, "😀": 2, "z": 3}, '{"z":3,"😀":2,"\uffff":1}'.encode()),
    "nothing inside": ([{}, [], ""], b'[{},[],""]'),
}


@pytest.mark.parametrize(("value", "expected"), WRITTEN.values(), ids=WRITTEN)
def test_python_values_with_a_canonical_form(value: Any, expected: bytes) -> None:
    assert canonical_json(value) == expected


REFUSED: dict[str, tuple[Any, str, str]] = {
    "integer next to a double": ([2**53 + 1], "C-INTEXACT", "/0"),
    "negative integer next to a double": ({"a": -(2**53) - 1}, "C-INTEXACT", "/a"),
    "digits one off the canonical ones": (295147905179352830001, "C-INTEXACT", ""),
    "integer beyond a double": ([10**400], "C-NONFINITE", "/0"),
    "integer of more digits than str() writes": (10**5000, "C-NONFINITE", ""),
    "NaN": ({"a": [1, math.nan]}, "C-NONFINITE", "/a/1"),
    "NaN after its neighbours": (
        {"a": {"b": [1]}, "c": [{"d": 1}, {"e": math.nan}]},
        "C-NONFINITE",
        "/c/1/e",
    ),
    "infinity": (-math.inf, "C-NONFINITE", ""),
    "lone surrogate": (["\ud83d"], "C-SURROGATE", "/0"),
    "halves that nobody joined": ("\ud83d\ude00", "C-SURROGATE", ""),
    "lone surrogate in a name": ({"a": {"\udead": 1}}, "C-SURROGATE", "/a/\\udead"),
    "bytes": ({"raw": b"x"}, "C-TYPE", "/raw"),
    "set": ([{1}], "C-TYPE", "/0"),
    "decimal": (Decimal("1.5"), "C-TYPE", ""),
    "object": ({"a/b~": object()}, "C-TYPE", "/a~1b~0"),
    "class": (int, "C-TYPE", ""),
    "name that is an integer": ({"a": {1: 2}}, "C-TYPE", "/a"),
    "name that is None": ({None: 1}, "C-TYPE", ""),
}


@pytest.mark.parametrize(("value", "rule", "path"), REFUSED.values(), ids=REFUSED)
def test_python_values_without_a_canonical_form(value: Any, rule: str, path: str) -> None:
    """Each has its rule and a pointer to the place."""
    error = refusal(value)
    assert (error.rule, error.path) == (rule, path)
    assert len(str(error)) < 200


def nested(levels: int, wrap: Callable[[Any], Any]) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = wrap(value)
    return value


@pytest.mark.parametrize(
    "wrap", [lambda v: [v], lambda v: {"a": v}, lambda v: (v, 2)], ids=["[]", "{}", "()"]
)
def test_depth_has_the_limit_of_the_reader(wrap: Callable[[Any], Any]) -> None:
    """What is written can be read; one level more is C-DEPTH, however many there are."""
    read_json(canonical_json(nested(MAX_DEPTH, wrap)))
    for levels in (MAX_DEPTH + 1, 5_000):
        error = refusal(nested(levels, wrap))
        assert (error.rule, error.path) == ("C-DEPTH", "")
    assert canonical_json(nested(3, wrap), max_depth=3)
    assert refusal(nested(4, wrap), max_depth=3).rule == "C-DEPTH"


def test_a_value_that_contains_itself_is_too_deep() -> None:
    """Cycles end at the depth limit, also when each level branches."""
    array: list[Any] = []
    array += [array, array]
    record: dict[str, Any] = {}
    record["self"] = {"again": record}
    assert refusal(array).rule == refusal(record).rule == "C-DEPTH"


def test_more_depth_than_the_stack_has_is_no_recursion_error() -> None:
    """A caller that raises the limit beyond Python's own still gets a `CanonicalError`."""
    assert refusal(nested(100_000, lambda value: [value]), max_depth=200_000).rule == "C-DEPTH"


def test_the_value_is_left_alone() -> None:
    """Large integers are replaced in a copy, never in the caller's value."""
    value = {"b": [2**60, {"c": (1, 2)}], "a": 1}
    canonical_json(value)
    assert repr(value) == repr({"b": [2**60, {"c": (1, 2)}], "a": 1})


def test_digests_are_over_these_very_bytes() -> None:
    """Texts hash as UTF-8, JSON as canonical bytes, bytes as they are."""
    raw = "€".encode()
    expected = f"sha256:{hashlib.sha256(raw).hexdigest()}"
    assert digest_text("€") == digest_bytes(raw) == digest_bytes(bytearray(raw)) == expected
    assert digest("€") == digest_text('"€"') != digest_text("€")
    with pytest.raises(CanonicalError) as caught:
        digest_text("\ud83d")
    assert caught.value.rule == "C-SURROGATE"


HEX = "0123456789abcdef" * 4
NO_DIGESTS = {
    "bare hex": HEX,
    "upper-case hex": f"sha256:{HEX.upper()}",
    "upper-case name": f"SHA256:{HEX}",
    "one digit short": f"sha256:{HEX[:-1]}",
    "one digit more": f"sha256:{HEX}0",
    "trailing newline": f"sha256:{HEX}\n",
    "leading space": f" sha256:{HEX}",
    "full-width digit": f"sha256:１{HEX[1:]}",
    "another algorithm": f"sha512:{HEX}",
    "bytes": f"sha256:{HEX}".encode(),
    "nothing": None,
}


@pytest.mark.parametrize("text", NO_DIGESTS.values(), ids=NO_DIGESTS)
def test_what_is_no_digest(text: object) -> None:
    """One spelling only, matched as a whole."""
    assert is_digest(f"sha256:{HEX}")
    assert not is_digest(text)


@given(json_values)
def test_what_is_written_is_read_back(value: Any) -> None:
    """The canonical bytes read as the same value, number by number the same double, and write as themselves.

    A large double may come back as an integer: RFC 8785 writes 2e20 as digits, not all of them exact.
    """
    canonical = canonical_json(value)
    assert json.loads(canonical, parse_int=float) == value
    assert canonical_json(read_json(canonical)) == canonical


@given(st.dictionaries(json_texts, json_values, max_size=6), st.randoms(use_true_random=False))
def test_the_order_of_members_does_not_count(value: dict[str, Any], random: Any) -> None:
    """Shuffled at every level, the bytes are the same; members come out by UTF-16 code units."""
    canonical = canonical_json(value)
    assert canonical_json(shuffled(value, random)) == canonical
    names = list(json.loads(canonical))
    assert names == sorted(value, key=lambda name: name.encode("utf-16-be"))


def shuffled(value: Any, random: Any) -> Any:
    if isinstance(value, list):
        return [shuffled(item, random) for item in value]
    if isinstance(value, dict):
        members = [(name, shuffled(member, random)) for name, member in value.items()]
        random.shuffle(members)
        return dict(members)
    return value


@given(st.binary(min_size=8, max_size=8).map(lambda raw: struct.unpack(">d", raw)[0]))
def test_every_finite_double_is_written_without_loss(number: float) -> None:
    """Any bit pattern: the text reads as the same double, in the shortest digits there are."""
    if not math.isfinite(number):
        assert refusal(number).rule == "C-NONFINITE"
        return
    canonical = canonical_json(number).decode()
    assert float(canonical) == number
    digits = [
        text.partition("e")[0].strip("-").replace(".", "").strip("0") for text in (canonical, repr(number))
    ]
    assert digits[0] == digits[1]


@given(st.integers(-(10**30), 10**30) | st.integers(0, 1023).map(lambda power: 2**power + power % 2))
def test_an_integer_is_written_exactly_or_refused(number: int) -> None:
    """No integer turns into another: its double has the same value or its canonical text the same digits."""
    spelt = canonical_json(float(number))
    if int(float(number)) == number or spelt.decode() == str(number):
        assert canonical_json(number) == spelt
    else:
        assert refusal(number).rule == "C-INTEXACT"


NUMBER = r"-?(0|[1-9][0-9]{0,25})(\.[0-9]{1,20})?([eE][+-]?[0-9]{1,3})?"


@given(st.from_regex(NUMBER, fullmatch=True))
def test_a_number_of_json_has_canonical_bytes_or_a_rule(text: str) -> None:
    """Only integers that a double would change and numbers beyond a double have none."""
    double = float(text)
    if math.isinf(double):
        with pytest.raises(JSONError, match="J-NONFINITE"):
            read_json(text.encode())
        return
    spelt, value = canonical_json(double), read_json(text.encode())
    if isinstance(value, int) and not (abs(value) < 2**53 or int(double) == value or spelt == text.encode()):
        assert refusal(value).rule == "C-INTEXACT"
    else:
        assert canonical_json(value) == spelt
