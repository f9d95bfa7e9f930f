"""A market case, typed: each part in its group, read once for equal content.

Equal materials come back as the same object, whatever receipt they came with, so that a catalogue is checked,
a valuation made and a vocabulary compiled once for a whole batch."""

from __future__ import annotations

from functools import cached_property
from typing import Any, Final, TypeVar

from pydantic import BaseModel, TypeAdapter, ValidationError

from agentbeat_protocol import ProtocolError
from agentbeat_protocol.models import validated
from agentbeat_receipts.claims.cases import Case, Contradiction
from agentbeat_receipts.claims.faults import Fault
from agentbeat_receipts.domains.market.answers import Answer
from agentbeat_receipts.domains.market.briefs import Brief
from agentbeat_receipts.domains.market.exact_values import Remembered, exact_key
from agentbeat_receipts.domains.market.materials import (
    DETERMINISTIC,
    Catalogue,
    Chooser,
    Enforcer,
    Model,
    Normaliser,
    Parser,
    Schema,
    Scorer,
)
from agentbeat_receipts.domains.market.parsers import OfferReader
from agentbeat_receipts.domains.market.policies import policy_answer
from agentbeat_receipts.domains.market.profiles import Profile
from agentbeat_receipts.domains.market.traces import Dealing, read_dealing
from agentbeat_receipts.domains.market.valuations import Valuation, first_best

__all__ = ["MarketEvidence", "known_valuation", "read_answer"]

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
        self._keys: dict[str, tuple[Any, bytes]] = {}

    @cached_property
    def buyer(self) -> Valuation:
        """The private profile (P)."""
        return _valuation(*self._profile)

    @cached_property
    def catalogue(self) -> Catalogue:
        """Components and costs (K)."""
        return _catalogue(*self._keyed("catalogue"))

    @cached_property
    def chooser(self) -> Chooser:
        """The buyer's rule (D)."""
        return _chooser(*self._keyed("chooser"))

    @cached_property
    def scorer(self) -> Scorer:
        """How values are stated (F)."""
        return _scorer(*self._keyed("scorer"))

    @cached_property
    def enforcer(self) -> Enforcer:
        """What the guards do (Q)."""
        return _enforcer(*self._keyed("enforcer"))

    @cached_property
    def model(self) -> Model:
        """Who wrote the offers (O)."""
        return _model(*self._keyed("model"))

    @cached_property
    def reader(self) -> OfferReader:
        """Vocabulary, form and currency of the offers (O).

        Raises:
            Contradiction: also where amounts are read in other units than the manifest's.
        """
        promised, read = self.case.money_exponent, _normaliser(*self._keyed("normaliser")).exponent
        if promised not in (None, read):
            detail = f"got amounts in units of 10^{read}, expected 10^{promised} as in the manifest"
            raise Contradiction(Fault.STAGE_CONTRADICTS_REPLAY, detail)
        return _reader(*self._together("parser", "schema", "normaliser"))

    @cached_property
    def dealings(self) -> tuple[Dealing, ...]:
        """The ordered events of each attempt (T)."""
        return tuple(read_dealing(events) for events in self.case.events)

    @property
    def best_welfare(self) -> int:
        """W* (P and K), unscaled."""
        (profile, key), (catalogue, second) = self._profile, self._keyed("catalogue")
        return _first_best([profile, catalogue], key + second)

    def policy_output(self, seen: Any) -> bytes:
        """What a deterministic seller answers to what it saw (K and O)."""
        materials, key = self._together("model", "catalogue", "schema", "normaliser")
        return _policy_output([*materials, seen], key + exact_key(seen))

    @cached_property
    def _profile(self) -> tuple[Any, bytes]:
        profile = self.case.profile
        return profile, exact_key(profile)

    def _keyed(self, name: str) -> tuple[Any, bytes]:
        """A material and its key."""
        if name not in self._keys:
            # The catalogue is no component, so only the manifest can have promised it.
            of_name = self.case.promised_material if name == "catalogue" else self.case.material
            material = of_name(name)
            self._keys[name] = (material, exact_key(material))
        return self._keys[name]

    def _together(self, *names: str) -> tuple[list[Any], bytes]:
        keyed = [self._keyed(name) for name in names]
        # Each key says where it ends, so that they can stand one after the other.
        return [material for material, _ in keyed], b"".join(key for _, key in keyed)


def known_valuation(profile: Any) -> Valuation:
    """A profile, ready to be asked; made once for equal profiles.

    Raises:
        Contradiction: evidence_malformed.
    """
    return _valuation(profile)


def read_answer(enforced: Any) -> Answer:
    """Enforced offers, typed."""
    return _typed(Answer, "enforced offers", enforced)


def _typed(kind: type[ModelT], what: str, content: Any) -> ModelT:
    try:
        return validated(kind, content)
    except ProtocolError as error:
        raise Contradiction(Fault.EVIDENCE_MALFORMED, f"{what}: {error}"[:200]) from None


def _material(kind: type[ModelT], name: str) -> Remembered[ModelT]:
    return Remembered(lambda content: _typed(kind, f"material {name}", content))


def _read_model(content: Any) -> Model:
    try:
        return _MODEL.validate_python(content)
    except ValidationError:
        raise Contradiction(Fault.EVIDENCE_MALFORMED, "material model: no seller that is known") from None


def _answered(contents: list[Any]) -> bytes:
    model, catalogue, schema, normaliser, seen = contents
    seller = _model(model)
    if not isinstance(seller, DETERMINISTIC):
        raise TypeError(f"the policy of a {type(seller).__name__}, which has none")
    brief = _typed(Brief, "brief", seen)
    made = (_catalogue(catalogue), _schema(schema), _normaliser(normaliser), brief)
    try:
        return policy_answer(seller, *made)
    except ValidationError:
        raise Contradiction(Fault.EVIDENCE_MALFORMED, "a policy whose price is beyond 2^53-1") from None


_catalogue: Final = _material(Catalogue, "catalogue")
_chooser: Final = _material(Chooser, "chooser")
_enforcer: Final = _material(Enforcer, "enforcer")
_normaliser: Final = _material(Normaliser, "normaliser")
_parser: Final = _material(Parser, "parser")
_schema: Final = _material(Schema, "schema")
_scorer: Final = _material(Scorer, "scorer")
_model: Final = Remembered(_read_model)
_reader: Final = Remembered(
    lambda contents: OfferReader(_parser(contents[0]), _schema(contents[1]), _normaliser(contents[2]))
)
_valuation: Final = Remembered(lambda content: Valuation(_typed(Profile, "profile", content)), most=512)
_first_best: Final = Remembered(
    lambda contents: first_best(_valuation(contents[0]), _catalogue(contents[1]).costs), most=4096
)
_policy_output: Final = Remembered(_answered)
