"""INV-3, shapes: what is no invocation at all, and members that are missing, unknown or of another type."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from agentbeat_conformance.requirements import Findings, Level, requirement
from agentbeat_conformance.target_probes import PLAIN_TASK, TargetProbe
from agentbeat_conformance.wrong_requests import Wrong, refused

__all__: list[str] = []

SECTION: Final = "Invocation request"


@requirement(
    "INV-3.a",
    level=Level.MUST,
    tier="target-L1",
    section=SECTION,
    text="A body that is no JSON object is refused: nothing, another value, an object inside of one.",
    permits={"400"},
    kills={"takes-the-first-of-a-list", "decodes-twice", "empty-body-is-a-default"},
)
async def no_object(target: TargetProbe) -> Findings:
    wrongs = [
        Wrong("an empty body", body=b""),
        Wrong("white space only", body=b" \n"),
        Wrong("a body of `[]`", body=b"[]"),
        Wrong('a body of `"x"`', body=b'"x"'),
        Wrong("a body of `1`", body=b"1"),
        Wrong("a body of `true`", body=b"true"),
        Wrong("a body of `null`", body=b"null"),
        Wrong("the invocation in an array", body=lambda right: b"[" + right + b"]"),
        Wrong("the invocation as a JSON string", body=lambda right: json.dumps(right.decode()).encode()),
    ]
    return await refused(target, wrongs, {"400"})


@requirement(
    "INV-3.b",
    level=Level.MUST,
    tier="target-L1",
    section=SECTION,
    text="A body that only resembles JSON is refused: cut off, with a comment, with something behind it.",
    permits={"400"},
    kills={"ignores-what-follows", "takes-relaxed-json", "takes-control-characters"},
)
async def not_quite_json(target: TargetProbe) -> Findings:
    wrongs = [
        Wrong("an object without its end", body=lambda right: right[:-1]),
        Wrong("something behind the object", body=lambda right: right + b" x"),
        Wrong("two objects", body=lambda right: right + right),
        Wrong("a NUL behind the object", body=lambda right: right + b"\0"),
        Wrong("a comment", body=lambda right: b"/* */" + right),
        Wrong("single quotes", body=lambda right: right.replace(b'"', b"'")),
        Wrong("a comma before the end", body=lambda right: right[:-1] + b",}"),
        Wrong("a number with a leading zero", body=_with_metadata(b'{"n": 01}')),
        Wrong("a line break inside a string", body=_with_metadata(b'{"n": "a\nb"}')),
    ]
    return await refused(target, wrongs, {"400"})


def _with_metadata(written: bytes) -> Any:
    return lambda right: right.replace(b'"metadata": {}', b'"metadata": ' + written)


@requirement(
    "INV-3.c",
    level=Level.MUST,
    tier="target-L1",
    section=SECTION,
    text="A body of 100,000 opening brackets is refused like any other that is no JSON.",
    permits={"400", "413"},
    kills={"chokes-on-depth"},
)
async def endless_nesting(target: TargetProbe) -> Findings:
    return await refused(target, [Wrong("100,000 opening brackets", body=b"[" * 100_000)], {"400", "413"})


@requirement(
    "INV-3.d",
    level=Level.MUST,
    tier="target-L1",
    section=SECTION,
    text="Another schema_version, or none, is refused.",
    permits={"400"},
    kills={"any-version-will-do", "version-is-optional"},
)
async def other_version(target: TargetProbe) -> Findings:
    versions = {
        "left out": ...,
        "of another version": "target-invocation-v2",
        "in upper case": "TARGET-INVOCATION-V1",
        "with a space behind it": "target-invocation-v1 ",
        "null": None,
        "a number": 1,
    }
    return await refused(target, _members("schema_version", versions), {"400"})


@requirement(
    "INV-3.k",
    level=Level.MUST,
    tier="target-L1",
    section=SECTION,
    text="An unknown member of the invocation is refused, in another spelling of a known one too.",
    permits={"400"},
    kills={"ignores-unknown-members", "members-in-any-case", "extensions-allowed"},
)
async def unknown_member(target: TargetProbe) -> Findings:
    wrongs = [
        Wrong("an unknown member", changes={"extra": 1}),
        Wrong("an unknown member that is null", changes={"parameters": None}),
        Wrong("an unknown member that begins with x-", changes={"x-extra": {}}),
        Wrong("run_id once more, as Run_ID", changes=lambda ids: {"Run_ID": ids.run_id}),
    ]
    return await refused(target, wrongs, {"400"})


@requirement(
    "INV-3.l",
    level=Level.MUST,
    tier="target-L1",
    section=SECTION,
    text="An unknown member of input is refused.",
    permits={"400"},
    kills={"ignores-unknown-input"},
)
async def unknown_input_member(target: TargetProbe) -> Findings:
    wrongs = [
        Wrong("an unknown member of input", changes={"input": {"text": PLAIN_TASK, "extra": 1}}),
        Wrong("attachments in input", changes={"input": {"text": PLAIN_TASK, "attachments": []}}),
    ]
    return await refused(target, wrongs, {"400"})


@requirement(
    "INV-3.m",
    level=Level.MUST,
    tier="target-L1",
    section=SECTION,
    text="metadata that is no object is refused.",
    permits={"400"},
    kills={"any-metadata-will-do", "null-metadata-will-do"},
)
async def metadata_is_no_object(target: TargetProbe) -> Findings:
    values = {"an array": [], "a string": "x", "a number": 1, "true": True, "null": None}
    return await refused(target, _members("metadata", values), {"400"})


def _members(name: str, values: Mapping[str, Any]) -> list[Wrong]:
    return [Wrong(f"{name} {what}", changes={name: value}) for what, value in values.items()]
