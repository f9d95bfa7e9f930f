"""The schema of a batch's plan is that of its model, and says of a plan's shape what its reader says."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

import agentbeat_core
from agentbeat_core.receipts import read_batch_plan
from agentbeat_core.receipts.plans import CONTRACT_DEFAULTS
from agentbeat_core.schemas import generated_schema, schema_names, schema_text
from agentbeat_protocol import ProtocolError
from support.eval_batches import plan_json

PLAN = "eval-batch-plan-v1"
EXAMPLE = Path(__file__).parents[2] / "examples/claims/plan.json"
CHECK = Draft202012Validator(json.loads(schema_text(PLAN)))


def example() -> dict[str, Any]:
    found = json.loads(EXAMPLE.read_text())
    assert isinstance(found, dict)
    return found


def is_read(plan: dict[str, Any]) -> bool:
    try:
        read_batch_plan(json.dumps(plan).encode())
    except ProtocolError:
        return False
    return True


def test_the_shipped_schema_is_what_the_model_gives_and_is_a_schema() -> None:
    assert schema_text(PLAN) == generated_schema(PLAN), "run python -m agentbeat_core.schemas"
    Draft202012Validator.check_schema(json.loads(schema_text(PLAN)))


def test_no_other_schema_is_shipped_and_none_of_another_name_is_known() -> None:
    folder = Path(agentbeat_core.__file__).parent / "json_schemas"
    assert {path.stem for path in folder.glob("*.json")} == set(schema_names())
    for asked in (schema_text, generated_schema):
        with pytest.raises(KeyError):
            asked("eval-batch-plan-v2")


@pytest.mark.parametrize("tier", ["L1", "L2", "L3"])
def test_plans_that_batches_are_made_of_fit(tier: str) -> None:
    plan = plan_json(tier)
    assert is_read(plan)
    CHECK.validate(plan)


def test_the_example_fits() -> None:
    CHECK.validate(example())


@pytest.mark.parametrize("claim", CONTRACT_DEFAULTS)
def test_what_a_contract_may_leave_out_it_may_also_say(claim: str) -> None:
    plan = example()
    (contract,) = [made for made in plan["contracts"] if made["claim"] == claim]
    contract.update(CONTRACT_DEFAULTS[claim])
    assert is_read(plan)
    CHECK.validate(plan)


WRONG: dict[str, Callable[[dict[str, Any]], object]] = {
    "another version": lambda plan: plan.update(schema_version="eval-batch-plan-v2"),
    "a member more": lambda plan: plan.update(more=1),
    "no cases": lambda plan: plan.update(cases=[]),
    "a case without its id": lambda plan: plan["cases"][0]["case"].pop("case_id"),
    "a rule of no known type": lambda plan: plan["cases"][0]["rules"].append({"type": "guess"}),
    "no arm": lambda plan: plan.update(arms=[]),
    "an arm without its Deployment": lambda plan: plan["arms"][0].pop("deployment_profile_id"),
    "a guardrail without a stage": lambda plan: plan["arms"][1]["guardrails"].update({"output-filter": []}),
    "no replicate": lambda plan: plan.update(replicates=0),
    "null for an absent member": lambda plan: plan.update(timeouts=None),
    "a contract without its outcome": lambda plan: plan["contracts"][0].pop("outcome"),
    "a contract without its claim": lambda plan: plan["contracts"][0].pop("claim"),
    "a contract for another claim": lambda plan: plan["contracts"][0].update(claim="C2"),
    "another estimator": lambda plan: plan["contracts"][0].update(estimator="normal"),
    "a threshold of one half": lambda plan: plan["contracts"][0].update(threshold=0.5),
    "a threshold over nothing": lambda plan: plan["contracts"][0].update(threshold={"pair": [1, 0]}),
    "a threshold of three numbers": lambda plan: plan["contracts"][0].update(threshold={"pair": [1, 2, 3]}),
}


@pytest.mark.parametrize("change", WRONG.values(), ids=WRONG)
def test_what_the_reader_refuses_by_its_shape_the_schema_refuses_too(change: Any) -> None:
    plan = copy.deepcopy(example())
    change(plan)
    assert not is_read(plan)
    assert not CHECK.is_valid(plan)
