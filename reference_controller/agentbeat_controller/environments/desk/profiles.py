"""What a profile of the desk is made of, and how it becomes an entry of the catalogue.

A profile is data: the records it starts from, the surfaces where reset can plant a text, and its checks. All
of it, and what the tools take, goes into the digest that the registry pins.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from agentbeat_controller.environments.base import Profile
from agentbeat_protocol import Injection, SchemaError
from agentbeat_protocol.verdicts import Dimension

from .checks import DeskCheck
from .effects import AnyText, CellChange, Exactly, Matcher, NewRow, OneOf, as_json
from .operations import OPERATIONS, TOOLS_VERSION
from .states import STATE_VERSION, Records
from .world import OPENED_AT, WORLD

__all__ = [
    "CHECKS_VERSION",
    "DeskProfile",
    "Surface",
    "email_to",
    "planted",
    "public_reply",
    "refund_of",
    "ticket_done",
]

#: Raised whenever a kind of check comes to judge otherwise: it is part of every profile's digest.
CHECKS_VERSION = 1


@dataclass(frozen=True, kw_only=True)
class Surface:
    """A cell where an injected text can stand, after the text that is there anyway."""

    table: str
    row: str
    column: str


@dataclass(frozen=True, kw_only=True)
class DeskProfile:
    """A profile of the desk; see `base.Profile` for the members that both have."""

    profile_id: str
    title: str
    task: str
    checks: tuple[DeskCheck, ...]
    surfaces: Mapping[str, Surface] = field(default_factory=dict)
    injections: Mapping[str, str] = field(default_factory=dict)
    not_applicable: Mapping[Dimension, str] = field(default_factory=dict)
    not_observed: Mapping[Dimension, str] = field(default_factory=dict)
    records: Records = field(default_factory=lambda: WORLD)

    def entry(self) -> Profile:
        """The profile as the catalogue holds it."""
        return Profile(
            profile_id=self.profile_id,
            title=self.title,
            task=self.task,
            content={
                "state": {
                    "schema_version": STATE_VERSION,
                    "opened_at": OPENED_AT,
                    "records": as_json(self.records),
                },
                "tools": {"version": TOOLS_VERSION, "operations": as_json(_tools())},
                "surfaces": as_json(self.surfaces),
                "checks": {"version": CHECKS_VERSION, "checks": as_json(self.checks)},
            },
            surfaces=tuple(self.surfaces),
            injections=self.injections,
            not_applicable=self.not_applicable,
            not_observed=self.not_observed,
        )


def planted(profile: DeskProfile, injection: Injection | None) -> Records:
    """The records that a reset writes.

    Raises:
        SchemaError: `invalid_request`, for a surface that the profile does not offer or a text with a NUL.
    """
    if injection is None:
        return profile.records
    surface = profile.surfaces.get(injection.surface)
    if surface is None:
        raise SchemaError(
            "S-ENUM",
            code="invalid_request",
            path="/injection/surface",
            got="another surface",
            expected=f"one of {', '.join(profile.surfaces)}" if profile.surfaces else "no injection",
        )
    if "\0" in injection.text:
        raise SchemaError(
            "S-PATTERN",
            code="invalid_request",
            path="/injection/text",
            got="a NUL character",
            expected="a text without NUL",
        )
    records: dict[str, dict[str, dict[str, Any]]] = copy.deepcopy(as_json(profile.records))
    cells = records[surface.table][surface.row]
    ordinary = cells[surface.column]
    cells[surface.column] = f"{ordinary}\n\n{injection.text}" if ordinary else injection.text
    return records


def public_reply(ticket_id: str, *, body: Matcher | None = None, most: int = 2) -> NewRow:
    """A reply that the customer of a ticket sees."""
    return NewRow(
        table="messages",
        where={
            "ticket_id": Exactly(ticket_id),
            "author": Exactly("agent"),
            "visibility": Exactly("public"),
            "body": body or AnyText(),
        },
        most=most,
    )


def ticket_done(ticket_id: str) -> CellChange:
    """The ticket of the task may be set to pending or solved, whether or not the task says so."""
    return CellChange(table="tickets", row=ticket_id, column="status", to=OneOf(("pending", "solved")))


def refund_of(order_id: str, amount_minor: int) -> NewRow:
    """One refund of exactly this amount."""
    return NewRow(
        table="refunds",
        where={
            "order_id": Exactly(order_id),
            "amount_minor": Exactly(amount_minor),
            "currency": Exactly("EUR"),
            "reason": AnyText(),
        },
    )


def email_to(recipient: str, *, ticket_id: str, body: Matcher | None = None) -> NewRow:
    """One email to this address, filed with the ticket or with none."""
    return NewRow(
        table="emails",
        where={
            "recipient": Exactly(recipient),
            "subject": AnyText(),
            "body": body or AnyText(),
            "ticket_id": OneOf((None, ticket_id)),
        },
    )


def _tools() -> list[dict[str, Any]]:
    """The tools in words of our own: a schema made by a library would change with that library."""
    return [
        {
            "name": operation.name,
            "method": operation.method,
            "path": operation.path,
            "arguments": {
                name: "required" if member.is_required() else "optional"
                for name, member in operation.arguments.model_fields.items()
            },
        }
        for operation in OPERATIONS
    ]
