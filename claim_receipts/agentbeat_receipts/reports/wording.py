"""Words and numbers that the table and the page share."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from agentbeat_protocol import cut
from agentbeat_receipts.claims.results import Analysis
from agentbeat_receipts.objects import Contract, DirectionContract, Manifest, Margin, Pair, Quotient, Sign
from agentbeat_receipts.reports.exactness import decimal_text, ratio_text

__all__ = ["analysis_lines", "counts_text", "mean_text", "value_text", "weaker_text"]


def value_text(value: Pair | None) -> str:
    """A sum over its count, and the mean; empty where there is no number."""
    if value is None:
        return ""
    decimal = decimal_text(value)
    if decimal is None:
        return "no value"
    return f"{ratio_text(value)} {decimal if decimal.startswith('≈') else f'= {decimal}'}"


def mean_text(value: Pair | None) -> str:
    """The mean alone; empty where there is no number."""
    return "" if value is None else decimal_text(value) or "no value"


def counts_text(counts: Mapping[str, int], limit: int = 16) -> str:
    """A counter as words, such as `accepted 24, rejected 6`; at most so many names."""
    shown = ", ".join(f"{cut(str(name))} {count}" for name, count in list(counts.items())[:limit])
    more = len(counts) - limit
    return f"{shown} and {more} more" if more > 0 else shown


def weaker_text(weaker: Mapping[str, int], value: Pair | None = None) -> str:
    """How many values, of a sum's, rest on less evidence than was promised, by what is missing."""
    of = "" if value is None else f" of {value.pair[1]} values"
    return f"on weaker evidence{of}: {counts_text(weaker)}"


def analysis_lines(analysis: Analysis, manifest: Manifest | None = None) -> Iterator[tuple[str, Pair]]:
    """Each number of an analysis with its name; those of the contract too, where the manifest is there."""
    contracts = () if manifest is None else manifest.contracts
    contract = next((made for made in contracts if made.contract == analysis.contract), None)
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
    if contract is not None:
        yield from _boundaries(contract)
    arms = contract.levels if isinstance(contract, DirectionContract) else ()
    for place, level in enumerate(analysis.levels):
        yield f"mean of {cut(arms[place]) if place < len(arms) else f'level {place + 1}'}", level


def _boundaries(contract: Contract) -> Iterator[tuple[str, Pair]]:
    """What the numbers are held against."""
    if isinstance(contract, DirectionContract):
        yield "threshold", _margin(contract.threshold)
        return
    boundary = contract.boundary
    if isinstance(boundary, Sign):
        yield "boundary", _margin(boundary.at)
    else:
        yield "±delta", _margin(boundary.delta)
    if contract.max_variance is not None:
        limit = contract.max_variance
        yield "most variance", Pair(pair=(limit.numerator, limit.denominator))


def _margin(margin: Margin) -> Pair:
    return Pair(pair=margin.pair if isinstance(margin, Quotient) else (margin, 1))
