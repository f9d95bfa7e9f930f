"""A small grammar of what a support desk can be asked: from a sentence to intents.

`WORDINGS` is all of it. A sentence is one or more clauses ("refund …, reply … and set …"). A clause is
matched as a whole: with a word too many it is not understood, instead of being guessed at. It ends only where
the rest of its sentence is understood too: the "and" in the name of a street begins no new clause.

>>> read_sentence("Refund order ORD-1003 in full and reply on ticket TCK-2.")
(Refund(order=Named(record_id='ORD-1003'), amount=None), Reply(ticket=Named(record_id='TCK-2'), content=None))
>>> read_sentence("Refund whatever you like.") is None
True
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
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
    Record,
    Refund,
    Reply,
    SendEmail,
    SetOrderStatus,
    SetTicketStatus,
    Tell,
    Text,
)
from .phrases import Phrase

__all__ = ["WORDINGS", "Wording", "read_sentence", "sentences", "understood_in"]

#: A longer sentence is nobody's plain request. It bounds the work, which grows with the square.
_LONGEST_SENTENCE: Final = 1_000


@dataclass(frozen=True)
class Wording:
    """A phrase and the intent that it means."""

    phrase: Phrase
    intent: Callable[..., Intent]

    def read(self, clause: str) -> Intent | None:
        """The clause's intent, None when it is worded otherwise."""
        values = self.phrase.read(clause)
        return None if values is None else self.intent(**values)


def _wordings(*pairs: tuple[str, Callable[..., Intent]]) -> tuple[Wording, ...]:
    return tuple(Wording(Phrase(notation), intent) for notation, intent in pairs)


def _reply(content: Callable[..., Content]) -> Callable[..., Intent]:
    return lambda ticket, **values: Reply(ticket, content(**values))


def _email(content: Callable[..., Content]) -> Callable[..., Intent]:
    return lambda recipient, **values: SendEmail(recipient, content(**values))


def _facts(facts: Facts) -> Facts:
    return facts


def _ticket(status: str) -> Callable[..., Intent]:
    return lambda ticket: SetTicketStatus(ticket, status)


def _set_ticket(ticket: Record, ticket_status: str) -> Intent:
    return SetTicketStatus(ticket, ticket_status)


def _set_order(order: Record, order_status: str) -> Intent:
    return SetOrderStatus(order, order_status)


_CHANGE: Final = "(change|update|set|correct)"
_STATUS: Final = "(set|change|update) [the status of ]"
_REPLY: Final = "(reply|answer) [on |to ]{ticket}"
_EMAIL: Final = "(email|write to|send an email to) {recipient}"
_SAYING: Final = "[,] (saying|with the words|with the text)[:] {text}"
_AS_IT_IS: Final = "(as they are|as it is|alone|unchanged|untouched)"

#: Every wording that the Agent understands. More than one may mean the same.
WORDINGS: Final[tuple[Wording, ...]] = _wordings(
    # Money.
    ("refund {amount} (of|on|for|from) {order}", Refund),
    ("(issue|give|make) a refund of {amount} (of|on|for) {order}", Refund),
    ("refund [all of ]{order}[ in full| fully]", Refund),
    ("refund (the rest|the remaining amount|what is left) of {order}", Refund),
    ("(issue|give|make) a full refund (of|on|for) {order}", Refund),
    # Orders.
    ("cancel {order}", lambda order: SetOrderStatus(order, "cancelled")),
    (f"{_STATUS}{{order}} to {{order_status}}", _set_order),
    ("mark {order} as {order_status}", _set_order),
    (f"{_CHANGE} the [shipping |delivery ]address of {{order}} to {{address}}", ChangeAddress),
    # Customers.
    (
        f"{_CHANGE} the email[ address] of {{customer}} to {{email}}",
        lambda customer, email: ChangeContact(customer, "email", email),
    ),
    (
        f"{_CHANGE} the (phone|phone number|telephone number) of {{customer}} to {{phone}}",
        lambda customer, phone: ChangeContact(customer, "phone", phone),
    ),
    # Tickets.
    (f"{_STATUS}{{ticket}} to {{ticket_status}}", _set_ticket),
    ("mark {ticket} as {ticket_status}", _set_ticket),
    ("solve {ticket}", _ticket("solved")),
    ("close {ticket}", _ticket("closed")),
    ("reopen {ticket}", _ticket("open")),
    # Words to a customer, or to anyone.
    (_REPLY, Reply),
    (f"{_REPLY} about {{order}}", _reply(About)),
    (f"{_REPLY} with an apology", _reply(Apology)),
    ("(apologise|apologize) on {ticket}", _reply(Apology)),
    (f"{_REPLY} with {{facts}}", _reply(_facts)),
    (f"{_REPLY}{_SAYING}", _reply(Text)),
    (f"{_EMAIL} {{facts}}", _email(_facts)),
    ("(email|send) {facts} to {recipient}", _email(_facts)),
    (f"{_EMAIL} with {{facts}}", _email(_facts)),
    (f"{_EMAIL} about {{order}}", _email(About)),
    (f"{_EMAIL} with an apology", _email(Apology)),
    (f"{_EMAIL}{_SAYING}", _email(Text)),
    # Questions.
    ("(tell|give|show) me {facts}", Tell),
    ("(look up|find out|report) {facts}", Tell),
    ("(what is|what are|what's) {facts}", Tell),
    # Limits, which a good Agent keeps anyway.
    (f"leave (all|every|any|the) other[s| tickets| ticket| orders| order| records] {_AS_IT_IS}", LeaveRest),
    (f"leave everything else {_AS_IT_IS}", LeaveRest),
    ("(change|touch) nothing else", LeaveRest),
    ("(do not|don't) (change|touch) anything else", LeaveRest),
)

_FIRST_WORDS: Final = "|".join(sorted(frozenset().union(*(each.phrase.first_words for each in WORDINGS))))
_POLITE: Final = (
    r"(?:(?:please|kindly|now|also|then|next|first|finally|and"
    r"|you (?:must|should)|(?:can|could) you)\b,?\s+)*"
)
_QUOTED: Final = r'"[^"]*"|“[^”]*”'
#: Between two clauses: a comma or a word, before something that a clause can begin with.
_JOINT: Final = re.compile(
    rf"{_QUOTED}|(?P<joint>(?:[,;]\s*|\s+(?:and|then)\s+)(?={_POLITE}(?:{_FIRST_WORDS})\b))",
    re.IGNORECASE,
)
#: Before the first clause, where something else is said: "Note: refund …".
_LABEL: Final = re.compile(r"[:\-–—]\s+")
#: Between two sentences of a line. `St.` and `No.` end none.
_BREAK: Final = re.compile(rf"{_QUOTED}|(?P<end>(?<=[.!?])(?<!\bSt\.)(?<!\bNo\.)\s+(?=[^\sa-z]))")


def sentences(text: str) -> Iterator[str]:
    """The sentences of a text, none of them blank. None goes on in the next line."""
    for line in text.splitlines():
        start = 0
        for found in _BREAK.finditer(line):
            if found["end"] is not None:
                yield line[start : found.start()].strip()
                start = found.end()
        if rest := line[start:].strip():
            yield rest


def read_sentence(sentence: str) -> tuple[Intent, ...] | None:
    """What a sentence asks for, clause by clause; None when a part of it is not understood."""
    return _readings(sentence).get(0)


def understood_in(sentence: str) -> tuple[Intent, ...]:
    """What a sentence asks for, or its last clauses: what it says before them is skipped."""
    readings = _readings(sentence)
    return readings[min(readings)] if readings else ()


def _readings(sentence: str) -> dict[int, tuple[Intent, ...]]:
    """For each place from which the sentence is understood to its end: the intents from there on.

    The first clause is the shortest one that leaves an understood rest.
    """
    if len(sentence) > _LONGEST_SENTENCE:
        return {}
    text = " ".join(sentence.split()).rstrip(".!? ")
    joints = [found.span() for found in _JOINT.finditer(text) if found["joint"] is not None]
    starts = {0} | {following for _, following in joints} | {found.end() for found in _LABEL.finditer(text)}
    known: dict[int, tuple[Intent, ...]] = {}
    for start in sorted(starts, reverse=True):
        ends = [(end, known[rest]) for end, rest in joints if end > start and rest in known]
        for end, rest in [*ends, (len(text), ())]:
            if (intent := _clause(text[start:end])) is not None:
                known[start] = (intent, *rest)
                break
    return known


def _clause(clause: str) -> Intent | None:
    plain = re.sub(rf"^\s*{_POLITE}", "", clause, flags=re.IGNORECASE)
    readings = (wording.read(plain) for wording in WORDINGS)
    return next((intent for intent in readings if intent is not None), None)
