"""Bounds of a mean contrast by a bootstrap over profiles, `exact` or `mc`.

Bounds are sums of n integers; the caller knows the scale, and divides by n times the scale to get a mean.
Each has its envelope: of the exact distribution the quantile itself, of draws what `envelopes` says. Where
an envelope has no draw at its end, it ends at the least or greatest sum that a resample can have.

>>> bootstrap_bounds([1, 2, 3, 4], [Ratio(1, 20)])
(Bound(value=6, low=6, high=6),)
>>> bootstrap_bounds([1, 2, 3, 4], [Ratio(1, 20)], Resampling(b"seed", 100))
(Bound(value=7, low=4, high=8),)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from agentbeat_receipts.statistics.envelopes import envelope_ranks
from agentbeat_receipts.statistics.exact import exact_quantiles
from agentbeat_receipts.statistics.limits import LIMITS, Limits, TooMuchWork
from agentbeat_receipts.statistics.ratios import Ratio, quantile_rank
from agentbeat_receipts.statistics.resampling import resampled_sums

__all__ = ["Bound", "Resampling", "bootstrap_bounds"]


@dataclass(frozen=True, slots=True)
class Bound:
    """A quantile of resampled sums, and the least and the greatest sum that it may be."""

    value: int
    low: int
    high: int


@dataclass(frozen=True, slots=True)
class Resampling:
    """What `mc` draws with: the contract's seed as bytes, and how many draws."""

    seed: bytes
    draws: int


def bootstrap_bounds(
    contrasts: Sequence[int],
    quantiles: Sequence[Ratio],
    resampling: Resampling | None = None,
    *,
    limits: Limits = LIMITS,
) -> tuple[Bound, ...]:
    """One bound for each quantile.

    Args:
        contrasts: one integer for each profile, in the manifest's order; at least one.
        quantiles: each strictly between 0 and 1.
        resampling: how `mc` draws; None for the exact distribution.
        limits: how much work it may take.

    Raises:
        TooMuchWork: it would take more.
    """
    if resampling is None:
        return tuple(
            Bound(total, total, total) for total in exact_quantiles(contrasts, quantiles, limits=limits)
        )
    size, draws = len(contrasts), resampling.draws
    if draws > limits.draws or draws * size > limits.words:
        raise TooMuchWork(
            f"{draws} draws of {size} profiles, at most {limits.draws} draws and {limits.words} indices"
        )
    # A rank of 0 or draws + 1 is beyond all draws, but no resample lies beyond these.
    sums = [
        size * min(contrasts),
        *resampled_sums(contrasts, seed=resampling.seed, draws=draws),
        size * max(contrasts),
    ]
    bounds = []
    for quantile in quantiles:
        low, high = envelope_ranks(draws, quantile)
        bounds.append(Bound(sums[quantile_rank(quantile, draws)], sums[low], sums[high]))
    return tuple(bounds)
