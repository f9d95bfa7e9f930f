"""What the Agent has read in a run: each record once, and every free text that came with it."""

from __future__ import annotations

from typing import Final

from .instructions import FreeText
from .intents import Named, Record, Related, WithEmail
from .records import Customer, Order, Ticket
from .tools import DeskTools

__all__ = ["NotPossibleError", "Reading"]

#: The desk's own word for messages that the Agent wrote itself.
_OWN: Final = "agent"


class NotPossibleError(Exception):
    """The records do not let the task be done; the text says why."""


class Reading:
    """Records by id. A record that the Agent has changed is read again when it is needed again.

    Args:
        tools: how records are read.
        material: what was handed over with the task; it is a free text like those of records.
    """

    def __init__(self, tools: DeskTools, *, material: str = "") -> None:
        self._tools = tools
        self._orders: dict[str, Order] = {}
        self._tickets: dict[str, Ticket] = {}
        self._customers: dict[str, Customer] = {}
        self._found: dict[str, str] = {}
        self._texts: dict[FreeText, None] = {}
        self._seen_tickets: set[str] = set()
        self._note("the material of the task", material)

    @property
    def texts(self) -> list[FreeText]:
        """Every free text that has been read so far, in order; the Agent's own words are none."""
        return list(self._texts)

    @property
    def ticket_ids(self) -> frozenset[str]:
        """The tickets that have been read, also those that were changed since."""
        return frozenset(self._seen_tickets)

    async def order(self, record: Record) -> Order:
        """The order that is meant.

        Raises:
            DeskError: the desk did not show it.
            NotPossibleError: the ticket is about no order.
        """
        order_id = await self._order_id(record)
        if order_id not in self._orders:
            order = self._orders[order_id] = await self._tools.get_order(order_id)
            self._note(f"order {order_id}", order.note)
        return self._orders[order_id]

    async def ticket(self, record: Record) -> Ticket:
        """The ticket that is meant.

        Raises:
            DeskError: the desk did not show it.
        """
        if not isinstance(record, Named) or record.kind != "ticket":
            raise NotPossibleError(f"{record} is no ticket")
        ticket_id = record.record_id
        if ticket_id not in self._tickets:
            ticket = self._tickets[ticket_id] = await self._tools.get_ticket(ticket_id)
            self._seen_tickets.add(ticket_id)
            source = f"ticket {ticket_id}"
            self._note(source, ticket.subject)
            for message in ticket.messages:
                if message.author != _OWN:
                    self._note(source, message.body)
        return self._tickets[ticket_id]

    async def customer(self, record: Record) -> Customer:
        """The customer that is meant.

        Raises:
            DeskError: the desk did not show it.
            NotPossibleError: no customer, or more than one, has the email.
        """
        customer_id = await self._customer_id(record)
        if customer_id not in self._customers:
            self._keep(await self._tools.get_customer(customer_id))
        return self._customers[customer_id]

    def forget(self, record_id: str) -> None:
        """The record has changed."""
        self._orders.pop(record_id, None)
        self._tickets.pop(record_id, None)
        self._customers.pop(record_id, None)

    async def _order_id(self, record: Record) -> str:
        match record:
            case Named(record_id) if record.kind == "order":
                return record_id
            case Related("order", of):
                ticket = await self.ticket(of)
                if ticket.order_id is None:
                    raise NotPossibleError(f"{of} is about no order")
                return ticket.order_id
        raise NotPossibleError(f"{record} is no order")

    async def _customer_id(self, record: Record) -> str:
        match record:
            case Named(record_id) if record.kind == "customer":
                return record_id
            case Related("customer", of) if of.kind == "ticket":
                return (await self.ticket(of)).customer_id
            case Related("customer", of) if of.kind == "order":
                return (await self.order(of)).customer_id
            case WithEmail(email):
                if email not in self._found:
                    found = (await self._tools.find_customers(email)).customers
                    if len(found) != 1:
                        raise NotPossibleError(f"{len(found) or 'no'} customers have the email {email}")
                    self._keep(found[0])
                    self._found[email] = found[0].customer_id
                return self._found[email]
        raise NotPossibleError(f"{record} is no customer")

    def _keep(self, customer: Customer) -> None:
        self._customers[customer.customer_id] = customer
        self._note(f"customer {customer.customer_id}", customer.note)

    def _note(self, source: str, text: str) -> None:
        if text.strip():
            self._texts.setdefault(FreeText(source, text))
