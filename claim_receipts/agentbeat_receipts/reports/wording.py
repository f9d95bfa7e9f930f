"""Words and numbers that the table and the page share."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from agentbeat_protocol import cut
from agentbeat_receipts.claims.results import Analysis
from agentbeat_receipts.objects import Pair
from agentbeat_receipts.reports.exactness import decimal_text, ratio_text

__all__ = ["analysis_lines", "counts_text", "value_text"]


def value_text(value: Pair | None) -> str:
    """A sum over its count, and the mean; empty where there is no number."""
    if value is None:
        return ""
    decimal = decimal_text(value)
    return "no value" if decimal is None else f"{ratio_text(value)} = {decimal}"


def counts_text(counts: Mapping[str, int], limit: int = 16) -> str:
    """A counter as words, such as `accepted 24, rejected 6`; at most so many names."""
    shown = ", ".join(f"{cut(str(name))} {count}" for name, count in list(counts.items())[:limit])
    more = len(counts) - limit
    return f"{shown} and {more} more" if more > 0 else shown


def analysis_lines(analysis: Analysis) -> Iterator[tuple[str, Pair]]:
    """Each number of an analysis with its name."""
    numbers = (("estimate", analysis.estimate), ("lower", analysis.lower), ("upper", analysis.upper))
    for name, number in numbers:
        if number is not None:
            yield name, number
    envelopes = (("lower", analysis.lower_envelope), ("upper", analysis.upper_envelope))
    for name, envelope in envelopes:
        # With the exact distribution both ends are the quantile itself.
        if envelope is not None and envelope[0] != envelope[1]:
            yield f"{name}, least", envelope[0]
            yield f"{name}, greatest", envelope[1]
    for place, level in enumerate(analysis.levels, 1):
        yield f"level {place}", level
