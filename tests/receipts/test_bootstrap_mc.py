"""The drawn bootstrap: every index from the documented bytes, every rank from the exact binomial."""

from __future__ import annotations

import hashlib
from fractions import Fraction
from math import comb

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentbeat_receipts.statistics import (
    Bound,
    Limits,
    Ratio,
    Resampling,
    TooMuchWork,
    bootstrap_bounds,
    draw_indices,
    envelope_ranks,
    quantile_rank,
    resampled_sums,
)

LANE = 2**64 - 1


def _rotated(lane: int, by: int) -> int:
    by %= 64
    return ((lane << by) | (lane >> (64 - by))) & LANE


def _keccak(state: list[list[int]]) -> list[list[int]]:
    """Keccak-f[1600] of FIPS 202, written from its five steps."""
    register = 1
    for _ in range(24):
        columns = [state[x][0] ^ state[x][1] ^ state[x][2] ^ state[x][3] ^ state[x][4] for x in range(5)]
        mixed = [columns[(x - 1) % 5] ^ _rotated(columns[(x + 1) % 5], 1) for x in range(5)]
        state = [[lane ^ mixed[x] for lane in state[x]] for x in range(5)]
        x, y, held = 1, 0, state[1][0]
        for step in range(24):
            x, y = y, (2 * x + 3 * y) % 5
            held, state[x][y] = state[x][y], _rotated(held, (step + 1) * (step + 2) // 2)
        for y in range(5):
            row = [state[x][y] for x in range(5)]
            for x in range(5):
                state[x][y] = row[x] ^ (~row[(x + 1) % 5] & LANE & row[(x + 2) % 5])
        for bit in range(7):
            register = ((register << 1) ^ ((register >> 7) * 0x71)) & 0xFF
            if register & 2:
                state[0][0] ^= 1 << ((1 << bit) - 1)
    return state


def _shake_256(message: bytes, length: int) -> bytes:
    rate = 136
    padded = message + b"\x1f"
    padded += bytes(-len(padded) % rate)
    padded = padded[:-1] + bytes([padded[-1] | 0x80])
    state = [[0] * 5 for _ in range(5)]
    for at in range(0, len(padded), rate):
        for lane in range(rate // 8):
            word = padded[at + 8 * lane : at + 8 * lane + 8]
            state[lane % 5][lane // 5] ^= int.from_bytes(word, "little")
        state = _keccak(state)
    out = b""
    while len(out) < length:
        out += b"".join(state[lane % 5][lane // 5].to_bytes(8, "little") for lane in range(rate // 8))
        state = _keccak(state)
    return out[:length]


def _words(seed: bytes, draw: int, counter: int, count: int) -> list[int]:
    block = _shake_256(seed + draw.to_bytes(8, "big") + counter.to_bytes(8, "big"), 8 * count)
    return [int.from_bytes(block[at : at + 8], "big") for at in range(0, 8 * count, 8)]


def test_the_reference_is_shake_256() -> None:
    """The first bytes over the empty message, as FIPS 202's test vectors give them."""
    assert _shake_256(b"", 16).hex() == "46b9dd2b0ba88d13233b3feb743eeb24"
    assert _shake_256(b"x" * 300, 300) == hashlib.shake_256(b"x" * 300).digest(300)


@pytest.mark.parametrize("seed", [b"", b"seed", b"s" * 200], ids=["empty", "short", "two-blocks"])
@pytest.mark.parametrize("draw", [0, 1, 2**40])
@pytest.mark.parametrize("size", [1, 4, 75])
def test_indices_are_words_of_the_documented_stream(seed: bytes, draw: int, size: int) -> None:
    expected = [word % size for word in _words(seed, draw, 0, size)]
    assert draw_indices(seed, draw, modulus=size, count=size) == expected


@pytest.mark.parametrize("modulus", [2**63 + 1, 3 * 2**61 + 5])
def test_rejected_words_are_replaced_from_the_next_blocks(modulus: int) -> None:
    """So large a modulus rejects nearly half of the words; indices of 75 profiles practically none."""
    expected: list[int] = []
    counter = rejected = 0
    while len(expected) < 20:
        words = _words(b"seed", 3, counter, 20 - len(expected))
        kept = [word for word in words if word < 2**64 - 2**64 % modulus]
        rejected += len(words) - len(kept)
        expected += [word % modulus for word in kept]
        counter += 1
    assert rejected > 0
    assert counter > 1
    assert draw_indices(b"seed", 3, modulus=modulus, count=20) == expected


def test_a_modulus_that_divides_the_words_rejects_none() -> None:
    assert draw_indices(b"seed", 0, modulus=2**64, count=3) == _words(b"seed", 0, 0, 3)


def test_sums_are_those_of_the_drawn_profiles_in_order() -> None:
    values = [5, -1, 0, 7, 2**60]
    expected = sorted(
        sum(values[index] for index in draw_indices(b"s", draw, modulus=5, count=5)) for draw in range(50)
    )
    assert resampled_sums(values, seed=b"s", draws=50) == expected


def test_other_seeds_and_other_orders_draw_other_resamples() -> None:
    values = list(range(10))
    plain = resampled_sums(values, seed=b"s", draws=40)
    assert plain != resampled_sums(values, seed=b"t", draws=40)
    assert plain != resampled_sums(values[::-1], seed=b"s", draws=40)


def test_a_bound_is_the_draw_of_its_rank_with_its_envelope() -> None:
    values = [(7 * place) % 31 - 9 for place in range(20)]
    drawn = resampled_sums(values, seed=b"s", draws=1000)
    low, high = envelope_ranks(1000, Ratio(1, 20))
    assert bootstrap_bounds(values, [Ratio(1, 20)], Resampling(b"s", 1000)) == (
        Bound(drawn[49], drawn[low - 1], drawn[high - 1]),
    )


def test_where_no_draw_bounds_the_quantile_the_envelope_ends_at_what_a_resample_can_be() -> None:
    values = [1, 2, 3, 40]
    lower, upper = bootstrap_bounds(values, [Ratio(1, 40), Ratio(39, 40)], Resampling(b"s", 20))
    assert envelope_ranks(20, Ratio(1, 40))[0] == 0
    assert lower.low == 4 * 1
    assert upper.high == 4 * 40


def test_the_drawn_envelope_holds_the_exact_quantile() -> None:
    values = [3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 9]
    quantiles = [Ratio(1, 40), Ratio(39, 40)]
    exact = bootstrap_bounds(values, quantiles)
    for seed in range(5):
        drawn = bootstrap_bounds(values, quantiles, Resampling(bytes([seed]), 1000))
        assert all(one.low <= other.value <= one.high for one, other in zip(drawn, exact, strict=True))


def _below(draws: int, quantile: Ratio, rank: int) -> Fraction:
    """P(K < rank) for K ~ Binomial(draws, quantile)."""
    chance = Fraction(quantile.numerator, quantile.denominator)
    terms = (comb(draws, k) * chance**k * (1 - chance) ** (draws - k) for k in range(rank))
    return sum(terms, Fraction())


@given(st.integers(1, 400), st.sampled_from([(1, 20), (19, 20), (1, 40), (39, 40), (1, 2), (2, 7)]))
def test_the_envelope_has_at_most_a_2000th_in_each_tail_and_no_narrower_one_has(
    draws: int, pair: tuple[int, int]
) -> None:
    quantile, tail = Ratio(*pair), Fraction(1, 2000)
    low, high = envelope_ranks(draws, quantile)
    assert 0 <= low <= quantile_rank(quantile, draws) <= high <= draws + 1
    assert _below(draws, quantile, low) <= tail < _below(draws, quantile, low + 1)
    assert 1 - _below(draws, quantile, high) <= tail < 1 - _below(draws, quantile, high - 1)


def test_the_envelope_of_ten_thousand_draws_is_the_binomial_s() -> None:
    draws, whole = 10_000, 20**10_000
    low, high = envelope_ranks(draws, Ratio(1, 20))
    weights = [comb(draws, k) * 19 ** (draws - k) for k in range(high)]
    assert 2000 * sum(weights[:low]) <= whole < 2000 * sum(weights[: low + 1])
    assert 2000 * (whole - sum(weights)) <= whole < 2000 * (whole - sum(weights[:-1]))


@given(st.integers(1, 3000))
def test_the_envelope_of_the_mirrored_quantile_is_the_mirrored_envelope(draws: int) -> None:
    low, high = envelope_ranks(draws, Ratio(1, 40))
    assert envelope_ranks(draws, Ratio(39, 40)) == (draws + 1 - high, draws + 1 - low)


@pytest.mark.parametrize(
    ("draws", "quantile"), [(0, Ratio(1, 20)), (10, Ratio(0, 1)), (10, Ratio(1, 1)), (10, Ratio(3, 2))]
)
def test_an_envelope_needs_draws_and_a_quantile_inside(draws: int, quantile: Ratio) -> None:
    with pytest.raises(ValueError, match="expected at least 1 and one inside"):
        envelope_ranks(draws, quantile)


@pytest.mark.parametrize("limits", [Limits(draws=99), Limits(words=399)], ids=["more-draws", "more-indices"])
def test_more_draws_than_allowed_are_refused(limits: Limits) -> None:
    with pytest.raises(TooMuchWork, match="100 draws of 4 profiles"):
        bootstrap_bounds([1, 2, 3, 4], [Ratio(1, 20)], Resampling(b"s", 100), limits=limits)
