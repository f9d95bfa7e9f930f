"""What each claim of an evaluation run needs: declared, and found by taking one group away at a time."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from agentbeat_receipts.claims import EXPERIMENT_NEEDS, Absent, Case, Group, Unreplayed
from agentbeat_receipts.domains.agent_eval import DOMAIN
from support.eval_batches import Ran, batch_run, plan_json, staged
from support.eval_forgeries import case_of
from support.fakes import FakeController, FakeJudge

CASE_GROUPS = [Group(name) for name in "APKTODFGQ"]
#: The guarded arm's first run.
GUARDED = "a-00002"
TIERS = ("L1", "L2", "L3")


@pytest.fixture(scope="module")
def control(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Ran]:
    """A judged batch at each tier."""

    async def run() -> dict[str, Ran]:
        made = {}
        for tier in TIERS:
            controller = FakeController() if tier == "L3" else None
            async with staged(controller=controller, judge=FakeJudge()) as stage:
                folder = tmp_path_factory.mktemp(tier) / "claim"
                made[tier] = await batch_run(
                    stage, plan_json(tier, cases=1, replicates=1, contracts=[]), folder
                )
        return made

    return asyncio.run(run())


def needed(case: Case, claim: str) -> set[Group]:
    """The groups without which a claim, which has a value with all of them, has none."""
    _ask(case, claim)
    found = set()
    for group in CASE_GROUPS:
        try:
            _ask(replace(case, removed=frozenset({group})), claim)
        except Absent as error:
            found.add(error.group)
    return found


def _ask(case: Case, claim: str) -> None:
    replay = DOMAIN.replay(case)
    if claim == "whole":
        replay.whole()
    else:
        replay.value(claim)


@pytest.mark.parametrize("claim", DOMAIN.claims)
def test_the_declared_needs_are_those_that_ablation_finds(control: dict[str, Ran], claim: str) -> None:
    """A claim needs a group when there is a tier at which it has no value without it."""
    found: set[Group] = set()
    for tier, ran in control.items():
        case = case_of(ran, GUARDED)
        if tier == "L1" and claim == "guardrail_fidelity":
            with pytest.raises(Unreplayed):
                _ask(case, claim)
            continue
        found |= needed(case, claim)
    assert found == DOMAIN.needs[claim]


@pytest.mark.parametrize(
    ("tier", "claim", "groups"),
    [
        ("L1", "utility", "PKODF"),
        ("L2", "utility", "PKTODF"),
        ("L3", "utility", "PKTODF"),
        ("L1", "native_score", "KO"),
        ("L2", "native_score", "KO"),
        ("L3", "native_score", "KTOF"),
        ("L2", "channel_coverage", "KTO"),
        ("L3", "channel_coverage", "KTOF"),
        ("L2", "injection_fidelity", "KT"),
        ("L3", "injection_fidelity", "KTF"),
        ("L2", "guardrail_fidelity", "AKTOGQ"),
        ("L3", "completion", "KO"),
    ],
)
def test_each_tier_needs_what_its_values_are_made_from(
    control: dict[str, Ran], tier: str, claim: str, groups: str
) -> None:
    assert needed(case_of(control[tier], GUARDED), claim) == {Group(name) for name in groups}


@pytest.mark.parametrize("tier", ["L2", "L3"])
def test_the_whole_replay_needs_neither_guardrails_nor_the_protocol(
    control: dict[str, Ran], tier: str
) -> None:
    whole = needed(case_of(control[tier], GUARDED), "whole")
    assert whole == {Group(name) for name in "PKTODF"}
    for claim in ("C1", "C3", "C4"):
        assert DOMAIN.needs[claim] == EXPERIMENT_NEEDS[claim] | whole


def test_without_an_opening_nothing_private_has_a_value(control: dict[str, Ran]) -> None:
    case = replace(case_of(control["L2"], GUARDED), opening=None)
    for claim in DOMAIN.claims:
        with pytest.raises(Absent):
            _ask(case, claim)


def test_a_receipt_without_its_manifest_has_its_values_all_the_same(control: dict[str, Ran]) -> None:
    """CR-1: only what rests on the arm is absent."""
    case = replace(case_of(control["L3"], GUARDED), assignment=None, arm=None)
    for claim in DOMAIN.claims:
        if claim == "guardrail_fidelity":
            with pytest.raises(Absent):
                _ask(case, claim)
        else:
            _ask(case, claim)
    assert DOMAIN.replay(case).whole()[-1] == "verdicts"


def test_the_run_is_an_example_of_each_stage(control: dict[str, Ran]) -> None:
    stages = DOMAIN.replay(case_of(control["L3"], GUARDED)).whole()
    assert stages == ("response", "task", "judge", "trace", "native", "verdicts")
