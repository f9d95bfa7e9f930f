"""Exact statistics: a bootstrap over profiles whose every number is an integer or a ratio of integers."""

from agentbeat_receipts.statistics.bootstraps import Bound, Resampling, bootstrap_bounds
from agentbeat_receipts.statistics.envelopes import envelope_ranks
from agentbeat_receipts.statistics.exact import exact_quantiles
from agentbeat_receipts.statistics.limits import LIMITS, Limits, TooMuchWork
from agentbeat_receipts.statistics.ratios import Ratio, compare, quantile_rank
from agentbeat_receipts.statistics.resampling import draw_indices, resampled_sums

__all__ = [
    "LIMITS",
    "Bound",
    "Limits",
    "Ratio",
    "Resampling",
    "TooMuchWork",
    "bootstrap_bounds",
    "compare",
    "draw_indices",
    "envelope_ranks",
    "exact_quantiles",
    "quantile_rank",
    "resampled_sums",
]
