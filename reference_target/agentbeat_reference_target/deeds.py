"""Carrying out intents: first everything that has to be read, then the changes, one by one.

`prepare` reads what an intent is about and looks for reasons against it. It changes nothing, so a task is
prepared as a whole before any of it is done. `perform` does one intent with the tools.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from .intents import (
    About,
    Apology,
    ChangeAddress,
    ChangeContact,
    Content,
    Facts,
    Intent,
    LeaveRest,
    Money,
    Named,
    Record,
    Refund,
    Related,
    Reply,
    SendEmail,
    SetOrderStatus,
    SetTicketStatus,
    Tell,
    Text,
)
from .reading import NotPossibleError, Reading
from .records import Customer, Order, Ticket
from .tools import DeskTools
from .wording import APOLOGY, NO_NEWS, facts_of, facts_sentence, letter, order_news

__all__ = ["Deed", "perform", "prepare"]

_REASON: Final = "Agreed with the support desk"


@dataclass(frozen=True)
class Deed:
    """Something that has been done.

    Args:
        report: a sentence for the one who gave the task.
        customer_id: the customer whom it concerns.
        news: a sentence for that customer; None when it is nothing to write to them about.
    """

    report: str
    customer_id: str | None = None
    news: str | None = None


async def prepare(intent: Intent, reading: Reading) -> None:
    """Read what an intent needs.

    Raises:
        DeskError: the desk did not show a record.
        NotPossibleError: the records speak against it.
    """
    match intent:
        case Refund():
            _refund_amount(intent, await reading.order(intent.order))
        case SetOrderStatus() | ChangeAddress():
            await reading.order(intent.order)
        case ChangeContact():
            await reading.customer(intent.customer)
        case SetTicketStatus():
            await reading.ticket(intent.ticket)
        case Reply():
            ticket = await reading.ticket(intent.ticket)
            await reading.customer(Named(ticket.customer_id))
            if ticket.order_id is not None:
                await reading.order(Named(ticket.order_id))
            await _content_text(intent.content, reading)
        case SendEmail():
            if not isinstance(intent.recipient, str):
                await reading.customer(intent.recipient)
            await _content_text(intent.content, reading)
        case Tell():
            await _content_text(intent.facts, reading)
        case LeaveRest():
            pass


async def perform(intent: Intent, reading: Reading, tools: DeskTools, deeds: Sequence[Deed]) -> Deed | None:
    """Do what an intent asks for; None when there is nothing to do.

    Args:
        deeds: what has been done before it in this run; a reply tells its customer about it.

    Raises:
        DeskError: the desk did not do it.
        NotPossibleError: the records, as they are by now, speak against it.
    """
    match intent:
        case Refund():
            return await _refund(intent, reading, tools)
        case SetOrderStatus():
            return await _set_order_status(intent, reading, tools)
        case ChangeAddress():
            return await _change_address(intent, reading, tools)
        case ChangeContact():
            return await _change_contact(intent, reading, tools)
        case SetTicketStatus():
            return await _set_ticket_status(intent, reading, tools)
        case Reply():
            return await _reply(intent, reading, tools, deeds)
        case SendEmail():
            return await _send_email(intent, reading, tools)
        case Tell():
            record = await _record(intent.facts.subject, reading)
            said = await _content_text(intent.facts, reading)
            return Deed(said, record.customer_id, None if isinstance(record, Customer) else said)
        case LeaveRest():
            return None


def _refund_amount(intent: Refund, order: Order) -> Money:
    amount = intent.amount or Money(order.refundable_minor, order.currency)
    if amount.currency != order.currency:
        raise NotPossibleError(f"the order is in {order.currency}, not in {amount.currency}")
    if amount.minor <= 0:
        raise NotPossibleError("nothing of it is left to refund")
    return amount


async def _refund(intent: Refund, reading: Reading, tools: DeskTools) -> Deed:
    order = await reading.order(intent.order)
    amount = _refund_amount(intent, order)
    done = await tools.issue_refund(order.order_id, amount.minor, _REASON)
    reading.forget(order.order_id)
    what = f"refunded {amount} of order {order.order_id} ({done.refund_id})"
    return Deed(f"I {what}.", order.customer_id, f"We have {what}.")


async def _set_order_status(intent: SetOrderStatus, reading: Reading, tools: DeskTools) -> Deed:
    order = await reading.order(intent.order)
    await tools.set_order_status(order.order_id, intent.status)
    reading.forget(order.order_id)
    if intent.status == "cancelled":
        what = f"cancelled order {order.order_id}"
        return Deed(f"I {what}.", order.customer_id, f"We have {what}.")
    what = f"order {order.order_id}"
    return Deed(f"I set {what} to {intent.status}.", order.customer_id, f"Your {what} is {intent.status}.")


async def _change_address(intent: ChangeAddress, reading: Reading, tools: DeskTools) -> Deed:
    order = await reading.order(intent.order)
    await tools.update_shipping_address(order.order_id, intent.address)
    reading.forget(order.order_id)
    what = f"changed the shipping address of order {order.order_id} to {intent.address}"
    return Deed(f"I {what}.", order.customer_id, f"We have {what}.")


async def _change_contact(intent: ChangeContact, reading: Reading, tools: DeskTools) -> Deed:
    customer = await reading.customer(intent.customer)
    email, phone = (intent.value, None) if intent.field == "email" else (None, intent.value)
    await tools.update_customer(customer.customer_id, email=email, phone=phone)
    reading.forget(customer.customer_id)
    field = "email" if intent.field == "email" else "phone number"
    return Deed(
        f"I changed the {field} of customer {customer.customer_id} to {intent.value}.",
        customer.customer_id,
        f"We have changed your {field} to {intent.value}.",
    )


async def _set_ticket_status(intent: SetTicketStatus, reading: Reading, tools: DeskTools) -> Deed:
    ticket = await reading.ticket(intent.ticket)
    await tools.set_ticket_status(ticket.ticket_id, intent.status)
    reading.forget(ticket.ticket_id)
    return Deed(f"I set ticket {ticket.ticket_id} to {intent.status}.")


async def _reply(intent: Reply, reading: Reading, tools: DeskTools, deeds: Sequence[Deed]) -> Deed:
    ticket = await reading.ticket(intent.ticket)
    customer = await reading.customer(Named(ticket.customer_id))
    if intent.content is None:
        text = await _news(ticket, reading, deeds)
    else:
        text = await _content_text(intent.content, reading)
    await tools.add_ticket_reply(ticket.ticket_id, letter(customer.name, text))
    reading.forget(ticket.ticket_id)
    return Deed(f"I replied on ticket {ticket.ticket_id}.")


async def _send_email(intent: SendEmail, reading: Reading, tools: DeskTools) -> Deed:
    text = await _content_text(intent.content, reading)
    if isinstance(intent.recipient, str):
        address, name, ticket_id = intent.recipient, None, None
    else:
        customer = await reading.customer(intent.recipient)
        address, name, ticket_id = customer.email, customer.name, _ticket_of(intent.recipient)
    await tools.send_email(address, _subject(intent.content), letter(name, text), ticket_id=ticket_id)
    what = f" {intent.content}" if isinstance(intent.content, Facts) else ""
    return Deed(f"I emailed {address}{what}.")


async def _news(ticket: Ticket, reading: Reading, deeds: Sequence[Deed]) -> str:
    """What a reply without given content says: what has been done for this customer, and no other."""
    news = [deed.news for deed in deeds if deed.news and deed.customer_id == ticket.customer_id]
    if not news and ticket.order_id is not None:
        news = [order_news(await reading.order(Named(ticket.order_id)))]
    return " ".join(news) or NO_NEWS


async def _content_text(content: Content | None, reading: Reading) -> str:
    match content:
        case Facts():
            name, known = facts_of(await _record(content.subject, reading))
            return facts_sentence(name, {field: known[field] for field in content.fields})
        case About():
            return order_news(await reading.order(content.order))
        case Apology():
            return APOLOGY
        case Text():
            return content.text
        case None:
            return ""


async def _record(record: Record, reading: Reading) -> Order | Ticket | Customer:
    if record.kind == "order":
        return await reading.order(record)
    return await (reading.ticket(record) if record.kind == "ticket" else reading.customer(record))


def _subject(content: Content) -> str:
    match content:
        case Facts():
            return f"About {content.subject}"
        case About():
            return f"About {content.order}"
        case Apology():
            return "Our apology"
        case Text():
            return "A message from the support desk"


def _ticket_of(recipient: Record) -> str | None:
    """The ticket through which a customer was named: the email is filed with it."""
    match recipient:
        case Related(of=Named(record_id) as of) if of.kind == "ticket":
            return record_id
    return None
