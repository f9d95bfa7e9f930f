"""A store that may wait is called in a thread; the event loop goes on."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path

import pytest

from agentbeat_protocol import read_evidence
from agentbeat_sdk import EvidenceRecorder, MemoryStore, Run, SQLiteStore
from agentbeat_sdk.store_calls import StoreCalls
from support.targets import make_target


class SlowStore(MemoryStore):
    """Waits before it ends a run."""

    def __init__(self) -> None:
        super().__init__()
        self.asked = threading.Event()
        self.release = threading.Event()

    @property
    def blocking(self) -> bool:
        return True

    def finish(self, run_id: str, document: bytes | None) -> None:
        self.asked.set()
        assert self.release.wait(5)
        super().finish(run_id, document)


async def test_the_loop_goes_on_while_a_store_waits() -> None:
    store = SlowStore()
    calls = StoreCalls(store)
    assert await calls(store.claim, "run-a", "case-a")
    finishing = asyncio.create_task(calls(store.finish, "run-a", b"document"))
    while not store.asked.is_set():
        await asyncio.sleep(0)
    # This loop turns, and another call is not held up either.
    assert await calls(store.document, "run-a") is None
    store.release.set()
    await finishing
    assert await calls(store.document, "run-a") == b"document"
    calls.close()


async def test_closing_waits_for_what_was_begun() -> None:
    store = SlowStore()
    calls = StoreCalls(store)
    await calls(store.claim, "run-a", "case-a")
    finishing = asyncio.create_task(calls(store.finish, "run-a", b"document"))
    while not store.asked.is_set():
        await asyncio.sleep(0)
    threading.Timer(0.05, store.release.set).start()
    await asyncio.to_thread(calls.close)
    assert store.document("run-a") == b"document"
    await finishing


async def test_a_store_in_memory_needs_no_thread() -> None:
    here = threading.get_ident()
    assert await StoreCalls(MemoryStore())(threading.get_ident) == here


async def test_a_closed_one_is_opened_again_by_the_next_call(tmp_path: Path) -> None:
    store = SQLiteStore(tmp_path / "runs.sqlite3")
    calls = StoreCalls(store)
    assert await calls(store.claim, "run-a", "case-a")
    calls.close()
    assert not await calls(store.claim, "run-a", "case-a")
    calls.close()


@pytest.mark.parametrize(
    ("characters", "elsewhere"), [(100, False), (1024 * 1024, True)], ids=["little evidence", "much evidence"]
)
async def test_much_evidence_is_put_together_where_it_holds_up_nobody(
    monkeypatch: pytest.MonkeyPatch, characters: int, elsewhere: bool
) -> None:
    threads: list[threading.Thread] = []
    complete = EvidenceRecorder.complete

    def noted(record: EvidenceRecorder, final_response: str) -> bytes:
        threads.append(threading.current_thread())
        return complete(record, final_response)

    async def handler(run: Run) -> str:
        for _ in range(characters // 100):
            run.record.message("assistant", "x" * 100)
        return "done"

    monkeypatch.setattr(EvidenceRecorder, "complete", noted)
    store = SlowStore()
    store.release.set()
    result = await make_target(handler, store=store).test_client(store=store).invoke("hello")
    assert result.status == 200
    assert [thread is not threading.current_thread() for thread in threads] == [elsewhere]


@pytest.mark.parametrize("characters", [100, 1024 * 1024], ids=["little evidence", "much evidence"])
async def test_evidence_that_is_being_kept_is_kept_even_if_its_task_is_cancelled(characters: int) -> None:
    """As when the event loop ends: asyncio cancels every task once."""

    async def handler(run: Run) -> str:
        for _ in range(characters // 100):
            run.record.message("assistant", "x" * 100)
        return "done"

    store = SlowStore()
    client = make_target(handler, store=store).test_client(store=store)
    before = asyncio.all_tasks()
    request = asyncio.create_task(client.invoke("hello", run_id="run-cut-off"))
    await asyncio.to_thread(store.asked.wait, 5)
    for task in asyncio.all_tasks() - before:
        task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await request
    store.release.set()
    while store.document("run-cut-off") is None:
        await asyncio.sleep(0.001)
    read_evidence(store.document("run-cut-off") or b"", run_id="run-cut-off", case_id="case-test")
