"""Long batches in a stream: time, processor time and memory at 10,000 and 100,000 receipts.

Each verification runs in a process of its own, so that its peak of memory is its own. Of the processor time,
`first process` is what the process takes that hands out the work, its start with it: as often as that goes
into the rest, so many workers it can feed. It takes minutes (`python -m benchmarks claims-stream`), most of
them for making the batches, and 1.5 GB for temporary files.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from agentbeat_protocol import Instant
from agentbeat_receipts.bundles import read_bundle, stream_bundle
from agentbeat_receipts.claims.verifier import verify
from agentbeat_receipts.domains.market import DOMAIN
from agentbeat_receipts.keyring_files import create_keyring, load_keyring
from agentbeat_receipts.streams import verify_stream
from agentbeat_receipts.verification import ProvenAnchor
from benchmarks.claim_batches import ANCHOR, write_long_bundle
from benchmarks.measuring import print_table

__all__ = ["run"]

#: Receipts and workers; 0 workers is `verify`, which holds everything.
MEASURED = ((10_000, 0), (10_000, 1), (10_000, 2), (100_000, 1), (100_000, 2))
MIB = 1024


def run() -> None:
    """Measure and print."""
    rows: list[tuple[str, ...]] = []
    with tempfile.TemporaryDirectory() as folder:
        for receipts in sorted({receipts for receipts, _ in MEASURED}):
            seconds, peak = _made(Path(folder), receipts)
            rows.append(
                (f"{receipts:,} made and written", f"{seconds:.0f}", "", "", "", "", f"{peak:.0f}", "")
            )
            for workers in (workers for count, workers in MEASURED if count == receipts):
                rows.append(_row(Path(folder), receipts, workers))
            (Path(folder) / f"{receipts}.tar").unlink()
    print_table(
        "A prospective batch of the market from a tar: signatures, chain, envelopes opened, replay, verdicts",
        ("", "s", "ms each", "processor s", "cores", "first process", "peak MiB", "of a worker"),
        rows,
    )


def _made(folder: Path, receipts: int) -> tuple[float, float]:
    begun = time.monotonic()
    found = _child("make", str(folder), str(receipts))
    return time.monotonic() - begun, float(found["peak"])


def _row(folder: Path, receipts: int, workers: int) -> tuple[str, ...]:
    found = _child("verify", str(folder), str(receipts), str(workers))
    name = {0: "in memory", 1: "streamed, 1 process"}.get(workers, f"streamed, {workers} workers")
    return (
        f"{receipts:,} {name}",
        f"{found['seconds']:.1f}",
        f"{found['seconds'] * 1000 / receipts:.2f}",
        f"{found['processor']:.1f}",
        f"{found['processor'] / found['seconds']:.2f}",
        f"{found['here']:.1f}" if workers > 1 else "",
        f"{found['peak']:.0f}",
        f"{found['worker']:.0f}" if workers > 1 else "",
    )


def _child(*arguments: str) -> dict[str, float]:
    command = [sys.executable, "-m", "benchmarks.claim_stream", *arguments]
    done = subprocess.run(command, check=True, capture_output=True)
    found: dict[str, float] = json.loads(done.stdout)
    return found


def _make(folder: Path, receipts: int) -> dict[str, float]:
    keyring = create_keyring(folder / f"{receipts}-keys")
    manifest = write_long_bundle(folder / f"{receipts}.tar", receipts, keyring)
    (folder / f"{receipts}.digest").write_text(manifest.digest())
    return {"peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / MIB}


def _verify(folder: Path, receipts: int, workers: int) -> dict[str, float]:
    keyring = load_keyring(folder / f"{receipts}-keys")
    # Read, not made: making a long manifest would be most of this process's memory.
    manifest = (folder / f"{receipts}.digest").read_text()
    anchors = (ProvenAnchor(token=ANCHOR, manifest=manifest, at=Instant.parse("2026-03-01T10:00:00Z")),)
    source = folder / f"{receipts}.tar"
    begun = time.monotonic()
    if workers:
        report = verify_stream(
            stream_bundle(source),
            keyring.public,
            domains=(DOMAIN,),
            anchors=anchors,
            auditor=keyring.auditor,
            workers=workers,
        )
    else:
        report = verify(
            read_bundle(source), keyring.public, domains=(DOMAIN,), anchors=anchors, auditor=keyring.auditor
        )
    seconds = time.monotonic() - begun
    if report.chain.arrived != receipts or report.claim("C4").verdict != "Pass" or report.chain.findings:
        raise ValueError("an honest batch that does not pass in the benchmark")
    here, workers_used = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    spent = [used.ru_utime + used.ru_stime for used in (here, workers_used)]
    return {
        "seconds": seconds,
        "processor": sum(spent),
        "here": spent[0],
        "peak": here.ru_maxrss / MIB,
        "worker": workers_used.ru_maxrss / MIB,
    }


if __name__ == "__main__":
    task, place, *numbers = sys.argv[1:]
    result = (_make if task == "make" else _verify)(Path(place), *map(int, numbers))
    print(json.dumps(result))
