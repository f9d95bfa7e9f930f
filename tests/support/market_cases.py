"""Market cases to be tampered with, and what a change refutes."""

from __future__ import annotations

from agentbeat_receipts.claims import Case, Fault
from agentbeat_receipts.domains.market import FixedMenu, MenuOffer, SeededWriter
from agentbeat_receipts.objects import RetryPolicy
from support.markets import WRITER, case_of, found, ran

__all__ = [
    "ATTEMPT",
    "BOTH",
    "ECONOMIC",
    "FAILING",
    "OFFER",
    "menu_case",
    "refuted",
    "retried_case",
    "writer_case",
]

BOTH = ("info", "conduct")
ECONOMIC = ("completion", "buyer_surplus", "seller_profit", "welfare", "first_best", "match_quality")

#: Where an opening's first attempt and its answer are.
ATTEMPT = ("attempts", 0)
OFFER = (*ATTEMPT, "offers", 0)

#: Sellers that never come to an offer.
FAILING = {
    "timeout": SeededWriter(name="late", bundle=("room",), timeout_per_mille=1000),
    "broken": SeededWriter(name="broken", bundle=("room",), failure_per_mille=1000),
}


def refuted(case: Case) -> dict[str, Fault]:
    """The claims whose replay contradicts itself, or gives another value than the receipt discloses."""
    faults = {}
    for claim, outcome in found(case).items():
        if isinstance(outcome, Fault):
            faults[claim] = outcome
        elif claim != "whole" and outcome != case.receipt.values[claim]:
            faults[claim] = Fault.VALUE_CONTRADICTS_REPLAY
    return faults


def menu_case() -> Case:
    """A scripted run under both guards: two offers, a surcharge, pressure; the second offer is taken."""
    menu = FixedMenu(
        name="menu",
        offers=(
            MenuOffer(components=("room",), price=12000),
            MenuOffer(components=("breakfast", "room"), price=12500, surcharge=300),
        ),
        pressure=("only today",),
    )
    return case_of(ran(menu, flags=BOTH), BOTH)


def writer_case() -> Case:
    return case_of(ran(WRITER, flags=BOTH, seed=b"writer"), BOTH)


def retried_case() -> Case:
    """A generated run whose first attempts failed in two ways, and the third was accepted."""
    sometimes = WRITER.model_copy(update={"failure_per_mille": 450, "timeout_per_mille": 350})
    retry = RetryPolicy(max_attempts=4, retry_on=("timeout", "empty", "refusal", "unparseable"))
    for number in range(500):
        run = ran(sometimes, flags=BOTH, retry=retry, seed=b"%d" % number)
        failures = [attempt.failure for attempt in run.attempts]
        if (
            len(failures) == 3
            and failures[0] == "timeout"
            and failures[2] is None
            and failures[1] != "timeout"
        ):
            return case_of(run, BOTH)
    raise AssertionError("no such run among 500 seeds")
