"""A Controller on a staging system, killed in the middle of a call or of a reset (CTL-10)."""

import json
import os
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from agentbeat_protocol import verdicts_from_checks
from agentbeat_protocol.verdicts import Check
from support.controllers import Run, served

DEPLOYMENT = "deployment-ledger"

SYSTEM = """
import json, os, signal
from pathlib import Path
from agentbeat_controller.environments.custom import Added, Profile, StagingSystem, done, nothing_else

class Ledger(StagingSystem):
    name = "ledger"
    profiles = [Profile(profile_id="p", title="p", task="p", content={}, not_applicable={"attack": "none"})]

    def tools(self):
        return [self.add]

    def prepare(self, place, profile, injection):
        Path(place).write_text("{}")
        if Path("die").exists():
            os.kill(os.getpid(), signal.SIGKILL)

    def state(self, place):
        return json.loads(Path(place).read_text())

    def forget(self, place):
        Path(place).unlink(missing_ok=True)

    def add(self, place: str, name: str, die: bool = False) -> None:
        "Add a name."
        Path(place).write_text(json.dumps({**self.state(place), name: True}))
        if die:
            os.kill(os.getpid(), signal.SIGKILL)

    def checks(self, run):
        added = Added((), named="ada")
        return [done("added", run, added), nothing_else("rest", run, added)]
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "staged_ledger.py").write_text(SYSTEM)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def step(controller, run, name):
    """One control call; its answer."""
    with controller.control() as core:
        path = f"/v1/environment/{'snapshot' if name in ('before', 'after') else name}"
        response = core.post(path, json=run.body(name))
    assert response.status_code == 200, response.text
    run.answers[name] = response.json()
    return run.answers[name]


def new_run(controller, name="a"):
    with controller.control() as core:
        (entry,) = core.get("/v1/environment/profiles").json()["profiles"]
    reset = {"deployment_profile_id": DEPLOYMENT, "profile_digest": entry["profile_digest"]}
    return Run(None, name, "p", **reset)


def begun_run(controller):
    run = new_run(controller)
    for name in ("reset", "before"):
        step(controller, run, name)
    return run


def test_a_call_that_died_in_the_middle_is_in_the_after_snapshot_and_the_run_goes_on(folder):
    """The lease is as it was, the call has its mark, and no absence of a change is concluded."""
    with served(folder, "--environment", "staged_ledger:Ledger") as controller:
        run = begun_run(controller)
        with controller.business(DEPLOYMENT, run_id="run-a") as agent:
            assert agent.post("/tools/add", json={"name": "bob"}).status_code == 200
            with pytest.raises(httpx.TransportError):
                agent.post("/tools/add", json={"name": "ada", "die": True})
        assert controller.process.wait(10) != 0
    with served(folder, "--environment", "staged_ledger:Ledger") as controller:
        step(controller, run, "after")
        with controller.control() as core:
            state = core.get(run.snapshot_path("after")).json()
        verified = step(controller, run, "verify")
        step(controller, run, "release")
        assert controller.stop() == 0
    assert state["state"] == {"ada": True, "bob": True}
    assert [line["arguments"] for line in state["calls"]] == [{"name": "bob"}]
    assert state["unfinished"] == [{"operation": "add", "arguments": {"name": "ada", "die": True}}]
    checks = [Check.model_validate(each) for each in verified["checks"]]
    verdicts = verdicts_from_checks(checks, empty={"attack": "none"})
    # What was written is there, and `bob` is one too many: that stands.
    assert (verdicts.utility.verdict, verdicts.security.verdict) == ("pass", "fail")
    assert not list(folder.glob("place-*"))


def test_a_restart_removes_the_place_of_a_reset_that_was_killed_and_no_other(folder):
    """One run has its place; another one's reset dies when its place is there and nothing is committed."""
    with served(folder, "--environment", "staged_ledger:Ledger") as controller:
        run = begun_run(controller)
        (mine,) = folder.glob("place-*")
        (folder / "die").touch()
        with pytest.raises(httpx.TransportError):
            step(controller, new_run(controller, "b"), "reset")
        assert controller.process.wait(10) != 0
    (folder / "die").unlink()
    assert len(list(folder.glob("place-*"))) == 2
    with served(folder, "--environment", "staged_ledger:Ledger") as controller:
        assert list(folder.glob("place-*")) == [mine]
        other = new_run(controller, "b")
        for name in ("reset", "before", "after", "verify", "release"):
            step(controller, other, name)
        assert list(folder.glob("place-*")) == [mine]
        for name in ("after", "verify", "release"):
            step(controller, run, name)
        assert not list(folder.glob("place-*"))
        assert controller.stop() == 0


@pytest.mark.parametrize("mode", ["catalog", "deployment_static"])
@pytest.mark.parametrize("then", ["restart", "next-reset"])
def test_a_kill_at_any_point_of_a_reset_leaves_no_place_that_nobody_was_promised(tmp_path, mode, then):
    """Between any two statements, and in the middle of what the system does."""
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])}
    command = [sys.executable, "-m", "support.reset_kills", str(tmp_path), mode, then]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    points = json.loads(done.stdout)
    assert {"prepared half", "prepared", "read"} <= {point["what"] for point in points}
    assert sum(point["left"] > 0 for point in points) >= 5
    for point in points:
        assert point["places"] == point["held"], point
        assert len(point["held"]) == point["leases"], point
