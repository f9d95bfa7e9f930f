"""Batches with claim receipts, over loopback HTTP: what a stranger recomputes, and what gives a lie away."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from agentbeat_protocol import digest
from agentbeat_receipts.claims import Fault, Licence
from agentbeat_receipts.deliveries import Delivery
from agentbeat_receipts.domains.agent_eval import DOMAIN
from agentbeat_receipts.objects import Null, Pair
from agentbeat_receipts.verification import Level, Reason, Verdict
from support.eval_batches import Object, Ran, batch_run, plan_json, staged, verified
from support.eval_forgeries import chain_of, rewritten, transcoded
from support.fakes import FakeController, FakeJudge, error, scores
from support.loopback import Answer

PLAIN, GUARDED = "a-00001", "a-00002"


def run_batch(folder: Path, tier: str, *, judge: str | None = None, **changes: Any) -> Ran:
    """A batch of four cases under both arms, twice."""

    async def run() -> Ran:
        controller = FakeController() if tier == "L3" else None
        async with staged(controller=controller, judge=None if judge is None else FakeJudge(judge)) as stage:
            return await batch_run(stage, plan_json(tier, **changes), folder / "claim")

    return asyncio.run(run())


@pytest.fixture(scope="module")
def honest(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Ran]:
    """An honest batch scored by rules, one by the native verdict, one by the judge."""
    folder = tmp_path_factory.mktemp("honest")
    blind = {f"cases__{number}__rules": [] for number in range(4)}
    for name in ("rules", "native", "judge"):
        (folder / name).mkdir()
    return {
        "rules": run_batch(folder / "rules", "L2"),
        "native": run_batch(folder / "native", "L3"),
        "judge": run_batch(folder / "judge", "L2", judge=scores(asr_score=0.5), **blind),
    }


def verdicts(
    deliveries: tuple[Delivery, ...] | list[Delivery], ran: Ran, *, opened: bool = True
) -> dict[str, str]:
    """The verdict on each claim, and on coverage."""
    report = verified(deliveries, ran.keyring, opened=opened)
    return {claim.claim: str(claim.verdict) for claim in report.claims} | {
        "coverage": str(report.chain.coverage)
    }


def without(deliveries: tuple[Delivery, ...], *parts: str) -> list[Delivery]:
    """The deliveries but those whose path has one of these parts."""
    return [each for each in deliveries if not any(part in each.path for part in parts)]


# --- The honest batch -------------------------------------------------------------------------------------


@pytest.mark.parametrize("scored_by", ["rules", "native"])
def test_an_honest_batch_passes_whole(honest: dict[str, Ran], scored_by: str) -> None:
    """The filter lowers attack success at equal utility, and a stranger can say so."""
    ran = honest[scored_by]
    report = verified(ran.deliveries, ran.keyring)
    assert report.chain.level is Level.CR_3
    assert report.chain.coverage is Verdict.PASS
    assert {claim.claim: claim.verdict for claim in report.claims} == dict.fromkeys(
        [*DOMAIN.claims, "C1", "C2", "C3", "C4"], Verdict.PASS
    )
    assert report.licences.granted is Licence.CAUSAL
    direction, stability = report.claim("C1").analyses, report.claim("C3").analyses
    assert [analysis.estimate for analysis in direction] == [Pair(pair=(-8, 8))]
    assert [analysis.estimate for analysis in stability] == [Pair(pair=(0, 8))]


def test_the_report_has_the_numbers_of_each_contract(honest: dict[str, Ran]) -> None:
    ran = honest["rules"]
    report = chain_of(ran).report
    assert report is not None
    assert report.complete is True
    found = {
        each.contract: (each.subjects, each.estimate, each.lower, each.upper) for each in report.analyses
    }
    assert found["fewer-attacks"] == (4, Pair(pair=(-8, 8)), None, Pair(pair=(-8, 8)))
    assert found["equal-utility"][:2] == (4, Pair(pair=(0, 8)))

    def kinder(members: Object) -> None:
        members["analyses"][0]["upper"] = {"pair": [-16, 8]}

    other = verified(rewritten(ran, report=kinder), ran.keyring).claim("C1")
    assert other.verdict is Verdict.INVALID
    assert Fault.ANALYSIS_DIFFERS in {finding.fault for finding in other.findings}


def test_every_published_rate_comes_out_again(honest: dict[str, Ran]) -> None:
    for ran in honest.values():
        report = verified(ran.deliveries, ran.keyring)
        evaluations = [r.evaluation for r in ran.responses.values() if r.evaluation is not None]
        assert len(evaluations) == 16
        for claim, name, good in (
            ("utility", "utility", "pass"),
            ("security", "security", "pass"),
            ("attack_success", "asr", "attack_succeeded"),
        ):
            published = [getattr(each.metrics, name).verdict for each in evaluations]
            assert report.claim(claim).value == Pair(pair=(published.count(good), len(published)))
        assert report.claim("completion").value == Pair(pair=(16, 16))


def test_a_batch_that_the_judge_scored_says_what_the_judge_said(honest: dict[str, Ran]) -> None:
    ran = honest["judge"]
    report = verified(ran.deliveries, ran.keyring)
    assert report.claim("attack_success").value == Pair(pair=(16, 16))
    assert report.claim("C1").verdict is Verdict.NO_EVIDENCE
    assert report.claim("C4").verdict is Verdict.PASS


def test_values_are_disclosed_and_the_evidence_is_sealed(honest: dict[str, Ran]) -> None:
    ran = honest["rules"]
    public = b"".join(each.content for each in ran.deliveries)
    for private in (b"hunter2", b"Refund order", b"judge_rubric", b"says-refunded"):
        assert private not in public
    receipt = chain_of(ran).terminals[PLAIN]
    assert receipt.values["attack_success"] == 1
    assert receipt.values["native_score"] == Null(null="not_in_tier")
    assert set(receipt.values) == set(DOMAIN.claims) - {"guardrail_fidelity"}


def test_without_an_anchor_coverage_is_not_passed(tmp_path: Path) -> None:
    async def run() -> Ran:
        async with staged() as stage:
            return await batch_run(stage, plan_json(), tmp_path / "claim", anchored=False)

    ran = asyncio.run(run())
    report = verified(ran.deliveries, ran.keyring, anchored=False)
    assert report.chain.level is Level.CR_2
    assert Reason.ANCHOR_MISSING in report.chain.reasons
    assert report.chain.coverage is Verdict.INCONCLUSIVE_COVERAGE
    assert report.claim("C4").verdict is Verdict.PASS


# --- What is withheld -------------------------------------------------------------------------------------


@pytest.mark.parametrize("assignment", [PLAIN, "a-00009", "a-00016"], ids=["first", "middle", "last"])
def test_a_withheld_run_is_incomplete_coverage(honest: dict[str, Ran], assignment: str) -> None:
    ran = honest["rules"]
    found = verdicts(without(ran.deliveries, f"receipts/{assignment}", f"envelopes/{assignment}"), ran)
    assert found["coverage"] == "INCONCLUSIVE_COVERAGE"
    assert {found["C1"], found["C3"], found["C4"]} == {"INCONCLUSIVE_COVERAGE"}
    assert found["C2"] == "Pass"
    assert found["attack_success"] == "Pass"


def test_a_withheld_opening_leaves_coverage_and_isolation_standing(honest: dict[str, Ran]) -> None:
    ran = honest["native"]
    found = verdicts(without(ran.deliveries, f"envelopes/{GUARDED}"), ran)
    assert (found["coverage"], found["C2"]) == ("Pass", "Pass")
    assert {found[claim] for claim in (*DOMAIN.claims, "C1", "C3", "C4")} == {"I_E"}


def test_without_the_auditors_key_coverage_and_isolation_stand(honest: dict[str, Ran]) -> None:
    ran = honest["rules"]
    found = verdicts(ran.deliveries, ran, opened=False)
    assert (found["coverage"], found["C2"]) == ("Pass", "Pass")
    assert {found[claim] for claim in (*DOMAIN.claims, "C1", "C3", "C4")} == {"I_E"}


# --- What is changed by whoever holds all keys ------------------------------------------------------------


@pytest.mark.parametrize(
    ("claim", "assignment", "value"),
    [
        ("attack_success", PLAIN, 0),
        ("utility", GUARDED, 0),
        ("security", PLAIN, Null(null="not_observed")),
        ("completion", PLAIN, 0),
        ("channel_coverage", PLAIN, Pair(pair=(6, 7))),
        ("native_score", GUARDED, "0.999999"),
        ("injection_fidelity", PLAIN, 0),
    ],
)
def test_a_changed_value_is_invalid(honest: dict[str, Ran], claim: str, assignment: str, value: Any) -> None:
    ran = honest["native"]
    found = verdicts(rewritten(ran, values={assignment: {claim: value}}), ran)
    assert found[claim] == "Invalid"
    assert found["coverage"] == "Pass"
    if claim not in DOMAIN.fidelity:
        assert found["C4"] == "Invalid"
    if claim == "attack_success":
        assert found["C1"] == "Invalid"


def test_a_run_said_to_be_a_harness_error_although_it_was_answered_is_invalid(honest: dict[str, Ran]) -> None:
    """An attack that succeeded is not dropped by calling the run failed."""

    def edit(opening: Object) -> None:
        opening["reported"] = {}
        opening["attempts"][-1].update(status="failed", failure="target_timeout")

    nothing = Null(null="harness_error")
    claims = ("utility", "security", "attack_success", "channel_coverage", "native_score")
    values = {PLAIN: {"completion": 0, **dict.fromkeys(claims, nothing)}}
    ran = honest["rules"]
    found = verdicts(rewritten(ran, opening={PLAIN: edit}, values=values), ran)
    assert (found["attack_success"], found["C1"], found["C4"]) == ("Invalid", "Invalid", "Invalid")


def test_a_report_other_than_the_runs_is_invalid(honest: dict[str, Ran]) -> None:
    ran = honest["rules"]

    def fewer(report: Object) -> None:
        cell = next(
            cell for cell in report["cells"] if (cell["arm"], cell["value"]) == ("plain", "attack_success")
        )
        cell["sum"] -= 1

    report = verified(rewritten(ran, report=fewer), ran.keyring)
    assert report.claim("C4").verdict is Verdict.INVALID
    assert Fault.CELL_DIFFERS in {finding.fault for finding in report.claim("C4").findings}
    assert report.claim("attack_success").verdict is Verdict.PASS


def test_a_cell_left_out_of_a_whole_report_is_invalid(honest: dict[str, Ran]) -> None:
    ran = honest["rules"]
    found = verdicts(rewritten(ran, report=lambda report: report["cells"].pop()), ran)
    assert found["C4"] == "Invalid"


def test_a_scorer_other_than_the_arms_is_invalid(honest: dict[str, Ran]) -> None:
    ran = honest["rules"]
    other: dict[str, str | None] = {"scorer": "sha256:" + "0" * 64}
    found = verdicts(rewritten(ran, components={PLAIN: other}), ran)
    assert (found["C2"], found["C4"], found["attack_success"]) == ("Invalid", "Invalid", "Invalid")


@pytest.mark.parametrize(
    ("components", "fault"),
    [
        ({}, Fault.MATERIAL_CONTRADICTS_COMPONENT),
        ({"scorer": None}, Fault.MATERIAL_CONTRADICTS_MANIFEST),
    ],
    ids=["under the old name", "unnamed"],
)
def test_a_kinder_rubric_after_the_fact_is_invalid(
    honest: dict[str, Ran], components: dict[str, str | None], fault: Fault
) -> None:
    """The scoring profile of one run is not exchanged for another, nor left unnamed to do so."""

    def edit(opening: Object) -> None:
        opening["materials"]["scorer"]["deterministic_weight"] = "0.1"
        opening["materials"]["scorer"]["llm_judge_weight"] = "0.9"

    ran = honest["rules"]
    changed = rewritten(ran, opening={PLAIN: edit}, components={PLAIN: components})
    claim = verified(changed, ran.keyring).claim("attack_success")
    assert claim.verdict is Verdict.INVALID
    assert fault in {finding.fault for finding in claim.findings}


def test_an_injection_planted_other_than_committed_is_invalid(honest: dict[str, Ran]) -> None:
    """A harmless text in place of the attack makes every Agent look safe."""
    harmless = digest({"surface": "ticket", "text": "Thank you."})

    def edit(opening: Object) -> None:
        reset = opening["attempts"][-1]["events"][0]["data"]
        reset["answer"] = transcoded(lambda answer: answer | {"injection_digest": harmless})(reset["answer"])

    ran = honest["native"]
    report = verified(rewritten(ran, opening={GUARDED: edit}), ran.keyring)
    claim = report.claim("injection_fidelity")
    assert claim.verdict is Verdict.INVALID
    assert Fault.INJECTION_DIFFERS in {finding.fault for finding in claim.findings}
    assert report.licences.granted is not Licence.CAUSAL


# --- Retries and harness errors ---------------------------------------------------------------------------


def test_what_did_not_start_the_agent_is_retried_under_a_new_run_id_and_listed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agentbeat_core.clients.target_client._PAUSES", ())

    async def run() -> tuple[Ran, list[str]]:
        async with staged() as stage:
            refused: list[str] = []

            def busy(seen: Any) -> Any:
                refused.append(seen.json()["run_id"])
                return error("target_busy", 503) if len(refused) == 1 else None

            stage.plain.handle["invoke"] = busy
            ran = await batch_run(stage, plan_json(cases=1, replicates=1, contracts=[]), tmp_path / "claim")
            return ran, refused

    ran, ids = asyncio.run(run())
    assert len(set(ids)) == len(ids) == 2
    chain = chain_of(ran)
    assert chain.terminals[PLAIN].attempts == 2
    first, second = chain.opened[PLAIN].attempts
    assert (first.status, first.failure, first.offers) == ("failed", "target_busy", ())
    assert (second.cause, second.status) == ("target_busy", "accepted")
    assert first.events == ()
    report = verified(ran.deliveries, ran.keyring)
    assert report.chain.retries is Verdict.PASS
    assert {claim.verdict for claim in report.claims} <= {Verdict.PASS, Verdict.NO_CONTRACT}


def test_what_the_policy_does_not_retry_ends_the_run(tmp_path: Path) -> None:
    async def run() -> Ran:
        async with staged() as stage:
            stage.plain.handle["invoke"] = lambda seen: Answer(500, b"")
            return await batch_run(stage, plan_json(cases=2, replicates=1, contracts=[]), tmp_path / "claim")

    ran = asyncio.run(run())
    assert ran.outcome.harness_errors == 2
    report = verified(ran.deliveries, ran.keyring)
    assert report.claim("completion").value == Pair(pair=(2, 4))
    # passed + failed + nulls + harness errors = assignments
    attack = report.claim("attack_success")
    assert (attack.value, dict(attack.nulls)) == (Pair(pair=(0, 2)), {"harness_error": 2})
    assert attack.verdict is Verdict.PASS
    assert report.claim("C4").verdict is Verdict.PASS


def test_a_null_in_what_a_contract_analyses_is_no_evidence(tmp_path: Path) -> None:
    async def run() -> Ran:
        async with staged() as stage:
            answered: list[int] = []

            def first_fails(seen: Any) -> Any:
                answered.append(1)
                return Answer(500, b"") if len(answered) == 1 else None

            stage.plain.handle["invoke"] = first_fails
            return await batch_run(stage, plan_json(), tmp_path / "claim")

    ran = asyncio.run(run())
    report = verified(ran.deliveries, ran.keyring)
    assert Fault.VALUE_IS_NULL in {finding.fault for finding in report.claim("C1").findings}
    assert report.claim("C1").verdict is Verdict.NO_EVIDENCE
    assert report.claim("C4").verdict is Verdict.PASS


def test_another_attempt_than_the_policys_is_retry_shadowing(honest: dict[str, Ran]) -> None:
    """A run that went badly is not hidden behind a retry that nobody declared."""

    def edit(opening: Object) -> None:
        good = opening["attempts"][0]
        bad = {
            **good,
            "status": "failed",
            "failure": "target_timeout",
            "offers": [],
            "choice": None,
            "treatments": [],
        }
        bad["events"] = []
        opening["attempts"] = [bad, {**good, "number": 2, "cause": "target_timeout"}]

    ran = honest["rules"]
    report = verified(rewritten(ran, opening={PLAIN: edit}), ran.keyring)
    assert report.chain.retries is Verdict.INVALID
    assert report.claim("C3").verdict is Verdict.INVALID
