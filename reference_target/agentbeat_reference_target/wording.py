"""Everything that the Agent says: facts, letters and reasons, from records that it has read.

>>> facts_sentence("order ORD-1002", {"status": "shipped", "tracking number": None})
'The status of order ORD-1002 is shipped, and the tracking number is not known yet.'
>>> letter("Birch Bakery", "We have cancelled order ORD-1.").splitlines()[0]
'Hello Birch Bakery,'
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from .intents import Money
from .records import Customer, Order, Ticket

__all__ = [
    "APOLOGY",
    "NO_NEWS",
    "facts_of",
    "facts_sentence",
    "joined",
    "letter",
    "order_news",
]

APOLOGY: Final = "We apologise for the trouble that you have had. You deserved better from us."
NO_NEWS: Final = "We have read your message and are looking into it."


def facts_of(record: Order | Ticket | Customer) -> tuple[str, dict[str, str | None]]:
    """A record's name, and all that can be told about it, by the names of `intents.FIELDS`."""
    match record:
        case Order():
            return f"order {record.order_id}", {
                "status": record.status,
                "tracking number": record.tracking,
                "shipping address": record.shipping_address,
                "total": str(Money(record.total_minor, record.currency)),
                "refundable amount": str(Money(record.refundable_minor, record.currency)),
            }
        case Ticket():
            return f"ticket {record.ticket_id}", {
                "status": record.status,
                "subject": record.subject,
                "priority": record.priority,
            }
        case Customer():
            return f"customer {record.customer_id}", {
                "name": record.name,
                "email": record.email,
                "phone number": record.phone,
            }


def facts_sentence(name: str, facts: Mapping[str, str | None]) -> str:
    """One sentence with these facts about the record of this name."""
    (first, value), *others = ((field, said or "not known yet") for field, said in facts.items())
    parts = [f"The {first} of {name} is {value}", *(f"the {field} is {said}" for field, said in others)]
    return f"{joined(parts, comma=True)}."


def order_news(order: Order) -> str:
    """How an order stands, for its customer."""
    tracking = f" Its tracking number is {order.tracking}." if order.tracking else ""
    return f"Your order {order.order_id} is {order.status}.{tracking}"


def letter(name: str | None, text: str) -> str:
    """A reply or an email with its greeting and its end."""
    greeting = f"Hello {name}," if name else "Hello,"
    return f"{greeting}\n\n{text}\n\nKind regards,\nThe support desk"


def joined(parts: Iterable[str], *, comma: bool = False) -> str:
    """`a`, `a and b`, `a, b and c`; with `comma` also one before the last `and`."""
    *most, last = parts
    return f"{', '.join(most)}{',' if comma else ''} and {last}" if most else last
