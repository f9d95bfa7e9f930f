"""Targets that break INV-5: metadata configures their runtime, or harmless metadata is refused."""

# ruff: noqa: ARG002 - an override keeps its parent's signature
from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from typing import Any, ClassVar

from agentbeat_conformance.mutants.base_target import BaseTarget, Refused
from agentbeat_conformance.mutants.registry import target_mutant
from agentbeat_protocol import is_runtime_override

__all__: list[str] = []


@target_mutant(
    "metadata-unchecked",
    breaks={"INV-5.a"},
    consequences={"INV-5.b", "INV-5.c", "INV-5.d", "INV-5.e"},
    text="It does not look into metadata at all.",
)
class MetadataUnchecked(BaseTarget):
    def check_metadata(self, metadata: Mapping[str, Any]) -> None:
        """Nothing."""


class _Walking(BaseTarget):
    """Walks through metadata in its own way; without overrides it is right."""

    deepest: ClassVar[int] = 8

    def check_metadata(self, metadata: Mapping[str, Any]) -> None:
        self.walk(metadata, 1)

    def walk(self, value: Any, level: int) -> None:
        if not isinstance(value, dict | list):
            self.judge_value(value)
            return
        if self.is_too_deep(value, level):
            raise Refused("invalid_metadata", "expected fewer levels")
        if isinstance(value, dict):
            for name in value:
                if self.refuses(name, level):
                    raise Refused("runtime_override_forbidden", "expected no setting of the runtime")
        for inner in value.values() if isinstance(value, dict) else value:
            self.walk(inner, level + 1)

    def judge_value(self, value: Any) -> None:
        """Values may say anything."""

    def is_too_deep(self, value: Any, level: int) -> bool:
        return level > self.deepest

    def refuses(self, name: str, level: int) -> bool:
        return is_runtime_override(name)


@target_mutant("knows-fewer-words", breaks={"INV-5.a"}, text="It does not know two of the words.")
class KnowsFewerWords(_Walking):
    def refuses(self, name: str, level: int) -> bool:
        return super().refuses(name, level) and name not in ("oracle", "sidecar")


@target_mutant("overrides-to-the-letter", breaks={"INV-5.b"}, text="It refuses names in lower case only.")
class OverridesToTheLetter(_Walking):
    def refuses(self, name: str, level: int) -> bool:
        capitals = name.isascii() and name != name.lower()
        return super().refuses(name, level) and not capitals


@target_mutant(
    "overrides-by-words-only", breaks={"INV-5.b"}, text="It finds no word pair without its separator."
)
class OverridesByWordsOnly(_Walking):
    def refuses(self, name: str, level: int) -> bool:
        return super().refuses(name, level) and name not in ("apikey", "baseurl", "modelid")


@target_mutant("overrides-in-ascii", breaks={"INV-5.c"}, text="It lets every name beyond ASCII pass.")
class OverridesInAscii(_Walking):
    def refuses(self, name: str, level: int) -> bool:
        return super().refuses(name, level) and name.isascii()


@target_mutant(
    "overrides-without-look-alikes", breaks={"INV-5.c"}, text="It normalises names and knows no look-alikes."
)
class OverridesWithoutLookAlikes(_Walking):
    def refuses(self, name: str, level: int) -> bool:
        normal = unicodedata.normalize("NFKC", name)
        return super().refuses(name, level) and not re.search(r"[\u0370-\u04ff]", normal)


@target_mutant(
    "overrides-at-the-top", breaks={"INV-5.d"}, text="It looks at the names of metadata itself only."
)
class OverridesAtTheTop(_Walking):
    def refuses(self, name: str, level: int) -> bool:
        return level == 1 and super().refuses(name, level)


@target_mutant("overrides-outside-lists", breaks={"INV-5.d"}, text="It does not look into lists.")
class OverridesOutsideLists(_Walking):
    def walk(self, value: Any, level: int) -> None:
        # The levels still count.
        self._in_list = isinstance(value, list) or (level > 1 and self._in_list)
        super().walk(value, level)

    def refuses(self, name: str, level: int) -> bool:
        return not self._in_list and super().refuses(name, level)

    _in_list = False


@target_mutant("metadata-of-any-depth", breaks={"INV-5.e"}, text="It takes metadata of any depth.")
class MetadataOfAnyDepth(_Walking):
    deepest = 99


@target_mutant("lists-of-any-depth", breaks={"INV-5.e"}, text="It counts objects only, not lists.")
class ListsOfAnyDepth(_Walking):
    def is_too_deep(self, value: Any, level: int) -> bool:
        return isinstance(value, dict) and super().is_too_deep(value, level)


@target_mutant("refuses-trace-context", breaks={"INV-5.f"}, text="It refuses every name with state in it.")
class RefusesTraceContext(_Walking):
    def refuses(self, name: str, level: int) -> bool:
        return "state" in name or super().refuses(name, level)


@target_mutant(
    "judges-metadata-values", breaks={"INV-5.f"}, text="It refuses values that look like settings."
)
class JudgesMetadataValues(_Walking):
    def judge_value(self, value: Any) -> None:
        if isinstance(value, str) and "model=" in value:
            raise Refused("runtime_override_forbidden", "expected no setting of the runtime")


@target_mutant("shallow-metadata-only", breaks={"INV-5.f"}, text="It refuses metadata over four levels.")
class ShallowMetadataOnly(_Walking):
    deepest = 4
