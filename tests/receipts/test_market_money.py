"""Amounts are read exactly as people write them, or not at all."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentbeat_receipts.domains.market.money import AmountError, Money
from agentbeat_receipts.domains.market.policies import amount_text
from agentbeat_receipts.domains.market.wordings import spelled_amounts

EUROS = Money(exponent=-2, signs=("EUR", "€", "euros"))

READ = {
    "1200": 120000,
    "1200.00": 120000,
    "1200,00": 120000,
    "1,200": 120000,
    "1.200": 120000,
    "1,200.00": 120000,
    "1.200,00": 120000,
    "1 200": 120000,
    "1\u202f200,50": 120050,
    "1'200.50": 120050,
    "1’200": 120000,
    "1_200": 120000,
    "1,234,567.89": 123456789,
    "1.234.567,89": 123456789,
    "1 234 567": 123456700,
    "1.2k": 120000,
    "1,25k": 125000,
    "3 thousand": 300000,
    "200,-": 20000,
    "200,--": 20000,
    "0": 0,
    "0.05": 5,
    "0,5": 50,
    "0.500": 50,
    "12.5": 1250,
    "12,34": 1234,
    "１２００": 120000,
    "€1,200": 120000,
    "1.200 €": 120000,
    "EUR 1200": 120000,
    "1200 eur": 120000,
    "1200 Euros": 120000,
    "twelve hundred": 120000,
    "one thousand two hundred": 120000,
    "Two hundred and fifty euros": 25000,
    "ninety-nine": 9900,
    "twelve hundred and five": 120500,
    "three hundred thousand and one": 30000100,
    "  75  ": 7500,
}

REFUSED = [
    "",
    " ",
    "free",
    "-5",
    "+5",
    "1.2.3",
    "1,20,000",
    "1.2345",
    "0.005",
    "12.345,678",
    "1234.567",
    "1'200'00",
    "1.200'000",
    "1,200k",
    "1,234k",
    "007",
    "1e3",
    "$5",
    "5 USD",
    "EUR 5 EUR",
    "5 5",
    "1 20",
    "200,-50",
    "hundred",
    "thousand",
    "two hundred hundred",
    "zero hundred",
    "five ninety",
    "twenty nineteen",
    "one two",
    "two thousand three thousand",
    "hundred thousand",
    "zero thousand",
    "twelve hundred thousand",
    "½",
    "٣",
    "90071992547410.00",
    "9" * 65,
    "1200 or so",
]


@pytest.mark.parametrize("text", READ)
def test_an_amount_is_read_in_every_way_that_people_write_it(text: str) -> None:
    assert EUROS.read(text) == READ[text]


@pytest.mark.parametrize("text", REFUSED)
def test_what_is_no_whole_number_of_units_is_refused_and_not_echoed(text: str) -> None:
    with pytest.raises(AmountError) as refused:
        EUROS.read(text)
    assert str(refused.value).startswith("an amount of ")


@pytest.mark.parametrize(
    ("exponent", "text", "units"),
    [
        (0, "1200.00", 1200),
        (0, "1.200", 1200),
        (-3, "1,234.567", 1234567),
        (-3, "12.5", 12500),
        (2, "1200", 12),
        (2, "1.2k", 12),
        (-4, "0.0001", 1),
    ],
)
def test_the_unit_is_the_manifests_exponent(exponent: int, text: str, units: int) -> None:
    assert Money(exponent=exponent, signs=()).read(text) == units


@pytest.mark.parametrize(
    ("exponent", "text"), [(0, "12.50"), (2, "1250"), (-3, "1.200"), (-3, "1,200"), (-1, "0.05")]
)
def test_an_amount_that_is_ambiguous_or_between_units_is_refused(exponent: int, text: str) -> None:
    with pytest.raises(AmountError):
        Money(exponent=exponent, signs=()).read(text)


@pytest.mark.parametrize(
    ("token", "units"),
    [("1200", 120000), ("1.200", 120), ("1.2", 120), ("12e2", 120000), ("5E-2", 5), ("0", 0)],
)
def test_in_a_json_number_a_point_is_decimal(token: str, units: int) -> None:
    assert EUROS.plain(token) == units


@pytest.mark.parametrize("token", ["-1", "1.005", "1e-3", "1e99", "1e100", "01", "NaN", ""])
def test_a_json_number_that_is_no_amount_is_refused(token: str) -> None:
    with pytest.raises(AmountError):
        EUROS.plain(token)


@given(units=st.integers(0, 10**9), exponent=st.sampled_from([-3, -2, -1, 0, 1, 2]))
def test_every_spelling_that_the_writer_knows_is_read_back(units: int, exponent: int) -> None:
    money = Money(exponent=exponent, signs=("EUR",))
    for text in spelled_amounts(units, exponent):
        assert money.read(text) == units, text
        assert money.read(f"EUR {text}") == units, text


@given(units=st.integers(0, 2**53 - 1), exponent=st.integers(-6, 6))
def test_a_plain_decimal_is_read_back_as_a_json_number(units: int, exponent: int) -> None:
    assert Money(exponent=exponent, signs=()).plain(amount_text(units, exponent)) == units


@given(text=st.text(alphabet="0123456789.,' k€-and twohre", max_size=24))
def test_whatever_is_read_means_one_amount_only(text: str) -> None:
    try:
        units = EUROS.read(text)
    except AmountError:
        return
    assert 0 <= units < 2**53
    assert EUROS.read(f" {text.upper()} ") == units
