"""A store that may wait is called in a thread; the event loop goes on."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path

from agentbeat_sdk import MemoryStore, SQLiteStore
from agentbeat_sdk.store_calls import StoreCalls


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
