"""Whole runs over MCP on real sockets: leases, windows, two runs at once, a client that goes away."""

from __future__ import annotations

import asyncio
import re
import textwrap
import threading
from contextlib import contextmanager
from pathlib import Path

import pytest

from agentbeat_controller.environments.desk import DeskEnvironment
from support.controllers import BUSINESS_SECRETS, CONTROL_SECRET, Run, code_of, rig_in
from support.mcp_clients import MODES, message, over_http, over_mcp, refused_code
from support.planes import serving
from support.staging import Till, paid, staged_rig
from support.staging import run_of as staged_run

REFUND = ("issue_refund", {"order_id": "ORD-1003", "amount_minor": 5940, "reason": "Dent"})
REPLY = ("add_ticket_reply", {"ticket_id": "TCK-2", "body": "Refunded."})
SECRET = BUSINESS_SECRETS["deployment-a"]
PROFILE = "desk-refund-full"


@pytest.fixture
def rig(tmp_path):
    with rig_in(tmp_path, environment=DeskEnvironment()) as rig:
        yield rig


@pytest.fixture
def url(rig):
    """The business plane on a port, guards and all."""
    with serving(rig.control_app, rig.environment.business_app(rig.door)) as service:
        yield service.business_url


def run_of(rig, client, name, **changes):
    digest = rig.environment.profiles[PROFILE].profile_digest
    return Run(client, name, PROFILE, profile_digest=digest, **changes)


async def judged(run):
    """After, verify and the state after, as Core reads it."""
    await run.through("after")
    verdicts = (await run.through("verify"))["verdicts"]
    state = (await run.client.get(run.snapshot_path("after"))).json()
    return {name: found["verdict"] for name, found in verdicts.items()}, state


@pytest.mark.parametrize("mode", [*MODES, "auto"])
async def test_a_whole_run_over_mcp_ends_as_one_over_http(rig, url, mode):
    """Same tools, same verdict, same snapshot to the last byte."""
    async with rig.control() as core:
        by_route, by_tool = run_of(rig, core, "route"), run_of(rig, core, "tool")
        for run in (by_route, by_tool):
            await run.through("reset", "before")
        async with over_http(url, secret=SECRET, run_id="run-route") as http:
            amount = {"amount_minor": 5940, "reason": "Dent"}
            assert (await http.post("/v1/orders/ORD-1003/refunds", json=amount)).status_code == 201
            assert (await http.get("/v1/orders/ORD-9")).status_code == 404
            reply = {"body": "Refunded."}
            assert (await http.post("/v1/tickets/TCK-2/replies", json=reply)).status_code == 201
        async with over_mcp(url, secret=SECRET, run_id="run-tool", mode=mode) as client:
            assert (await client.call_tool(*REFUND)).structured_content["amount_minor"] == 5940
            assert refused_code(await client.call_tool("get_order", {"order_id": "ORD-9"})) == "not_found"
            assert not (await client.call_tool(*REPLY)).is_error
        (verdicts, state), again = await judged(by_tool), await judged(by_route)
    assert (verdicts, state) == again
    assert (verdicts["security"], verdicts["attack"]) == ("pass", "attack_blocked")
    assert by_tool.answers["after"]["digest"] == by_route.answers["after"]["digest"]


@pytest.mark.parametrize("mode", MODES)
async def test_the_window_opens_and_closes_for_tools(rig, url, mode):
    """CTL-12, through the whole life of a lease, on one connection."""
    async with (
        rig.control() as core,
        over_mcp(url, secret=SECRET, run_id="run-a", mode=mode) as client,
    ):
        run = run_of(rig, core, "a")
        assert refused_code(await client.call_tool(*REFUND)) == "not_found"
        await run.through("reset")
        assert refused_code(await client.call_tool(*REFUND)) == "environment_closed"
        await run.through("before")
        assert not (await client.call_tool(*REFUND)).is_error
        _, state = await judged(run)
        rows = rig.rows()
        assert refused_code(await client.call_tool(*REPLY)) == "environment_closed"
        await run.through("release")
        assert refused_code(await client.call_tool(*REPLY)) == "environment_closed"
    assert [line["operation"] for line in state["calls"]] == ["issue_refund"]
    assert rig.rows()["snapshots"] == rows["snapshots"]


async def test_an_expired_lease_takes_no_call(rig, url):
    async with rig.control() as core, over_mcp(url, secret=SECRET, run_id="run-a") as client:
        await run_of(rig, core, "a").through("reset", "before")
        rig.clock.advance(3_600)
        assert refused_code(await client.call_tool(*REFUND)) == "lease_expired"


async def test_two_runs_at_once_do_not_see_each_other(rig, url):
    """Many calls at the same time from two Deployments and three runs: each log has its own run's canary."""
    names = ("a", "b", "c")
    async with rig.control() as core:
        runs = {}
        for name in names:
            deployment = "deployment-b" if name == "c" else "deployment-a"
            runs[name] = run_of(rig, core, name, deployment_profile_id=deployment)
            await runs[name].through("reset", "before")

        async def play(name):
            secret = BUSINESS_SECRETS["deployment-b" if name == "c" else "deployment-a"]
            mode = MODES[names.index(name) % 2]
            async with over_mcp(url, secret=secret, run_id=f"run-{name}", mode=mode) as client:
                for turn in range(6):
                    said = {"ticket_id": "TCK-2", "body": f"canary-{name}-{turn}"}
                    assert not (await client.call_tool("add_ticket_reply", said)).is_error
                return await client.call_tool("get_ticket", {"ticket_id": "TCK-2"})

        seen = dict(zip(names, await asyncio.gather(*map(play, names)), strict=True))
        for name in names:
            _, state = await judged(runs[name])
            said = [line["arguments"].get("body") for line in state["calls"][:-1]]
            assert said == [f"canary-{name}-{turn}" for turn in range(6)]
            for other in set(names) - {name}:
                assert f"canary-{other}" not in str(seen[name]) + str(state)


async def test_the_planes_do_not_take_each_others_secret(rig, url):
    """CTL-9: the control secret opens no tool; the business secret of another Deployment no run."""
    async with rig.control() as core:
        await run_of(rig, core, "a").through("reset", "before")
        rows = rig.rows()
        async with over_http(url, secret=CONTROL_SECRET, run_id="run-a") as http:
            assert code_of(await http.post("/mcp", content=message())) == (401, "unauthorized")
        other = BUSINESS_SECRETS["deployment-b"]
        async with over_mcp(url, secret=other, run_id="run-a") as client:
            assert refused_code(await client.call_tool(*REFUND)) == "not_found"
    assert rig.rows() == rows


async def test_a_client_that_goes_away_does_not_stop_a_call_half_way(rig):
    """It was let in, so it is done, and its line is written."""
    inside, go_on = threading.Event(), threading.Event()

    class SlowDoor:
        authenticate = rig.door.authenticate

        @contextmanager
        def enter(self, deployment, run_id):
            with rig.door.enter(deployment, run_id) as entry:
                inside.set()
                assert go_on.wait(10)
                yield entry

    async with rig.control() as core:
        run = run_of(rig, core, "a")
        await run.through("reset", "before")
        with serving(rig.control_app, rig.environment.business_app(SlowDoor())) as service:
            host, port = service.business_url.removeprefix("http://").split(":")
            body = message("tools/call", {"name": REFUND[0], "arguments": REFUND[1]})
            _, writer = await asyncio.open_connection(host, int(port))
            writer.write(
                b"POST /mcp HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n"
                b"Accept: application/json\r\nX-AIBeat-Run-ID: run-a\r\n"
                + f"Authorization: Bearer {SECRET}\r\nContent-Length: {len(body)}\r\n\r\n".encode()
                + body
            )
            await writer.drain()
            assert await asyncio.to_thread(inside.wait, 10)
            writer.transport.abort()
            await asyncio.sleep(0.05)
            go_on.set()
            _, state = await judged(run)
    assert [(line["operation"], line["status"]) for line in state["calls"]] == [("issue_refund", 201)]


@pytest.mark.parametrize("mode", MODES)
async def test_tools_that_work_outside_the_database_are_served_too(tmp_path, mode):
    """One's own staging system: an answer of any JSON, a refusal of its own, the same log."""
    till = Till()
    with staged_rig(tmp_path / "controller.db", till) as rig:
        run = staged_run(rig)
        await run.through("reset", "before")
        async with over_mcp(rig.business_app, secret=SECRET, run_id="run-a", mode=mode) as client:
            assert [tool.name for tool in (await client.list_tools()).tools] == ["pay", "look"]
            left = await client.call_tool("pay", {"to": "ada", "amount": 10})
            assert (left.content[0].text, left.structured_content, left.is_error) == ("90", None, False)
            assert (await client.call_tool("look", {})).structured_content == {"note": ""}
            too_much = await client.call_tool("pay", {"to": "ada", "amount": 1_000})
            assert refused_code(too_much) == "too_much"
            assert refused_code(await client.call_tool("pay", {"to": "ada"})) == "invalid_request"
            state, words = await paid(rig, run)
            assert refused_code(await client.call_tool("look", {})) == "environment_closed"
    assert [(line["operation"], line["status"], line["error"]) for line in state["calls"]] == [
        ("pay", 200, None),
        ("look", 200, None),
        ("pay", 409, "too_much"),
        ("pay", 400, "invalid_request"),
    ]
    assert words["utility"] == "pass"


async def test_the_guides_example_runs(rig, url):
    """docs/desk.md: a client as anybody would write it."""
    guide = (Path(__file__).parents[2] / "docs" / "desk.md").read_text()
    section = guide.partition("## The same tools over MCP")[2]
    (example,) = re.findall(r"```python\n(.*?)```", section.partition("\n## ")[0], re.DOTALL)
    imports, code = example.split("\n\n", 1)
    body = textwrap.indent(f"{code}return result\n", "    ")
    source = f"{imports}\nasync def example(secret, run_id, business_url):\n{body}"
    names = {}
    exec(source, names)
    async with rig.control() as core:
        run = run_of(rig, core, "a")
        await run.through("reset", "before")
        result = await names["example"](SECRET, "run-a", url)
        assert result.structured_content["amount_minor"] == 5940
        _, state = await judged(run)
    assert state["calls"][0]["arguments"]["reason"] == "Damaged"
