"""AgentDojo's tools over MCP, played to the benchmark's own verdict; what the run changed can be shown."""

import pytest

from agentbeat_controller.showing.table import table
from agentbeat_protocol import read_json
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
            assert answer.structured_content["error"] is None
    await run.through("after")
    verified = (await run.post("verify", final_response=task.final_response)).json()
    assert verified["verdicts"]["utility"]["verdict"] == "pass"
    state = read_json((await run.client.get(run.snapshot_path("after"))).content)
    assert [line["operation"] for line in state["calls"]] == [call.operation for call in task.calls]
    told = table(shown(rig), colour=False, width=120)
    assert "transactions" in told
    assert all(call.operation in told for call in task.calls)
