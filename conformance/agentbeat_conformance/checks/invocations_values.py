"""INV-3, values: ids off their pattern, and texts that are no task."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from agentbeat_conformance.requirements import Findings, Level, requirement
from agentbeat_conformance.sessions import Ids
from agentbeat_conformance.target_probes import TargetProbe
from agentbeat_conformance.wrong_requests import Wrong, refused

__all__: list[str] = []

SECTION: Final = "Invocation request"
MAX_TEXT_BYTES: Final = 512 * 1024

Changes = Callable[[Ids], Mapping[str, Any]]

_NO_STRING: Final[Mapping[str, Any]] = {"left out": ..., "null": None, "a number": 7, "an array": ["run-a"]}
#: What is done to a good id of either kind; the prefix, `run` or `case`, is found by the hyphen behind it.
_OFF_PATTERN: Final[Mapping[str, Callable[[str], str]]] = {
    "in upper case": str.upper,
    "with one letter in upper case": lambda id: id[:-1] + "A",
    "of its prefix alone": lambda id: id.partition("-")[0] + "-",
    "with a hyphen after its prefix": lambda id: id.replace("-", "--", 1),
    "without its prefix": lambda id: id.partition("-")[2],
    "with an underscore": lambda id: id + "_a",
    "with a full stop": lambda id: id + ".a",
    "with a slash": lambda id: id + "/a",
    "with a space before it": lambda id: " " + id,
}
#: What no header can hold: a Target that compares headers refuses it for that, and may.
_UNWRITABLE: Final[Mapping[str, Callable[[str], str]]] = {
    "with a line break behind it": lambda id: id + "\n",
    "with a NUL behind it": lambda id: id + "\0",
    "with an Arabic digit": lambda id: id + "\u0661",
}


@requirement(
    "INV-3.e",
    level=Level.MUST,
    tier="target-L1",
    section=SECTION,
    text="A run_id that is missing, no string, off its pattern or over 160 characters is refused.",
    permits={"400"},
    kills={"any-run-id-will-do", "run-id-in-any-case", "run-id-by-its-beginning", "long-run-ids"},
)
async def run_id_off_pattern(target: TargetProbe) -> Findings:
    return await refused(target, _wrong_ids("run_id", 161), {"400"})


@requirement(
    "INV-3.f",
    level=Level.MUST,
    tier="target-L1",
    section=SECTION,
    text="A case_id that is missing, no string, off its pattern or over 200 characters is refused.",
    permits={"400"},
    kills={"any-case-id-will-do", "case-id-is-optional", "long-case-ids"},
)
async def case_id_off_pattern(target: TargetProbe) -> Findings:
    return await refused(target, _wrong_ids("case_id", 201), {"400"})


def _wrong_ids(member: str, too_long: int) -> list[Wrong]:
    spoilt = {**_OFF_PATTERN, f"of {too_long} characters": lambda id: id.ljust(too_long, "0"), **_UNWRITABLE}
    return [
        *(Wrong(f"{member} {what}", changes={member: value}) for what, value in _NO_STRING.items()),
        *(Wrong(f"{member} {what}", changes=_spoiling(member, how)) for what, how in spoilt.items()),
    ]


def _spoiling(member: str, how: Callable[[str], str]) -> Changes:
    return lambda ids: {member: how(getattr(ids, member))}


@requirement(
    "INV-3.g",
    level=Level.MUST,
    tier="target-L1",
    section=SECTION,
    text="An input that is missing or no object is refused.",
    permits={"400"},
    kills={"text-as-input", "input-is-optional"},
)
async def input_is_no_object(target: TargetProbe) -> Findings:
    values = {"left out": ..., "null": None, "a string": "hello", "a number": 1, "an array": ["hello"]}
    return await refused(
        target, [Wrong(f"input {w}", changes={"input": v}) for w, v in values.items()], {"400"}
    )


@requirement(
    "INV-3.h",
    level=Level.MUST,
    tier="target-L1",
    section=SECTION,
    text="An input.text that is missing or no string is refused.",
    permits={"400"},
    kills={"text-is-optional", "text-of-any-type"},
)
async def text_is_no_string(target: TargetProbe) -> Findings:
    values = {"null": None, "a number": 1, "an array": ["hello"], "an object": {"text": "hello"}}
    return await refused(target, [Wrong("no input.text", changes={"input": {}}), *_texts(values)], {"400"})


@requirement(
    "INV-3.i",
    level=Level.MUST,
    tier="target-L1",
    section=SECTION,
    text="An input.text that is empty or blank is refused.",
    permits={"400"},
    kills={"empty-text-will-do", "blank-text-will-do", "blank-beyond-ascii"},
)
async def text_is_blank(target: TargetProbe) -> Findings:
    values = {"empty": "", "blank": "   \t\n", "blank beyond ASCII": "\u2003\u3000"}
    return await refused(target, _texts(values), {"400"})


@requirement(
    "INV-3.j",
    level=Level.MUST,
    tier="target-L1",
    section=SECTION,
    text="An input.text over 512 KiB is refused; its bytes in UTF-8 count, not its characters.",
    permits={"400", "413"},
    kills={"texts-of-any-length", "counts-characters"},
)
async def text_is_too_long(target: TargetProbe) -> Findings:
    values = {
        "of 131,073 characters that are 524,292 bytes": "\U0001f600" * (MAX_TEXT_BYTES // 4 + 1),
        "of 524,289 bytes": "x" * (MAX_TEXT_BYTES + 1),
    }
    return await refused(target, _texts(values), {"400", "413"})


def _texts(values: Mapping[str, Any]) -> list[Wrong]:
    return [Wrong(f"input.text {what}", changes={"input": {"text": text}}) for what, text in values.items()]
