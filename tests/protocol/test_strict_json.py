"""`read_json`: what is JSON, what is not, and what two readers could understand differently."""

from __future__ import annotations

import json
import sys
from typing import Any

import pytest

from agentbeat_protocol.errors import JSONError
from agentbeat_protocol.strict_json import MAX_BYTES, MAX_DEPTH, read_json
from support import cases

LARGEST_DOUBLE = int(sys.float_info.max)
# Half a step above the largest double: from here on, integers round to infinity.
FIRST_INFINITE = 2**1024 - 2**970

ACCEPTED = {
    "white space around": (b" \t\r\n[1 , 2] \n", [1, 2]),
    "scalar": (b'"x"', "x"),
    "literals": (b"[null, true, false]", [None, True, False]),
    "integer beyond 64 bits": (b"[12345678901234567891]", [12345678901234567891]),
    "largest double as an integer": (str(LARGEST_DOUBLE).encode(), LARGEST_DOUBLE),
    "last integer that rounds to it": (str(-FIRST_INFINITE + 1).encode(), -FIRST_INFINITE + 1),
    "308 digits": (b"9" * 308, 10**308 - 1),
    "largest double": (b"1.7976931348623158e308", sys.float_info.max),
    "smallest subnormal": (b"4.9e-324", 5e-324),
    "underflow": (b"[1e-400, -1e-400]", [0.0, -0.0]),
    "endless fraction": (b"0." + b"3" * 100_000, 1 / 3),
    "exponent of nothing": (b"0e999999999999", 0.0),
    "all escapes": (rb'"\"\\\/\b\f\n\r\t\u00e9"', '"\\/\b\f\n\r\té'),
    "surrogate pair": (rb'"\ud83D\uDE00"', "😀"),
    "two pairs": (rb'"\ud83d\ude00\ud83d\ude01"', "😀😁"),
    "surrogate spelt after an escaped backslash": (rb'"\\ud83d"', "\\ud83d"),
    "code points beside the surrogates": (rb'"\ud7ff\ue000"', "\ud7ff\ue000"),
    "DEL and a noncharacter": ('"\x7f\uffff"'.encode(), "\x7f\uffff"),
    "BOM inside a string": ('"\ufeff"'.encode(), "\ufeff"),
    "same name in two objects": (b'[{"a": 1}, {"a": {"a": 2}}]', [{"a": 1}, {"a": {"a": 2}}]),
    "names that differ in case or normal form": (
        '{"a": 1, "A": 2, "é": 3, "e\u0301": 4}'.encode(),
        {"a": 1, "A": 2, "é": 3, "e\u0301": 4},
    ),
    "empty name": (b'{"": 1}', {"": 1}),
}

REFUSED = {
    "BOM": (b"\xef\xbb\xbf{}", "J-BOM"),
    "UTF-16 BOM, little endian": ("\ufeff{}".encode("utf-16-le"), "J-UTF8"),
    "UTF-16 BOM, big endian": ("\ufeff{}".encode("utf-16-be"), "J-UTF8"),
    "UTF-16 without BOM": ('{"a": 1}'.encode("utf-16-le"), "J-SYNTAX"),
    "Latin-1": ('"é"'.encode("latin-1"), "J-UTF8"),
    "overlong slash": (b'"\xc0\xaf"', "J-UTF8"),
    "encoded surrogate": (b'"\xed\xa0\xbd"', "J-UTF8"),
    "encoded surrogate pair": (b'"\xed\xa0\xbd\xed\xb8\x80"', "J-UTF8"),
    "beyond U+10FFFF": (b'"\xf4\x90\x80\x80"', "J-UTF8"),
    "cut in a character": (b'"\xe2\x82', "J-UTF8"),
    "nothing": (b"", "J-SYNTAX"),
    "white space only": (b" \n", "J-SYNTAX"),
    "form feed as white space": (b"\x0c1", "J-SYNTAX"),
    "no-break space as white space": (b"\xc2\xa01", "J-SYNTAX"),
    "trailing NUL": (b"{}\0", "J-SYNTAX"),
    "trailing comma": (b"[1,]", "J-SYNTAX"),
    "comment": (b"[1] // one", "J-SYNTAX"),
    "two values": (b"{}{}", "J-SYNTAX"),
    "single quotes": (b"{'a': 1}", "J-SYNTAX"),
    "name without quotes": (b"{a: 1}", "J-SYNTAX"),
    "name that is a number": (b"{1: 1}", "J-SYNTAX"),
    "Python literal": (b"[None]", "J-SYNTAX"),
    "nan in lower case": (b"nan", "J-SYNTAX"),
    "plus sign": (b"+1", "J-SYNTAX"),
    "leading zero": (b"01", "J-SYNTAX"),
    "leading point": (b".5", "J-SYNTAX"),
    "trailing point": (b"1.", "J-SYNTAX"),
    "empty exponent": (b"1e", "J-SYNTAX"),
    "hexadecimal": (b"0x1", "J-SYNTAX"),
    "underscore": (b"1_0", "J-SYNTAX"),
    "full-width digit": ("１".encode(), "J-SYNTAX"),
    "raw control character": (b'"\x1f"', "J-SYNTAX"),
    "raw line feed": (b'"a\nb"', "J-SYNTAX"),
    "unknown escape": (rb'"\x41"', "J-SYNTAX"),
    "short escape": (rb'"\u12"', "J-SYNTAX"),
    "signed escape": (rb'"\u+123"', "J-SYNTAX"),
    "escape without end": (b'"\\', "J-SYNTAX"),
    "closing bracket too many": (b"[]]", "J-SYNTAX"),
    "brackets crossed": (b"[{]}", "J-SYNTAX"),
    "name twice": (b'{"a": 1, "a": 1}', "J-DUPKEY"),
    "name twice by escape": (rb'{"a": 1, "\u0061": 1}', "J-DUPKEY"),
    "name twice by surrogate pair": ('{"😀": 1, "\\ud83d\\ude00": 1}'.encode(), "J-DUPKEY"),
    "name twice deep inside": (b'[[{"x": {"a": 1, "b": 2, "a": 3}}]]', "J-DUPKEY"),
    "empty name twice": (b'{"": 1, "": 2}', "J-DUPKEY"),
    "NaN": (b"[NaN]", "J-NONFINITE"),
    "Infinity": (b"Infinity", "J-NONFINITE"),
    "-Infinity": (b'{"a": -Infinity}', "J-NONFINITE"),
    "1e400": (b"1e400", "J-NONFINITE"),
    "-1E+400": (b"-1E+400", "J-NONFINITE"),
    "exponent of 30 digits": (b"1e" + b"9" * 30, "J-NONFINITE"),
    "fraction just beyond a double": (b"1.7976931348623159e308", "J-NONFINITE"),
    "first integer beyond a double": (str(FIRST_INFINITE).encode(), "J-NONFINITE"),
    "first negative integer beyond a double": (str(-FIRST_INFINITE).encode(), "J-NONFINITE"),
    "310 digits": (b"1" + b"0" * 309, "J-NONFINITE"),
    "400 digits": (b"[1" + b"0" * 399 + b"]", "J-NONFINITE"),
    "5000 digits, more than int() takes": (b"-" + b"7" * 5000, "J-NONFINITE"),
    "lone high surrogate": (rb'"\ud83d"', "J-SURROGATE"),
    "lone high surrogate before text": (rb'["\uD83Dx"]', "J-SURROGATE"),
    "lone low surrogate": (rb'"\ude00"', "J-SURROGATE"),
    "pair the wrong way round": (rb'"\ude00\ud83d"', "J-SURROGATE"),
    "two high and one low": (rb'"\ud83d\ud83d\ude00"', "J-SURROGATE"),
    "one high and two low": (rb'"\ud83d\ude00\ude00"', "J-SURROGATE"),
    "halves apart by an escaped backslash": (rb'"\ud83d\\\ude00"', "J-SURROGATE"),
    "halves in two strings": (rb'["\ud83d", "\ude00"]', "J-SURROGATE"),
    "lone surrogate in a name": (rb'{"\udead": 1}', "J-SURROGATE"),
    "100,000 arrays": (b"[" * 100_000 + b"]" * 100_000, "J-DEPTH"),
    "100,000 brackets never closed": (b"[" * 100_000, "J-DEPTH"),
    "100,000 objects": (b'{"a":' * 100_000 + b"1" + b"}" * 100_000, "J-DEPTH"),
    "closing brackets in strings do not count": (b'["]]]",' * 101 + b"1" + b"]" * 101, "J-DEPTH"),
    "an escaped quote ends no string": (rb'["\"]",' * 101 + b"1" + b"]" * 101, "J-DEPTH"),
    "an escaped backslash does not escape a quote": (rb'["]\\",' * 101 + b"1" + b"]" * 101, "J-DEPTH"),
}


def refusal(raw: bytes, **limits: int) -> JSONError:
    with pytest.raises(JSONError) as caught:
        read_json(raw, **limits)
    return caught.value


@pytest.mark.parametrize(("raw", "value"), ACCEPTED.values(), ids=ACCEPTED)
def test_reads_json(raw: bytes, value: Any) -> None:
    """The value and its types are those that the text spells."""
    read = read_json(raw)
    assert read == value
    assert repr(read) == repr(value)


@pytest.mark.parametrize(("raw", "rule"), REFUSED.values(), ids=REFUSED)
def test_refuses_with_the_rule(raw: bytes, rule: str) -> None:
    """Each kind of ambiguity has its own rule; all are `invalid_json` on the wire."""
    error = refusal(raw)
    assert (error.rule, error.code, error.status) == (rule, "invalid_json", 400)
    assert len(str(error)) < 200


EVIDENCE = cases.load("evidence_cases.jsonl")


@pytest.mark.parametrize("case", [c for c in EVIDENCE if c["rule"].startswith("J-")], ids=lambda c: c["id"])
def test_evidence_lines_that_are_no_strict_json(case: dict[str, Any]) -> None:
    """Every J-* line of the case file breaks its rule in this reader already."""
    assert case["expect"] == "reject"
    assert refusal(cases.materialize(case)).rule == case["rule"]


def test_evidence_lines_that_are_json() -> None:
    """All other lines, accepted or not, are sound JSON: what is wrong with them is found later."""
    others = [case for case in EVIDENCE if not case["rule"].startswith("J-")]
    assert len(others) > 100
    for case in others:
        raw = cases.materialize(case)
        assert read_json(raw) == json.loads(raw), case["id"]


INVOCATIONS = [c for c in cases.load("invocations.jsonl") if c["rule"] == "J-JSON"]


@pytest.mark.parametrize("case", INVOCATIONS, ids=lambda c: c["id"])
def test_invocation_bodies_that_are_no_strict_json(case: dict[str, Any]) -> None:
    """INV-8: the body of every J-JSON line is refused."""
    _, _, body = cases.request_bytes(case).partition(b"\r\n\r\n")
    assert refusal(body).rule.startswith("J-")


def test_size_is_counted_in_bytes() -> None:
    """A document of exactly the limit is read, one byte more is J-SIZE."""
    raw = '"é"'.encode()
    assert read_json(raw, max_bytes=4) == "é"
    error = refusal(raw, max_bytes=3)
    assert (error.rule, error.got, error.expected) == ("J-SIZE", "4 bytes", "at most 3 bytes")
    assert read_json(b" " * (MAX_BYTES - 1) + b"1") == 1
    assert refusal(b" " * MAX_BYTES + b"1").rule == "J-SIZE"


@pytest.mark.parametrize(("opening", "closing"), [(b"[", b"]"), (b'{"a":', b"}"), (b'["}]\\\\",', b"]")])
def test_depth_has_an_exact_limit(opening: bytes, closing: bytes) -> None:
    """As many levels as allowed are read, one more is J-DEPTH; siblings do not add up."""
    for limit in (1, 7, MAX_DEPTH):
        deepest = opening * limit + b"1" + closing * limit
        read_json(b"[" + b",".join([deepest] * 3) + b"]", max_depth=limit + 1)
        read_json(deepest, max_depth=limit)
        error = refusal(b"[" + deepest + b"]", max_depth=limit)
        assert (error.rule, error.got) == ("J-DEPTH", f"{limit + 1} levels")
    assert read_json(b'"[[["', max_depth=0) == "[[["
    assert refusal(b"[]", max_depth=0).rule == "J-DEPTH"


def test_a_caller_deep_in_the_stack_gets_no_recursion_error() -> None:
    """A document within the limit, but beyond what is left of the stack, is refused as too deep."""
    raw = b"[" * MAX_DEPTH + b"]" * MAX_DEPTH
    outcomes: list[str] = []

    def need(frames: int) -> None:
        if frames:
            need(frames - 1)

    def dive() -> None:
        try:
            dive()
            # Reached on the way back up, with one frame more of room each time: enough to call the reader?
            need(30)
        except RecursionError:
            return
        try:
            read_json(raw)
            outcomes.append("read")
        except (JSONError, RecursionError) as error:
            outcomes.append(getattr(error, "rule", "RecursionError"))

    dive()
    assert outcomes[-1] == "read"
    assert set(outcomes) <= {"J-DEPTH", "read"}


def test_takes_any_bytes_but_no_text() -> None:
    """Text has lost its encoding, so it cannot be checked: a mistake of the caller, not of the document."""
    assert read_json(bytearray(b"[1]")) == read_json(memoryview(b"[1]")) == [1]
    for wrong in ("[1]", None, [91, 93]):
        with pytest.raises(TypeError):
            read_json(wrong)  # type: ignore[arg-type]


def test_a_repeated_name_is_named_but_cut() -> None:
    """INV-10: a member name of the request is cut to 64 characters, and control characters are escaped."""
    name = "n" * 10_000
    error = refusal(json.dumps([{name: 1}])[:-2].encode() + f', "{name}": 2}}]'.encode())
    assert error.rule == "J-DUPKEY"
    assert error.got == f'2 members named "{"n" * 63}…"'
    assert "\n" not in refusal(rb'{"\n": 1, "\n": 2}').got


def test_a_syntax_error_says_where() -> None:
    """Line and column of the fault, without the text that stands there."""
    error = refusal(b'{"secret": "hunter2",\n  "b": hunter2}')
    assert error.got == "a fault at line 2 column 8 (expecting value)"
