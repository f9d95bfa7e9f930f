"""`docs/claim-receipts.md`, Recomputing an analysis: made here anew from the page's words.

What comes out is what the page's example says, and what the verifier says.
"""

from __future__ import annotations

import base64
import hashlib
import itertools
import re
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from math import comb
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentbeat_receipts.claims import Fault
from agentbeat_receipts.objects import Pair
from agentbeat_receipts.statistics import LIMITS, Ratio, draw_indices, envelope_ranks
from support.claim_cells import Rows, faults, judged_direction, judged_stability, ratio

PAGE = (Path(__file__).parents[2] / "docs" / "claim-receipts.md").read_text()
SECTION = PAGE.split("### Recomputing an analysis")[1].split("\n### ")[0]
EXAMPLE = SECTION.split("<!-- analysis example -->")[1].split("<!-- /analysis example -->")[0]
PROFILES, WORDS, BOUNDS = (
    [[cell.strip(" `") for cell in line.strip("|").split("|")] for line in table.splitlines()[2:]]
    for table in EXAMPLE.strip().split("\n\n")
)
SEED, DRAWS = "ZXhhbXBsZQ==", 400

# --- From the page's words --------------------------------------------------------------------------------


def indices(seed: bytes, draw: int, size: int, count: int) -> list[int]:
    """6, with any number of profiles to choose from."""
    made: list[int] = []
    limit = 2**64 - 2**64 % size
    for block in itertools.count():
        missing = count - len(made)
        if not missing:
            break
        hashed = hashlib.shake_256(seed + draw.to_bytes(8, "big") + block.to_bytes(8, "big"))
        raw = hashed.digest(8 * missing)
        words = [int.from_bytes(raw[at : at + 8], "big") for at in range(0, len(raw), 8)]
        made += [word % size for word in words if word < limit]
    return made


def drawn(contrasts: Sequence[int], seed: bytes, draws: int) -> list[int]:
    """3 and 6."""
    size = len(contrasts)
    return sorted(sum(contrasts[at] for at in indices(seed, draw, size, size)) for draw in range(draws))


def every(contrasts: Sequence[int]) -> list[int]:
    """3 and 5."""
    return sorted(map(sum, itertools.product(contrasts, repeat=len(contrasts))))


def rank(quantile: Fraction, count: int) -> int:
    """4."""
    return -(-quantile.numerator * count // quantile.denominator)


@lru_cache
def envelope(quantile: Fraction, draws: int) -> tuple[int, int]:
    """7: ranks."""
    chance = [comb(draws, k) * quantile**k * (1 - quantile) ** (draws - k) for k in range(draws + 1)]
    below = [*itertools.accumulate(chance, initial=Fraction())]
    tail = Fraction(1, 2000)
    low = max(at for at in range(draws + 2) if below[at] <= tail)
    return low, min(at for at in range(draws + 2) if 1 - below[at] <= tail)


def bounds(
    contrasts: Sequence[int], quantile: Fraction, *, seed: bytes | None, draws: int
) -> tuple[int, int, int, int, int, int]:
    """B, rank, S, the envelope's ranks, and its ends, of which there are two more."""
    sums = every(contrasts) if seed is None else drawn(contrasts, seed, draws)
    at = rank(quantile, len(sums))
    low, high = (at, at) if seed is None else envelope(quantile, draws)
    size = len(contrasts)
    ends = [size * min(contrasts), *sums, size * max(contrasts)]
    return at, sums[at - 1], low, high, ends[low], ends[high]


# --- The page's example -----------------------------------------------------------------------------------


def contrasts_of_page() -> list[int]:
    return [int(row[3]) for row in PROFILES]


def test_the_example_s_contrasts_are_those_of_its_cells() -> None:
    assert [int(row[1]) - int(row[2]) for row in PROFILES] == contrasts_of_page()
    assert f"`seed` is `{SEED}`, the bytes\n`{base64.b64decode(SEED).decode()}`" in SECTION
    assert f"`draws` is {DRAWS}" in SECTION
    assert f"the estimate is {sum(contrasts_of_page())}/10" in SECTION


def test_the_example_s_first_draw_is_that_of_its_words() -> None:
    seed, contrasts = base64.b64decode(SEED), contrasts_of_page()
    raw = hashlib.shake_256(seed + bytes(16)).digest(8 * len(contrasts))
    assert "".join(row[0] for row in WORDS) == raw.hex()
    assert [int(row[0], 16) % len(contrasts) for row in WORDS] == [int(row[1]) for row in WORDS]
    assert [contrasts[int(row[1])] for row in WORDS] == [int(row[2]) for row in WORDS]


@pytest.mark.parametrize("row", BOUNDS, ids=lambda row: f"{row[0]} {row[1]}")
def test_the_example_s_bounds_come_out_from_the_page_s_words(row: list[str]) -> None:
    estimator, quantile, count, at, total, ranks, ends = row
    seed = base64.b64decode(SEED) if estimator == "mc" else None
    found = bounds(contrasts_of_page(), Fraction(quantile), seed=seed, draws=DRAWS)
    assert (f"{found[0]}", f"{found[1]}") == (at, total)
    assert (f"{found[2]}, {found[3]}", f"{found[4]}, {found[5]}") == (ranks, ends)
    assert int(count) == (DRAWS if seed is not None else len(contrasts_of_page()) ** len(contrasts_of_page()))


def rows_of_page(low: str, high: str) -> Rows:
    """The same cells: two runs of each."""
    return [
        {low: [int(row[2]) // 2, -(-int(row[2]) // 2)], high: [int(row[1]) // 2, -(-int(row[1]) // 2)]}
        for row in PROFILES
    ]


MC: dict[str, Any] = {"estimator": "mc", "seed": SEED, "draws": DRAWS}


@pytest.mark.parametrize(
    ("estimator", "expected"), [({}, []), (MC, [Fault.BOUNDARY_IN_ENVELOPE])], ids=["exact", "mc"]
)
def test_the_verifier_says_of_the_example_what_the_page_says(
    estimator: dict[str, Any], expected: list[Fault]
) -> None:
    stable = judged_stability(
        rows_of_page("off", "on"), boundary={"kind": "equivalence", "delta": 3}, **estimator
    )
    rising = judged_direction(rows_of_page("low", "high"), levels=("low", "high"), **estimator)
    assert faults(stable) == faults(rising) == expected
    assert stable[1].estimate == Pair(pair=(14, 10))
    table = [row for row in BOUNDS if row[0] == ("mc" if estimator else "exact")]
    shown = {
        row[1]: (Pair(pair=(int(row[4]), 10)), [Pair(pair=(int(end), 10)) for end in row[6].split(", ")])
        for row in table
    }
    analysis = stable[1]
    assert (analysis.lower, list(analysis.lower_envelope or ())) == shown["1/40"]
    assert (analysis.upper, list(analysis.upper_envelope or ())) == shown["39/40"]
    assert (rising[1].lower, list(rising[1].lower_envelope or ())) == shown["1/20"]


# --- The page's words beside the verifier -----------------------------------------------------------------


@given(
    st.lists(st.integers(-50, 50), min_size=4, max_size=5),
    st.none() | st.binary(max_size=40),
    st.integers(1, 60),
)
@settings(max_examples=60, deadline=None)
def test_the_page_s_words_give_the_verifier_s_numbers(
    contrasts: list[int], seed: bytes | None, draws: int
) -> None:
    how: dict[str, Any] = (
        {} if seed is None else {"estimator": "mc", "seed": base64.b64encode(seed).decode(), "draws": draws}
    )
    rows: Rows = [{"off": [0, 0], "on": [contrast, contrast]} for contrast in contrasts]
    _, analysis = judged_stability(rows, **how)
    for quantile, value, ends in (
        (Fraction(1, 40), analysis.lower, analysis.lower_envelope),
        (Fraction(39, 40), analysis.upper, analysis.upper_envelope),
    ):
        _, total, _, _, low, high = bounds(contrasts, quantile, seed=seed, draws=draws)
        assert ends is not None
        got = [ratio(value), *map(ratio, ends)]
        # Contrasts are of two runs, so scaled by 2, and the denominator is n·L.
        assert got == [Ratio(2 * each, 2 * len(contrasts)) for each in (total, low, high)]


@given(st.lists(st.integers(-50, 50), min_size=4, max_size=5), st.binary(max_size=9), st.integers(1, 60))
@settings(max_examples=30, deadline=None)
def test_a_decreasing_one_is_the_mirror_that_the_page_says(
    contrasts: list[int], seed: bytes, draws: int
) -> None:
    rows: Rows = [{"low": [0], "high": [contrast]} for contrast in contrasts]
    how = {"estimator": "mc", "seed": base64.b64encode(seed).decode(), "draws": draws}
    _, analysis = judged_direction(rows, levels=("low", "high"), direction="decreasing", **how)
    negated = [-contrast for contrast in contrasts]
    _, total, _, _, low, high = bounds(negated, Fraction(1, 20), seed=seed, draws=draws)
    assert analysis.upper_envelope is not None
    found = [ratio(analysis.upper), *map(ratio, analysis.upper_envelope)]
    assert found == [Ratio(-each, len(contrasts)) for each in (total, high, low)]


@given(st.binary(max_size=40), st.integers(0, 2**64 - 1), st.integers(2**62, 2**64), st.integers(1, 20))
def test_words_are_thrown_away_as_the_page_says(seed: bytes, draw: int, size: int, count: int) -> None:
    """Of so many profiles up to half of the words are; of as many as there can be, one in 10^18."""
    assert draw_indices(seed, draw, modulus=size, count=count) == indices(seed, draw, size, count)


@pytest.mark.parametrize("draws", [1, 2, 99, 100, 400])
@pytest.mark.parametrize("quantile", [Fraction(1, 20), Fraction(1, 40), Fraction(39, 40)], ids=str)
def test_envelopes_have_the_ranks_that_the_page_says(draws: int, quantile: Fraction) -> None:
    asked = Ratio(quantile.numerator, quantile.denominator)
    assert envelope_ranks(draws, asked) == envelope(quantile, draws)


def test_the_limits_are_those_of_the_page() -> None:
    (found,) = re.findall(r"beyond ([\d,]+) draws or ([\d,]+) indices", SECTION)
    assert tuple(int(each.replace(",", "")) for each in found) == (LIMITS.draws, LIMITS.words)
