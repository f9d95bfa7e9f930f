"""How a stream is read: what is refused, what is kept in memory, and what becomes of workers."""

from __future__ import annotations

import gc
import json
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from agentbeat_receipts.bundles import BundleError, bundle_files, read_bundle, stream_bundle, write_bundle
from agentbeat_receipts.claims import Case
from agentbeat_receipts.deliveries import Delivered, Delivery
from agentbeat_receipts.keys import KeyRefused, Keyring
from agentbeat_receipts.streams import Progress, StreamError, verify_stream
from agentbeat_receipts.streams import chunks as chunking
from support.claim_batches import batch
from support.kiosk import KIOSK, Kiosk, Sale
from support.receipt_batches import deliveries, keyring
from support.streamed import in_memory, options, streamed

PARTS = batch()
DELIVERED = deliveries(PARTS.documents())
HERE = Path(__file__).parent.parent


@dataclass(frozen=True, kw_only=True)
class Deadly(Kiosk):
    """A domain whose process dies of a replay."""

    def replay(self, case: Case) -> Sale:
        os.kill(os.getpid(), signal.SIGKILL)
        return super().replay(case)


@dataclass(frozen=True, kw_only=True)
class Defective(Kiosk):
    """A domain with a defect."""

    def replay(self, case: Case) -> Sale:
        raise LookupError("a defect of the domain")


def _no_worker_is_left() -> bool:
    return not multiprocessing.active_children()


def _verdict(source: Any = DELIVERED, **others: Any) -> Any:
    return verify_stream(source, keyring().public, **{**options(DELIVERED), **others})


def test_an_iterator_is_refused_because_it_can_be_read_once_only() -> None:
    with pytest.raises(ValueError, match="read more than once"):
        _verdict(iter(DELIVERED))


@pytest.mark.parametrize("workers", [0, -1])
def test_no_worker_is_no_number_of_workers(workers: int) -> None:
    with pytest.raises(ValueError, match="at least 1"):
        _verdict(workers=workers)


def test_two_domains_of_one_name_are_refused() -> None:
    with pytest.raises(ValueError, match="each name once"):
        _verdict(domains=(KIOSK, Kiosk()))


def test_another_auditors_key_is_refused_before_anything_is_read() -> None:
    read: list[int] = []

    class Source:
        def __iter__(self) -> Iterator[Delivered]:
            read.append(1)
            return iter(DELIVERED)

    with pytest.raises(KeyRefused, match="auditor"):
        _verdict(Source(), auditor=Keyring.generate().auditor)
    assert len(read) <= 1  # asked whether it is an iterator, and no more


class _Changing:
    """A source that is another one each time."""

    def __init__(self, *readings: list[Delivery]) -> None:
        self._readings = iter((readings[0], *readings))  # the first is asked for an iterator only

    def __iter__(self) -> Iterator[Delivered]:
        return iter(next(self._readings))


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize(
    "second",
    [
        pytest.param(DELIVERED[:-1], id="one-less"),
        pytest.param([*DELIVERED, Delivery("x.json", b"{}")], id="one-more"),
        pytest.param(DELIVERED[::-1], id="another-order"),
        pytest.param([Delivery(d.path, d.content + b" ") for d in DELIVERED], id="another-size"),
    ],
)
def test_deliveries_that_change_between_two_readings_get_no_verdict(
    second: list[Delivery], workers: int
) -> None:
    with pytest.raises(StreamError, match="changed"):
        _verdict(_Changing(DELIVERED, second), workers=workers)
    assert _no_worker_is_left()


def test_another_object_in_an_openings_place_gets_no_verdict() -> None:
    """Of the same path and size, so that only reading it shows the change."""
    place = next(at for at, d in enumerate(DELIVERED) if b"claims.envelope.v1" in d.content)
    ticket = next(d.content for d in DELIVERED if b"claims.ticket.v1" in d.content)
    padded = ticket + b" " * (DELIVERED[place].size - len(ticket))
    second = [*DELIVERED]
    second[place] = Delivery(DELIVERED[place].path, padded)
    with pytest.raises(StreamError, match="another object"):
        _verdict(_Changing(DELIVERED, second), workers=1)


@pytest.mark.parametrize("name", ["claim", "claim.tar"])
@pytest.mark.parametrize("workers", [1, 2])
def test_a_bundle_streams_from_where_it_lies(tmp_path: Path, name: str, workers: int) -> None:
    write_bundle(tmp_path / name, PARTS.documents())
    source = stream_bundle(tmp_path / name)
    assert tuple(sorted(Delivery(d.path, d.content) for d in source)) == read_bundle(tmp_path / name)
    assert [d.path for d in source] == [d.path for d in source]
    assert _verdict(source, workers=workers) == in_memory(DELIVERED)


def test_a_bundle_without_its_format_file_gets_no_verdict(tmp_path: Path) -> None:
    write_bundle(tmp_path / "claim", PARTS.documents())
    (tmp_path / "claim" / "bundle.json").unlink()
    with pytest.raises(BundleError, match=r"no bundle\.json"):
        _verdict(stream_bundle(tmp_path / "claim"), workers=1)


def test_a_file_that_has_become_shorter_is_told(tmp_path: Path) -> None:
    write_bundle(tmp_path / "claim", PARTS.documents())
    found = next(d for d in stream_bundle(tmp_path / "claim") if d.path == "manifest.json")
    whole = found.content
    (tmp_path / "claim" / "manifest.json").write_bytes(whole[:-9])
    with pytest.raises(BundleError, match="shorter"):
        _ = found.content


def test_a_pipe_in_a_folder_is_refused(tmp_path: Path) -> None:
    write_bundle(tmp_path / "claim", PARTS.documents())
    os.mkfifo(tmp_path / "claim" / "more.json")
    with pytest.raises(BundleError, match="no plain file"):
        list(stream_bundle(tmp_path / "claim"))


class _Counted:
    """A delivery that can be watched while it lives."""

    def __init__(self, delivery: Delivery) -> None:
        self.path = delivery.path
        self.content = delivery.content
        self.size = len(delivery.content)


def test_only_a_few_deliveries_are_in_memory_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chunking, "_MOST", 4)
    alive: weakref.WeakSet[_Counted] = weakref.WeakSet()
    most = 0

    class Source:
        def __iter__(self) -> Iterator[Delivered]:
            nonlocal most
            for delivery in DELIVERED:
                counted = _Counted(delivery)
                alive.add(counted)
                most = max(most, len(alive))
                yield counted

    assert len(DELIVERED) > 60
    assert _verdict(Source(), workers=1) == in_memory(DELIVERED)
    gc.collect()
    assert most <= 10
    assert not alive


def test_progress_is_told_for_each_reading(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chunking, "_MOST", 30)
    told: list[Progress] = []
    _verdict(workers=1, progress=told.append)
    assert told == [
        Progress("sighted", 30),
        Progress("sighted", 60),
        Progress("sighted", len(DELIVERED)),
        Progress("opened", 20),
    ]


def test_beside_other_threads_workers_are_not_forked_from_this_process() -> None:
    end = threading.Event()
    thread = threading.Thread(target=end.wait)
    thread.start()
    try:
        assert streamed(DELIVERED, workers=2) == in_memory(DELIVERED)
    finally:
        end.set()
        thread.join()
    assert _no_worker_is_left()


def test_a_worker_that_dies_ends_the_work_and_leaves_nobody_behind() -> None:
    with pytest.raises(StreamError, match="worker"):
        _verdict(workers=2, domains=(Deadly(),))
    assert _no_worker_is_left()


@pytest.mark.parametrize("workers", [1, 2])
def test_a_defect_of_a_domain_goes_through_to_the_caller(workers: int) -> None:
    with pytest.raises(LookupError, match="a defect"):
        _verdict(workers=workers, domains=(Defective(),))
    assert _no_worker_is_left()


@pytest.mark.parametrize("workers", [1, 2])
def test_an_interrupt_leaves_nobody_behind(workers: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chunking, "_MOST", 4)

    def interrupt(_: Progress) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        _verdict(workers=workers, progress=interrupt)
    assert _no_worker_is_left()


_PARENT = """
import json, multiprocessing, sys, time
sys.path.insert(0, sys.argv[1])
from agentbeat_receipts.bundles import stream_bundle
from agentbeat_receipts.streams import verify_stream
from support.kiosk import KIOSK
from support.receipt_batches import keyring

def hold(progress):
    print(json.dumps([child.pid for child in multiprocessing.active_children()]), flush=True)
    time.sleep(60)

verify_stream(stream_bundle(__import__("pathlib").Path(sys.argv[2])), keyring().public, domains=(KIOSK,),
              workers=2, progress=hold)
"""


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT], ids=str)
def test_workers_end_with_the_process_that_began_them(tmp_path: Path, how: signal.Signals) -> None:
    (tmp_path / "claim").mkdir()
    for path, content in bundle_files(PARTS.documents()).items():
        (tmp_path / "claim" / path).parent.mkdir(exist_ok=True)
        (tmp_path / "claim" / path).write_bytes(content)
    command = [sys.executable, "-c", _PARENT, str(HERE), str(tmp_path / "claim")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as parent:
        assert parent.stdout is not None
        children = json.loads(parent.stdout.readline())
        assert len(children) == 2
        parent.send_signal(how)
        parent.wait(timeout=20)
    deadline = time.monotonic() + 20
    while any(_runs(child) for child in children) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not any(_runs(child) for child in children)


def _runs(process: int) -> bool:
    """Whether a process is there and has not ended; one that waits to be reaped has."""
    try:
        state = Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z"
