"""INV-8: JSON that two readers could understand differently. All of it is SHOULD."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from agentbeat_conformance.requirements import Findings, Level, requirement
from agentbeat_conformance.target_probes import TargetProbe
from agentbeat_conformance.wrong_requests import Wrong, refused

__all__: list[str] = []

SECTION: Final = "Invocation request"

Spoil = Callable[[bytes], bytes]


@requirement(
    "INV-8.a",
    level=Level.SHOULD,
    tier="target-L1",
    section=SECTION,
    text="An object that names a member twice is refused, at any depth and however the name is written.",
    permits={"400"},
    kills={"last-duplicate-counts"},
    invocations=1,
)
async def duplicate_members(target: TargetProbe) -> Findings:
    wrongs = [
        Wrong(
            "schema_version twice", body=_behind_schema_version(b'"schema_version": "target-invocation-v1"')
        ),
        Wrong(
            "case_id twice, once with an escape", body=_behind_schema_version(b'"case\\u005fid": "case-b"')
        ),
        Wrong("a member of metadata twice", body=_with_metadata(b'{"a": 1, "a": 2}')),
    ]
    return await refused(target, wrongs, {"400"}, lenient=True)


@requirement(
    "INV-8.b",
    level=Level.SHOULD,
    tier="target-L1",
    section=SECTION,
    text="NaN and Infinity are refused.",
    permits={"400"},
    kills={"takes-nan"},
    invocations=1,
)
async def not_finite(target: TargetProbe) -> Findings:
    return await refused(target, _numbers("NaN", "Infinity", "-Infinity"), {"400"}, lenient=True)


@requirement(
    "INV-8.c",
    level=Level.SHOULD,
    tier="target-L1",
    section=SECTION,
    text="A byte-order mark and another encoding than UTF-8 are refused.",
    permits={"400"},
    kills={"takes-a-byte-order-mark", "guesses-the-encoding"},
    invocations=1,
)
async def other_encodings(target: TargetProbe) -> Findings:
    wrongs = [
        Wrong("UTF-8 with a byte-order mark", body=lambda right: b"\xef\xbb\xbf" + right),
        Wrong(
            "UTF-16LE with a byte-order mark", body=lambda right: b"\xff\xfe" + _encoded(right, "utf-16-le")
        ),
        Wrong("UTF-16BE without one", body=lambda right: _encoded(right, "utf-16-be")),
    ]
    return await refused(target, wrongs, {"400"}, lenient=True)


@requirement(
    "INV-8.d",
    level=Level.SHOULD,
    tier="target-L1",
    section=SECTION,
    text="Invalid UTF-8 is refused.",
    permits={"400"},
    kills={"mends-invalid-utf-8"},
    invocations=1,
)
async def invalid_utf_8(target: TargetProbe) -> Findings:
    wrongs = [
        Wrong("a byte that is never UTF-8", body=_with_metadata(b'{"a": "\xff"}')),
        Wrong("a character cut off", body=_with_metadata(b'{"a": "\xe2\x82"}')),
        Wrong("an overlong form", body=_with_metadata(b'{"a": "\xc0\xaf"}')),
        Wrong("a surrogate in three bytes", body=_with_metadata(b'{"a": "\xed\xa0\x80"}')),
    ]
    return await refused(target, wrongs, {"400"}, lenient=True)


@requirement(
    "INV-8.e",
    level=Level.SHOULD,
    tier="target-L1",
    section=SECTION,
    text="A lone surrogate is refused, in a value and in a name.",
    permits={"400"},
    kills={"takes-lone-surrogates"},
    invocations=1,
)
async def lone_surrogates(target: TargetProbe) -> Findings:
    wrongs = [
        Wrong("a high surrogate alone", body=_with_metadata(b'{"a": "\\ud83d"}')),
        Wrong("a low surrogate alone", body=_with_metadata(b'{"a": "\\ude00\\ud83d"}')),
        Wrong("a surrogate in a name", body=_with_metadata(b'{"\\ud83d": 1}')),
    ]
    return await refused(target, wrongs, {"400"}, lenient=True)


@requirement(
    "INV-8.f",
    level=Level.SHOULD,
    tier="target-L1",
    section=SECTION,
    text="A number beyond a double is refused.",
    permits={"400"},
    kills={"takes-infinite-numbers"},
    invocations=1,
)
async def beyond_a_double(target: TargetProbe) -> Findings:
    return await refused(target, _numbers("1e400", "-1e400", "1" * 5_000), {"400"}, lenient=True)


def _numbers(*written: str) -> list[Wrong]:
    return [
        Wrong(
            f"{text[:9]}{'…' * (len(text) > 9)} in metadata", body=_with_metadata(f'{{"a": {text}}}'.encode())
        )
        for text in written
    ]


def _with_metadata(written: bytes) -> Spoil:
    return lambda right: right.replace(b'"metadata": {}', b'"metadata": ' + written)


def _behind_schema_version(member: bytes) -> Spoil:
    return lambda right: right.replace(b'"input":', member + b', "input":', 1)


def _encoded(right: bytes, encoding: str) -> bytes:
    return right.decode().encode(encoding)
