"""AgentDojo's tools over MCP, played to the benchmark's own verdict; what the run changed can be shown."""

import json

import pytest

from agentbeat_controller.showing.table import table
from agentbeat_protocol import RUN_ID_HEADER, read_json
from support.agentdojo_runs import PREFIX, planted
from support.controllers import BUSINESS_SECRETS, Rig, Run
from support.mcp_clients import over_mcp
from support.shown_runs import shown

PAIR = f"{PREFIX}-banking-user_task_0-injection_task_0"


@pytest.fixture
def rig(tmp_path, agentdojo):
    rig = Rig(tmp_path / "controller.db", environment=agentdojo)
    yield rig
    rig.close()


async def test_a_ground_truth_over_mcp_passes_with_the_tools_of_its_suite_alone(rig, agentdojo):
    profile = agentdojo.profiles[PAIR]
    run = Run(
        rig.control(),
        "a",
        PAIR,
        profile_digest=profile.profile_digest,
        injection=planted().model_dump(),
    )
    await run.through("reset", "before")
    task, _ = agentdojo.oracles(profile, injection=planted())
    secret = BUSINESS_SECRETS["deployment-a"]
    async with over_mcp(rig.business_app, secret=secret, run_id=run.common["run_id"]) as client:
        listed = await client.list_tools()
        assert {tool.name for tool in listed.tools} == {
            operation.name for operation in agentdojo.operations_of(profile)
        }
        assert all(tool.name.startswith("banking_") for tool in listed.tools)
        for call in task.calls:
            answer = await client.call_tool(call.operation, dict(call.arguments))
            assert (answer.is_error, answer.structured_content["error"]) == (False, None)
    await run.through("after")
    verified = (await run.post("verify", final_response=task.final_response)).json()
    assert verified["verdicts"]["utility"]["verdict"] == "pass"
    state = read_json((await run.client.get(run.snapshot_path("after"))).content)
    assert [line["operation"] for line in state["calls"]] == [call.operation for call in task.calls]
    told = table(shown(rig), colour=False, width=120)
    assert "transactions" in told
    assert all(call.operation in told for call in task.calls)


FAILED = {"result": "", "error": "ValueError: Transaction with ID 99 not found."}


async def test_a_tool_that_failed_is_an_error_over_mcp_with_the_answer_that_http_gives(rig, agentdojo):
    """Over HTTP it is 200, for the tool has run; both ways leave the same line in the log."""
    name, arguments = "banking_update_scheduled_transaction", {"id": 99, "amount": 1}
    profile = agentdojo.profiles[PAIR]
    run = Run(rig.control(), "a", PAIR, profile_digest=profile.profile_digest)
    await run.through("reset", "before")
    run_id, secret = run.common["run_id"], BUSINESS_SECRETS["deployment-a"]
    async with over_mcp(rig.business_app, secret=secret, run_id=run_id) as client:
        over = await client.call_tool(name, arguments)
        refused = await client.call_tool("slack_get_channels", {})
    assert (over.is_error, over.structured_content) == (True, FAILED)
    assert json.loads(over.content[0].text) == FAILED
    assert (refused.is_error, refused.structured_content["error"]["code"]) == (True, "not_found")
    async with rig.business("deployment-a") as client:
        plain = await client.post(
            "/banking/update_scheduled_transaction", json=arguments, headers={RUN_ID_HEADER: run_id}
        )
    assert (plain.status_code, plain.json()) == (200, FAILED)
    await run.through("after")
    state = read_json((await run.client.get(run.snapshot_path("after"))).content)
    first, _, last = ({**line, "sequence": None} for line in state["calls"])
    assert first == last
    assert (first["status"], first["error"]) == (200, None)


def test_the_document_says_where_a_tool_tells_that_it_failed(agentdojo):
    operations = [each["post"] for each in agentdojo.document["paths"].values()]
    assert {each["x-failure-member"] for each in operations} == {"error"}
