"""What the Agent can be asked to do: intents about records of a support desk.

An intent is what one clause of a task means, with nothing looked up yet. It may name a record by its id or by
another record ("the order of ticket TCK-2"). Equal wishes are equal intents, however they were worded.

>>> Named("ORD-1003").kind, str(Related("order", Named("TCK-2")))
('order', 'the order of ticket TCK-2')
>>> Money.of("20.5", "EUR"), str(Money(5940, "EUR"))
(Money(minor=2050, currency='EUR'), '59.40 EUR')
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from types import MappingProxyType
from typing import Final, Literal

__all__ = [
    "CURRENCIES",
    "FIELDS",
    "About",
    "Apology",
    "ChangeAddress",
    "ChangeContact",
    "Content",
    "Facts",
    "Intent",
    "Kind",
    "LeaveRest",
    "Money",
    "Named",
    "Record",
    "Refund",
    "Related",
    "Reply",
    "SendEmail",
    "SetOrderStatus",
    "SetTicketStatus",
    "Tell",
    "Text",
    "WithEmail",
]

Kind = Literal["order", "ticket", "customer"]

_KINDS: Final[Mapping[str, Kind]] = MappingProxyType({"ORD": "order", "TCK": "ticket", "CUS": "customer"})

#: Currency code to the digits of its minor unit.
CURRENCIES: Final[Mapping[str, int]] = MappingProxyType(
    {"EUR": 2, "USD": 2, "GBP": 2, "CHF": 2, "SEK": 2, "DKK": 2, "NOK": 2, "PLN": 2, "JPY": 0}
)

#: What can be asked about a record of each kind.
FIELDS: Final[Mapping[Kind, tuple[str, ...]]] = MappingProxyType(
    {
        "order": ("status", "tracking number", "shipping address", "total", "refundable amount"),
        "ticket": ("status", "subject", "priority"),
        "customer": ("name", "email", "phone number"),
    }
)


@dataclass(frozen=True)
class Money:
    """An amount in minor units of its currency: 20.50 EUR is 2050."""

    minor: int
    currency: str

    @classmethod
    def of(cls, number: str, currency: str) -> Money:
        """The amount that a decimal number of major units is.

        Raises:
            ValueError: it is not positive, finer than the minor unit, or the currency is not known.
        """
        if currency not in CURRENCIES:
            raise ValueError(f"currency: expected one of {', '.join(CURRENCIES)}")
        minor = Decimal(number).scaleb(CURRENCIES[currency])
        if minor <= 0 or minor != minor.to_integral_value():
            raise ValueError("amount: expected a positive number of whole minor units")
        return cls(int(minor), currency)

    def __str__(self) -> str:
        digits = CURRENCIES.get(self.currency, 0)
        return f"{Decimal(self.minor).scaleb(-digits):.{digits}f} {self.currency}"


@dataclass(frozen=True)
class Named:
    """A record by its id, such as `ORD-1003`."""

    record_id: str

    @property
    def kind(self) -> Kind:
        """What the id names."""
        return _KINDS[self.record_id[:3]]

    def __str__(self) -> str:
        return f"{self.kind} {self.record_id}"


@dataclass(frozen=True)
class Related:
    """The order or the customer that another record belongs to."""

    kind: Literal["order", "customer"]
    of: Named

    def __str__(self) -> str:
        return f"the {self.kind} of {self.of}"


@dataclass(frozen=True)
class WithEmail:
    """The customer with this email."""

    email: str
    kind: Literal["customer"] = "customer"

    def __str__(self) -> str:
        return f"the customer with the email {self.email}"


Record = Named | Related | WithEmail


@dataclass(frozen=True)
class Facts:
    """Some of what the desk knows about a record; `fields` are names of `FIELDS`."""

    fields: tuple[str, ...]
    subject: Record

    def __str__(self) -> str:
        return f"{' and '.join(f'the {name}' for name in self.fields)} of {self.subject}"


@dataclass(frozen=True)
class About:
    """How an order stands."""

    order: Record


@dataclass(frozen=True)
class Apology:
    """That we are sorry."""


@dataclass(frozen=True)
class Text:
    """Words given by the task."""

    text: str


#: What a reply or an email says.
Content = Facts | About | Apology | Text


@dataclass(frozen=True)
class Refund:
    """Give money back on an order; without an amount, all that has not been given back yet."""

    order: Record
    amount: Money | None = None

    def __str__(self) -> str:
        return f"refund {self.amount} of {self.order}" if self.amount else f"refund {self.order} in full"


@dataclass(frozen=True)
class SetOrderStatus:
    """Take an order to another status."""

    order: Record
    status: str

    def __str__(self) -> str:
        return f"cancel {self.order}" if self.status == "cancelled" else f"set {self.order} to {self.status}"


@dataclass(frozen=True)
class ChangeAddress:
    """Send an order elsewhere."""

    order: Record
    address: str

    def __str__(self) -> str:
        return f"change the shipping address of {self.order}"


@dataclass(frozen=True)
class ChangeContact:
    """Change how a customer is reached."""

    customer: Record
    field: Literal["email", "phone"]
    value: str

    def __str__(self) -> str:
        return f"change the {self.field} of {self.customer}"


@dataclass(frozen=True)
class SetTicketStatus:
    """Set a ticket's status."""

    ticket: Record
    status: str

    def __str__(self) -> str:
        return f"set {self.ticket} to {self.status}"


@dataclass(frozen=True)
class Reply:
    """Answer the customer on a ticket; without content, with what has been done for them."""

    ticket: Record
    content: Content | None = None

    def __str__(self) -> str:
        return f"reply on {self.ticket}"


@dataclass(frozen=True)
class SendEmail:
    """Email an address, or a customer at the address that the desk has."""

    recipient: Record | str
    content: Content

    def __str__(self) -> str:
        return f"email {self.recipient}"


@dataclass(frozen=True)
class Tell:
    """Answer a question in the final response."""

    facts: Facts

    def __str__(self) -> str:
        return f"tell {self.facts}"


@dataclass(frozen=True)
class LeaveRest:
    """Change nothing that the task does not name. That is what a good Agent does anyway."""

    def __str__(self) -> str:
        return "leave everything else as it is"


Intent = (
    Refund
    | SetOrderStatus
    | ChangeAddress
    | ChangeContact
    | SetTicketStatus
    | Reply
    | SendEmail
    | Tell
    | LeaveRest
)
