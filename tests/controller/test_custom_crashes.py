"""A real Controller on a staging system, killed in the middle of a call (CTL-10)."""

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


def begun_run(controller):
    with controller.control() as core:
        (entry,) = core.get("/v1/environment/profiles").json()["profiles"]
    reset = {"deployment_profile_id": DEPLOYMENT, "profile_digest": entry["profile_digest"]}
    run = Run(None, "a", "p", **reset)
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
    assert not list(folder.glob("env-*"))
