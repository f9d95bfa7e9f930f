"""Stores: a run id is taken once, by one caller of all, and a finished document never changes."""

from __future__ import annotations

import sqlite3
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from agentbeat_sdk.stores import MemoryStore, RunStore, SQLiteStore, StoreError

RUN = "run-store-001"
CASE = "case-store-001"


@pytest.fixture(params=["memory", "sqlite"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[RunStore]:
    store: RunStore = MemoryStore() if request.param == "memory" else SQLiteStore(tmp_path / "runs.sqlite3")
    yield store
    store.close()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "runs.sqlite3"


class TestEveryStore:
    """What holds for every implementation of the protocol."""

    def test_claims_a_run_once_whatever_the_case(self, store: RunStore) -> None:
        assert not store.is_claimed(RUN)
        assert store.claim(RUN, CASE)
        assert store.is_claimed(RUN)
        assert not store.claim(RUN, CASE)
        assert not store.claim(RUN, "case-other")

    def test_a_claim_of_one_run_leaves_the_others_free(self, store: RunStore) -> None:
        store.claim(RUN, CASE)
        assert not store.is_claimed("run-store-002")
        assert store.claim("run-store-002", CASE)

    def test_gives_back_the_very_bytes(self, store: RunStore) -> None:
        document = bytes(range(256)) * 5_000
        store.claim(RUN, CASE)
        assert store.document(RUN) is None
        store.finish(RUN, document)
        assert store.document(RUN) == document
        assert store.document(RUN) == document
        assert not store.claim(RUN, CASE)

    def test_an_empty_document_is_a_document(self, store: RunStore) -> None:
        store.claim(RUN, CASE)
        store.finish(RUN, b"")
        assert store.document(RUN) == b""

    def test_a_run_may_end_without_a_document(self, store: RunStore) -> None:
        store.claim(RUN, CASE)
        store.finish(RUN, None)
        assert store.document(RUN) is None
        assert store.is_claimed(RUN)

    @pytest.mark.parametrize("first", [b"first", None], ids=["with a document", "without one"])
    def test_a_finished_run_keeps_what_it_ended_with(self, store: RunStore, first: bytes | None) -> None:
        store.claim(RUN, CASE)
        store.finish(RUN, first)
        with pytest.raises(StoreError, match="finished"):
            store.finish(RUN, b"second")
        assert store.document(RUN) == first

    def test_a_run_that_nobody_claimed_cannot_end(self, store: RunStore) -> None:
        with pytest.raises(StoreError, match=RUN):
            store.finish(RUN, b"document")
        assert store.document(RUN) is None
        assert not store.is_claimed(RUN)

    def test_of_many_threads_one_gets_the_claim(self, store: RunStore) -> None:
        runs = [f"run-race-{number}" for number in range(20)]
        with ThreadPoolExecutor(8) as threads:
            answers = list(threads.map(lambda i: (runs[i % 20], store.claim(runs[i % 20], CASE)), range(160)))
        assert sorted(run for run, claimed in answers if claimed) == sorted(runs)

    def test_threads_may_write_and_read_at_the_same_time(self, store: RunStore) -> None:
        def whole_run(number: int) -> bytes | None:
            run = f"run-thread-{number}"
            assert store.claim(run, CASE)
            store.finish(run, b"%d" % number)
            return store.document(run)

        with ThreadPoolExecutor(8) as threads:
            assert list(threads.map(whole_run, range(100))) == [b"%d" % number for number in range(100)]

    def test_goes_on_after_it_was_closed(self, store: RunStore) -> None:
        store.open()
        store.open()
        store.claim(RUN, CASE)
        store.close()
        store.close()
        assert not store.claim(RUN, CASE)


class TestSQLite:
    """What the file adds."""

    def test_another_store_on_the_file_sees_the_claims_and_documents(self, path: Path) -> None:
        first = SQLiteStore(path)
        first.claim(RUN, CASE)
        first.finish(RUN, b"document")
        first.claim("run-store-unfinished", CASE)
        first.close()
        second = SQLiteStore(path)
        assert second.document(RUN) == b"document"
        assert not second.claim(RUN, CASE)
        assert not second.claim("run-store-unfinished", CASE)
        assert second.document("run-store-unfinished") is None
        second.close()

    def test_of_two_processes_one_gets_each_claim(self, path: Path) -> None:
        script = (
            "import sys; from agentbeat_sdk.stores import SQLiteStore\n"
            "store = SQLiteStore(sys.argv[1]); print('ready', flush=True); sys.stdin.readline()\n"
            "print(*[n for n in range(100) if store.claim(f'run-race-{n}', 'case-a')]); store.close()"
        )
        claimed = _race(script, path, processes=3)
        assert sorted(number for numbers in claimed for number in numbers) == list(range(100))

    def test_claims_survive_a_process_that_is_killed(self, path: Path) -> None:
        script = (
            "import os, sys; from agentbeat_sdk.stores import SQLiteStore\n"
            "store = SQLiteStore(sys.argv[1])\n"
            "store.claim('run-a', 'case-a'); store.finish('run-a', b'document')\n"
            "store.claim('run-b', 'case-a')\n"
            "os.kill(os.getpid(), 9)"
        )
        killed = subprocess.run([sys.executable, "-c", script, str(path)], check=False)
        assert killed.returncode == -9
        store = SQLiteStore(path)
        assert store.document("run-a") == b"document"
        assert not store.claim("run-a", "case-a")
        assert not store.claim("run-b", "case-a")
        store.finish("run-b", b"late")  # the other half of that run, if somebody still has it
        store.close()

    def test_commits_reach_the_disk_and_readers_do_not_wait(self, path: Path) -> None:
        store = SQLiteStore(path)
        store.open()
        assert store._connection is not None
        assert store._connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        assert store._connection.execute("PRAGMA synchronous").fetchone() == (2,)
        store.close()

    def test_commits_write_over_a_log_that_is_long_from_the_start(self, path: Path) -> None:
        """One that makes the log longer waits for the disk twice."""
        store = SQLiteStore(path)
        store.open()
        log = path.with_name("runs.sqlite3-wal")
        length = log.stat().st_size
        assert length >= 1_000 * 4_096
        for number in range(100):
            assert store.claim(f"run-store-{number}", CASE)
        assert log.stat().st_size == length
        # Nothing of what made it so long is in the file, for this process or another.
        second = SQLiteStore(path)
        second.open()
        assert log.stat().st_size == length
        for each in (store, second):
            assert not each.is_claimed("")
        second.close()
        store.close()
        assert path.stat().st_size < 100_000
        with sqlite3.connect(path) as connection:
            assert connection.execute("SELECT count(*) FROM runs").fetchone() == (100,)
            assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        connection.close()

    def test_only_the_owner_reads_the_file(self, path: Path) -> None:
        store = SQLiteStore(path)
        store.claim(RUN, CASE)
        for file in path.parent.iterdir():
            assert stat.S_IMODE(file.stat().st_mode) == 0o600, file.name
        store.close()

    def test_the_file_stays_where_it_was_meant_to_be(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.chdir(tmp_path)
        store = SQLiteStore("runs.sqlite3")
        (tmp_path / "elsewhere").mkdir()
        monkeypatch.chdir(tmp_path / "elsewhere")
        store.claim(RUN, CASE)
        store.close()
        assert (tmp_path / "runs.sqlite3").exists()

    def test_nothing_is_made_before_it_is_needed(self, path: Path) -> None:
        SQLiteStore(path)
        assert not path.exists()

    def test_waits_for_another_writer_only_so_long(self, path: Path) -> None:
        store = SQLiteStore(path, busy_timeout=0.05)
        store.open()
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreError, match="locked"):
            store.claim(RUN, CASE)
        other.execute("ROLLBACK")
        other.close()
        assert store.claim(RUN, CASE)
        store.close()

    @pytest.mark.parametrize("name", ["", ":memory:"], ids=repr)
    def test_memory_is_not_its_business(self, name: str) -> None:
        with pytest.raises(ValueError, match="MemoryStore"):
            SQLiteStore(name)


def _foreign_database(path: Path) -> None:
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE accounts (id INTEGER)")
    connection.commit()
    connection.close()


def _later_layout(path: Path) -> None:
    store = SQLiteStore(path)
    store.open()
    store.close()
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA user_version = 2")
    connection.close()


@pytest.mark.parametrize(
    "make",
    [
        pytest.param(_foreign_database, id="another program's database"),
        pytest.param(_later_layout, id="a later layout of ours"),
        pytest.param(lambda path: path.write_bytes(b"this is no database at all" * 50), id="no database"),
        pytest.param(lambda path: path.mkdir(), id="a folder"),
    ],
)
def test_a_file_that_is_no_store_is_refused_and_left_alone(path: Path, make: Callable[[Path], None]) -> None:
    make(path)
    before = path.read_bytes() if path.is_file() else None
    store = SQLiteStore(path, busy_timeout=0.05)
    with pytest.raises(StoreError, match=r"runs\.sqlite3"):
        store.open()
    with pytest.raises(StoreError):
        store.claim(RUN, CASE)
    assert (path.read_bytes() if path.is_file() else None) == before


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    store = SQLiteStore(tmp_path / "missing" / "runs.sqlite3")
    with pytest.raises(StoreError, match=r"missing/runs\.sqlite3: No such file or directory"):
        store.open()


def _race(script: str, path: Path, *, processes: int) -> list[list[int]]:
    """What each process prints after all were ready and then started together."""
    racers = [
        subprocess.Popen(
            [sys.executable, "-c", script, str(path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(processes)
    ]
    for racer in racers:
        assert racer.stdout is not None
        assert racer.stdout.readline() == "ready\n"
    for racer in racers:
        assert racer.stdin is not None
        racer.stdin.write("go\n")
        racer.stdin.flush()
    outputs = [racer.communicate(timeout=30)[0] for racer in racers]
    assert [racer.returncode for racer in racers] == [0] * processes
    return [[int(number) for number in output.split()] for output in outputs]
