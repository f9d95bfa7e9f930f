"""Calls that are kept together: each is durable before it returns, and none is lost or seen too early."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from agentbeat_protocol import digest_bytes
from agentbeat_sdk import MemoryStore, Run, SQLiteStore, StoreError
from agentbeat_sdk.store_calls import StoreCalls
from agentbeat_sdk.stores import GroupingStore
from support.targets import make_target

CASE = "case-group-001"
RUNS = [f"run-group-{number}" for number in range(5)]


class HeldStore(SQLiteStore):
    """Holds its first claim until it is released, so that what comes meanwhile gathers."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.statements: list[str] = []
        self.held = threading.Event()
        self.release = threading.Event()

    def open(self) -> None:
        super().open()
        assert self._connection is not None
        self._connection.set_trace_callback(lambda statement: self.statements.append(statement.split()[0]))

    def claim(self, run_id: str, case_id: str) -> bool:
        if run_id == "run-held":
            self.held.set()
            assert self.release.wait(5)
        return super().claim(run_id, case_id)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[HeldStore]:
    store = HeldStore(tmp_path / "runs.sqlite3")
    store.open()
    yield store
    store.close()


@pytest.fixture
def other(tmp_path: Path) -> Iterator[SQLiteStore]:
    """Another store on the file: it sees what is kept."""
    other = SQLiteStore(tmp_path / "runs.sqlite3", busy_timeout=0.05)
    other.open()
    yield other
    other.close()


def test_which_stores_keep_calls_together(store: SQLiteStore) -> None:
    assert isinstance(store, GroupingStore)
    assert not isinstance(MemoryStore(), GroupingStore)


class TestGroup:
    """The block itself."""

    def test_is_seen_by_others_when_it_ends(self, store: SQLiteStore, other: SQLiteStore) -> None:
        store.claim("run-before", CASE)
        with store.group():
            assert store.claim(RUNS[0], CASE)
            store.finish("run-before", b"document")
            assert not store.claim(RUNS[0], CASE)
            assert not other.is_claimed(RUNS[0])
            assert other.document("run-before") is None
        assert other.is_claimed(RUNS[0])
        assert other.document("run-before") == b"document"

    def test_is_not_seen_in_the_middle_by_another_thread(self, store: SQLiteStore) -> None:
        seen: list[bool] = []
        reader = threading.Thread(target=lambda: seen.append(store.is_claimed(RUNS[0])))
        with store.group():
            store.claim(RUNS[0], CASE)
            reader.start()
            reader.join(0.05)
            assert seen == []
        reader.join(5)
        assert seen == [True]

    def test_an_error_undoes_all_of_it(self, store: SQLiteStore, other: SQLiteStore) -> None:
        store.claim("run-before", CASE)

        def fail() -> None:
            with store.group():
                store.claim(RUNS[0], CASE)
                store.finish("run-before", b"document")
                store.finish("run-nobodys", b"document")

        with pytest.raises(StoreError, match="not claimed"):
            fail()
        for each in (store, other):
            assert not each.is_claimed(RUNS[0])
            assert each.document("run-before") is None
        assert store.claim(RUNS[0], CASE)
        store.finish("run-before", b"document")

    def test_waits_for_another_writer_only_so_long(self, store: SQLiteStore, other: SQLiteStore) -> None:
        with store.group():
            store.claim(RUNS[0], CASE)
            with pytest.raises(StoreError, match="locked"), other.group():
                pytest.fail("two groups at the same time")
        assert other.claim(RUNS[1], CASE)


class TestGathering:
    """What waits while the store is busy goes together."""

    async def test_one_transaction_keeps_all_that_waited(self, store: HeldStore, other: SQLiteStore) -> None:
        calls = StoreCalls(store)

        async def claim(run_id: str) -> bool:
            claimed = await calls.claim(run_id, CASE)
            assert other.is_claimed(run_id), "it returned before it was kept"
            return claimed

        waiting = await _gather_behind(store, calls, *map(claim, [*RUNS, RUNS[0]]))
        assert await asyncio.gather(*waiting) == [True, True, True, True, True, False]
        assert store.statements == ["INSERT", "BEGIN", *["INSERT"] * 6, "COMMIT"]
        store.statements.clear()
        await asyncio.gather(*(calls.finish(run_id, run_id.encode()) for run_id in RUNS))
        assert [other.document(run_id) for run_id in RUNS] == [run_id.encode() for run_id in RUNS]
        assert store.statements.count("UPDATE") == 5
        calls.close()

    async def test_a_call_that_fails_fails_alone(self, store: HeldStore, other: SQLiteStore) -> None:
        calls = StoreCalls(store)
        store.claim("run-before", CASE)
        waiting = await _gather_behind(
            store,
            calls,
            calls.claim(RUNS[0], CASE),
            calls.finish("run-nobodys", b"document"),
            calls.finish("run-before", b"document"),
        )
        claimed, failed, finished = await asyncio.gather(*waiting, return_exceptions=True)
        assert claimed is True
        assert isinstance(failed, StoreError)
        assert "run-nobodys" in str(failed)
        assert finished is None
        assert other.is_claimed(RUNS[0])
        assert other.document("run-before") == b"document"
        assert not other.is_claimed("run-nobodys")
        calls.close()

    async def test_a_group_that_cannot_be_kept_is_made_call_by_call(
        self, store: HeldStore, other: SQLiteStore, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        kept = store.group

        @contextmanager
        def full() -> Iterator[None]:
            with kept():
                yield
                raise StoreError("the disk is full")

        monkeypatch.setattr(store, "group", full)
        calls = StoreCalls(store)
        waiting = await _gather_behind(store, calls, *(calls.claim(run_id, CASE) for run_id in RUNS))
        assert await asyncio.gather(*waiting) == [True] * 5
        assert store.statements.count("ROLLBACK") == 1
        assert all(map(other.is_claimed, RUNS))
        calls.close()

    async def test_who_stops_waiting_disturbs_nobody(self, store: HeldStore, other: SQLiteStore) -> None:
        calls = StoreCalls(store)
        waiting = await _gather_behind(
            store, calls, *(calls.claim(run_id, CASE) for run_id in RUNS), release=False
        )
        waiting[2].cancel()
        store.release.set()
        answers = await asyncio.gather(*waiting, return_exceptions=True)
        assert [answer for answer in answers if answer is True] == [True] * 4
        assert isinstance(answers[2], asyncio.CancelledError)
        # Its call had begun, and is not broken off.
        assert other.is_claimed(RUNS[2])
        calls.close()

    def test_callers_of_several_event_loops_get_their_own_answers(self, store: HeldStore) -> None:
        calls = StoreCalls(store)
        claimed: list[str] = []

        async def claim_all() -> None:
            answers = await asyncio.gather(*(calls.claim(f"run-loops-{n}", CASE) for n in range(100)))
            claimed.extend(f"run-loops-{n}" for n, mine in enumerate(answers) if mine)

        threads = [threading.Thread(target=asyncio.run, args=(claim_all(),)) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(10)
        assert sorted(claimed) == sorted(f"run-loops-{n}" for n in range(100))
        calls.close()

    async def test_closing_waits_for_what_gathered(self, store: HeldStore, other: SQLiteStore) -> None:
        calls = StoreCalls(store)
        waiting = await _gather_behind(
            store, calls, *(calls.claim(run_id, CASE) for run_id in RUNS), release=False
        )
        threading.Timer(0.05, store.release.set).start()
        await asyncio.to_thread(calls.close)
        assert all(map(other.is_claimed, RUNS))
        assert await asyncio.gather(*waiting) == [True] * 5
        # And the next call opens the store again.
        assert not await calls.claim(RUNS[0], CASE)
        calls.close()


async def test_of_many_runs_at_once_each_is_claimed_before_its_agent_and_kept_before_its_answer(
    store: HeldStore, other: SQLiteStore
) -> None:
    async def handler(run: Run) -> str:
        assert other.is_claimed(run.run_id)
        await asyncio.sleep(0)
        assert other.document(run.run_id) is None
        return "done"

    client = make_target(handler, store=store).test_client(store=store)

    async def invoke(number: int) -> None:
        result = await client.invoke("hello", run_id=f"run-many-{number}")
        assert result.status == 200
        document = other.document(f"run-many-{number}")
        assert document is not None
        assert json.loads(result.answer.body)["metadata"]["evidence_digest"] == digest_bytes(document)

    for round_ in range(5):
        await asyncio.gather(*(invoke(8 * round_ + number) for number in range(8)))
    # There were groups: otherwise 40 claims and 40 documents show nothing of them.
    assert store.statements.count("COMMIT") >= 5


def test_a_kill_takes_nothing_that_had_returned(tmp_path: Path, other: SQLiteStore) -> None:
    script = (
        "import asyncio, sys\n"
        "from agentbeat_sdk.stores import SQLiteStore\n"
        "from agentbeat_sdk.store_calls import StoreCalls\n"
        "calls = StoreCalls(SQLiteStore(sys.argv[1]))\n"
        "async def go_on(worker):\n"
        "    number = 0\n"
        "    while True:\n"
        "        run = f'run-kill-{worker}-{number}'\n"
        "        assert await calls.claim(run, 'case-a')\n"
        "        print('claimed', run, flush=True)\n"
        "        await calls.finish(run, run.encode())\n"
        "        print('finished', run, flush=True)\n"
        "        number += 1\n"
        "async def main():\n"
        "    await asyncio.gather(*map(go_on, range(16)))\n"
        "asyncio.run(main())\n"
    )
    command = [sys.executable, "-c", script, str(tmp_path / "runs.sqlite3")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        told = [process.stdout.readline() for _ in range(200)]
        process.kill()
        told += process.stdout.readlines()
    whole = [line.split() for line in told if line.endswith("\n")]
    assert len(whole) >= 200
    for word, run_id in whole:
        assert other.is_claimed(run_id), run_id
        if word == "finished":
            assert other.document(run_id) == run_id.encode()


async def _gather_behind(
    store: HeldStore, calls: StoreCalls, *waiting: object, release: bool = True
) -> list[asyncio.Task[object]]:
    """Tasks of calls that all wait behind one which the store holds; let go, unless `release` is false."""
    first = asyncio.ensure_future(calls.claim("run-held", CASE))
    await asyncio.to_thread(store.held.wait, 5)
    store.statements.clear()
    tasks = [asyncio.ensure_future(each) for each in waiting]  # type: ignore[arg-type,var-annotated]
    while len(calls._waiting) < len(tasks):
        await asyncio.sleep(0)
    if release:
        store.release.set()
        assert await first
    return tasks
