"""Kill a Controller at every point of a reset of a staging system, and see what is left of places.

A script of its own, because it forks: `python -m support.reset_kills FOLDER MODE THEN` prints the points as
one JSON array. A point is a statement before which the process is killed with SIGKILL, the commit, the time
after it, or a moment in the middle of what the system does. THEN is `restart`, or `next-reset` of a process
that was up all the while.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
from pathlib import Path

from sqlalchemy import event

from agentbeat_controller.environments.custom import Profile, StagedEnvironment, StagingSystem
from agentbeat_protocol import ResetRequest
from agentbeat_protocol.models import validated
from support.controllers import Rig, reset_body

PROFILE = Profile(profile_id="p", title="p", task="p", content={}, not_applicable={"attack": "none"})


class Shelf(StagingSystem):
    """A file for each place, written in two goes."""

    name = "shelf"
    profiles = (PROFILE,)

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.pass_point = lambda what: None
        folder.mkdir(exist_ok=True)

    def tools(self):
        return []

    def prepare(self, place, profile, injection):
        file = self.folder / place
        file.write_text("{")
        self.pass_point("prepared half")
        file.write_text("{}")
        self.pass_point("prepared")

    def state(self, place):
        found = json.loads((self.folder / place).read_text())
        self.pass_point("read")
        return found

    def forget(self, place):
        (self.folder / place).unlink(missing_ok=True)

    def checks(self, run):
        return []


class Scene:
    """A database, a folder of places, and Controllers on them."""

    def __init__(self, folder: Path, mode: str) -> None:
        self.folder, self.mode = folder, mode

    def rig(self) -> tuple[Rig, Shelf]:
        shelf = Shelf(self.folder / "places")
        return Rig(self.folder / "controller.db", environment=StagedEnvironment(shelf)), shelf

    def reset(self, rig: Rig, run: str, deployment: str) -> None:
        digest = rig.environment.profiles["p"].profile_digest
        members = {"profile_digest": digest, "binding_mode": self.mode, "deployment_profile_id": deployment}
        rig.plane.reset(validated(ResetRequest, reset_body(run, "p", **members)))

    def killed_at(self, point: int) -> str | None:
        """What a reset was about to do when it was killed; None: it came to its end."""
        readable, writable = os.pipe()
        child = os.fork()
        if child == 0:
            rig, shelf = self.rig()
            passed = 0

            def pass_point(what: str) -> None:
                nonlocal passed
                passed += 1
                if passed == point:
                    os.write(writable, what.encode())
                    os.kill(os.getpid(), signal.SIGKILL)

            event.listen(rig.engine, "before_cursor_execute", lambda *_: pass_point("statement"))
            event.listen(rig.engine, "commit", lambda *_: pass_point("commit"))
            shelf.pass_point = pass_point
            self.reset(rig, "b", "deployment-a")
            pass_point("end")
            os._exit(0)
        os.close(writable)
        with os.fdopen(readable) as said:
            what = said.read()
        _, status = os.waitpid(child, 0)
        return what if os.WIFSIGNALED(status) else None

    def places(self) -> list[str]:
        return sorted(file.name for file in (self.folder / "places").iterdir())


def points_of(folder: Path, mode: str, then: str) -> list[dict[str, object]]:
    """Every point of one reset."""
    prepared = Scene(folder / "prepared", mode)
    prepared.folder.mkdir()
    rig, _ = prepared.rig()
    prepared.reset(rig, "a", "deployment-b")
    rig.close()
    points: list[dict[str, object]] = []
    while True:
        scene = Scene(folder / str(len(points)), mode)
        shutil.copytree(prepared.folder, scene.folder)
        rig, _ = scene.rig()
        what = scene.killed_at(len(points) + 1)
        if what is None:
            rig.close()
            return points
        left = len(set(scene.places()) - set(prepared.places()))
        if then == "restart":
            rig.close()
            rig, _ = scene.rig()
        else:
            scene.reset(rig, "b", "deployment-a")
        rows = rig.rows()
        points.append(
            {
                "what": what,
                "left": left,
                "places": scene.places(),
                "held": sorted(row.split("'")[3] for row in rows["staged_places"]),
                "leases": len(rows["leases"]),
            }
        )
        rig.close()


def main() -> None:
    folder, mode, then = sys.argv[1:]
    json.dump(points_of(Path(folder), mode, then), sys.stdout)


if __name__ == "__main__":
    main()
