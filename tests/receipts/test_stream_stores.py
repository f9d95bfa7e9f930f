"""What a stream puts down in its temporary database: without a loss, out of memory, and gone afterwards."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
import threading
import weakref
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentbeat_receipts.bundles import write_bundle
from agentbeat_receipts.streams import StreamError, verify_stream
from agentbeat_receipts.streams import stores as storing
from agentbeat_receipts.streams.tables import Tables
from support.claim_batches import batch
from support.receipt_batches import deliveries, keyring
from support.streamed import in_memory, options, streamed

HERE = Path(__file__).parent.parent
DELIVERED = deliveries(batch().documents())


@given(st.lists(st.text(max_size=3), max_size=20))
def test_texts_are_numbered_once_each_also_when_they_are_forgotten(texts: list[str]) -> None:
    tables = Tables()
    numbers = [tables.number(text) for text in texts]
    tables._numbers.clear()
    assert [tables.number(text) for text in texts] == numbers
    assert len(set(numbers)) == len(set(texts))


@pytest.fixture
def small_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    """A cache of eight pages, so that hardly anything is in memory."""
    pragmas = tuple(p if "cache_size" not in p else "cache_size = 8" for p in storing._PRAGMAS)
    monkeypatch.setattr(storing, "_PRAGMAS", pragmas)


def _temporary_files() -> list[tuple[str, int]]:
    """The files without a name that this process has open, with their sizes."""
    found = []
    for link in Path("/proc/self/fd").iterdir():
        try:
            target = str(link.readlink())
            if "etilqs" in target:
                found.append((target, link.stat().st_size))
        except OSError:
            continue
    return found


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.usefixtures("small_cache")
def test_a_batch_that_does_not_fit_into_the_cache_is_judged_as_in_memory(workers: int) -> None:
    gc.collect()
    before = _temporary_files()
    made = [*DELIVERED, *DELIVERED[::-1]]
    report = streamed(made, workers=workers)
    assert report == in_memory(made)
    ((name, size),) = set(_temporary_files()) - set(before)
    assert "(deleted)" in name
    assert size > 8 * 4096
    del report
    gc.collect()
    assert _temporary_files() == before


def test_the_report_is_read_after_the_verification_also_in_another_thread() -> None:
    report = streamed(DELIVERED)
    assert report.chain.manifest is not None
    entries = report.chain.manifest.assignments
    read: list[object] = []
    thread = threading.Thread(target=lambda: read.append((tuple(entries), report.chain.evidence)))
    thread.start()
    thread.join()
    expected = in_memory(DELIVERED).chain
    assert expected.manifest is not None
    assert read == [(expected.manifest.assignments, expected.evidence)]


def test_a_report_that_nobody_has_any_more_is_let_go_of() -> None:
    report = streamed(DELIVERED)
    assert report.chain.manifest is not None
    gone = weakref.ref(report.chain.manifest.assignments._store)  # type: ignore[attr-defined]
    assert gone() is not None
    del report
    gc.collect()
    assert gone() is None


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("more", [-1, 1, 3])
def test_where_the_temporary_file_has_no_room_there_is_no_verdict(
    monkeypatch: pytest.MonkeyPatch, more: int, workers: int
) -> None:
    (empty,) = Tables().one("PRAGMA page_count")
    monkeypatch.setattr(storing, "_PRAGMAS", (*storing._PRAGMAS, f"max_page_count = {empty + more}"))
    with pytest.raises(StreamError, match=r"temporary file of the verification cannot be used: .* full"):
        verify_stream(DELIVERED, keyring().public, **options(DELIVERED), workers=workers)


_CHILD = """
import json, os, resource, sys, time
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from agentbeat_receipts.bundles import stream_bundle
from agentbeat_receipts.streams import StreamError, stores, verify_stream
from support.kiosk import KIOSK
from support.receipt_batches import keyring

stores._PRAGMAS = (*stores._PRAGMAS, "cache_size = 8")

def hold(progress):
    if sys.argv[3] == "hold" and progress.stage == "opened":
        print("here", flush=True)
        time.sleep(60)

if sys.argv[3] == "small":
    resource.setrlimit(resource.RLIMIT_FSIZE, (16384, 16384))
try:
    source = stream_bundle(Path(sys.argv[2]))
    verify_stream(source, keyring().public, domains=(KIOSK,), workers=1, progress=hold)
except StreamError as error:
    print(error)
"""


def _child(folder: Path, what: str) -> subprocess.Popen[bytes]:
    write_bundle(folder / "claim", batch().documents())
    (folder / "temporary").mkdir()
    command = [sys.executable, "-c", _CHILD, str(HERE), str(folder / "claim"), what]
    environment = {**os.environ, "SQLITE_TMPDIR": str(folder / "temporary")}
    return subprocess.Popen(command, stdout=subprocess.PIPE, env=environment)


def test_a_process_that_is_killed_leaves_no_temporary_file(tmp_path: Path) -> None:
    with _child(tmp_path, "hold") as child:
        assert child.stdout is not None
        assert child.stdout.readline() == b"here\n"
        links = [str(link.readlink()) for link in Path(f"/proc/{child.pid}/fd").iterdir()]
        assert any(link.startswith(str(tmp_path / "temporary")) for link in links)
        child.send_signal(signal.SIGKILL)
        child.wait(timeout=20)
    assert list((tmp_path / "temporary").iterdir()) == []


def test_a_file_that_may_not_grow_is_told_and_gets_no_verdict(tmp_path: Path) -> None:
    with _child(tmp_path, "small") as child:
        assert child.stdout is not None
        said = child.stdout.read().decode()
    assert said.startswith("the temporary file of the verification cannot be used: disk I/O error")
    assert child.returncode == 0
    assert list((tmp_path / "temporary").iterdir()) == []
