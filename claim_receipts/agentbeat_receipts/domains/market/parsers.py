"""A seller's raw output, read to exact offers or to the reason why it cannot be.

An answer is JSON, plain or fenced, or text in which each offer has a line of its own. It is read whole or not
at all: a line that begins like an offer and has a word or a price that is not understood makes the whole
answer unreadable, so that no favourable part of it is taken; and so does a last line that may have been cut
off. What is read:

    {"offers": [{"components": ["room", "spa"], "price": 20000, "surcharge": 0}], "pressure": []}
    {"failure": "empty" | "refusal" | "unparseable"}

An itemised offer has `prices` too, one for each component. Beside it there is the note: what the seller says
besides offers and pressure, which the information guard looks at.

>>> from agentbeat_receipts.domains.market.materials import Normaliser, Parser, Schema
>>> names = {"room": ("king room",), "spa": ()}
>>> reader = OfferReader(Parser(names=names), Schema(form="bundle"), Normaliser())
>>> reading = reader.read(b"Hello. Only today!\\nOffer 1: spa and king room for EUR 1,200.50.\\n")
>>> reading.parsed["offers"]
[{'components': ['room', 'spa'], 'price': 120050, 'surcharge': 0}]
>>> reading.parsed["pressure"], reading.note
(['only today'], 'Hello.')
>>> reader.read(b"I cannot help with that.").parsed
{'failure': 'refusal'}
"""

from __future__ import annotations

import base64
import re
import unicodedata
from dataclasses import dataclass
from typing import Any, Final

from agentbeat_receipts.domains.market.answers import UnreadableError
from agentbeat_receipts.domains.market.exact_values import Remembered
from agentbeat_receipts.domains.market.json_answers import json_answer
from agentbeat_receipts.domains.market.materials import Normaliser, Parser, Schema
from agentbeat_receipts.domains.market.money import Money, folded_text
from agentbeat_receipts.domains.market.offer_lines import LineReader, phrase_pattern

__all__ = ["FAILURES", "OfferReader", "Reading"]

#: Why an answer has no offers.
FAILURES: Final = ("empty", "refusal", "unparseable")

#: The longest output that is read, in bytes, and the longest note, in characters.
MAX_BYTES: Final = 65_536
MAX_NOTE: Final = 280

_MARKER: Final = re.compile(
    r"\s*(?:(?:offer|option|package)\s+\w{1,3}\s*[:.)-]|[-*•]\s|\d{1,2}[.)]\s)", re.IGNORECASE
)
_SENTENCES: Final = re.compile(r"(?<=[.!?])\s+")
_FENCED: Final = re.compile(r"\A[^`{]*```(?:json)?\s*(\{.*\})\s*```[^`]*\Z", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Reading:
    """What an answer says.

    Args:
        parsed: offers and pressure, or the failure, as exact JSON.
        note: what else is said; empty after a failure.
    """

    parsed: dict[str, Any]
    note: str

    @property
    def failure(self) -> str | None:
        """Why there are no offers; None where there are."""
        failure: str | None = self.parsed.get("failure")
        return failure


class OfferReader:
    """Reads the answers of one arm.

    Args:
        parser: the vocabulary.
        schema: the form of offers, and how many there may be.
        normaliser: how amounts are read.
    """

    def __init__(self, parser: Parser, schema: Schema, normaliser: Normaliser) -> None:
        self._money = Money(exponent=normaliser.exponent, signs=(normaliser.currency, *normaliser.signs))
        self._lines = LineReader(parser, schema, self._money)
        self._schema = schema
        self._read = Remembered(lambda raw: self.read(base64.b64decode(raw)))
        self._phrases = parser.pressure
        self._pressing = re.compile(r"\b" + phrase_pattern(parser.pressure))
        self._refusing = re.compile(r"\b" + phrase_pattern(parser.refusals))

    def read(self, raw: bytes) -> Reading:
        """The offers of an answer, or why there are none."""
        if len(raw) > MAX_BYTES:
            return _failed("unparseable")
        try:
            text = raw.decode()
        except UnicodeDecodeError:
            return _failed("unparseable")
        if not text.strip():
            return _failed("empty")
        try:
            offers, note = self._offers(text)
        except UnreadableError:
            return _failed("unparseable")
        if not offers:
            return _failed("refusal" if self._refusing.search(folded_text(text)) else "unparseable")
        if len(offers) > self._schema.max_offers:
            return _failed("unparseable")
        found = set(self._pressing.findall(folded_text(text)))
        pressure = [phrase for phrase in self._phrases if phrase in found]
        return Reading({"offers": offers, "pressure": pressure}, self._note(note))

    def read_base64(self, raw: str) -> Reading:
        """The same of an answer in base64; remembered, for scripted sellers say the same many times."""
        return self._read(raw)

    def _offers(self, text: str) -> tuple[list[dict[str, Any]], str]:
        """Every offer, and everything else that is said."""
        fenced = _FENCED.match(text)
        if fenced or text.lstrip().startswith("{"):
            offers, note, _ = json_answer(
                fenced[1] if fenced else text,
                names=self._lines.names,
                money=self._money,
                itemised=self._schema.form == "itemised",
            )
            return offers, note
        offers, rest = [], []
        lines = text.splitlines(keepends=True)
        for line in lines:
            marker = _MARKER.match(line)
            if marker is None:
                rest.append(line)
                continue
            if line is lines[-1] and _may_be_cut(line):
                raise UnreadableError("a last line without an end")
            sentence, *others = _SENTENCES.split(line[marker.end() :].strip(), maxsplit=1)
            offers.append(self._lines.read(sentence))
            rest.extend(others)
        return offers, " ".join(rest)

    def _note(self, text: str) -> str:
        """What is said besides offers and pressure, on one line and not too long."""
        sentences = _SENTENCES.split(" ".join(text.split()))
        kept = " ".join(said for said in sentences if not self._pressing.search(folded_text(said)))
        return unicodedata.normalize("NFC", kept)[:MAX_NOTE].rstrip()


def _may_be_cut(line: str) -> bool:
    """Whether more of this line may have been coming: `1,200.` may be half of `1,200.50`."""
    return re.search(r"(?:\n|\r|(?<!\d)[.!])\Z", line) is None


def _failed(reason: str) -> Reading:
    return Reading({"failure": reason}, "")
