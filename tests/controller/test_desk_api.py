"""The desk's business plane over HTTP: secrets, runs, the window, bodies, and what a fault leaves behind."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest
from sqlalchemy.exc import OperationalError

from agentbeat_controller.environments.base import Entry
from agentbeat_controller.environments.desk.operations import OPERATIONS
from agentbeat_controller.environments.plane import business_plane
from agentbeat_controller.environments.requests import BusinessLimits
from agentbeat_protocol import RUN_ID_HEADER
from support.desk import OTHER_SECRET, RUN, SECRET, Desk

REPLY = ("POST", "/v1/tickets/TCK-2/replies")
GOOD = {"body": "We are on it."}


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


def code_of(answer: httpx.Response) -> tuple[int, str]:
    assert answer.headers["content-type"] == "application/json"
    assert answer.headers["cache-control"] == "no-store"
    assert answer.json().keys() == {"error"}
    return answer.status_code, answer.json()["error"]["code"]


@pytest.mark.parametrize("path", ["/healthz", "/openapi.json"])
async def test_two_routes_need_no_secret_and_show_no_record(desk: Desk, path: str) -> None:
    async with desk.client(secret=None, run_id=None) as client:
        answer = await client.get(path)
    assert answer.status_code == 200
    assert "Birch" not in answer.text
    assert desk.state()["calls"] == []


@pytest.mark.parametrize(
    "headers",
    [
        [],
        [("Authorization", "Bearer wrong")],
        [("Authorization", SECRET)],
        [("Authorization", f"Bearer {SECRET}"), ("Authorization", f"Bearer {SECRET}")],
    ],
    ids=["none", "wrong", "no scheme", "two of them"],
)
@pytest.mark.parametrize("path", ["/v1/tickets", "/v1/nothing", "/v1/tickets/"])
async def test_without_the_secret_every_other_route_is_401(
    desk: Desk, headers: list[tuple[str, str]], path: str
) -> None:
    """CTL-9: also a route that is not there says nothing more."""
    async with desk.client(secret=None) as client:
        answer = await client.get(path, headers=headers)
    assert code_of(answer) == (401, "unauthorized")
    assert answer.headers["www-authenticate"] == "Bearer"
    assert desk.state()["calls"] == []


@pytest.mark.parametrize(
    ("secret", "run_id"),
    [(OTHER_SECRET, RUN), (SECRET, "run-another"), (SECRET, "run-A"), (SECRET, "' or 1=1")],
    ids=["another Deployment", "another run", "no run id", "no run id at all"],
)
async def test_a_run_of_another_deployment_is_not_found(desk: Desk, secret: str, run_id: str) -> None:
    before = desk.state()
    async with desk.client(secret=secret, run_id=run_id) as client:
        answer = await client.request(*REPLY, json=GOOD)
    assert code_of(answer) == (404, "not_found")
    assert desk.state() == before


async def test_a_run_named_twice_is_refused(desk: Desk) -> None:
    async with desk.client(run_id=None) as client:
        answer = await client.get("/v1/tickets", headers=[(RUN_ID_HEADER, RUN), (RUN_ID_HEADER, RUN)])
    assert code_of(answer) == (400, "invalid_request")


async def test_outside_the_window_a_call_is_409_and_changes_nothing(desk: Desk) -> None:
    """CTL-12: neither a record nor the log."""
    before = desk.state()
    desk.open_window = False
    async with desk.client() as client:
        assert code_of(await client.request(*REPLY, json=GOOD)) == (409, "environment_closed")
        assert code_of(await client.get("/v1/tickets")) == (409, "environment_closed")
        malformed = await client.request(*REPLY, content=b"{", headers={"Content-Type": "application/json"})
        assert code_of(malformed) == (409, "environment_closed")
    assert desk.state() == before


async def test_a_database_that_does_not_answer_is_503_without_its_own_words(desk: Desk) -> None:
    desk.unavailable = True
    async with desk.client() as client:
        answer = await client.get("/v1/tickets")
    assert code_of(answer) == (503, "controller_unavailable")
    assert answer.headers["retry-after"] == "1"


async def test_a_raw_error_of_the_database_never_reaches_the_client(desk: Desk) -> None:
    desk.execute("DROP TABLE desk_emails")
    async with desk.client() as client:
        answer = await client.get("/v1/emails")
    assert code_of(answer) == (503, "controller_unavailable")
    assert "desk_emails" not in answer.text
    assert "SELECT" not in answer.text


@pytest.mark.parametrize(
    ("content", "kind", "expected"),
    [
        (b"{", "application/json", (400, "invalid_json")),
        (b'{"body": "a", "body": "b"}', "application/json", (400, "invalid_json")),
        (b'{"body": "\\ud800"}', "application/json", (400, "invalid_json")),
        (b"[" * 40 + b"]" * 40, "application/json", (400, "invalid_json")),
        (b'["body"]', "application/json", (400, "invalid_request")),
        (b"", "application/json", (400, "invalid_json")),
        (b'{"body": "x"}', "text/plain", (415, "unsupported_media_type")),
        (b'{"body": "x"}', "", (415, "unsupported_media_type")),
        (b'{"body": "x"}', "application/json; charset=utf-16", (415, "unsupported_media_type")),
        (b'{"body": "' + b"x" * 70_000 + b'"}', "application/json", (413, "request_too_large")),
    ],
    ids=[
        "broken",
        "a name twice",
        "half a surrogate",
        "deep",
        "no object",
        "empty",
        "text",
        "no type",
        "another charset",
        "large",
    ],
)
async def test_a_body_that_is_no_strict_json_object_is_refused(
    desk: Desk, content: bytes, kind: str, expected: tuple[int, str]
) -> None:
    before = desk.state()["records"]
    async with desk.client() as client:
        answer = await client.request(*REPLY, content=content, headers={"Content-Type": kind})
    assert code_of(answer) == expected
    assert desk.state()["records"] == before


async def test_two_media_types_are_none(desk: Desk) -> None:
    """Two readers could each take another one of them."""
    before = desk.state()["records"]
    async with desk.client() as client:
        kinds = [("Content-Type", "application/json"), ("Content-Type", "text/plain")]
        headers = [*client.headers.multi_items(), *kinds]
        answer = await client.request(*REPLY, content=json.dumps(GOOD), headers=headers)
    assert code_of(answer) == (415, "unsupported_media_type")
    assert desk.state()["records"] == before


async def test_a_media_type_may_have_parameters(desk: Desk) -> None:
    async with desk.client() as client:
        kind = {"Content-Type": "Application/JSON; charset=utf-8"}
        answer = await client.request(*REPLY, content=json.dumps(GOOD), headers=kind)
    assert answer.status_code == 201


async def test_a_body_that_does_not_arrive_in_time_is_408_and_holds_no_lease(desk: Desk) -> None:
    app = business_plane(
        name="desk",
        operations=OPERATIONS,
        document={},
        door=desk,
        limits=BusinessLimits(body_seconds=0.05),
    )

    async def never() -> AsyncIterator[bytes]:
        yield b"{"
        await asyncio.Event().wait()

    headers = {"Authorization": f"Bearer {SECRET}", RUN_ID_HEADER: RUN, "Content-Type": "application/json"}
    transport = httpx.ASGITransport(app)
    async with httpx.AsyncClient(transport=transport, base_url="http://desk", headers=headers) as client:
        waiting = asyncio.create_task(client.request(*REPLY, content=never()))
        await asyncio.sleep(0.01)
        assert (await client.get("/v1/tickets")).status_code == 200
        assert code_of(await waiting) == (408, "request_timeout")


@pytest.mark.parametrize(
    ("method", "path", "allow"),
    [
        ("DELETE", "/v1/tickets/TCK-2", "GET"),
        ("HEAD", "/v1/tickets/TCK-2", "GET"),
        ("PUT", "/v1/emails", "GET, POST"),
        ("POST", "/openapi.json", "GET, HEAD"),
    ],
)
async def test_another_method_is_405_and_says_which_are_allowed(
    desk: Desk, method: str, path: str, allow: str
) -> None:
    async with desk.client() as client:
        answer = await client.request(method, path)
    assert answer.status_code == 405
    assert {name.strip() for name in answer.headers["allow"].split(",")} == set(allow.split(", "))
    assert desk.state()["calls"] == []


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/v1/tickets/",
        "/v1/environment/reset",
        "/v1/tickets/TCK-2/replies/1",
        "/docs",
        "/v1/orders/a%2Fb",
    ],
)
async def test_a_route_that_is_not_there_is_404(desk: Desk, path: str) -> None:
    """The control plane's routes among them: the business plane has none of them."""
    async with desk.client() as client:
        assert code_of(await client.get(path)) == (404, "not_found")
        assert code_of(await client.post(path, json={})) == (404, "not_found")


class Faulty(Desk):
    """A door whose transaction ends in a fault after the work has been done."""

    fault: Exception = RuntimeError("the process is going down")

    @contextmanager
    def enter(self, deployment_profile_id: str, run_id: str | None) -> Iterator[Entry]:
        with super().enter(deployment_profile_id, run_id) as entry:
            yield entry
            raise self.fault


async def test_a_call_that_does_not_commit_leaves_neither_record_nor_line(tmp_path: Path) -> None:
    """CTL-4, CTL-10: the record and its line in the log are one transaction."""
    desk = Faulty(tmp_path)
    before = desk.state()
    async with desk.client() as client:
        assert code_of(await client.request(*REPLY, json=GOOD)) == (500, "internal_error")
        desk.fault = OperationalError("INSERT …", {"body": "secret"}, Exception("disk is full"))
        answer = await client.request(*REPLY, json=GOOD)
    assert code_of(answer) == (503, "controller_unavailable")
    assert "disk" not in answer.text
    assert desk.state() == before


async def test_an_operation_that_refuses_after_it_wrote_has_written_nothing(desk: Desk) -> None:
    """The savepoint holds even for an operation that forgets to look before it writes."""
    from agentbeat_controller.environments.operations import Refusal

    original = next(each for each in OPERATIONS if each.name == "add_ticket_reply")

    def write_then_refuse(call: Any, asked: Any) -> Any:
        original.run(call, asked)
        raise Refusal("status_conflict", "too late")

    app = business_plane(
        name="desk", operations=[replace(original, run=write_then_refuse)], document={}, door=desk
    )
    before = desk.state()
    headers = {"Authorization": f"Bearer {SECRET}", RUN_ID_HEADER: RUN}
    transport = httpx.ASGITransport(app)
    async with httpx.AsyncClient(transport=transport, base_url="http://desk", headers=headers) as client:
        assert code_of(await client.request(*REPLY, json=GOOD)) == (409, "status_conflict")
    after = desk.state()
    assert after["records"] == before["records"]
    assert len(after["calls"]) == 1


async def test_parallel_calls_get_one_line_and_one_number_each(desk: Desk) -> None:
    """Calls that come at once wait for one another: no number is given twice, no line is lost."""
    body = {"amount_minor": 100, "reason": "Goodwill"}
    async with desk.client() as client:
        answers = await asyncio.gather(
            *(client.post("/v1/orders/ORD-1007/refunds", json=body) for _ in range(12))
        )
    assert {answer.status_code for answer in answers} == {201}
    assert {answer.json()["refund_id"] for answer in answers} == {f"REF-{502 + n}" for n in range(12)}
    assert [line["sequence"] for line in desk.state()["calls"]] == list(range(1, 13))


async def test_parallel_refunds_never_give_back_more_than_the_order(desk: Desk) -> None:
    body = {"amount_minor": 4000, "reason": "Dent"}
    async with desk.client() as client:
        answers = await asyncio.gather(
            *(client.post("/v1/orders/ORD-1010/refunds", json=body) for _ in range(6))
        )
    assert sorted(answer.status_code for answer in answers) == [201, 201, 409, 409, 409, 409]


async def test_a_state_read_meanwhile_holds_whole_calls_only(desk: Desk) -> None:
    """CTL-4: in every state, each line of the log has its record."""
    async with desk.client() as client:
        writing = asyncio.gather(*(client.request(*REPLY, json=GOOD) for _ in range(10)))
        while not writing.done():
            state = await asyncio.to_thread(desk.state)
            added = [row for row in state["records"]["messages"].values() if row["body"] == GOOD["body"]]
            assert len(added) == len(state["calls"])
            await asyncio.sleep(0)
        await writing
    assert len(desk.state()["calls"]) == 10
