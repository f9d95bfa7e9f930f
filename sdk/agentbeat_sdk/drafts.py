"""The `data` of one event, redacted and bounded, as JSON text.

A draft is made outside of the recorder's lock: turning the Agent's objects into JSON runs their code. What is
not all of the original says so in the event's `attributes`:

    truncated          true
    original_lengths   {member: code points} of the texts that were cut

A value that was cut short (`arguments`, `result`, …) carries marks in its place (`bounded`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Final, cast, get_args

from pydantic import JsonValue as JSONValue

from agentbeat_sdk.bounded import encoded, snapshot
from agentbeat_sdk.limits import RecordingLimits
from agentbeat_sdk.redaction import Redactor

__all__ = ["NO_TEXT", "Draft", "check_choice", "joined", "shown_source"]

#: Stands where the protocol asks for a text and there is none.
NO_TEXT: Final = "(empty)"


def joined(members: Mapping[str, str]) -> str:
    """An object of members whose values are JSON text already."""
    return "{" + ",".join(f'"{name}":{value}' for name, value in members.items()) + "}"


def check_choice(name: str, value: object, choices: Any) -> None:
    """Refuse a value that is none of the `Literal` type `choices`, with ValueError."""
    if value not in get_args(choices):
        raise ValueError(f"{name}: got another value, expected one of {', '.join(get_args(choices))}")


@lru_cache(maxsize=16)
def shown_source(source: str, limit: int, redactor: Redactor) -> str:
    """The source of events as it may be stored, not empty. A Target has one for all its runs."""
    return redactor.clean(source, limit).text or NO_TEXT


@dataclass(slots=True)
class Draft:
    """An event's data in the making; `members` maps each name to its JSON text."""

    limits: RecordingLimits
    redactor: Redactor
    members: dict[str, str] = field(default_factory=dict)
    lengths: dict[str, int] = field(default_factory=dict)
    whole: bool = True

    def plain(self, value: object) -> str:
        """A text as it was given. None is empty, an exception its type and text, other values their JSON."""
        if value is None:
            return ""
        if issubclass(type(value), str):
            return str.__str__(cast(str, value))
        copied = self._snapshot(value)
        if issubclass(type(value), BaseException) and isinstance(copied, dict):
            return ": ".join(str(part) for part in copied.values() if part)
        return copied if isinstance(copied, str) else encoded(copied)

    def add_text(self, name: str, value: object, limit: int, *, empty: str = "") -> str:
        """Add a text of at most `limit` code points, and return it.

        Args:
            value: see `plain`.
            empty: what stands where the text is empty.
        """
        original = self.plain(value)
        cleaned = self.redactor.clean(original, limit)
        if not cleaned.whole:
            self.lengths[name] = len(original)
        shown = cleaned.text or empty
        self.members[name] = encoded(shown)
        return shown

    def add_status(self, status: str | None) -> None:
        """Add a status, if there is one."""
        if status is not None:
            self.add_text("status", status, self.limits.max_status)

    def add_value(self, name: str, value: object) -> None:
        """Add any value."""
        self.members[name] = encoded(self._snapshot(value))

    def add_object(self, name: str, value: object) -> None:
        """Add a value as an object; what is no object becomes its member `value`."""
        self.members[name] = encoded(self._object(value))

    def add_array(self, name: str, value: object) -> None:
        """Add a value as an array; what is no array becomes its one item."""
        copied = self._snapshot(value)
        self.members[name] = encoded(copied if isinstance(copied, list) else [copied])

    def finish(self, attributes: Mapping[str, object] | None) -> dict[str, str]:
        """Add the attributes, with what was cut, and return all members."""
        if attributes is None and self.whole and not self.lengths:
            self.members["attributes"] = "{}"
            return self.members
        shown = self._object({} if attributes is None else attributes)
        if not self.whole or self.lengths:
            shown["truncated"] = True
        if self.lengths:
            shown["original_lengths"] = dict(self.lengths)
        self.members["attributes"] = encoded(shown)
        return self.members

    def _object(self, value: object) -> dict[str, JSONValue]:
        copied = self._snapshot(value)
        return copied if isinstance(copied, dict) else {"value": copied}

    def _snapshot(self, value: object) -> JSONValue:
        copied = snapshot(value, limits=self.limits, redactor=self.redactor)
        self.whole = self.whole and copied.whole
        return copied.value
