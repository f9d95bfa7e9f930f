"""The desk's records as the Agent reads them: typed, checked when they arrive, each read once.

A record keeps members that the Agent does not know: what the desk said is recorded whole.
"""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict

__all__ = [
    "Customer",
    "CustomerList",
    "Email",
    "Message",
    "Order",
    "Refunded",
    "Ticket",
    "TicketLine",
    "TicketList",
]


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="allow")


class Customer(_Record):
    """A customer."""

    customer_id: str
    name: str
    email: str
    phone: str
    note: str = ""


class CustomerList(_Record):
    """Customers that were looked for."""

    customers: tuple[Customer, ...]


class Order(_Record):
    """An order; `refundable_minor` is what has not been given back yet, in minor units of its currency."""

    order_id: str
    customer_id: str
    status: str
    currency: str
    total_minor: int
    refundable_minor: int
    shipping_address: str
    tracking: str | None = None
    note: str = ""


class Refunded(_Record):
    """Money given back on an order."""

    refund_id: str
    order_id: str
    amount_minor: int
    currency: str


class Message(_Record):
    """A message on a ticket; `internal` ones are not for the customer."""

    message_id: str
    author: str
    visibility: str
    body: str


class TicketLine(_Record):
    """A ticket as a list shows it."""

    ticket_id: str
    customer_id: str
    order_id: str | None = None
    subject: str
    status: str
    priority: str


class Ticket(TicketLine):
    """A ticket with its messages, oldest first."""

    messages: tuple[Message, ...]


class TicketList(_Record):
    """Tickets, by number."""

    tickets: tuple[TicketLine, ...]


class Email(_Record):
    """An email that has left the desk."""

    email_id: str
    recipient: str
    subject: str
