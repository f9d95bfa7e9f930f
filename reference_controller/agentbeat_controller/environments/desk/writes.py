"""The desk's changing operations. Each looks at everything that could refuse it before it writes.

What an order's status allows:

    placed → packed → shipped → delivered        one step at a time
    placed, packed → cancelled
    the shipping address changes until the order has shipped
    money goes back once it has shipped or is cancelled
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from agentbeat_controller.environments.operations import Call, Refusal

from . import tables
from .models import (
    Address,
    Amount,
    Arguments,
    CustomerId,
    CustomerRecord,
    EmailAddress,
    EmailRecord,
    LongText,
    MessageRecord,
    OrderId,
    OrderRecord,
    OrderStatus,
    Phone,
    RefundRecord,
    ShortText,
    TicketId,
    TicketStatus,
    TicketSummary,
    Visibility,
)
from .reads import order_record, record, ticket_summary
from .rows import change, find, row, write

__all__ = [
    "AddReply",
    "IssueRefund",
    "SendEmail",
    "SetOrderStatus",
    "SetTicketStatus",
    "UpdateCustomer",
    "UpdateShippingAddress",
    "add_ticket_reply",
    "issue_refund",
    "send_email",
    "set_order_status",
    "set_ticket_status",
    "update_customer",
    "update_shipping_address",
]

_NEXT: Final[Mapping[str, tuple[str, ...]]] = {
    "placed": ("packed", "cancelled"),
    "packed": ("shipped", "cancelled"),
    "shipped": ("delivered",),
    "delivered": (),
    "cancelled": (),
}


class AddReply(Arguments):
    """A reply to the customer, or an internal message for colleagues."""

    ticket_id: TicketId
    body: LongText
    visibility: Visibility = "public"


class SetTicketStatus(Arguments):
    """A ticket's new status."""

    ticket_id: TicketId
    status: TicketStatus


class UpdateCustomer(Arguments):
    """A customer's new email or phone; at least one of them."""

    customer_id: CustomerId
    email: EmailAddress | None = None
    phone: Phone | None = None


class UpdateShippingAddress(Arguments):
    """Where an order goes."""

    order_id: OrderId
    shipping_address: Address


class SetOrderStatus(Arguments):
    """An order's new status."""

    order_id: OrderId
    status: OrderStatus


class IssueRefund(Arguments):
    """How much goes back, in minor units of the order's currency, and why."""

    order_id: OrderId
    amount_minor: Amount
    reason: ShortText


class SendEmail(Arguments):
    """An email to anyone; `ticket_id` files it with a ticket."""

    recipient: EmailAddress
    subject: ShortText
    body: LongText
    ticket_id: TicketId | None = None


def add_ticket_reply(call: Call, asked: AddReply) -> MessageRecord:
    """Add a message to a ticket that is not closed."""
    if row(call, tables.tickets, asked.ticket_id)["status"] == "closed":
        raise Refusal("ticket_closed", "the ticket is closed")
    added = write(
        call,
        tables.messages,
        ticket_id=asked.ticket_id,
        author="agent",
        visibility=asked.visibility,
        body=asked.body,
    )
    return record(
        MessageRecord, {name: value for name, value in added.items() if name != "ticket_id"}, "message_id"
    )


def set_ticket_status(call: Call, asked: SetTicketStatus) -> TicketSummary:
    """Set a ticket's status; the same one again is fine, a closed ticket stays closed."""
    now = row(call, tables.tickets, asked.ticket_id)["status"]
    if now == "closed" and asked.status != "closed":
        raise Refusal("ticket_closed", "the ticket is closed")
    return ticket_summary(change(call, tables.tickets, asked.ticket_id, status=asked.status))


def update_customer(call: Call, asked: UpdateCustomer) -> CustomerRecord:
    """Change how a customer is reached; an email belongs to one customer only."""
    row(call, tables.customers, asked.customer_id)
    changes = asked.model_dump(include={"email", "phone"}, exclude_none=True)
    if not changes:
        raise Refusal("invalid_request", "expected an email or a phone")
    if asked.email is not None:
        taken = {
            other["email"].casefold()
            for other in find(call, tables.customers)
            if other["id"] != asked.customer_id
        }
        if asked.email.casefold() in taken:
            raise Refusal("email_in_use", "another customer has this email")
    return record(CustomerRecord, change(call, tables.customers, asked.customer_id, **changes), "customer_id")


def update_shipping_address(call: Call, asked: UpdateShippingAddress) -> OrderRecord:
    """Change where an order goes while it has not shipped."""
    if row(call, tables.orders, asked.order_id)["status"] not in ("placed", "packed"):
        raise Refusal("order_not_changeable", "the order has shipped or is cancelled")
    change(call, tables.orders, asked.order_id, shipping_address=asked.shipping_address)
    return order_record(call, asked.order_id)


def set_order_status(call: Call, asked: SetOrderStatus) -> OrderRecord:
    """Take an order to its next status, or cancel it while it has not shipped."""
    now = row(call, tables.orders, asked.order_id)["status"]
    if asked.status not in (now, *_NEXT[now]):
        raise Refusal("status_conflict", f"an order that is {now} cannot become {asked.status}")
    change(call, tables.orders, asked.order_id, status=asked.status)
    return order_record(call, asked.order_id)


def issue_refund(call: Call, asked: IssueRefund) -> RefundRecord:
    """Give money back on an order, at most what has not been given back yet."""
    order = order_record(call, asked.order_id)
    if order.status in ("placed", "packed"):
        raise Refusal("order_not_refundable", "the order has not shipped: cancel it first")
    if asked.amount_minor > order.refundable_minor:
        raise Refusal("refund_exceeds_remaining", "the amount is more than what can still be refunded")
    added = write(
        call,
        tables.refunds,
        order_id=asked.order_id,
        amount_minor=asked.amount_minor,
        currency=order.currency,
        reason=asked.reason,
    )
    return record(RefundRecord, added, "refund_id")


def send_email(call: Call, asked: SendEmail) -> EmailRecord:
    """Put an email in the outbox; nobody takes it back."""
    if asked.ticket_id is not None:
        row(call, tables.tickets, asked.ticket_id)
    added = write(
        call,
        tables.emails,
        recipient=asked.recipient,
        subject=asked.subject,
        body=asked.body,
        ticket_id=asked.ticket_id,
    )
    return record(EmailRecord, added, "email_id")
