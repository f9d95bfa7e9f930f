"""Analysis contracts: what an experiment claim asserts, fixed before the first outcome.

C1 (direction) and C3 (stability) need one; a claim without its contract is I_C. The members that have one
choice only are written out all the same: a reader of the manifest sees how the number was made.

What a mean is held against is an integer or an exact ratio, since means of small integers lie between them:
utility of 0 or 1 is equal within `{"pair": [1, 10]}`, ten points, and within 1 whatever happens.
"""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from agentbeat_protocol.models import Array, Strict, rule_error
from agentbeat_receipts.objects.base import Base64, ExactInteger, Id, Positive

__all__ = [
    "Contract",
    "Contrast",
    "DirectionContract",
    "Equivalence",
    "Margin",
    "Quotient",
    "Sign",
    "StabilityContract",
    "Variance",
]


class Quotient(Strict):
    """A ratio, as it was written: never reduced."""

    pair: tuple[ExactInteger, Positive] = Field(strict=False)


#: What a mean is held against.
Margin = ExactInteger | Quotient


class _Analysis(Strict):
    """What both contracts share: how the bootstrap over profiles is made."""

    contract: Id
    #: The disclosed value that is analysed.
    outcome: Id
    #: Replicates average inside a profile-arm cell, then profiles are the subjects.
    nesting: Literal["replicates_in_cells_in_profiles"]
    pairing: Literal["within_profile"]
    estimator: Literal["exact", "mc"]
    #: Of the resampling; null for `exact`.
    seed: Base64 | None
    draws: Positive | None
    input_order: Literal["manifest"]
    #: The quantile q of B draws is the ⌈qB⌉-th of the sorted draws.
    interval: Literal["ceil_rank"]

    @model_validator(mode="after")
    def _resampling_is_declared(self) -> Self:
        declared = (self.seed is not None, self.draws is not None)
        if declared != ((True, True) if self.estimator == "mc" else (False, False)):
            raise rule_error("X-CONTRACT", "seed and draws for mc, and neither for exact")
        return self


class DirectionContract(_Analysis):
    """C1: the means of the levels go one way, and the strongest differs from the weakest by a margin."""

    claim: Literal["C1"]
    estimand: Literal["strongest_minus_weakest"]
    #: Arms from weakest to strongest.
    levels: Annotated[Array[Id], Field(min_length=2)]
    direction: Literal["increasing", "decreasing"]
    threshold: Margin


class Contrast(Strict):
    """One arm minus another, inside each profile."""

    minuend: Id
    subtrahend: Id


class Sign(Strict):
    """The interval lies strictly beyond this boundary, on one side."""

    kind: Literal["sign"]
    at: Margin


class Equivalence(Strict):
    """The interval lies inside ±delta."""

    kind: Literal["equivalence"]
    delta: Margin


class Variance(Strict):
    """An upper limit of the mean within-cell variance, as a ratio."""

    numerator: ExactInteger
    denominator: Positive


class StabilityContract(_Analysis):
    """C3: a contrast that replicates keep on one side of a boundary."""

    claim: Literal["C3"]
    estimand: Literal["mean_contrast"]
    contrast: Contrast
    boundary: Annotated[Sign | Equivalence, Field(discriminator="kind")]
    max_variance: Variance | None


Contract = Annotated[DirectionContract | StabilityContract, Field(discriminator="claim")]
