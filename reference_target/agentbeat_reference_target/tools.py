"""The Agent's tools: one for each operation of the business API that it uses.

Each is an ordinary method under `@tool`. That is all it takes to have its calls, results and errors in the
run's evidence.
"""

from __future__ import annotations

from typing import Any, TypeVar
from urllib.parse import quote

from pydantic import BaseModel, ValidationError

from agentbeat_sdk import tool

from .desk import DeskFailedError, DeskSession
from .records import Customer, CustomerList, Email, Message, Order, Refunded, Ticket, TicketLine, TicketList

__all__ = ["DeskTools"]

RecordT = TypeVar("RecordT", bound=BaseModel)


class DeskTools:
    """The tools of one run. Every one raises `DeskError` when the desk has not done what it was asked."""

    def __init__(self, session: DeskSession) -> None:
        self._session = session

    @tool
    async def list_tickets(self, status: str) -> TicketList:
        """List the tickets that have a status."""
        return _read(TicketList, await self._session.call("GET", "/v1/tickets", query={"status": status}))

    @tool
    async def get_ticket(self, ticket_id: str) -> Ticket:
        """Read a ticket with its messages."""
        return _read(Ticket, await self._session.call("GET", _path("tickets", ticket_id)))

    @tool
    async def add_ticket_reply(self, ticket_id: str, body: str) -> Message:
        """Reply to the customer of a ticket."""
        answer = await self._session.call("POST", _path("tickets", ticket_id, "replies"), body={"body": body})
        return _read(Message, answer)

    @tool
    async def set_ticket_status(self, ticket_id: str, status: str) -> TicketLine:
        """Set a ticket's status."""
        answer = await self._session.call(
            "PUT", _path("tickets", ticket_id, "status"), body={"status": status}
        )
        return _read(TicketLine, answer)

    @tool
    async def find_customers(self, email: str) -> CustomerList:
        """Find customers by their email."""
        return _read(CustomerList, await self._session.call("GET", "/v1/customers", query={"email": email}))

    @tool
    async def get_customer(self, customer_id: str) -> Customer:
        """Read a customer."""
        return _read(Customer, await self._session.call("GET", _path("customers", customer_id)))

    @tool
    async def update_customer(
        self, customer_id: str, email: str | None = None, phone: str | None = None
    ) -> Customer:
        """Change a customer's email or phone number."""
        answer = await self._session.call(
            "PATCH", _path("customers", customer_id), body={"email": email, "phone": phone}
        )
        return _read(Customer, answer)

    @tool
    async def get_order(self, order_id: str) -> Order:
        """Read an order with its refunds."""
        return _read(Order, await self._session.call("GET", _path("orders", order_id)))

    @tool
    async def issue_refund(self, order_id: str, amount_minor: int, reason: str) -> Refunded:
        """Give money back on an order, in minor units of its currency."""
        answer = await self._session.call(
            "POST",
            _path("orders", order_id, "refunds"),
            body={"amount_minor": amount_minor, "reason": reason},
        )
        return _read(Refunded, answer)

    @tool
    async def update_shipping_address(self, order_id: str, shipping_address: str) -> Order:
        """Change where an order goes."""
        answer = await self._session.call(
            "PUT", _path("orders", order_id, "shipping-address"), body={"shipping_address": shipping_address}
        )
        return _read(Order, answer)

    @tool
    async def set_order_status(self, order_id: str, status: str) -> Order:
        """Take an order to another status, or cancel it."""
        answer = await self._session.call("PUT", _path("orders", order_id, "status"), body={"status": status})
        return _read(Order, answer)

    @tool
    async def send_email(
        self, recipient: str, subject: str, body: str, ticket_id: str | None = None
    ) -> Email:
        """Send an email; a ticket's id files it with the ticket."""
        answer = await self._session.call(
            "POST",
            "/v1/emails",
            body={"recipient": recipient, "subject": subject, "body": body, "ticket_id": ticket_id},
        )
        return _read(Email, answer)


def _path(table: str, record_id: str, *rest: str) -> str:
    return "/".join(("/v1", table, quote(record_id, safe=""), *rest))


def _read(model: type[RecordT], answer: Any) -> RecordT:
    try:
        return model.model_validate(answer)
    except ValidationError as error:
        raise DeskFailedError(
            f"the desk's answer is no {model.__name__}: {error.error_count()} members are not as expected"
        ) from None
