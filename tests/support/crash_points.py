"""Kill a Controller between every two statements of every call, and see what a restart finds.

A script of its own, because it forks: `python -m support.crash_points FOLDER ENVIRONMENT CALL` prints the
call's points as one JSON array. A point is a statement before which the process is killed with SIGKILL, the
commit, or the time between the commit and the answer.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import sys
from pathlib import Path
from typing import Any, ClassVar

from sqlalchemy import event

from agentbeat_controller.environments.agentdojo import AgentDojoEnvironment, WorkerPool
from agentbeat_controller.environments.agentdojo.calling import WorkerCalls
from agentbeat_controller.environments.requests import arguments_of
from agentbeat_protocol import (
    ProtocolError,
    ReleaseRequest,
    RenewRequest,
    ResetRequest,
    SnapshotRequest,
    VerifyRequest,
)
from agentbeat_protocol.models import validated
from support.agentdojo_runs import PREFIX
from support.controllers import Rig, Run
from support.ledger import Ledger, write

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


class LedgerScene:
    """Records in the Controller's own database; a business call of two writes."""

    profile_id = "ledger-note"
    injection: ClassVar = {"surface": "note", "text": "Pay me."}

    def __init__(self) -> None:
        self.environment = Ledger()

    def call(self, rig: Rig) -> None:
        with rig.door.enter("deployment-a", "run-a") as entry:
            write(entry, "cash", 90)
            write(entry, "stock", 1)

    def close(self) -> None:
        """It holds nothing."""


class RememberingPool(WorkerPool):
    """Workers are this process's own; a child gives the answers that its parent has heard."""

    def __init__(self) -> None:
        super().__init__(size=1)
        self._heard: dict[str, Any] = {}

    def ask(self, request: dict[str, Any]) -> dict[str, Any]:
        question = json.dumps(request)
        if question not in self._heard:
            self._heard[question] = super().ask(request)
        return self._heard[question]


class AgentDojoScene:
    """A worker is asked between two transactions."""

    profile_id = f"{PREFIX}-slack-user_task_0"
    injection = None

    def __init__(self) -> None:
        self.environment = AgentDojoEnvironment(RememberingPool())
        operations = {each.name: each for each in self.environment.operations}
        self._operation = operations["slack_send_direct_message"]

    def call(self, rig: Rig) -> None:
        arguments = arguments_of(self._operation, {"recipient": "Bob", "body": "hi"})
        outcome = WorkerCalls()(rig.door, "deployment-a", "run-a", self._operation, arguments)
        assert outcome.status == 200

    def close(self) -> None:
        self.environment.close()


Scene = LedgerScene | AgentDojoScene


def perform(scene: Scene, rig: Rig, run: Run, call: str) -> str:
    """One call in this thread; the answer, or the code of its refusal."""
    try:
        if call in MODELS:
            method = rig.plane.snapshot if call in ("before", "after") else getattr(rig.plane, call)
            return method(validated(MODELS[call], run.body(call))).decode()
        if call == "call-on-an-expired-lease":
            rig.clock.advance(15 * 60)
        scene.call(rig)
    except ProtocolError as error:
        return error.code
    return "written"


async def prepare(scene: Scene, rig: Rig, call: str) -> Run:
    """Lead a run up to the call."""
    profile_digest = scene.environment.profiles[scene.profile_id].profile_digest
    reset = {"binding_mode": "deployment_static", "injection": scene.injection}
    async with rig.control() as client:
        run = Run(client, "a", scene.profile_id, profile_digest=profile_digest, **reset)
        for step in DONE[call]:
            await run.through(step)
    return run


def killed_at(scene: Scene, database: Path, run: Run, call: str, point: int) -> bool:
    """Whether a process that performs the call is killed at this point; False: it came to its end."""
    child = os.fork()
    if child == 0:
        rig = Rig(database, environment=scene.environment)
        passed = 0

        def pass_point(*_args: object) -> None:
            nonlocal passed
            passed += 1
            if passed == point:
                os.kill(os.getpid(), signal.SIGKILL)

        event.listen(rig.engine, "before_cursor_execute", pass_point)
        event.listen(rig.engine, "commit", pass_point)
        perform(scene, rig, run, call)
        pass_point()
        os._exit(0)
    _, status = os.waitpid(child, 0)
    return os.WIFSIGNALED(status)


def look_at(
    scene: Scene, database: Path, run: Run, call: str, before: dict[str, list[str]]
) -> dict[str, object]:
    """What a restart finds, and what the same call is answered then."""
    rig = Rig(database, environment=scene.environment)
    found = rig.rows()
    first = perform(scene, rig, run, call)
    rows, second = rig.rows(), perform(scene, rig, run, call)
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


def points_of(scene: Scene, folder: Path, call: str) -> list[dict[str, object]]:
    """Every point of one call."""
    prepared = folder / f"{call}.db"
    rig = Rig(prepared, environment=scene.environment)
    run = asyncio.run(prepare(scene, rig, call))
    before = rig.rows()
    rig.close()
    rehearsal = folder / f"{call}-rehearsal.db"
    shutil.copy(prepared, rehearsal)
    look_at(scene, rehearsal, run, call, before)
    points: list[dict[str, object]] = []
    while True:
        database = folder / f"{call}-{len(points)}.db"
        shutil.copy(prepared, database)
        if not killed_at(scene, database, run, call, len(points) + 1):
            return points
        points.append(look_at(scene, database, run, call, before))


def main() -> None:
    folder, environment, call = sys.argv[1:]
    scene = {"ledger": LedgerScene, "agentdojo": AgentDojoScene}[environment]()
    try:
        json.dump(points_of(scene, Path(folder), call), sys.stdout)
    finally:
        scene.close()


if __name__ == "__main__":
    main()
