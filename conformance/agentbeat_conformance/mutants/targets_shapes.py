"""Targets that break INV-3 in its shapes: they repair what they should refuse."""

# ruff: noqa: ARG002 - an override keeps its parent's signature
from __future__ import annotations

import json
import re
from typing import Any, Final

from agentbeat_conformance.mutants.base_target import Asked, BaseTarget, Refused
from agentbeat_conformance.mutants.registry import target_mutant
from agentbeat_protocol import Invocation, JSONError, read_json

__all__: list[str] = []

VERSION: Final = "target-invocation-v1"
KNOWN: Final = frozenset({"schema_version", "run_id", "case_id", "input", "metadata"})


@target_mutant(
    "takes-the-first-of-a-list", breaks={"INV-3.a"}, text="It takes the first invocation of an array."
)
class TakesTheFirstOfAList(BaseTarget):
    def decode(self, raw: bytes) -> Any:
        value = super().decode(raw)
        return value[0] if isinstance(value, list) and value else value


@target_mutant("decodes-twice", breaks={"INV-3.a"}, text="It takes an invocation inside a JSON string.")
class DecodesTwice(BaseTarget):
    def decode(self, raw: bytes) -> Any:
        value = super().decode(raw)
        return read_json(value.encode()) if isinstance(value, str) and value.startswith("{") else value


@target_mutant("empty-body-is-a-default", breaks={"INV-3.a"}, text="It takes an empty body for a greeting.")
class EmptyBodyIsADefault(BaseTarget):
    def decode(self, raw: bytes) -> Any:
        if raw:
            return super().decode(raw)
        return {"schema_version": VERSION, "run_id": "run-0", "case_id": "case-0", "input": {"text": "Hello"}}

    def check_correlation(self, invocation: Invocation, asked: Asked) -> None:
        """The default's ids are in no header."""


class _Mending(BaseTarget):
    """Tries to make JSON of what is none."""

    def mended(self, text: str) -> Any:
        raise NotImplementedError

    def decode(self, raw: bytes) -> Any:
        try:
            return super().decode(raw)
        except JSONError:
            try:
                return self.mended(raw.decode())
            except (ValueError, RecursionError):
                pass
            raise


@target_mutant("ignores-what-follows", breaks={"INV-3.b"}, text="It ignores what stands behind the object.")
class IgnoresWhatFollows(_Mending):
    def mended(self, text: str) -> Any:
        return json.JSONDecoder(object_pairs_hook=_once).raw_decode(text)[0]


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(dict(pairs)) < len(pairs):
        raise ValueError("a member twice")
    return dict(pairs)


@target_mutant("takes-relaxed-json", breaks={"INV-3.b"}, text="It takes comments and trailing commas.")
class TakesRelaxedJson(_Mending):
    def mended(self, text: str) -> Any:
        return read_json(re.sub(r"/\*.*?\*/", "", text).replace(",}", "}").encode())


@target_mutant("takes-control-characters", breaks={"INV-3.b"}, text="It takes line breaks inside strings.")
class TakesControlCharacters(_Mending):
    def mended(self, text: str) -> Any:
        return read_json(text.replace("\n", "\\n").encode())


@target_mutant("chokes-on-depth", breaks={"INV-3.c"}, text="Deep nesting makes it fail, 500.")
class ChokesOnDepth(BaseTarget):
    def decode(self, raw: bytes) -> Any:
        try:
            return json.loads(raw)
        except RecursionError:
            raise Refused("internal_error", "the Target failed") from None
        except ValueError:
            return super().decode(raw)


@target_mutant(
    "any-version-will-do", breaks={"INV-3.d"}, text="It does not look at what schema_version says."
)
class AnyVersionWillDo(BaseTarget):
    def tolerate(self, members: dict[str, Any]) -> dict[str, Any]:
        return {**members, "schema_version": VERSION} if "schema_version" in members else members


@target_mutant(
    "version-is-optional", breaks={"INV-3.d"}, text="It takes an invocation without schema_version."
)
class VersionIsOptional(BaseTarget):
    def tolerate(self, members: dict[str, Any]) -> dict[str, Any]:
        return {"schema_version": VERSION, **members}


class _Ignoring(BaseTarget):
    """Ignores some unknown members."""

    def ignores(self, name: str) -> bool:
        raise NotImplementedError

    def tolerate(self, members: dict[str, Any]) -> dict[str, Any]:
        return {name: value for name, value in members.items() if name in KNOWN or not self.ignores(name)}


@target_mutant("ignores-unknown-members", breaks={"INV-3.k"}, text="It ignores unknown members.")
class IgnoresUnknownMembers(_Ignoring):
    def ignores(self, name: str) -> bool:
        return True


@target_mutant("members-in-any-case", breaks={"INV-3.k"}, text="It takes known members in any letter case.")
class MembersInAnyCase(_Ignoring):
    def ignores(self, name: str) -> bool:
        return name.lower() in KNOWN


@target_mutant("extensions-allowed", breaks={"INV-3.k"}, text="It ignores members that begin with x-.")
class ExtensionsAllowed(_Ignoring):
    def ignores(self, name: str) -> bool:
        return name.startswith("x-")


@target_mutant("ignores-unknown-input", breaks={"INV-3.l"}, text="It ignores unknown members of input.")
class IgnoresUnknownInput(BaseTarget):
    def tolerate(self, members: dict[str, Any]) -> dict[str, Any]:
        given = members.get("input")
        if isinstance(given, dict) and "text" in given:
            return {**members, "input": {"text": given["text"]}}
        return members


@target_mutant("any-metadata-will-do", breaks={"INV-3.m"}, text="It ignores metadata that is no object.")
class AnyMetadataWillDo(BaseTarget):
    def tolerate(self, members: dict[str, Any]) -> dict[str, Any]:
        return members if isinstance(members.get("metadata"), dict) else {**members, "metadata": {}}


@target_mutant("null-metadata-will-do", breaks={"INV-3.m"}, text="It takes metadata that is null.")
class NullMetadataWillDo(BaseTarget):
    def tolerate(self, members: dict[str, Any]) -> dict[str, Any]:
        return {**members, "metadata": {}} if members.get("metadata", {}) is None else members
