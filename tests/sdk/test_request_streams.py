"""Clients that go away, and bodies that are too large: under any ASGI server."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from agentbeat_sdk import (
    Limits,
    MemoryStore,
    Run,
)
from agentbeat_sdk.testing import call_asgi
from support.targets import echo, invocation_parts, make_target


class TestClientThatGoesAway:
    """A claimed run goes on."""

    async def test_the_run_finishes_when_the_server_cancels_its_request(self) -> None:
        release, begun = asyncio.Event(), asyncio.Event()

        async def handler(run: Run) -> str:
            begun.set()
            await release.wait()
            return "done"

        store = MemoryStore()
        application = make_target(handler, store=store).app
        headers, body = invocation_parts("run-gone")
        call = asyncio.create_task(call_asgi(application, "POST", "/v1/agent/invocations", headers, [body]))
        await begun.wait()
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        assert store.document("run-gone") is None
        release.set()
        while application.invocations.pending_runs:
            await asyncio.sleep(0)
        assert b"done" in (store.document("run-gone") or b"")

    def test_its_evidence_is_kept_when_the_event_loop_ends(self) -> None:
        """As under a server that is stopped twice."""
        store = MemoryStore()
        begun: list[str] = []

        async def handler(run: Run) -> str:
            run.record.message("assistant", "I begin")
            begun.append(run.run_id)
            await asyncio.Event().wait()
            return "never"

        async def main() -> None:
            fields, body = invocation_parts("run-loop-ends")
            application = make_target(handler, store=store).app
            call = call_asgi(application, "POST", "/v1/agent/invocations", fields, [body])
            running = asyncio.create_task(call)
            while not begun:
                await asyncio.sleep(0)
            assert not running.done()

        asyncio.run(main())
        document = store.document("run-loop-ends") or b""
        assert b"I begin" in document
        assert b"the Target stopped before the Agent had finished" in document

    async def test_a_server_that_fails_is_answered_500(self) -> None:
        async def receive() -> dict[str, Any]:
            raise OSError("/secret/socket is gone")

        sent: list[Any] = []

        async def send(message: Any) -> None:
            sent.append(message)

        fields, _ = invocation_parts("run-server-fails")
        scope = {"type": "http", "http_version": "1.1", "method": "POST", "headers": fields}
        await make_target(echo).app(scope | {"path": "/v1/agent/invocations"}, receive, send)
        assert sent[0]["status"] == 500
        assert b"internal_error" in sent[1]["body"]
        assert b"secret" not in sent[1]["body"]

    async def test_a_request_that_breaks_off_claims_nothing(self) -> None:
        store = MemoryStore()
        runs: list[str] = []
        application = make_target(lambda run: runs.append(run.run_id) or "done", store=store).app
        headers, body = invocation_parts("run-half")
        messages: list[dict[str, Any]] = [
            {"type": "http.request", "body": body, "more_body": True},
            {"type": "http.disconnect"},
        ]
        sent: list[Any] = []

        async def receive() -> dict[str, Any]:
            return messages.pop(0)

        async def send(message: Any) -> None:
            sent.append(message)

        scope = {
            "type": "http",
            "http_version": "1.1",
            "method": "POST",
            "path": "/v1/agent/invocations",
            "headers": headers,
        }
        await application(scope, receive, send)
        assert (sent, runs, store.is_claimed("run-half")) == ([], [], False)


async def test_a_body_is_refused_while_it_streams_in() -> None:
    """INV-7 without a Content-Length: reading stops at the bound, whatever is still to come."""
    target = make_target(echo, limits=Limits(max_body_bytes=1_000))
    read: list[int] = []

    async def endless() -> AsyncIterator[bytes]:
        while True:
            read.append(400)
            yield b" " * 400

    headers = [
        (b"host", b"a"),
        (b"authorization", b"Bearer test-token"),
        (b"content-type", b"application/json"),
    ]
    answer = await call_asgi(target.app, "POST", "/v1/agent/invocations", headers, endless())
    assert answer.status == 413
    assert sum(read) == 1_200


async def test_a_declared_length_is_refused_before_reading() -> None:
    read: list[bytes] = []

    async def body() -> AsyncIterator[bytes]:
        read.append(b"x")
        yield b"x"

    headers = [
        (b"host", b"a"),
        (b"authorization", b"Bearer test-token"),
        (b"content-type", b"application/json"),
        (b"content-length", b"1099511627776"),
    ]
    answer = await call_asgi(make_target(echo).app, "POST", "/v1/agent/invocations", headers, body())
    assert (answer.status, read) == (413, [])
