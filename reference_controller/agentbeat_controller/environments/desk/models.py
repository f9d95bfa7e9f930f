"""What the desk's API says and takes: its records, and the kinds of value in its arguments.

Amounts are integers in minor units of the order's currency. Text that a record keeps has a visible character,
a bounded length and no NUL, which PostgreSQL cannot store.
"""

from __future__ import annotations

import re
from typing import Annotated, Any, Final, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints

from agentbeat_protocol.models import rule_error

__all__ = [
    "Address",
    "Amount",
    "Arguments",
    "CustomerId",
    "CustomerList",
    "CustomerRecord",
    "EmailAddress",
    "EmailList",
    "EmailRecord",
    "LineRecord",
    "LongText",
    "MessageRecord",
    "OrderId",
    "OrderList",
    "OrderRecord",
    "OrderStatus",
    "OrderSummary",
    "PageSize",
    "Phone",
    "Priority",
    "RefundRecord",
    "ShortText",
    "TicketId",
    "TicketList",
    "TicketRecord",
    "TicketStatus",
    "TicketSummary",
    "Visibility",
]

OrderStatus = Literal["placed", "packed", "shipped", "delivered", "cancelled"]
TicketStatus = Literal["open", "pending", "solved", "closed"]
Priority = Literal["low", "normal", "high"]
Visibility = Literal["public", "internal"]
Tier = Literal["standard", "gold"]
Author = Literal["customer", "agent", "colleague"]

_NO_NUL: Final = r"^[^\x00]*$"
_ADDRESS: Final = r"^[A-Za-z0-9._%+\-]{1,64}@[A-Za-z0-9\-]{1,63}(\.[A-Za-z0-9\-]{1,63}){1,8}$"
_DIGITS: Final = re.compile(r"[0-9]{1,6}")


def _visible(text: str) -> str:
    if not text.strip():
        raise rule_error("desk-visible", "a text with a character that is not white space")
    return text


def _number(value: Any) -> Any:
    """A query's text as the integer that it spells; anything else is left for the type to refuse."""
    return int(value) if isinstance(value, str) and _DIGITS.fullmatch(value) else value


ShortText = Annotated[
    str, StringConstraints(min_length=1, max_length=256, pattern=_NO_NUL), AfterValidator(_visible)
]
LongText = Annotated[
    str, StringConstraints(min_length=1, max_length=4096, pattern=_NO_NUL), AfterValidator(_visible)
]
Address = Annotated[
    str, StringConstraints(min_length=1, max_length=512, pattern=_NO_NUL), AfterValidator(_visible)
]
Phone = Annotated[str, StringConstraints(pattern=r"^\+?[0-9][0-9 ]{4,30}$")]
EmailAddress = Annotated[str, StringConstraints(max_length=254, pattern=_ADDRESS)]
#: Minor units of the currency; far below the 64 bits that the database holds.
Amount = Annotated[int, Field(ge=1, le=1_000_000_000_000)]
PageSize = Annotated[int, BeforeValidator(_number), Field(ge=1, le=100)]
CustomerId = Annotated[str, StringConstraints(pattern=r"^CUS-[0-9]{1,9}$")]
OrderId = Annotated[str, StringConstraints(pattern=r"^ORD-[0-9]{1,9}$")]
TicketId = Annotated[str, StringConstraints(pattern=r"^TCK-[0-9]{1,9}$")]


class Arguments(BaseModel):
    """The arguments of one operation: strict, and nothing beyond the members named."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class CustomerRecord(_Record):
    """A customer and how to reach them."""

    customer_id: str
    name: str
    email: str
    phone: str
    tier: Tier
    note: str


class LineRecord(_Record):
    """One line of an order."""

    line_id: str
    sku: str
    title: str
    quantity: int
    unit_minor: int


class RefundRecord(_Record):
    """Money given back on an order."""

    refund_id: str
    order_id: str
    amount_minor: int
    currency: str
    reason: str
    created_at: str


class OrderSummary(_Record):
    """An order as a list shows it."""

    order_id: str
    customer_id: str
    status: OrderStatus
    currency: str
    total_minor: int
    placed_at: str


class OrderRecord(OrderSummary):
    """An order with its lines and refunds; `refundable_minor` is what has not been given back yet."""

    shipping_address: str
    tracking: str | None
    note: str
    lines: list[LineRecord]
    refunds: list[RefundRecord]
    refundable_minor: int


class MessageRecord(_Record):
    """One message of a ticket; `internal` ones are not for the customer."""

    message_id: str
    author: Author
    visibility: Visibility
    body: str
    created_at: str


class TicketSummary(_Record):
    """A ticket as a list shows it."""

    ticket_id: str
    customer_id: str
    order_id: str | None
    subject: str
    status: TicketStatus
    priority: Priority
    created_at: str


class TicketRecord(TicketSummary):
    """A ticket with its messages, oldest first."""

    messages: list[MessageRecord]


class EmailRecord(_Record):
    """An email that has left the desk."""

    email_id: str
    recipient: str
    subject: str
    body: str
    ticket_id: str | None
    created_at: str


class CustomerList(_Record):
    """Customers, by number."""

    customers: list[CustomerRecord]


class OrderList(_Record):
    """Orders, by number."""

    orders: list[OrderSummary]


class TicketList(_Record):
    """Tickets, by number."""

    tickets: list[TicketSummary]


class EmailList(_Record):
    """Emails, by number."""

    emails: list[EmailRecord]
