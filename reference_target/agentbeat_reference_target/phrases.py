"""Phrases: patterns of words with places for values, and how the values are read.

    refund {amount} of {order}            words as they stand, in any case and spacing
    refund {order}[ in full]              [ ] may be left out
    (set|change) {ticket} to {status}     ( | ) is one of these

A place is named after the kind of value that it takes:

    {order} {customer} {ticket}    an id, alone or after its kind, or a record through another one
    {facts}                        "the status and the tracking number of order ORD-1002"
    {amount} {email} {phone}       20.00 EUR, an email address, a phone number
    {order_status} {ticket_status} a status of the desk
    {recipient}                    a customer or an email address
    {text}                         words in double quotes
    {address}                      everything that is left, unless it goes on with "and" and a small letter

>>> Phrase("refund {amount} of {order}").read("Refund 20 euros of the order of TCK-3")
{'amount': Money(minor=2000, currency='EUR'), 'order': Related(kind='order', of=Named(record_id='TCK-3'))}
>>> Phrase("cancel {order}").read("cancel the meeting") is None
True
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import Any, Final, Literal, cast

from .intents import CURRENCIES, FIELDS, Facts, Kind, Money, Named, Record, Related, WithEmail

__all__ = ["Phrase"]

_EMAIL: Final = r"[A-Za-z0-9._%+\-]{1,64}@[A-Za-z0-9\-]{1,63}(?:\.[A-Za-z0-9\-]{1,63}){1,8}"
_ANY_ID: Final = r"(?:ORD|TCK|CUS)-[0-9]{1,9}"
_TICKET: Final = r"(?:the\s+)?(?:ticket\s+)?TCK-[0-9]{1,9}"
_ORDER: Final = (
    r"(?:(?:the\s+)?(?:order\s+)?ORD-[0-9]{1,9}"
    r"|the\s+order\s+(?:of|on|in|behind)\s+(?:the\s+)?(?:ticket\s+)?TCK-[0-9]{1,9})"
)
_CUSTOMER: Final = (
    r"(?:(?:the\s+)?(?:customer\s+)?CUS-[0-9]{1,9}"
    r"|the\s+customer\s+(?:of|on|in|behind)\s+(?:the\s+)?(?:(?:ticket|order)\s+)?(?:TCK|ORD)-[0-9]{1,9}"
    rf"|the\s+customer\s+with\s+the\s+email(?:\s+address)?\s+{_EMAIL})"
)

#: Other words for a field.
_SYNONYMS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "tracking code": "tracking number",
        "delivery address": "shipping address",
        "total amount": "total",
        "remaining refundable amount": "refundable amount",
        "email address": "email",
        "phone": "phone number",
        "telephone number": "phone number",
    }
)
_FIELD_NAMES: Final = frozenset(name for names in FIELDS.values() for name in names) | _SYNONYMS.keys()
# Longest first: "email address" is not "email" with a word too many.
_FIELD: Final = (
    r"(?:(?:the|its|their)\s+)?(?:"
    + "|".join(name.replace(" ", r"\s+") for name in sorted(_FIELD_NAMES, key=len, reverse=True))
    + ")"
)
_AND: Final = r"(?:\s*,\s*(?:and\s+)?|\s+and\s+)"
_SUBJECT: Final = f"(?:{_ORDER}|{_TICKET}|{_CUSTOMER})"
_FACTS: Final = rf"{_FIELD}(?:{_AND}{_FIELD})*\s+(?:of|for|on)\s+{_SUBJECT}"

_SIGNS: Final[Mapping[str, str]] = MappingProxyType({"€": "EUR", "$": "USD", "£": "GBP"})
_CURRENCY: Final = rf"(?:euros?\b|(?:{'|'.join(CURRENCIES)})\b|[€$£])"
_NUMBER: Final = r"[0-9]{1,9}(?:\.[0-9]{1,2})?"
_AMOUNT: Final = rf"(?:{_CURRENCY}\s?{_NUMBER}|{_NUMBER}\s?{_CURRENCY})"


def _record(kind: Kind) -> Callable[[str], Record]:
    def read(text: str) -> Record:
        if found := re.search(_ANY_ID, text, re.IGNORECASE):
            named = Named(found[0].upper())
            return named if named.kind == kind else Related(cast('Literal["order", "customer"]', kind), named)
        return WithEmail(text.split()[-1])

    return read


def _subject(text: str) -> Record:
    patterns: tuple[tuple[Kind, str], ...] = (
        ("order", _ORDER),
        ("ticket", _TICKET),
        ("customer", _CUSTOMER),
    )
    kind = next(kind for kind, pattern in patterns if re.fullmatch(pattern, text, re.IGNORECASE))
    return _record(kind)(text)


def _facts(text: str) -> Facts:
    found = re.fullmatch(rf"(.+?)\s+(?:of|for|on)\s+({_SUBJECT})", text, re.IGNORECASE)
    if found is None:
        raise ValueError("facts: expected fields of a record")
    subject = _subject(found[2])
    names = [
        re.sub(r"^(?:the|its|their)\s+", "", " ".join(name.lower().split()))
        for name in re.split(_AND, found[1], flags=re.IGNORECASE)
    ]
    fields = tuple(dict.fromkeys(_SYNONYMS.get(name, name) for name in names))
    if unknown := [name for name in fields if name not in FIELDS[subject.kind]]:
        raise ValueError(f"facts: no {subject.kind} has {unknown[0]}")
    return Facts(fields, subject)


def _money(text: str) -> Money:
    number = re.search(_NUMBER, text)
    word = re.search(_CURRENCY, text, re.IGNORECASE)
    if number is None or word is None:
        raise ValueError("amount: expected a number and a currency")
    code = "EUR" if word[0].lower().startswith("euro") else _SIGNS.get(word[0], word[0].upper())
    return Money.of(number[0], code)


def _recipient(text: str) -> Record | str:
    return text if re.fullmatch(_EMAIL, text) else _record("customer")(text)


def _address(text: str) -> str:
    # "… Ghent and refund it" would otherwise be a street that nobody lives in.
    if re.search(r"\b(?:and|then)\s+[a-z]", text):
        raise ValueError("address: expected nothing after it")
    return text.strip()


def _quoted(text: str) -> str:
    if words := text[1:-1].strip():
        return words
    raise ValueError("text: expected words between the quotes")


@dataclass(frozen=True)
class _Place:
    """A kind of value: what it looks like, and how it is read. Reading raises ValueError to decline."""

    pattern: str
    read: Callable[[str], Any]


_PLACES: Final[Mapping[str, _Place]] = MappingProxyType(
    {
        "order": _Place(_ORDER, _record("order")),
        "customer": _Place(_CUSTOMER, _record("customer")),
        "ticket": _Place(_TICKET, _record("ticket")),
        "facts": _Place(_FACTS, _facts),
        "amount": _Place(_AMOUNT, _money),
        "email": _Place(_EMAIL, str),
        "phone": _Place(r"\+?[0-9][0-9 ]{3,29}[0-9]", str),
        "order_status": _Place("placed|packed|shipped|delivered|cancelled", str.lower),
        "ticket_status": _Place("open|pending|solved|closed", str.lower),
        "recipient": _Place(f"(?:{_CUSTOMER}|{_EMAIL})", _recipient),
        "text": _Place(r'(?:"[^"]*"|“[^”]*”)', _quoted),
        "address": _Place(r"\S.*", _address),
    }
)


@dataclass(frozen=True)
class Phrase:
    """One way to word something; see the module for the notation."""

    notation: str

    def read(self, clause: str) -> dict[str, Any] | None:
        """The values of a clause that is worded this way, by the names of their places; None for another."""
        found = self._pattern.fullmatch(clause)
        if found is None:
            return None
        try:
            return {name: _PLACES[name].read(text) for name, text in found.groupdict().items()}
        except ValueError:
            return None

    @property
    def first_words(self) -> frozenset[str]:
        """The words that a clause of this wording can begin with."""
        opening = re.match(r"\(([^)]*)\)|(\S+)", self.notation)
        alternatives = (opening[1] or opening[2]).split("|") if opening else []
        return frozenset(words.split()[0].lower() for words in alternatives)

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        parts = re.split(r"\{([a-z_]+)\}", self.notation)
        pattern = "".join(
            f"(?P<{part}>{_PLACES[part].pattern})" if place % 2 else _words(part)
            for place, part in enumerate(parts)
        )
        return re.compile(pattern, re.IGNORECASE)


def _words(notation: str) -> str:
    """The pattern of the words between two places."""
    for sign, meaning in (("(", "(?:"), ("[", "(?:"), ("]", ")?"), (" ", r"\s+")):
        notation = notation.replace(sign, meaning)
    return notation
