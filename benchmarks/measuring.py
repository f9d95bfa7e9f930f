"""Measuring and telling: times, memory, and a plain table.

Times are of `time.perf_counter_ns`, memory is `tracemalloc`'s peak, taken in a run of its own because tracing
makes everything slower.
"""

from __future__ import annotations

import gc
import statistics
import time
import tracemalloc
from collections.abc import Callable, Iterable, Sequence

__all__ = ["interleaved", "milliseconds", "peak_mib", "percentile", "print_table"]

MIB = 1024 * 1024


def interleaved(rounds: int, *candidates: Callable[[], object]) -> list[list[float]]:
    """Seconds of each candidate in each round.

    The candidates take turns, so that what disturbs the machine for a while disturbs all of them.
    """
    taken: list[list[float]] = [[] for _ in candidates]
    for _ in range(rounds):
        for times, candidate in zip(taken, candidates, strict=True):
            gc.collect()
            start = time.perf_counter_ns()
            candidate()
            times.append((time.perf_counter_ns() - start) / 1e9)
    return taken


def peak_mib(candidate: Callable[[], object]) -> float:
    """The most memory that Python objects took while this ran, beyond what was there before, in MiB."""
    gc.collect()
    tracemalloc.start()
    try:
        result = candidate()
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    del result
    return peak / MIB


def percentile(values: Sequence[float], share: float) -> float:
    """The nearest-rank percentile: `share` 0.95 of 40 values is the 38th."""
    ordered = sorted(values)
    return ordered[max(0, min(len(ordered), round(share * len(ordered))) - 1)]


def milliseconds(seconds: Sequence[float]) -> float:
    """The median in milliseconds."""
    return statistics.median(seconds) * 1000


def print_table(title: str, header: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print a title and columns: the first one to the left, the figures to the right."""
    table = [list(header), *(list(row) for row in rows)]
    widths = [max(len(row[column]) for row in table) for column in range(len(header))]
    print(f"\n{title}")
    for row in table:
        first, *figures = (
            cell.ljust(w) if at == 0 else cell.rjust(w)
            for at, (cell, w) in enumerate(zip(row, widths, strict=True))
        )
        print("  " + "  ".join([first, *figures]))
