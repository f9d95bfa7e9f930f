"""Health, evidence and the routes that there are not; and the application under other servers."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.routing import Mount

from agentbeat_protocol import digest_bytes, read_health
from agentbeat_sdk import (
    Limits,
    MemoryStore,
    Run,
    SQLiteStore,
    StoreError,
    Target,
)
from agentbeat_sdk.testing import call_asgi
from support.targets import SECRET, echo, invocation_parts, make_target


class TestHealth:
    """HLT-1, HLT-2."""

    async def test_says_who_it_is_to_anybody(self) -> None:
        answer = (
            await make_target(echo, limits=Limits(max_concurrent_runs=3))
            .test_client()
            .request("GET", "/healthz", authorized=False)
        )
        assert answer.status == 200
        health = read_health(answer.body)
        assert health.model_dump() == {
            "status": "ok",
            "target_id": "desk",
            "connector_id": "business-http-json-v1",
            "invocation_protocol": "target-invocation-v1",
            "invocation_path": "/v1/agent/invocations",
            "evidence": "L2",
            "active_runs": 0,
            "max_concurrent_runs": 3,
        }
        assert SECRET.encode() not in answer.body

    async def test_counts_the_runs(self) -> None:
        counts: list[int] = []

        async def handler(run: Run) -> str:
            answer = await client.request("GET", "/healthz", authorized=False)
            counts.append(answer.json()["active_runs"])
            return "done"

        client = make_target(handler).test_client()
        await client.invoke("hello")
        assert counts == [1]
        assert (await client.request("GET", "/healthz")).json()["active_runs"] == 0


class TestEvidence:
    """EVD-10, EVD-11 and what the SDK adds."""

    async def test_two_reads_give_the_same_bytes_and_their_digest(self) -> None:
        client = make_target(echo).test_client()
        run = await client.invoke("hello")
        assert run.response is not None
        first = await client.request("GET", f"/v1/evidence/{run.run_id}")
        second = await client.request("GET", f"/v1/evidence/{run.run_id}")
        assert first == second
        assert first.headers["content-type"] == "application/json"
        assert first.headers["repr-digest"].startswith("sha-256=:")
        assert run.response.metadata == {"evidence_digest": digest_bytes(first.body)}
        assert first.headers["etag"].strip('"') == digest_bytes(first.body).removeprefix("sha256:")

    @pytest.mark.parametrize("form", ["{}", "W/{}", '"other", {}', "*"])
    async def test_a_client_that_has_it_is_told_so(self, form: str) -> None:
        client = make_target(echo).test_client()
        run = await client.invoke("hello")
        tag = (await client.request("GET", f"/v1/evidence/{run.run_id}")).headers["etag"]
        again = await client.request(
            "GET", f"/v1/evidence/{run.run_id}", headers={"If-None-Match": form.format(tag)}
        )
        assert (again.status, again.body, again.headers["etag"]) == (304, b"", tag)

    async def test_what_is_not_there_is_one_answer(self) -> None:
        begun, release = asyncio.Event(), asyncio.Event()

        async def handler(run: Run) -> str:
            begun.set()
            await release.wait()
            return "done"

        client = make_target(handler).test_client()
        running = asyncio.create_task(client.invoke("hello", run_id="run-unfinished"))
        await begun.wait()
        answers = [
            await client.request("GET", f"/v1/evidence/{run_id}")
            for run_id in (
                "run-unknown",
                "run-unfinished",
                "RUN-A",
                "run-",
                "run-a%0A",
                "run-a/x",
                "x" * 5_000,
            )
        ]
        assert {(answer.status, answer.body) for answer in answers} == {(404, answers[0].body)}
        assert answers[0].json()["error"]["code"] == "not_found"
        release.set()
        await running

    async def test_an_l1_target_has_no_such_route(self) -> None:
        client = make_target(echo, tier="L1").test_client()
        run = await client.invoke("hello")
        answer = await client.request("GET", f"/v1/evidence/{run.run_id}")
        assert (answer.status, answer.json()["error"]["code"]) == (404, "not_found")

    async def test_it_needs_the_secret(self) -> None:
        client = make_target(echo).test_client()
        run = await client.invoke("hello")
        answer = await client.request("GET", f"/v1/evidence/{run.run_id}", authorized=False)
        assert answer.status == 401

    async def test_files_are_observed_when_the_target_says_so(self) -> None:
        run = await make_target(echo, files=True).test_client().invoke("hello")
        assert run.evidence is not None
        assert run.evidence.observed_channels == ("messages", "tools", "files")


class TestRoutes:
    """404 and 405 in the protocol's shape."""

    @pytest.mark.parametrize(
        ("method", "path", "status", "allow"),
        [
            ("GET", "/v1/agent/invocations", 405, "POST"),
            ("POST", "/healthz", 405, "GET, HEAD"),
            ("DELETE", "/v1/evidence/run-a", 405, "GET, HEAD"),
            ("POST", "/v1/agent/invocations/", 404, None),
            ("GET", "/healthz/", 404, None),
            ("GET", "/v1/evidence/", 404, None),
            ("GET", "/v1/evidence/run-a/x", 404, None),
            ("GET", "/", 404, None),
            ("GET", "", 404, None),
            ("GET", "/docs", 404, None),
        ],
    )
    async def test_are_errors_like_all_others(
        self, method: str, path: str, status: int, allow: str | None
    ) -> None:
        answer = await make_target(echo).test_client().request(method, path)
        assert (answer.status, answer.headers.get("allow")) == (status, allow)
        assert set(answer.json()["error"]) == {"code", "message"}
        assert answer.headers["cache-control"] == "no-store"
        assert answer.headers["x-content-type-options"] == "nosniff"


class TestUnderAnotherServer:
    """The application alone."""

    async def test_below_a_mount_point(self) -> None:
        outer = Starlette(routes=[Mount("/agents/desk", app=make_target(echo).app)])
        headers, body = invocation_parts("run-mounted")
        answer = await call_asgi(outer, "POST", "/agents/desk/v1/agent/invocations", headers, [body])
        assert (answer.status, answer.json()["evidence_ref"]) == (200, "/v1/evidence/run-mounted")
        served = await call_asgi(outer, "GET", "/agents/desk/v1/evidence/run-mounted", headers)
        assert served.status == 200
        health = await call_asgi(outer, "GET", "/agents/desk/healthz", headers)
        assert health.status == 200
        assert (await call_asgi(outer, "GET", "/agents/desk/agents/desk/healthz", headers)).status == 404

    async def test_a_websocket_is_closed(self) -> None:
        sent: list[Any] = []

        async def receive() -> dict[str, Any]:
            return {"type": "websocket.connect"}

        async def send(message: Any) -> None:
            sent.append(message)

        await make_target(echo).app({"type": "websocket", "path": "/", "headers": []}, receive, send)
        assert sent == [{"type": "websocket.close", "code": 1000}]

    @staticmethod
    async def lifespan(target: Target) -> Iterator[dict[str, Any]]:
        messages = [{"type": "lifespan.startup"}, {"type": "lifespan.shutdown"}]
        sent: list[dict[str, Any]] = []

        async def receive() -> dict[str, Any]:
            return messages.pop(0)

        async def send(message: Any) -> None:
            sent.append(message)

        await target.app({"type": "lifespan"}, receive, send)
        return iter(sent)

    async def test_the_lifespan_opens_and_closes_the_store(self, tmp_path: Path) -> None:
        target = make_target(echo, store=SQLiteStore(tmp_path / "runs.sqlite3"))
        sent = [message["type"] for message in await self.lifespan(target)]
        assert sent == ["lifespan.startup.complete", "lifespan.shutdown.complete"]
        assert (tmp_path / "runs.sqlite3").exists()
        assert not (tmp_path / "runs.sqlite3-wal").exists()

    async def test_what_is_missing_stops_the_start(self, tmp_path: Path) -> None:
        (message,) = await self.lifespan(
            make_target(echo, store=SQLiteStore(tmp_path / "missing" / "runs.sqlite3"))
        )
        assert message["type"] == "lifespan.startup.failed"
        assert "missing/runs.sqlite3" in message["message"]

    async def test_a_failure_of_ours_is_500_without_a_trace(self) -> None:
        class Broken(MemoryStore):
            def document(self, run_id: str) -> bytes | None:
                raise StoreError("/secret/path is gone")

        store = Broken()
        answer = (
            await make_target(echo, store=store).test_client(store=store).request("GET", "/v1/evidence/run-a")
        )
        assert (answer.status, answer.json()["error"]["code"]) == (500, "internal_error")
        assert b"/secret" not in answer.body
        assert b"Traceback" not in answer.body
