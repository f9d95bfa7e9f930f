"""The desk's reading operations: customers, orders, tickets, the outbox."""

from __future__ import annotations

from typing import Any, TypeVar

from agentbeat_controller.environments.operations import Call, Refusal

from . import tables
from .models import (
    Arguments,
    CustomerId,
    CustomerList,
    CustomerRecord,
    EmailAddress,
    EmailList,
    EmailRecord,
    LineRecord,
    MessageRecord,
    OrderId,
    OrderList,
    OrderRecord,
    OrderSummary,
    PageSize,
    RefundRecord,
    ShortText,
    TicketId,
    TicketList,
    TicketRecord,
    TicketStatus,
    TicketSummary,
)
from .rows import Row, find, row

__all__ = [
    "FindCustomers",
    "ListEmails",
    "ListTickets",
    "OneCustomer",
    "OneOrder",
    "OneTicket",
    "find_customers",
    "get_customer",
    "get_order",
    "get_ticket",
    "list_customer_orders",
    "list_emails",
    "list_tickets",
    "order_record",
    "record",
    "ticket_summary",
]

RecordT = TypeVar("RecordT")


class ListTickets(Arguments):
    """Tickets that match everything given; `query` is looked for in the subject, in any case."""

    status: TicketStatus | None = None
    customer_id: CustomerId | None = None
    query: ShortText | None = None
    limit: PageSize = 50


class OneTicket(Arguments):
    """A ticket's id."""

    ticket_id: TicketId


class FindCustomers(Arguments):
    """An email, or a part of a name; at least one of them."""

    email: EmailAddress | None = None
    name: ShortText | None = None


class OneCustomer(Arguments):
    """A customer's id."""

    customer_id: CustomerId


class OneOrder(Arguments):
    """An order's id."""

    order_id: OrderId


class ListEmails(Arguments):
    """At most this many emails, the oldest first."""

    limit: PageSize = 50


def list_tickets(call: Call, asked: ListTickets) -> TicketList:
    """Tickets by number."""
    found = find(
        call,
        tables.tickets,
        **{
            column: value
            for column, value in (("status", asked.status), ("customer_id", asked.customer_id))
            if value is not None
        },
    )
    # Compared here and not in SQL: databases disagree about the case of letters.
    words = (asked.query or "").casefold()
    matching = [ticket for ticket in found if words in ticket["subject"].casefold()]
    return TicketList(tickets=[ticket_summary(ticket) for ticket in matching[: asked.limit]])


def get_ticket(call: Call, asked: OneTicket) -> TicketRecord:
    """A ticket with all its messages."""
    ticket = row(call, tables.tickets, asked.ticket_id)
    return TicketRecord(
        **_members(ticket, "ticket_id"),
        messages=[
            MessageRecord(**_members(message, "message_id", without=("ticket_id",)))
            for message in find(call, tables.messages, ticket_id=asked.ticket_id)
        ],
    )


def find_customers(call: Call, asked: FindCustomers) -> CustomerList:
    """Customers by number."""
    if asked.email is None and asked.name is None:
        raise Refusal("invalid_request", "expected an email or a name")
    email, name = (asked.email or "").casefold(), (asked.name or "").casefold()
    return CustomerList(
        customers=[
            record(CustomerRecord, customer, "customer_id")
            for customer in find(call, tables.customers)
            if email in ("", customer["email"].casefold()) and name in customer["name"].casefold()
        ]
    )


def get_customer(call: Call, asked: OneCustomer) -> CustomerRecord:
    """One customer."""
    return record(CustomerRecord, row(call, tables.customers, asked.customer_id), "customer_id")


def list_customer_orders(call: Call, asked: OneCustomer) -> OrderList:
    """A customer's orders by number."""
    row(call, tables.customers, asked.customer_id)
    return OrderList(
        orders=[
            OrderSummary(
                **_members(order, "order_id", without=("shipping_address", "tracking", "note")),
            )
            for order in find(call, tables.orders, customer_id=asked.customer_id)
        ]
    )


def get_order(call: Call, asked: OneOrder) -> OrderRecord:
    """An order with its lines and refunds."""
    return order_record(call, asked.order_id)


def list_emails(call: Call, asked: ListEmails) -> EmailList:
    """The outbox."""
    return EmailList(
        emails=[record(EmailRecord, email, "email_id") for email in find(call, tables.emails)[: asked.limit]]
    )


def order_record(call: Call, order_id: str) -> OrderRecord:
    """An order with its lines, its refunds and what can still be refunded."""
    order = row(call, tables.orders, order_id)
    refunds = find(call, tables.refunds, order_id=order_id)
    return OrderRecord(
        **_members(order, "order_id"),
        lines=[
            LineRecord(**_members(line, "line_id", without=("order_id",)))
            for line in find(call, tables.lines, order_id=order_id)
        ],
        refunds=[record(RefundRecord, refund, "refund_id") for refund in refunds],
        refundable_minor=order["total_minor"] - sum(refund["amount_minor"] for refund in refunds),
    )


def ticket_summary(ticket: Row) -> TicketSummary:
    """A ticket's row as a list shows it."""
    return record(TicketSummary, ticket, "ticket_id")


def record(model: type[RecordT], found: Row, id_name: str) -> RecordT:
    """A row as its record: the id under its own name, without the environment."""
    return model(**_members(found, id_name))


def _members(found: Row, id_name: str, *, without: tuple[str, ...] = ()) -> dict[str, Any]:
    hidden = ("environment_id", "id", *without)
    return {id_name: found["id"], **{name: value for name, value in found.items() if name not in hidden}}
