"""One offer in a line of text: components, a price, perhaps a surcharge, in any order.

    king room, breakfast and spa for EUR 1,200.00, plus a surcharge of 50
    two hundred euros for the double room
    room 150, spa 20 (total 170)                        itemised

Every word must be known: a component, an amount, or one of the little words below. One unknown word, and the
line is unreadable, for it might have been a component.

A surcharge is the amount right after its word, else the one right before it. Where amounts stand on both
sides, a comma, a bracket, a plus or an `and` must part the first from the word.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any, Final

from agentbeat_receipts.domains.market.answers import UnreadableError, made_offer
from agentbeat_receipts.domains.market.materials import Parser, Schema
from agentbeat_receipts.domains.market.money import AmountError, Money, folded_text

__all__ = ["LineReader", "phrase_pattern"]

_SURCHARGE: Final = "surcharge|service fee|resort fee"
_PARTING: Final = r"plus|and|with|including|[,+&;(]"
_TOTAL: Final = "total price|in total|altogether|total|price"
_LITTLE: Final = (
    r"we offer you|we offer|you get|for only|for|at|is|of|the|our|a|an|each|per stay|costs|comes to|"
    r"[:=@)-]"
)
#: What a token means: N component, A amount, S surcharge, P what parts, T total, F what is passed over.
_NAME, _AMOUNT, _SURCHARGED, _PARTED, _TOTALLED, _PASSED = "NASPTF"

Token = tuple[str, str | int]


class LineReader:
    """Reads offers in one vocabulary.

    Args:
        parser: the names of components, and pressing phrases, which are passed over.
        schema: whether a line has one price or a price of each component.
        money: reads amounts.
    """

    def __init__(self, parser: Parser, schema: Schema, money: Money) -> None:
        self._money = money
        self._itemised = schema.form == "itemised"
        #: The component of each spelling.
        self.names = {spelling: name for name in parser.names for spelling in (name, *parser.names[name])}
        kinds = {
            "pressure": phrase_pattern(parser.pressure),
            "name": phrase_pattern(self.names),
            "surcharge": _words(_SURCHARGE),
            "amount": money.pattern,
            "total": _words(_TOTAL),
            "parting": _bounded(_PARTING),
            "little": _bounded(_LITTLE),
            "space": r"[\s.!]+",
        }
        self._scan = re.compile("|".join(f"(?P<{kind}>{text})" for kind, text in kinds.items())).match

    def read(self, line: str) -> dict[str, Any]:
        """The offer of one line, its marker removed.

        Raises:
            UnreadableError: it is none, or not exactly one.
        """
        tokens = list(self._tokens(folded_text(line)))
        surcharge, tokens = _surcharge(tokens)
        total, tokens = _total(tokens) if self._itemised else (None, tokens)
        if self._itemised:
            return made_offer(_itemised(tokens), total=total, surcharge=surcharge)
        names = [value for kind, value in tokens if kind == _NAME]
        amounts = [value for kind, value in tokens if kind == _AMOUNT]
        if len(amounts) != 1 or len(set(names)) != len(names):
            raise UnreadableError(f"{len(amounts)} prices and {len(names)} components, expected one price")
        return made_offer({str(name): None for name in names}, total=int(amounts[0]), surcharge=surcharge)

    def _tokens(self, text: str) -> Iterator[Token]:
        at = 0
        while at < len(text):
            match = self._scan(text, at)
            if match is None:
                raise UnreadableError(f"a word at {at} that is not known")
            at = match.end()
            # The last group that closed is the alternative itself.
            match match.lastgroup:
                case "name":
                    yield _NAME, self.names[match[0]]
                case "amount":
                    yield _AMOUNT, self._amount(match)
                case "surcharge":
                    yield _SURCHARGED, ""
                case "parting":
                    yield _PARTED, ""
                case "total":
                    yield _TOTALLED, ""

    def _amount(self, match: re.Match[str]) -> int:
        try:
            return self._money.value(match)
        except AmountError as error:
            raise UnreadableError(str(error)) from None


def phrase_pattern(phrases: Iterable[str]) -> str:
    """A pattern of any of the phrases, the longest first; one that matches nothing where there are none."""
    known = sorted(phrases, key=len, reverse=True)
    return _words("|".join(re.escape(phrase) for phrase in known)) if known else r"(?!)"


def _words(alternatives: str) -> str:
    return rf"(?:{alternatives})\b"


def _bounded(alternatives: str) -> str:
    """Words with a boundary after them, then single signs without one."""
    words, _, signs = alternatives.rpartition("|")
    return rf"(?:{words})\b|{signs}"


def _surcharge(tokens: list[Token]) -> tuple[int, list[Token]]:
    """The surcharge, and the tokens without it."""
    kinds = [kind for kind, _ in tokens]
    if kinds.count(_SURCHARGED) > 1:
        raise UnreadableError("two surcharges")
    if _SURCHARGED not in kinds:
        return 0, tokens
    at = kinds.index(_SURCHARGED)
    after = kinds[at + 1 : at + 2] == [_AMOUNT]
    before = at > 0 and kinds[at - 1] == _AMOUNT
    if (after and before) or (not after and not before):
        raise UnreadableError("a surcharge of which the amount is not clear")
    first = at if after else at - 1
    return int(tokens[first + after][1]), tokens[:first] + tokens[first + 2 :]


def _total(tokens: list[Token]) -> tuple[int | None, list[Token]]:
    """The total of an itemised offer where it is named, and the tokens without it."""
    kinds = [kind for kind, _ in tokens]
    if _TOTALLED not in kinds:
        return None, tokens
    at = kinds.index(_TOTALLED)
    if kinds[at + 1 : at + 2] != [_AMOUNT]:
        raise UnreadableError("a total without an amount")
    return int(tokens[at + 1][1]), tokens[:at] + tokens[at + 2 :]


def _itemised(tokens: list[Token]) -> dict[str, int | None]:
    """Each component with the amount right after it."""
    told = [token for token in tokens if token[0] in (_NAME, _AMOUNT)]
    names, amounts = told[::2], told[1::2]
    paired = len(names) == len(amounts) and all(kind == _NAME for kind, _ in names)
    if not paired or any(kind != _AMOUNT for kind, _ in amounts):
        raise UnreadableError("components and prices that do not go together")
    prices: dict[str, int | None] = {
        str(name): int(price) for (_, name), (_, price) in zip(names, amounts, strict=True)
    }
    if len(prices) != len(names):
        raise UnreadableError("a component twice")
    return prices
