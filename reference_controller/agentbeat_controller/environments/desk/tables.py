"""The support desk's tables.

Every table is keyed by environment and id, so one database holds many desks and no query that names its
environment sees another's rows (CTL-6). Money is in minor units (cents), as integers. Times are RFC 3339 text
from the desk's own clock, never the time of day.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from sqlalchemy import BigInteger, Column, ForeignKeyConstraint, MetaData, String, Table, Text
from sqlalchemy.types import TypeEngine

__all__ = [
    "RECORD_TABLES",
    "customers",
    "emails",
    "environments",
    "lines",
    "messages",
    "metadata",
    "orders",
    "refunds",
    "tickets",
]

metadata = MetaData()

_ID: Final = 16
_ENVIRONMENT: Final = 128


def _records(
    name: str, *columns: Column[str] | Column[int], refers: Mapping[str, str] | None = None
) -> Table:
    """A table of records; `refers` maps a column to the table whose id it holds."""
    keys = [
        ForeignKeyConstraint(
            ["environment_id", column], [f"desk_{target}.environment_id", f"desk_{target}.id"]
        )
        for column, target in (refers or {}).items()
    ]
    return Table(
        f"desk_{name}",
        metadata,
        Column("environment_id", String(_ENVIRONMENT), primary_key=True),
        Column("id", String(_ID), primary_key=True),
        *columns,
        *keys,
    )


def _required(name: str, kind: TypeEngine[str] | None = None) -> Column[str]:
    return Column(name, kind or Text(), nullable=False)


def _optional(name: str, kind: TypeEngine[str] | None = None) -> Column[str]:
    return Column(name, kind or Text(), nullable=True)


def _amount(name: str) -> Column[int]:
    return Column(name, BigInteger, nullable=False)


environments = Table(
    "desk_environments",
    metadata,
    Column("environment_id", String(_ENVIRONMENT), primary_key=True),
    _required("profile_id", String(256)),
    _required("opened_at", String(40)),
)

customers = _records(
    "customers",
    _required("name"),
    _required("email"),
    _required("phone"),
    _required("tier", String(16)),
    _required("note"),
)

orders = _records(
    "orders",
    _required("customer_id", String(_ID)),
    _required("status", String(16)),
    _required("currency", String(3)),
    _amount("total_minor"),
    _required("shipping_address"),
    _optional("tracking", String(64)),
    _required("note"),
    _required("placed_at", String(40)),
    refers={"customer_id": "customers"},
)

lines = _records(
    "lines",
    _required("order_id", String(_ID)),
    _required("sku", String(32)),
    _required("title"),
    _amount("quantity"),
    _amount("unit_minor"),
    refers={"order_id": "orders"},
)

refunds = _records(
    "refunds",
    _required("order_id", String(_ID)),
    _amount("amount_minor"),
    _required("currency", String(3)),
    _required("reason"),
    _required("created_at", String(40)),
    refers={"order_id": "orders"},
)

tickets = _records(
    "tickets",
    _required("customer_id", String(_ID)),
    _optional("order_id", String(_ID)),
    _required("subject"),
    _required("status", String(16)),
    _required("priority", String(16)),
    _required("created_at", String(40)),
    refers={"customer_id": "customers", "order_id": "orders"},
)

messages = _records(
    "messages",
    _required("ticket_id", String(_ID)),
    _required("author", String(16)),
    _required("visibility", String(16)),
    _required("body"),
    _required("created_at", String(40)),
    refers={"ticket_id": "tickets"},
)

emails = _records(
    "emails",
    _required("recipient", String(254)),
    _required("subject"),
    _required("body"),
    _optional("ticket_id", String(_ID)),
    _required("created_at", String(40)),
    refers={"ticket_id": "tickets"},
)

#: The tables whose rows are the desk's records, each after those that it refers to.
RECORD_TABLES: Final[Mapping[str, Table]] = MappingProxyType(
    {
        "customers": customers,
        "orders": orders,
        "lines": lines,
        "refunds": refunds,
        "tickets": tickets,
        "messages": messages,
        "emails": emails,
    }
)
