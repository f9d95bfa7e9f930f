"""A market case, typed: each part in its group, read once for equal content.

Equal materials come back as the same object, whatever receipt they came with, so that a catalogue is checked,
a valuation made and a vocabulary compiled once for a whole batch. The key is the content's own JSON text.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from functools import cached_property, lru_cache
from typing import Any, Final, TypeVar, cast

from pydantic import BaseModel, TypeAdapter, ValidationError

from agentbeat_protocol import ProtocolError
from agentbeat_protocol.models import validated
from agentbeat_receipts.claims.cases import Case, Contradiction
from agentbeat_receipts.claims.faults import Fault
from agentbeat_receipts.domains.market.answers import Answer
from agentbeat_receipts.domains.market.briefs import Brief
from agentbeat_receipts.domains.market.materials import (
    Catalogue,
    Chooser,
    Enforcer,
    Model,
    Normaliser,
    Parser,
    Schema,
    Scorer,
)
from agentbeat_receipts.domains.market.parsers import OfferReader, Reading
from agentbeat_receipts.domains.market.policies import policy_answer
from agentbeat_receipts.domains.market.profiles import Profile
from agentbeat_receipts.domains.market.valuations import Valuation, first_best

__all__ = ["MarketEvidence", "exact_text", "known_valuation", "read_answer"]

ModelT = TypeVar("ModelT", bound=BaseModel)

_MODEL: Final[TypeAdapter[Model]] = TypeAdapter(Model)


class MarketEvidence:
    """What a case holds, typed. Each property belongs to the group in its docstring.

    Args:
        case: one transaction's evidence.

    Every property raises `Absent` where its group is not there, and `Contradiction` with evidence_malformed
    where it has another shape.
    """

    def __init__(self, case: Case) -> None:
        self.case = case

    @cached_property
    def buyer(self) -> Valuation:
        """The private profile (P)."""
        return known_valuation(self.case.profile)

    @cached_property
    def catalogue(self) -> Catalogue:
        """Components and costs (K)."""
        return _material(Catalogue, "catalogue", self._text("catalogue"))

    @cached_property
    def chooser(self) -> Chooser:
        """The buyer's rule (D)."""
        return _material(Chooser, "chooser", self._text("chooser"))

    @cached_property
    def scorer(self) -> Scorer:
        """How values are stated (F)."""
        return _material(Scorer, "scorer", self._text("scorer"))

    @cached_property
    def enforcer(self) -> Enforcer:
        """What the guards do (Q)."""
        return _material(Enforcer, "enforcer", self._text("enforcer"))

    @cached_property
    def model(self) -> Model:
        """Who wrote the offers (O)."""
        return _model(self._text("model"))

    @property
    def best_welfare(self) -> int:
        """W* (P and K), unscaled."""
        return _first_best(exact_text(self.case.profile), self._text("catalogue"))

    def reading(self, raw: str) -> Reading:
        """What the parser reads in a raw output, given in base64 (O)."""
        return _reading(self._text("parser"), self._text("schema"), self._text("normaliser"), raw)

    def policy_output(self, seen: Any) -> bytes:
        """What a deterministic seller answers to what it saw (K and O)."""
        texts = [self._text(name) for name in ("model", "catalogue", "schema", "normaliser")]
        return _policy_output(*texts, exact_text(seen))

    def _text(self, material: str) -> str:
        return exact_text(self.case.material(material))


def exact_text(value: Any) -> str:
    """JSON text in which equal exact values are equal and `true` is not `1`."""
    return json.dumps(value, sort_keys=True)


def known_valuation(profile: Any) -> Valuation:
    """A profile, ready to be asked; made once for equal profiles.

    Raises:
        Contradiction: evidence_malformed.
    """
    return _valuation(exact_text(profile))


def _typed(what: str, read: Callable[[], ModelT]) -> ModelT:
    try:
        return read()
    except ProtocolError as error:
        raise Contradiction(Fault.EVIDENCE_MALFORMED, f"{what}: {error}"[:200]) from None


def _material(kind: type[ModelT], name: str, text: str) -> ModelT:
    return cast(ModelT, _material_once(kind, name, text))


@lru_cache(maxsize=1024)
def _material_once(kind: type[BaseModel], name: str, text: str) -> BaseModel:
    return _typed(f"material {name}", lambda: validated(kind, json.loads(text)))


@lru_cache(maxsize=256)
def _model(text: str) -> Model:
    try:
        return _MODEL.validate_python(json.loads(text))
    except ValidationError:
        raise Contradiction(Fault.EVIDENCE_MALFORMED, "material model: no seller that is known") from None


@lru_cache(maxsize=4096)
def _valuation(text: str) -> Valuation:
    return Valuation(_typed("profile", lambda: validated(Profile, json.loads(text))))


@lru_cache(maxsize=4096)
def _first_best(profile: str, catalogue: str) -> int:
    return first_best(_valuation(profile), _material(Catalogue, "catalogue", catalogue).costs)


@lru_cache(maxsize=64)
def _reader(parser: str, schema: str, normaliser: str) -> OfferReader:
    return OfferReader(
        _material(Parser, "parser", parser),
        _material(Schema, "schema", schema),
        _material(Normaliser, "normaliser", normaliser),
    )


@lru_cache(maxsize=1024)
def _reading(parser: str, schema: str, normaliser: str, raw: str) -> Reading:
    return _reader(parser, schema, normaliser).read(base64.b64decode(raw))


@lru_cache(maxsize=1024)
def _policy_output(model: str, catalogue: str, schema: str, normaliser: str, seen: str) -> bytes:
    brief = _typed("brief", lambda: validated(Brief, json.loads(seen)))
    return policy_answer(
        _model(model),  # type: ignore[arg-type]
        _material(Catalogue, "catalogue", catalogue),
        _material(Schema, "schema", schema),
        _material(Normaliser, "normaliser", normaliser),
        brief,
    )


def read_answer(enforced: Any) -> Answer:
    """Enforced offers, typed."""
    return _typed("enforced offers", lambda: validated(Answer, enforced))
