"""The business tools over MCP, with the library's own client: the same tools, door, answers and log."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from mcp.shared.exceptions import MCPError

from agentbeat_controller.environments import calls
from agentbeat_controller.environments.desk.operations import OPERATIONS
from agentbeat_controller.environments.mcp_tools import Toolbox
from agentbeat_controller.environments.operations import Operation
from agentbeat_controller.environments.plane import business_plane, call_through
from support.desk import DEPLOYMENT, OTHER_SECRET, RUN, SECRET, Desk
from support.mcp_clients import MODES, http_request, over_http, over_mcp, refused_code

BY_NAME = {operation.name: operation for operation in OPERATIONS}

#: Calls in an order in which each is answered as its name says.
CALLS: dict[str, tuple[str, dict[str, Any]]] = {
    "a list": ("list_tickets", {"status": "open", "limit": 3}),
    "a list of everything": ("list_tickets", {}),
    "a record": ("get_ticket", {"ticket_id": "TCK-2"}),
    "a search": ("find_customers", {"name": "fern"}),
    "a customer": ("get_customer", {"customer_id": "CUS-6"}),
    "their orders": ("list_customer_orders", {"customer_id": "CUS-6"}),
    "an order": ("get_order", {"order_id": "ORD-1003"}),
    "a refund": ("issue_refund", {"order_id": "ORD-1003", "amount_minor": 5940, "reason": "Dent — größer"}),
    "a second refund": ("issue_refund", {"order_id": "ORD-1003", "amount_minor": 1, "reason": "Dent"}),
    "a reply": ("add_ticket_reply", {"ticket_id": "TCK-2", "body": "Refunded."}),
    "a status": ("set_ticket_status", {"ticket_id": "TCK-2", "status": "solved"}),
    "a new phone": ("update_customer", {"customer_id": "CUS-6", "phone": "+32 2 555 0199"}),
    "a new address": ("update_shipping_address", {"order_id": "ORD-1005", "shipping_address": "2 Row"}),
    "a step": ("set_order_status", {"order_id": "ORD-1005", "status": "packed"}),
    "an email": ("send_email", {"recipient": "a@b.example", "subject": "x", "body": "x"}),
    "the outbox": ("list_emails", {"limit": 1}),
    "no such record": ("get_order", {"order_id": "ORD-9"}),
    "an id of another kind": ("get_order", {"order_id": "TCK-1"}),
    "an id that is none": ("get_order", {"order_id": "1003"}),
    "a closed ticket": ("add_ticket_reply", {"ticket_id": "TCK-13", "body": "x"}),
    "half a cent": ("issue_refund", {"order_id": "ORD-1003", "amount_minor": 0.5, "reason": "x"}),
    "true as a number": ("issue_refund", {"order_id": "ORD-1003", "amount_minor": True, "reason": "x"}),
    "a missing argument": ("issue_refund", {"order_id": "ORD-1003", "reason": "x"}),
    "an unknown argument": ("add_ticket_reply", {"ticket_id": "TCK-1", "body": "x", "author": "customer"}),
    "a NUL": ("add_ticket_reply", {"ticket_id": "TCK-1", "body": "a\0b"}),
    "a text too long": ("add_ticket_reply", {"ticket_id": "TCK-1", "body": "x" * 4097}),
    "a page of nothing": ("list_tickets", {"limit": 0}),
    "nothing to change": ("update_customer", {"customer_id": "CUS-6"}),
}


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


def app(desk: Desk) -> Any:
    return desk.environment.business_app(desk)


@pytest.mark.parametrize("mode", MODES)
async def test_the_list_of_tools_says_what_the_openapi_document_says(desk: Desk, mode: str) -> None:
    async with over_mcp(app(desk), secret=SECRET, run_id=RUN, mode=mode) as client:
        listed = {tool.name: tool for tool in (await client.list_tools()).tools}
    assert list(listed) == [operation.name for operation in OPERATIONS]
    document = desk.environment.document
    for operation in OPERATIONS:
        tool, route = listed[operation.name], document["paths"][operation.path][operation.method.lower()]
        given = {each["name"]: each for each in route["parameters"] if each["in"] != "header"}
        body = route.get("requestBody", {"content": {"application/json": {"schema": {}}}})
        schema = body["content"]["application/json"]["schema"]
        properties = {name: each["schema"] for name, each in given.items()} | schema.get("properties", {})
        required = {name for name, each in given.items() if each["required"]} | {*schema.get("required", ())}
        assert tool.input_schema["properties"] == properties
        assert set(tool.input_schema["required"]) == required
        assert tool.input_schema["additionalProperties"] is False
        assert tool.annotations is not None
        assert tool.annotations.read_only_hint is (operation.method == "GET")
        assert operation.summary in (tool.description or "")
        for described in (tool.input_schema, tool.output_schema):
            jsonschema.Draft202012Validator.check_schema(described)
    assert desk.state()["calls"] == []


@pytest.mark.parametrize("mode", MODES)
async def test_a_call_has_the_answer_the_effect_and_the_line_of_a_request_to_its_route(
    tmp_path: Path, mode: str
) -> None:
    """Two desks, one called over each way: every answer, and the whole states with their logs, are equal."""
    (tmp_path / "mcp").mkdir()
    routes, tools = Desk(tmp_path), Desk(tmp_path / "mcp")
    async with (
        over_http(app(routes), secret=SECRET, run_id=RUN) as http,
        over_mcp(app(tools), secret=SECRET, run_id=RUN, mode=mode) as client,
    ):
        for case, (name, arguments) in CALLS.items():
            answer = await http.request(**http_request(BY_NAME[name], arguments))
            result = await client.call_tool(name, arguments)
            assert result.structured_content == answer.json(), case
            assert json.loads(result.content[0].text) == answer.json(), case  # type: ignore[union-attr]
            assert result.is_error is (answer.status_code >= 400), case
    assert tools.state() == routes.state()
    log = tools.state()["calls"]
    assert [line["operation"] for line in log] == [name for name, _ in CALLS.values()]
    assert {line["error"] for line in log if line["status"] >= 400} == {
        "refund_exceeds_remaining",
        "not_found",
        "invalid_request",
        "ticket_closed",
    }


@pytest.mark.parametrize(
    "arguments", [{}, {"ticket_id": None}, {"ticket_id": 3}, {"ticket_id": ["TCK-1"]}], ids=str
)
async def test_a_path_argument_that_is_no_text_is_refused_and_logged(
    desk: Desk, arguments: dict[str, Any]
) -> None:
    """What cannot even stand in a path."""
    before = desk.state()
    async with over_mcp(app(desk), secret=SECRET, run_id=RUN) as client:
        assert refused_code(await client.call_tool("get_ticket", arguments)) == "invalid_request"
    line = {"sequence": 1, "operation": "get_ticket", "arguments": None, "status": 400}
    assert desk.state() == {**before, "calls": [{**line, "error": "invalid_request"}]}


@pytest.mark.parametrize("mode", MODES)
async def test_outside_the_window_no_tool_does_anything(desk: Desk, mode: str) -> None:
    """CTL-12: not a line is written; the list of tools is no secret."""
    desk.open_window = False
    before = desk.state()
    async with over_mcp(app(desk), secret=SECRET, run_id=RUN, mode=mode) as client:
        assert len((await client.list_tools()).tools) == len(OPERATIONS)
        for name, arguments in (CALLS["a record"], CALLS["a refund"]):
            assert refused_code(await client.call_tool(name, arguments)) == "environment_closed"
    assert desk.state() == before


@pytest.mark.parametrize("run_id", ["run-of-another", "no run id at all", ""], ids=repr)
async def test_another_runs_header_reaches_nothing(desk: Desk, run_id: str) -> None:
    before = desk.state()
    async with over_mcp(app(desk), secret=SECRET, run_id=run_id) as client:
        assert refused_code(await client.call_tool(*CALLS["a refund"])) == "not_found"
    assert desk.state() == before


async def test_another_deployments_secret_does_not_reach_the_run(desk: Desk) -> None:
    before = desk.state()
    async with over_mcp(app(desk), secret=OTHER_SECRET, run_id=RUN) as client:
        assert refused_code(await client.call_tool(*CALLS["a refund"])) == "not_found"
    assert desk.state() == before


async def test_a_database_that_does_not_answer_is_a_tool_error(desk: Desk) -> None:
    async with over_mcp(app(desk), secret=SECRET, run_id=RUN) as client:
        desk.unavailable = True
        assert refused_code(await client.call_tool(*CALLS["a refund"])) == "controller_unavailable"
        desk.unavailable = False
        desk.execute("ALTER TABLE business_calls RENAME TO gone")
        result = await client.call_tool(*CALLS["a refund"])
        assert refused_code(result) == "controller_unavailable"
        assert "business_calls" not in str(result)
        desk.execute("ALTER TABLE gone RENAME TO business_calls")
    assert desk.state()["calls"] == []


async def test_a_full_log_takes_no_call(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calls, "MAX_CALLS", 1)
    async with over_mcp(app(desk), secret=SECRET, run_id=RUN) as client:
        assert not (await client.call_tool(*CALLS["a reply"])).is_error
        before = desk.state()
        assert refused_code(await client.call_tool(*CALLS["a status"])) == "call_limit_reached"
    assert desk.state() == before


@pytest.mark.parametrize("mode", MODES)
async def test_a_tool_that_is_not_there_is_an_error_of_the_protocol(desk: Desk, mode: str) -> None:
    """As a route that is not there: nothing happens and no line is written."""
    before = desk.state()
    async with over_mcp(app(desk), secret=SECRET, run_id=RUN, mode=mode) as client:
        for name in ("no_such_tool", "reset", "/v1/tickets", ""):
            with pytest.raises(MCPError, match="no such tool") as caught:
                await client.call_tool(name, {})
            assert caught.value.data == {"code": "not_found"}
    assert desk.state() == before


# Other applications than the desk


def _plane(desk: Desk, operations: tuple[Operation, ...], **settings: Any) -> Any:
    return business_plane(name="own", operations=operations, document={}, door=desk, **settings)


@pytest.mark.parametrize("mode", MODES)
async def test_where_profiles_differ_in_tools_only_the_leases_are_listed(desk: Desk, mode: str) -> None:
    """The lease decides, so outside the window there is nothing to list."""
    own = {"desk-refund-full": OPERATIONS[:2], "desk-solve-one": OPERATIONS[2:3]}
    served = _plane(desk, OPERATIONS, operations_of=own.__getitem__)

    async with over_mcp(served, secret=SECRET, run_id=RUN, mode=mode) as client:

        async def listed() -> list[str]:
            return [tool.name for tool in (await client.list_tools(cache_mode="bypass")).tools]

        assert await listed() == ["list_tickets", "get_ticket"]
        desk.reset("desk-solve-one")
        assert await listed() == ["add_ticket_reply"]
        desk.open_window = False
        with pytest.raises(MCPError) as caught:
            await listed()
    assert caught.value.data == {"code": "environment_closed"}
    assert desk.state()["calls"] == []


async def test_every_call_takes_the_way_that_the_plane_was_given(desk: Desk) -> None:
    """An application that works outside the door's transaction does so over MCP too."""
    seen = []

    def caller(door: Any, deployment: str, run_id: str | None, operation: Operation, asked: Any) -> Any:
        seen.append((deployment, run_id, operation.name, asked.model_dump(exclude_unset=True)))
        return call_through(door, deployment, run_id, operation, asked)

    async with over_mcp(_plane(desk, OPERATIONS, call=caller), secret=SECRET, run_id=RUN) as client:
        assert not (await client.call_tool("get_order", {"order_id": "ORD-1003"})).is_error
    assert seen == [(DEPLOYMENT, RUN, "get_order", {"order_id": "ORD-1003"})]


@pytest.mark.parametrize("mode", MODES)
async def test_a_fault_of_the_application_changes_no_record_and_its_words_stay_inside(
    desk: Desk, mode: str, caplog: pytest.LogCaptureFixture
) -> None:
    def fails(call: Any, arguments: Any) -> Any:
        OPERATIONS[2].run(call, arguments)
        raise RuntimeError("words of the inside")

    broken = Operation(
        **{name: getattr(OPERATIONS[2], name) for name in ("name", "method", "path", "summary", "arguments")},
        answer=OPERATIONS[2].answer,
        run=fails,
    )
    before = desk.state()
    async with over_mcp(_plane(desk, (broken,)), secret=SECRET, run_id=RUN, mode=mode) as client:
        result = await client.call_tool("add_ticket_reply", CALLS["a reply"][1])
    assert refused_code(result) == "internal_error"
    assert "words of the inside" not in result.content[0].text
    assert "words of the inside" in caplog.text
    after = desk.state()
    assert [(line["status"], line["error"]) for line in after["calls"]] == [(500, "internal_error")]
    assert {**after, "calls": []} == before


def test_two_operations_of_one_name_are_refused_when_the_plane_is_made(desk: Desk) -> None:
    with pytest.raises(ValueError, match="two operations have the same name"):
        Toolbox(operations=OPERATIONS[:1] * 2, operations_of=None, door=desk, caller=call_through)
