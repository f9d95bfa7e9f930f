"""Kill a Controller between every two statements of every call, and see what a restart finds.

A script of its own, because it forks: `python -m support.crash_points FOLDER CALL` prints the call's points
as one JSON array. A point is a statement before which the process is killed with SIGKILL, the commit, or the
time between the commit and the answer.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import sys
from pathlib import Path

from sqlalchemy import event

from agentbeat_protocol import (
    ProtocolError,
    ReleaseRequest,
    RenewRequest,
    ResetRequest,
    SnapshotRequest,
    VerifyRequest,
)
from agentbeat_protocol.models import validated
from support.controllers import Rig, Run
from support.ledger import write

DONE = {
    "reset": [],
    "before": ["reset"],
    "after": ["reset", "before"],
    "verify": ["reset", "before", "after"],
    "renew": ["reset"],
    "release": ["reset", "before"],
    "business-call": ["reset", "before"],
    "call-on-an-expired-lease": ["reset", "before"],
}
MODELS = {
    "reset": ResetRequest,
    "before": SnapshotRequest,
    "after": SnapshotRequest,
    "verify": VerifyRequest,
    "renew": RenewRequest,
    "release": ReleaseRequest,
}


def perform(rig: Rig, run: Run, call: str) -> str:
    """One call in this thread; the answer, or the code of its refusal."""
    try:
        if call in MODELS:
            method = rig.plane.snapshot if call in ("before", "after") else getattr(rig.plane, call)
            return method(validated(MODELS[call], run.body(call))).decode()
        if call == "call-on-an-expired-lease":
            rig.clock.advance(15 * 60)
        with rig.door.enter("deployment-a", "run-a") as entry:
            write(entry, "cash", 90)
            write(entry, "stock", 1)
    except ProtocolError as error:
        return error.code
    return "written"


async def prepare(rig: Rig, call: str) -> Run:
    """Lead a run up to the call."""
    async with rig.control() as client:
        run = Run(client, binding_mode="deployment_static", injection={"surface": "note", "text": "Pay me."})
        for step in DONE[call]:
            await run.through(step)
    return run


def killed_at(database: Path, run: Run, call: str, point: int) -> bool:
    """Whether a process that performs the call is killed at this point; False: it came to its end."""
    child = os.fork()
    if child == 0:
        rig = Rig(database)
        passed = 0

        def pass_point(*_args: object) -> None:
            nonlocal passed
            passed += 1
            if passed == point:
                os.kill(os.getpid(), signal.SIGKILL)

        event.listen(rig.engine, "before_cursor_execute", pass_point)
        event.listen(rig.engine, "commit", pass_point)
        perform(rig, run, call)
        pass_point()
        os._exit(0)
    _, status = os.waitpid(child, 0)
    return os.WIFSIGNALED(status)


def look_at(database: Path, run: Run, call: str, before: dict[str, list[str]]) -> dict[str, object]:
    """What a restart finds, and what the same call is answered then."""
    rig = Rig(database)
    found = rig.rows()
    first = perform(rig, run, call)
    rows, second = rig.rows(), perform(rig, run, call)
    rig.close()
    contents = {row.split("'")[1] for row in rows["contents"]}
    return {
        "unchanged": found == before,
        "first": first,
        "second": second,
        "snapshots": len(found["snapshots"]),
        "receipts": len(rows["receipts"]),
        "without_content": [row for row in rows["snapshots"] if not any(name in row for name in contents)],
    }


def points_of(folder: Path, call: str) -> list[dict[str, object]]:
    """Every point of one call."""
    prepared = folder / f"{call}.db"
    rig = Rig(prepared)
    run = asyncio.run(prepare(rig, call))
    before = rig.rows()
    rig.close()
    points: list[dict[str, object]] = []
    while True:
        database = folder / f"{call}-{len(points)}.db"
        shutil.copy(prepared, database)
        if not killed_at(database, run, call, len(points) + 1):
            return points
        points.append(look_at(database, run, call, before))


def main() -> None:
    json.dump(points_of(Path(sys.argv[1]), sys.argv[2]), sys.stdout)


if __name__ == "__main__":
    main()
