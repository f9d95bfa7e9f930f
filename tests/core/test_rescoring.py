"""`score`: what was observed earlier, held to the same rules as in a run."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from agentbeat_core.core import Core
from agentbeat_core.judge.client import UnavailableJudge, judge_from_environment
from agentbeat_core.refusals import RefusedError
from agentbeat_core.rescoring import score
from agentbeat_protocol import ProtocolError
from agentbeat_protocol.evaluation import Evaluation, ScoreRequest, read_score_request
from support.evaluations import ENVIRON, RUN_ID, case, deep, eval_request, registry, request_json
from support.fakes import FakeController, FakeJudge, FakeTarget

Object = dict[str, Any]
NO_JUDGE = UnavailableJudge("judge_not_configured")


def request(tier: str, **members: Any) -> ScoreRequest:
    value = {
        "schema_version": "agent-score-v1",
        "run_id": RUN_ID,
        "case": case(tier),
        "observation_tier": tier,
        "scoring_profile": request_json(tier)["scoring_profile"],
        "final_response": "Order 7 is refunded.",
    } | members
    return read_score_request(json.dumps({k: v for k, v in value.items() if v is not ...}).encode())


async def scored(tier: str, **members: Any) -> Evaluation:
    return (await score(request(tier, **members), judge=NO_JUDGE)).evaluation


async def document() -> Object:
    """The evidence document that the fake Target gives."""
    target = FakeTarget()
    target.invocation = {"case_id": case()["case_id"]}
    return target.good_document(RUN_ID)


async def test_l1_needs_the_final_response_alone() -> None:
    evaluation = await scored("L1")
    assert evaluation.evidence.status == "complete"
    assert evaluation.metrics.utility.verdict == "pass"
    assert evaluation.negotiation.observed_tier == "L1"


async def test_core_scores_with_its_own_judge() -> None:
    async with FakeJudge() as judge:
        core = Core(registry(), judge=judge_from_environment(judge.environ))
        response = await core.score(request("L1"))
    assert (response.judge_model_calls, response.evaluation.score.final_score) == (1, 1.0)


async def test_without_a_final_response_nothing_is_decided() -> None:
    evaluation = await scored("L1", final_response=...)
    assert evaluation.negotiation.observed_tier is None
    assert evaluation.metrics.utility.verdict == "not_observed"


async def test_evidence_is_held_to_its_rules() -> None:
    good = await document()
    assert (await scored("L2", evidence=good)).evidence.status == "complete"

    refused = await scored("L2", evidence=deep(good, {"run_id": "run-another"}))
    assert refused.evidence.missing_channels == ("message_event", "tool_call", "tool_result")
    assert {each.reason for each in refused.evidence.observations[1:]} == {"evidence_refused: X-BIND"}
    (kept,) = refused.evidence.documents
    assert (kept.accepted, kept.rule) == (False, "X-BIND")


async def test_evidence_that_is_not_given_is_missing() -> None:
    evaluation = await scored("L2")
    assert {each.reason for each in evaluation.evidence.observations[1:]} == {"evidence_not_given"}


async def test_evidence_without_a_canonical_form_is_taken_as_in_a_run() -> None:
    odd = deep(await document(), {"events.0.data.arguments": {"n": 2**53 + 1}})
    async with FakeTarget() as target:
        target.document = lambda good: odd
        core = Core(registry(ENVIRON | {"DESK_URL": target.url}, state_controller=...))
        response = await core.evaluate(eval_request("L2"))
    assert response.evaluation is not None
    evaluation = await scored("L2", evidence=odd)
    assert evaluation.evidence.status == "complete"
    assert evaluation.evidence.observations == response.evaluation.evidence.observations
    assert evaluation.metrics == response.evaluation.metrics


async def test_the_judge_is_asked_like_in_a_run() -> None:
    async with FakeJudge() as judge:
        response = await score(request("L1"), judge=judge_from_environment(judge.environ))
    assert response.judge_model_calls == 1
    assert response.evaluation.score.final_score == 1.0
    assert response.evaluation.metrics.official_benchmark is False


# --- The State Controller's word ------------------------------------------------------------------------


async def recorded() -> Object:
    """The `state` of a score request, put together from nothing but the result of a run."""
    async with FakeTarget() as target, FakeController() as controller:
        environ = ENVIRON | {"DESK_URL": target.url, "CONTROL_URL": controller.url}
        response = await Core(registry(environ)).evaluate(eval_request("L3"))
    assert response.evaluation is not None
    kept = {each.kind: each.text for each in response.evaluation.evidence.documents}
    assert kept["state_verify"] is not None
    verify = json.loads(kept["state_verify"])
    receipt = verify["receipt"]
    phases = {each.phase: each for each in response.eval_run.timing.phases}

    def begin(phase: str) -> int:
        return phases[phase].started_at.unix_nanoseconds  # type: ignore[index]

    def end(phase: str) -> int:
        return begin(phase) + phases[phase].duration_ns  # type: ignore[index]

    bound = (
        "controller_id",
        "deployment_profile_id",
        "environment_id",
        "binding_mode",
        "profile_id",
        "profile_digest",
        "injection_digest",
        "attempt_nonce",
        "before",
        "after",
    )
    return {
        "verify": verify,
        "snapshots": {"before": kept["snapshot_before"], "after": kept["snapshot_after"]},
        "expected": {name: receipt[name] for name in bound} | {"state_digest": receipt["before"]["digest"]},
        "order": {
            "before_held": end("snapshot_before"),
            "invoked": begin("invoke"),
            "invocation_ended": end("invoke"),
            "after_asked": begin("snapshot_after"),
        },
    }


async def test_a_recorded_word_is_accepted_and_never_official() -> None:
    evaluation = await scored("L3", evidence=await document(), state=await recorded())
    assert evaluation.evidence.status == "complete"
    assert evaluation.state is not None
    assert (evaluation.state.accepted, evaluation.state.signature) == (True, "unsigned")
    assert evaluation.metrics.security.verdict == "pass"
    assert evaluation.metrics.official_benchmark is False


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"expected.profile_digest": "sha256:" + "0" * 64}, "receipt_binding_mismatch"),
        ({"verify.receipt.receipt_id": "another"}, "receipt_digest_mismatch"),
        ({"order.after_asked": 0}, "receipt_snapshot_order"),
        ({"snapshots.after": "{}"}, "receipt_snapshot_content_mismatch"),
        ({"snapshots.before": ...}, "receipt_snapshot_unreadable"),
        ({"verify.checks.0.expected": "x"}, "receipt_checks_mismatch"),
        ({"expected.attempt_nonce": "0" * 32}, "receipt_nonce_mismatch"),
        ({"expected.state_digest": "sha256:" + "0" * 64}, "receipt_before_not_reset_state"),
    ],
    ids=lambda value: value if isinstance(value, str) else None,
)
async def test_a_recorded_word_is_held_to_every_receipt_rule(changes: Object, code: str) -> None:
    evaluation = await scored("L3", evidence=await document(), state=deep(await recorded(), changes))
    assert evaluation.state is not None
    assert evaluation.state.reason_codes == ("receipt_unsigned", code) or evaluation.state.reason_codes == (
        code,
        "receipt_unsigned",
    )
    assert evaluation.evidence.missing_channels == ("state_before_after", "native_score")


async def test_a_word_on_another_answer_is_not_taken() -> None:
    evaluation = await scored(
        "L3", evidence=await document(), state=await recorded(), final_response="Order 7 is refunded!"
    )
    assert evaluation.state is not None
    assert "receipt_final_response_mismatch" in evaluation.state.reason_codes


async def test_a_verify_answer_of_another_shape_is_a_missing_word() -> None:
    state = deep(await recorded(), {"verify.receipt": ...})
    evaluation = await scored("L3", evidence=await document(), state=state)
    assert evaluation.state is None
    assert evaluation.evidence.observations[-1].reason == "state_verify_refused: S-REQUIRED"


async def test_without_a_word_the_l3_channels_are_missing() -> None:
    evaluation = await scored("L3", evidence=await document())
    assert evaluation.evidence.observations[-1].reason == "state_not_given"
    assert evaluation.negotiation.observed_tier == "L2"


# --- Refusals -------------------------------------------------------------------------------------------


def _case_of_another_tier(value: Object) -> None:
    value["case"]["observation_tier"] = "L2"


def _profile_of_another_tier(value: Object) -> None:
    value["scoring_profile"]["observation_tier"] = "L2"


def _weights(value: Object) -> None:
    value["scoring_profile"]["llm_judge_weight"] = 0.31


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (_case_of_another_tier, "case_tier_mismatch"),
        (_profile_of_another_tier, "scoring_profile_tier_mismatch"),
        (_weights, "weights_unsound"),
    ],
    ids=["case-tier", "profile-tier", "weights"],
)
async def test_a_request_that_contradicts_itself_is_refused(
    change: Callable[[Object], None], code: str
) -> None:
    value = request("L1").model_dump(mode="json", exclude_none=True)
    change(value)
    with pytest.raises(RefusedError) as caught:
        await score(read_score_request(json.dumps(value).encode()), judge=NO_JUDGE)
    assert caught.value.failure.code == code


async def test_a_state_of_another_shape_is_refused_with_the_place() -> None:
    state = deep(await recorded(), {"expected.attempt_nonce": "short"})
    with pytest.raises(ProtocolError) as caught:
        await scored("L3", state=state)
    assert (caught.value.rule, caught.value.path) == ("S-PATTERN", "/expected/attempt_nonce")
