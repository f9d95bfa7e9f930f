"""What came of a run: the answer, or the failure, and the evidence of both."""

from __future__ import annotations

import asyncio
import gc
import json
import threading
from typing import Any

import pytest

from agentbeat_protocol import digest_bytes, task_id
from agentbeat_sdk import (
    Completion,
    Limits,
    MemoryStore,
    Run,
)
from support.targets import SECRET, make_target


class TestAnswer:
    """The invocation response (INV-1)."""

    async def test_bytes_of_an_l2_target(self) -> None:
        def handler(run: Run) -> Completion:
            return Completion("é", usage={"tokens": 3}, metadata={"model": "m", "evidence_digest": "mine"})

        result = (
            await make_target(handler).test_client().invoke("x", run_id="run-example-001", case_id="case-a")
        )
        assert result.evidence_bytes is not None
        digest = digest_bytes(result.evidence_bytes)
        expected = (
            '{"schema_version":"target-invocation-v1","run_id":"run-example-001","case_id":"case-a",'
            '"status":"completed","final_response":"é","task_id":"TASK",'
            '"evidence_ref":"/v1/evidence/run-example-001",'
            f'"metadata":{{"model":"m","evidence_digest":"{digest}"}},"usage":{{"tokens":3}}}}'
        )
        assert result.answer.body == expected.replace("TASK", task_id("run-example-001", "case-a")).encode()

    async def test_bytes_of_an_l1_target(self) -> None:
        """It serves no document, so it refers to none and vouches for none."""

        def handler(run: Run) -> Completion:
            run.record.message("assistant", "thinking")
            return Completion("x", metadata={"evidence_digest": "sha256:" + "0" * 64})

        store = MemoryStore()
        result = (
            await make_target(handler, tier="L1", store=store)
            .test_client(store=store)
            .invoke("x", run_id="run-a")
        )
        assert set(json.loads(result.answer.body)) == {
            "schema_version",
            "run_id",
            "case_id",
            "status",
            "final_response",
            "task_id",
            "metadata",
        }
        assert json.loads(result.answer.body)["metadata"] == {}
        assert result.evidence is None
        assert store.document("run-a") is None

    @pytest.mark.parametrize("fails", [False, True], ids=["completed", "failed"])
    async def test_the_record_of_an_l1_run_takes_nothing_after_its_end(self, fails: bool) -> None:
        runs: list[Run] = []

        def handler(run: Run) -> str:
            runs.append(run)
            run.record.message("assistant", "thinking")
            return "" if fails else "x"

        result = await make_target(handler, tier="L1").test_client().invoke("hello")
        assert result.status == (502 if fails else 200)
        (run,) = runs
        assert run.record.closed
        run.record.message("assistant", "late")
        assert (run.record.recorded, run.record.late) == ({"message": 1}, {"message": 1})

    @pytest.mark.parametrize(
        ("value", "cause"),
        [
            pytest.param(None, "returned NoneType, expected a str or a Completion", id="nothing"),
            pytest.param(7, "returned int", id="a number"),
            pytest.param("", "not white space", id="empty"),
            pytest.param(" \u2003\n", "not white space", id="blank"),
            pytest.param("\ud800", "no lone surrogate", id="lone surrogate"),
            pytest.param(Completion(7), "not white space", id="completion of a number"),  # type: ignore[arg-type]
            pytest.param(Completion("x", usage=[1]), "usage: got list", id="usage no object"),  # type: ignore[arg-type]
            pytest.param(Completion("x", metadata={"a": {1, 2}}), "metadata: expected JSON", id="a set"),
            pytest.param(Completion("x", usage={"a": float("nan")}), "usage: expected JSON", id="NaN"),
            pytest.param(
                Completion("x", usage={"a": "\ud800"}), "usage: expected JSON", id="surrogate inside"
            ),
            pytest.param(Completion("x", usage={1: 1, "1": 2}), "usage: expected", id="two names alike"),  # type: ignore[dict-item]
            pytest.param("x" * (4 * 1024 * 1024), "bytes, expected at most", id="longer than Core reads"),
        ],
    )
    async def test_an_answer_that_core_would_not_take_is_a_failed_run(self, value: Any, cause: str) -> None:
        result = await make_target(lambda run: value).test_client().invoke("hello")
        assert (result.status, result.error_code) == (502, "target_execution_failed")
        assert result.evidence is not None
        assert cause in result.evidence.events[-1].data.message  # type: ignore[union-attr]


class TestFailure:
    """A run whose Agent gives no answer keeps the evidence gathered so far."""

    @pytest.mark.parametrize(
        ("error", "cause"),
        [
            (ValueError("no such order"), "ValueError: no such order"),
            (KeyError(), "KeyError"),
            (SystemExit(3), "RuntimeError: the Agent tried to end the process"),
            (StopIteration("x"), "RuntimeError"),
            (asyncio.CancelledError(), "cancelled from inside"),
            (
                ExceptionGroup("both", [ValueError("a"), ValueError("b")]),
                "ExceptionGroup: both (2 sub-exceptions)",
            ),
        ],
        ids=lambda value: type(value).__name__ if isinstance(value, BaseException) else "",
    )
    @pytest.mark.parametrize("kind", ["sync", "async"])
    async def test_it_is_502_and_the_evidence_says_why(
        self, error: BaseException, cause: str, kind: str
    ) -> None:
        def fail(run: Run) -> str:
            run.record.message("assistant", "I begin")
            raise error

        async def fail_async(run: Run) -> str:
            return fail(run)

        result = await make_target(fail if kind == "sync" else fail_async).test_client().invoke("hello")
        assert (result.status, result.error_code) == (502, "target_execution_failed")
        assert cause.encode() not in result.answer.body
        assert result.evidence is not None
        assert [event.type for event in result.evidence.events] == ["message", "run.error"]
        assert cause in result.evidence.events[-1].data.message  # type: ignore[union-attr]

    async def test_an_agent_whose_task_is_cancelled_before_it_begins_gives_its_place_back(self) -> None:
        begun: list[str] = []

        async def handler(run: Run) -> str:
            begun.append(run.run_id)
            return "x"

        class CancelsTheNextTask(MemoryStore):
            def claim(self, run_id: str, case_id: str) -> bool:
                asyncio.get_running_loop().call_soon(self.cancel, asyncio.all_tasks())
                return super().claim(run_id, case_id)

            def cancel(self, before: set[asyncio.Task[Any]]) -> None:
                for task in asyncio.all_tasks() - before:
                    task.cancel()

        client = make_target(handler).test_client(store=CancelsTheNextTask())
        result = await client.invoke("hello")
        assert (result.status, result.error_code, begun) == (502, "target_execution_failed", [])
        assert client.application.invocations.active_runs == 0
        assert client.application.invocations.pending_runs == 0

    async def test_the_targets_secrets_are_not_in_it(self) -> None:
        def handler(run: Run) -> str:
            raise RuntimeError(f"cannot log in with {SECRET} and model-key-1")

        result = await make_target(handler, secrets=["model-key-1"]).test_client().invoke("hello")
        assert result.evidence_bytes is not None
        assert b"run.error" in result.evidence_bytes
        assert SECRET.encode() not in result.evidence_bytes
        assert b"model-key-1" not in result.evidence_bytes

    async def test_an_error_that_cannot_say_what_it_is(self) -> None:
        class MuteError(Exception):
            def __str__(self) -> str:
                raise RuntimeError("no words")

        async def handler(run: Run) -> str:
            raise MuteError

        result = await make_target(handler).test_client().invoke("hello")
        assert result.evidence is not None
        assert result.evidence.events[-1].data.message == "MuteError: (no text)"  # type: ignore[union-attr]


class TestTime:
    """`run_timeout`."""

    async def test_a_late_agent_is_cancelled_and_its_evidence_kept(self) -> None:
        ended: list[str] = []

        async def handler(run: Run) -> str:
            run.record.message("assistant", "I begin")
            try:
                await asyncio.Event().wait()
            finally:
                run.record.message("assistant", "I was cancelled")
                ended.append(run.run_id)
            return "never"

        client = make_target(handler, limits=Limits(run_timeout=0.05)).test_client()
        result = await client.invoke("hello")
        assert (result.status, result.error_code) == (504, "target_timeout")
        assert ended == [result.run_id]
        assert result.evidence is not None
        texts = [getattr(event.data, "text", event.type) for event in result.evidence.events]
        assert texts == ["I begin", "I was cancelled", "run.error"]
        assert client.application.invocations.active_runs == 0

    async def test_an_agent_that_ignores_it_keeps_its_place_until_it_ends(self) -> None:
        release = asyncio.Event()

        async def handler(run: Run) -> str:
            while not release.is_set():
                try:
                    await release.wait()
                except asyncio.CancelledError:
                    continue
            return "late"

        limits = Limits(run_timeout=0.05, cancel_timeout=0.05, max_concurrent_runs=1)
        client = make_target(handler, limits=limits).test_client()
        assert (await client.invoke("hello")).status == 504
        assert client.application.invocations.active_runs == 1
        assert client.application.invocations.pending_runs == 0
        assert (await client.invoke("hello")).error_code == "target_busy"
        release.set()
        while client.application.invocations.active_runs:
            await asyncio.sleep(0)
        assert (await client.invoke("hello")).status == 200

    async def test_what_it_raises_then_is_nobodys_warning(self, caplog: pytest.LogCaptureFixture) -> None:
        async def handler(run: Run) -> str:
            try:
                await asyncio.Event().wait()
            finally:
                raise ValueError("while winding up")
            return "never"

        client = make_target(handler, limits=Limits(run_timeout=0.05)).test_client()
        assert (await client.invoke("hello")).status == 504
        gc.collect()
        assert caplog.records == []

    async def test_so_does_a_thread(self) -> None:
        release = threading.Event()

        def handler(run: Run) -> str:
            release.wait(5)
            return "late"

        client = make_target(handler, limits=Limits(run_timeout=0.05, max_concurrent_runs=1)).test_client()
        late = await client.invoke("hello")
        assert late.status == 504
        assert (await client.invoke("hello")).error_code == "target_busy"
        release.set()
        while client.application.invocations.active_runs:
            await asyncio.sleep(0.001)
        assert (await client.invoke("hello")).status == 200
        served = await client.request("GET", f"/v1/evidence/{late.run_id}")
        assert served.body == late.evidence_bytes

    async def test_a_late_thread_does_not_go_on_as_a_coroutine(self) -> None:
        release = threading.Event()
        begun: list[str] = []

        async def second_half(run: Run) -> str:
            begun.append(run.run_id)
            return "late"

        def handler(run: Run) -> Any:
            release.wait(5)
            return second_half(run)

        client = make_target(handler, limits=Limits(run_timeout=0.05)).test_client()
        assert (await client.invoke("hello")).status == 504
        release.set()
        while client.application.invocations.active_runs:
            await asyncio.sleep(0.001)
        assert begun == []
