"""Every error code of the protocol: what provokes it, and that the Agent then did not run, or ran once.

A refused request claims nothing, too: the same run id is good for a good request afterwards.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

from agentbeat_protocol import TARGET_CODES
from agentbeat_sdk import Limits, MemoryStore, Run, StoreError, Target
from agentbeat_sdk.testing import HttpAnswer, TestClient, serving
from support.raw_http import connected, exchange, invocation_request, read_answers

SECRET = "test-token"
RUN = "run-code-001"
CASE = "case-code-001"
GOOD: dict[str, Any] = {
    "schema_version": "target-invocation-v1",
    "run_id": RUN,
    "case_id": CASE,
    "input": {"text": "hello"},
    "metadata": {},
}


@dataclass
class Bench:
    """A Target, a client for it, and the runs of its Agent."""

    limits: Limits = field(default_factory=Limits)
    store: MemoryStore = field(default_factory=MemoryStore)
    runs: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.release = asyncio.Event()
        self.target = Target("bench", token=SECRET, tier="L2", limits=self.limits, store=self.store)
        self.target.invoke(self._agent)
        self.client: TestClient = self.target.test_client(store=self.store)

    async def _agent(self, run: Run) -> str:
        self.runs.append(run.run_id)
        if run.text == "boom":
            raise RuntimeError("the agent's own words")
        if run.text == "wait":
            await self.release.wait()
        return "done"

    async def post(self, body: Any = GOOD, **changes: str) -> HttpAnswer:
        """Post `body` with good headers, but for `changes`."""
        headers = {"Content-Type": "application/json", "X-AIBeat-Run-ID": RUN, "X-AIBeat-Case-ID": CASE}
        raw = body if isinstance(body, bytes) else json.dumps(body).encode()
        return await self.client.request("POST", "/v1/agent/invocations", headers=headers | changes, body=raw)


def posting(body: Any, **changes: str) -> Callable[[Bench], Awaitable[HttpAnswer]]:
    return lambda bench: bench.post(body, **changes)


async def _unauthorized(bench: Bench) -> HttpAnswer:
    return await bench.client.request("POST", "/v1/agent/invocations", body=b"{", authorized=False)


async def _not_found(bench: Bench) -> HttpAnswer:
    return await bench.client.request("GET", f"/v1/evidence/{RUN}")


async def _method(bench: Bench) -> HttpAnswer:
    answer = await bench.client.request("GET", "/v1/agent/invocations")
    assert answer.headers["allow"] == "POST"
    return answer


#: Requests that are refused in this process, without a server: the code, and what provokes it.
REFUSED: dict[str, Callable[[Bench], Awaitable[HttpAnswer]]] = {
    "invalid_request": posting(GOOD, **{"Content-Length": "1_0"}),
    "invalid_json": posting(b'{"run_id": 1, "run_id": 1}'),
    "invalid_request_schema": posting(GOOD | {"extra": 1}),
    "target_invocation_schema_invalid": posting(GOOD | {"schema_version": "target-invocation-v2"}),
    "invalid_run_id": posting(GOOD | {"run_id": "run-A"}),
    "invalid_case_id": posting(GOOD | {"case_id": "case-"}),
    "invalid_input": posting(GOOD | {"input": {"text": " "}}),
    "invalid_metadata": posting(GOOD | {"metadata": []}),
    "runtime_override_forbidden": posting(GOOD | {"metadata": {"a": [{"apiKey": "x"}]}}),
    "correlation_binding_mismatch": posting(GOOD, **{"X-AIBeat-Run-ID": "run-other"}),
    "unauthorized": _unauthorized,
    "not_found": _not_found,
    "method_not_allowed": _method,
    "request_too_large": posting(b" " * (1024 * 1024 + 1)),
    "unsupported_media_type": posting(GOOD, **{"Content-Type": "text/json"}),
    "request_header_too_large": posting(GOOD, **{"X-Padding": "x" * 32_768}),
}


@pytest.mark.parametrize("code", REFUSED)
async def test_a_refusal_runs_nothing_and_claims_nothing(code: str) -> None:
    bench = Bench()
    answer = await REFUSED[code](bench)
    assert (answer.status, answer.json()["error"]["code"]) == (TARGET_CODES[code], code)
    assert bench.runs == []
    assert not bench.store.is_claimed(RUN)
    assert (await bench.post()).status == 200
    assert bench.runs == [RUN]


def test_request_timeout() -> None:
    """The body does not come in time."""
    bench = Bench(Limits(body_timeout=0.1))
    with serving(bench.target) as url, connected(url) as connection:
        connection.sendall(invocation_request(RUN)[:-1])
        (answer,) = read_answers(connection)
        assert (answer.status, answer.code) == (408, "request_timeout")
        assert (bench.runs, bench.store.is_claimed(RUN)) == ([], False)
        assert exchange(url, invocation_request(RUN))[0].status == 200


async def test_run_id_reused() -> None:
    bench = Bench()
    assert (await bench.post()).status == 200
    again = await bench.post(GOOD | {"input": {"text": "something else"}})
    assert (again.status, again.json()["error"]["code"]) == (409, "run_id_reused")
    assert bench.runs == [RUN]


async def test_target_execution_failed() -> None:
    bench = Bench()
    failed = await bench.post(GOOD | {"input": {"text": "boom"}})
    assert (failed.status, failed.json()["error"]["code"]) == (502, "target_execution_failed")
    assert b"own words" not in failed.body
    assert bench.runs == [RUN]
    assert (await bench.post()).status == 409
    assert bench.runs == [RUN]


async def test_target_busy() -> None:
    bench = Bench(Limits(max_concurrent_runs=1, retry_after=7))
    first = asyncio.create_task(bench.client.invoke("wait", run_id="run-code-first"))
    while not bench.runs:
        await asyncio.sleep(0)
    busy = await bench.post()
    assert (busy.status, busy.json()["error"]["code"]) == (503, "target_busy")
    assert busy.headers["retry-after"] == "7"
    assert not bench.store.is_claimed(RUN)
    # A run id that is taken stays 409, however busy the Target is.
    taken = await bench.client.invoke("hello", run_id="run-code-first")
    assert (taken.status, taken.error_code) == (409, "run_id_reused")
    assert bench.runs == ["run-code-first"]
    bench.release.set()
    assert (await first).status == 200
    assert (await bench.post()).status == 200


async def test_target_draining() -> None:
    bench = Bench()
    assert (await bench.client.invoke("hello", run_id="run-code-first")).status == 200
    bench.client.application.invocations.draining = True
    draining = await bench.post()
    assert (draining.status, draining.json()["error"]["code"]) == (503, "target_draining")
    assert draining.headers["retry-after"] == "1"
    assert not bench.store.is_claimed(RUN)
    assert (await bench.client.invoke("hello", run_id="run-code-first")).status == 409
    assert bench.runs == ["run-code-first"]


async def test_target_timeout() -> None:
    bench = Bench(Limits(run_timeout=0.05))
    late = await bench.post(GOOD | {"input": {"text": "wait"}})
    assert (late.status, late.json()["error"]["code"]) == (504, "target_timeout")
    assert bench.runs == [RUN]
    assert (await bench.post()).status == 409
    assert bench.runs == [RUN]


class NoClaims(MemoryStore):
    """A store whose disk is full."""

    def claim(self, run_id: str, case_id: str) -> bool:
        raise StoreError("/secret/path: disk full")


class NoDocuments(MemoryStore):
    """A store whose disk fills up during the run."""

    def finish(self, run_id: str, document: bytes | None) -> None:
        raise StoreError("/secret/path: disk full")


@pytest.mark.parametrize(
    ("store", "runs"),
    [
        pytest.param(NoClaims(), [], id="claiming fails"),
        pytest.param(NoDocuments(), [RUN], id="storing fails"),
    ],
)
async def test_internal_error(store: MemoryStore, runs: list[str]) -> None:
    """Without its store a Target cannot keep its word: it says so, and nothing more."""
    bench = Bench(store=store)
    answer = await bench.post()
    assert (answer.status, answer.json()["error"]["code"]) == (500, "internal_error")
    assert b"/secret/path" not in answer.body
    assert b"Traceback" not in answer.body
    assert bench.runs == runs


def test_no_code_is_left_out() -> None:
    tested = {name.removeprefix("test_") for name in globals() if name.startswith("test_")}
    assert set(TARGET_CODES) <= set(REFUSED) | tested
