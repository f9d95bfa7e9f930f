"""The same ablation for evaluation runs, over a served batch whose claims all pass at L3."""

from __future__ import annotations

import asyncio

import pytest

from agentbeat_receipts.claims import GROUPS, ClaimReport, Group, Licence
from agentbeat_receipts.claims.judging import judge
from agentbeat_receipts.claims.settling import settle
from agentbeat_receipts.domains.agent_eval import DOMAIN
from agentbeat_receipts.verification import Verdict
from support.eval_batches import batch_run, plan_json, staged, verified
from support.fakes import FakeController, FakeJudge


@pytest.fixture(scope="module")
def control(tmp_path_factory: pytest.TempPathFactory) -> ClaimReport:
    """A filter that lowers attack success at equal utility: four cases, two arms, twice each."""

    async def run() -> ClaimReport:
        async with staged(controller=FakeController(), judge=FakeJudge()) as stage:
            folder = tmp_path_factory.mktemp("L3") / "claim"
            ran = await batch_run(stage, plan_json("L3"), folder)
            return verified(ran.deliveries, ran.keyring)

    return asyncio.run(run())


def test_all_claims_of_the_control_pass(control: ClaimReport) -> None:
    assert {claim.verdict for claim in control.claims} == {Verdict.PASS}
    assert control.licences.granted is Licence.CAUSAL


@pytest.mark.parametrize("group", GROUPS)
def test_what_turns_inconclusive_without_a_group_is_what_declares_to_need_it(
    control: ClaimReport, group: Group
) -> None:
    removed = frozenset({group})
    report = judge(control.chain, settle(control.chain, DOMAIN, removed=removed), DOMAIN, removed=removed)
    found = {claim.claim: claim.verdict for claim in report.claims if claim.verdict is not Verdict.PASS}
    assert set(found) == {claim for claim, needs in DOMAIN.needs.items() if group in needs}
    assert Verdict.INVALID not in found.values()
