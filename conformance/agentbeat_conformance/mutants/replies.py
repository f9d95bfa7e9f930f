"""A request as the base servers see it, and what they answer."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from agentbeat_conformance.mutants.streams import Reading
from agentbeat_protocol import status_of

__all__ = ["JSON_TYPE", "Asked", "Refused", "Reply", "compact_json", "json_reply"]

JSON_TYPE: Final = ("Content-Type", "application/json")


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A request: its head as it came, and a way to read its body."""

    method: str
    path: str
    fields: tuple[tuple[str, str], ...]
    body: Reading

    def values(self, name: str) -> list[str]:
        """Every value of a header field."""
        return [value.strip(" \t") for given, value in self.fields if given.lower() == name.lower()]

    def value(self, name: str) -> str | None:
        """The one value of a header field; None when it is absent or repeated."""
        values = self.values(name)
        return values[0] if len(values) == 1 else None


@dataclass(slots=True)
class Reply:
    """What is answered; a mutant may still change it on its way out."""

    status: int
    body: bytes = b""
    fields: list[tuple[str, str]] = field(default_factory=list)

    def members(self) -> dict[str, Any]:
        """The members of its JSON object."""
        members: dict[str, Any] = json.loads(self.body)
        return members


class Refused(Exception):  # noqa: N818 - a refusal is an answer, not an error of ours
    """The request gets an error answer."""

    def __init__(self, code: str, message: str, *fields: tuple[str, str], status: int | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.fields = fields
        self.status = status or status_of(code)


def json_reply(status: int, members: Mapping[str, Any], *fields: tuple[str, str]) -> Reply:
    """A JSON answer."""
    return Reply(status, json.dumps(members).encode(), [JSON_TYPE, *fields])


def compact_json(value: object) -> bytes:
    """JSON no longer than it has to be; lone surrogates stay what they are."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")
