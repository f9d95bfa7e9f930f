"""The demo's cases: complete, distinct, and requests that anybody could have written."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agentbeat_core.demo.case_set import DEMO_CASES, DemoCase, scenario_titles
from agentbeat_core.demo.registration import deployment_document
from agentbeat_core.demo.stage import CAST, Controller
from agentbeat_core.judge.keyword_rules import parse_rules
from agentbeat_core.preflight import plan_run
from agentbeat_core.refusals import RefusedError
from agentbeat_core.registry import TargetRegistry
from agentbeat_protocol.evaluation import AgentCase, Deployment, read_eval_run_request
from agentbeat_protocol.models import validated

PLAYERS = {player.name: player for player in CAST}
CONTROLLER = Controller(
    name="main",
    ready={
        "controller_id": "controller-demo",
        "control": {"url": "http://127.0.0.1:1", "secret_file": "/nowhere"},
        "signing_key_id": "ed25519-0123456789abcdef",
        "verify_key": "A" * 43,
    },
)
PINNED = {name: {"profile_id": name, "profile_digest": "sha256:" + "0" * 64} for name in scenario_titles()}


def deployment_of(case: DemoCase) -> dict[str, Any]:
    return deployment_document(PLAYERS[case.player], CONTROLLER, PINNED)


def request_of(case: DemoCase) -> dict[str, Any]:
    return case.request(validated(Deployment, deployment_of(case)), run_id="run-demo-test")


@pytest.fixture(params=DEMO_CASES, ids=lambda case: case.name)
def case(request: pytest.FixtureRequest) -> DemoCase:
    found: DemoCase = request.param
    return found


def test_there_are_at_least_twelve_cases_and_no_two_have_one_name() -> None:
    names = [case.name for case in DEMO_CASES]
    assert len(set(names)) == len(names) >= 12


def test_every_behaviour_every_tier_and_every_scenario_is_shown() -> None:
    assert {case.tier for case in DEMO_CASES} == {"L1", "L2", "L3"}
    assert {PLAYERS[case.player].agent for case in DEMO_CASES} == {"obedient", "gullible", "careless", "idle"}
    assert {case.player for case in DEMO_CASES} == PLAYERS.keys()
    assert {case.scenario for case in DEMO_CASES} == scenario_titles().keys()


def test_one_gullible_case_is_asked_at_all_three_tiers() -> None:
    asked = {case.tier for case in DEMO_CASES if case.player == "gullible"}
    assert asked == {"L1", "L2", "L3"}
    assert len({case.case_id for case in DEMO_CASES if case.player == "gullible"}) == 1


def test_the_odd_rows_are_there() -> None:
    by_name = {case.name: case for case in DEMO_CASES}
    assert by_name["cancel-order-idle-l2"].expect.empty == ("tool_call", "tool_result")
    assert by_name["cancel-order-l1-only-l2"].expect.missing == (
        *("message_event", "tool_call", "tool_result"),
    )
    stopped = [case for case in DEMO_CASES if case.stops_controller]
    assert [case.expect.missing for case in stopped] == [("state_before_after", "native_score")]
    assert PLAYERS[stopped[0].player].controller == "half-way", "nobody else loses this Controller"
    others = [case for case in DEMO_CASES if case not in stopped]
    assert all(PLAYERS[case.player].controller == "main" for case in others)


def test_a_case_has_the_21_members_of_the_public_shape_and_no_other(case: DemoCase) -> None:
    assert request_of(case)["case"].keys() == AgentCase.model_fields.keys()
    assert len(AgentCase.model_fields) == 21


def test_a_request_passes_preflight_or_is_refused_as_its_case_expects(case: DemoCase) -> None:
    deployment = deployment_of(case)
    registry = TargetRegistry.read(
        json.dumps(
            {
                "schema_version": "agent-target-registry-v1",
                "targets": [{"target_id": PLAYERS[case.player].target_id, "deployments": [deployment]}],
            }
        ).encode(),
        environ={
            deployment["endpoint"]["base_url_env"]: "http://127.0.0.1:2",
            deployment["auth"]["value_env"]: "target-secret",
            CONTROLLER.url_variable: "http://127.0.0.1:1",
            CONTROLLER.secret_variable: "control-secret",
        },
    )
    request = read_eval_run_request(json.dumps(request_of(case)).encode())
    if case.expect.status == "refused":
        with pytest.raises(RefusedError) as caught:
            plan_run(request, registry)
        assert caught.value.failure.code == case.expect.failure
    else:
        plan = plan_run(request, registry)
        assert plan.tier == case.tier
        assert plan.controller is not None, "the desk is prepared at every tier"


def test_a_rubric_has_a_keyword_rule_for_each_dimension_that_applies(case: DemoCase) -> None:
    document = request_of(case)["case"]
    ruled = {rule.dimension for rule in parse_rules(document["judge_rubric"])}
    applicable = {
        name
        for name, expected in document["expected"].items()
        if name != "overall" and expected["applicability"] == "applicable"
    }
    assert ruled == applicable


def test_no_rule_of_a_profile_is_about_a_dimension_that_does_not_apply(case: DemoCase) -> None:
    request = request_of(case)
    for rule in request["scoring_profile"]["rules"]:
        assert request["case"]["expected"][rule["dimension"]]["applicability"] == "applicable"
    assert not (case.tier == "L3" and request["scoring_profile"]["rules"])
