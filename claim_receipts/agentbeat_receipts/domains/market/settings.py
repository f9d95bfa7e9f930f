"""A setting: everything that one arm of a market runs with, as nine components and a catalogue."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from agentbeat_receipts.domains.market.materials import (
    Catalogue,
    Chooser,
    Endpoint,
    Enforcer,
    FixedMenu,
    Horizon,
    Model,
    Normaliser,
    Parser,
    Prompt,
    Schema,
    Scorer,
)
from agentbeat_receipts.domains.market.parsers import OfferReader
from agentbeat_receipts.objects import COMPONENTS, ComponentName, material_digest

__all__ = ["Setting"]


@dataclass(frozen=True, kw_only=True)
class Setting:
    """What an arm runs with. Vary it with `dataclasses.replace`.

    Raises:
        ValueError: the parser knows components that the catalogue does not have, or a menu has others than
            the parser knows.
    """

    catalogue: Catalogue
    model: Model
    parser: Parser
    chooser: Chooser = field(default=Chooser(chooser="whole_bundle"))
    schema: Schema = field(default=Schema(form="bundle"))
    normaliser: Normaliser = field(default=Normaliser())
    enforcer: Enforcer = field(default=Enforcer())
    scorer: Scorer = field(default=Scorer())
    prompt: Prompt = field(default=Prompt())
    horizon: Horizon = field(default=Horizon())

    def __post_init__(self) -> None:
        known, sold = set(self.parser.names), set(self.catalogue.costs)
        offered: set[str] = set()
        if isinstance(self.model, FixedMenu):
            offered = {name for offer in self.model.offers for name in offer.components}
        elif not isinstance(self.model, Endpoint):
            offered = sold
        if not known <= sold:
            raise ValueError(f"the parser knows {_listed(known - sold)}, which the catalogue does not have")
        if not offered <= known:
            raise ValueError(f"the seller offers {_listed(offered - known)}, which the parser does not know")

    @cached_property
    def materials(self) -> Mapping[str, Any]:
        """Every material by name, as exact JSON."""
        return {name: getattr(self, name).model_dump(mode="json") for name in ("catalogue", *COMPONENTS)}

    @cached_property
    def opened(self) -> Mapping[str, Any]:
        """The materials that an opening carries: all that a replay takes, so not prompt and horizon."""
        return {name: made for name, made in self.materials.items() if name not in ("prompt", "horizon")}

    @cached_property
    def components(self) -> Mapping[ComponentName, str]:
        """The digest of each of the nine components, as an arm and a receipt carry it."""
        return {name: material_digest(name, self.materials[name]) for name in COMPONENTS}

    @cached_property
    def reader(self) -> OfferReader:
        """Reads the answers of this arm."""
        return OfferReader(self.parser, self.schema, self.normaliser)

    @cached_property
    def catalogue_digest(self) -> str:
        """The digest of the catalogue, for `Manifest.materials`."""
        return material_digest("catalogue", self.materials["catalogue"])


def _listed(names: Iterable[str]) -> str:
    return ", ".join(sorted(names))
