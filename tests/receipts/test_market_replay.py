"""An honest run is replayed to what it disclosed, from where its seller allows, failed or retried."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from agentbeat_receipts.claims import Absent, Fault, Group
from agentbeat_receipts.domains.market import DOMAIN, Enquiry, NoAnswer
from agentbeat_receipts.domains.market.sellers import PolicySeller
from agentbeat_receipts.objects import Pair, RetryPolicy
from support.market_cases import (
    BOTH,
    FAILING,
    refuted,
    retried_case,
)
from support.markets import SELLERS, case_of, found, ran, tampered

STAGE = Fault.STAGE_CONTRADICTS_REPLAY


@pytest.mark.parametrize("form", ["bundle", "itemised"])
@pytest.mark.parametrize("chooser", ["whole_bundle", "subset"])
@pytest.mark.parametrize("flags", [(), ("info",), ("conduct",), BOTH], ids="+".join)
@pytest.mark.parametrize("seller", SELLERS)
def test_every_seller_is_replayed_from_where_it_should_be(
    seller: str, flags: tuple[str, ...], chooser: str, form: str
) -> None:
    run = ran(SELLERS[seller], flags=flags, chooser=chooser, form=form)
    outcome = found(case_of(run, flags))
    scripted = ("policy",) if seller != "writer" else ()
    assert outcome.pop("whole") == (*scripted, "parser", "trace", "choice", "metrics")
    assert outcome == run.values


@pytest.mark.parametrize("flags", [(), BOTH], ids=["off", "on"])
@pytest.mark.parametrize("kind", FAILING)
def test_a_run_that_failed_has_its_values_too(kind: str, flags: tuple[str, ...]) -> None:
    run = ran(FAILING[kind], flags=flags)
    assert run.status == "failed"
    assert run.values["completion"] == 0
    outcome = found(case_of(run, flags))
    assert outcome.pop("whole") == ("parser", "trace", "choice", "metrics")
    assert outcome == run.values
    assert outcome["first_best"] == Pair(pair=(0, 5700))


RETRIED: dict[str, tuple[Any, dict[str, Fault]]] = {
    "why an attempt was silent": (
        lambda c: tampered(c, "attempts", 0, "events", 2, "data", "reason", to="unreachable"),
        {"whole": STAGE},
    ),
    "the failure on record": (
        lambda c: tampered(c, "attempts", 0, "failure", to="unreachable"),
        {"whole": STAGE},
    ),
    "why an answer was unreadable": (
        lambda c: tampered(c, "attempts", 1, "events", 3, "data", "reason", to="moved"),
        {"whole": STAGE},
    ),
    "an earlier answer that could be read": (
        lambda c: tampered(
            c, "attempts", 1, "offers", 0, "raw", to=base64.b64encode(b"Offer 1: room for 90\n").decode()
        ),
        {"conduct_fidelity": STAGE, "whole": STAGE},
    ),
    "offers let through of an unreadable answer": (
        lambda c: tampered(c, "attempts", 1, "offers", 0, "enforced", to={"offers": [], "pressure": []}),
        {"conduct_fidelity": STAGE, "whole": STAGE},
    ),
    "a choice without offers": (
        lambda c: tampered(c, "attempts", 1, "choice", to={"input": {"offers": []}, "output": None}),
        {"whole": STAGE},
    ),
    "an answer put under the silence": (
        lambda c: tampered(
            c, "attempts", 0, "offers", to=[{"raw": "", "parsed": {"failure": "empty"}, "enforced": None}]
        ),
        {"whole": STAGE},
    ),
    "the answer of an earlier attempt left out": (
        lambda c: tampered(c, "attempts", 1, "offers", to=[]),
        {"whole": STAGE},
    ),
}


@pytest.mark.parametrize("what", RETRIED)
def test_earlier_attempts_are_replayed_too(what: str) -> None:
    change, expected = RETRIED[what]
    case = retried_case()
    assert refuted(case) == {}
    assert refuted(change(case)) == expected


def test_the_last_attempt_is_the_one_that_counts() -> None:
    case = retried_case()
    assert case.opening is not None
    shorter = tampered(case, "attempts", to=lambda attempts: attempts[:1])
    assert found(shorter)["completion"] == 0
    assert refuted(shorter).keys() >= {"completion", "buyer_surplus"}


class Silent:
    """Answers, as the policy has it, only when it was asked some times before.

    Args:
        model: the policy.
        reasons: why it does not answer before.
    """

    def __init__(self, model: Any, *reasons: str) -> None:
        self._policy = PolicySeller(model)
        self._reasons = list(reasons)

    def answer(self, enquiry: Enquiry) -> bytes:
        if self._reasons:
            raise NoAnswer(self._reasons.pop(0))
        return self._policy.answer(enquiry)


ONE_RETRY = RetryPolicy(max_attempts=2, retry_on=("timeout",))


@pytest.mark.parametrize(
    "reasons", [("overload",), ("timeout", "timeout"), ("timeout", "overload")], ids="+".join
)
@pytest.mark.parametrize("seller", sorted(SELLERS.keys() - {"writer"}))
def test_a_policy_is_not_replayed_by_its_silence(seller: str, reasons: tuple[str, ...]) -> None:
    run = ran(SELLERS[seller], seller=Silent(SELLERS[seller], *reasons), retry=ONE_RETRY)
    assert [attempt.failure for attempt in run.attempts] == list(reasons)
    outcome = found(case_of(run))
    assert outcome.pop("whole") is Group.O
    # What a run came to without a deal is told by its record; that this is the policy's doing is not.
    assert outcome == run.values
    with pytest.raises(Absent, match=f"^policy_silent: attempt {len(reasons)}: no answer") as absent:
        DOMAIN.replay(case_of(run)).whole()
    assert absent.value.fault is Fault.POLICY_SILENT


def test_a_silence_that_was_retried_leaves_the_policys_answer_to_be_replayed() -> None:
    menu = SELLERS["fixed_menu"]
    case = case_of(ran(menu, seller=Silent(menu, "timeout"), retry=ONE_RETRY))
    assert found(case)["whole"] == ("policy", "parser", "trace", "choice", "metrics")
