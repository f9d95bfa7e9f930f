"""A Controller with a call that never ends is asked to stop: a real process, killed by nobody but itself."""

import signal
import threading
import time

import httpx
import pytest

from support.controllers import Run, served
from support.mcp_clients import message
from support.postgres import both_databases

DEPLOYMENT = "deployment-shelf"

SYSTEM = """
import json, time
from pathlib import Path
from agentbeat_controller.environments.custom import Added, Profile, StagingSystem, done, nothing_else

class Shelf(StagingSystem):
    name = "shelf"
    profiles = [Profile(profile_id="p", title="p", task="p", content={}, not_applicable={"attack": "none"})]

    def tools(self):
        return [self.put]

    def prepare(self, place, profile, injection):
        Path(place).write_text("{}")

    def state(self, place):
        if Path("hang-in-state").exists():
            self.hang()
        return json.loads(Path(place).read_text())

    def forget(self, place):
        Path(place).unlink(missing_ok=True)

    def put(self, place: str, name: str, hang: bool = False) -> None:
        "Put something on the shelf."
        Path(place).write_text(json.dumps({**self.state(place), name: True}))
        if hang:
            self.hang()

    def hang(self):
        Path("hangs").touch()
        time.sleep(3600)

    def checks(self, run):
        added = Added((), named="ada")
        return [done("added", run, added), nothing_else("rest", run, added)]
"""

#: The command, with another bound for the calls in flight: {} seconds.
PROGRAM = """
import functools, sys
from agentbeat_controller import __main__, serving
serving.ControllerLimits = functools.partial(serving.ControllerLimits, drain_seconds={})
sys.exit(__main__.main())
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "hanging_shelf.py").write_text(SYSTEM)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def shelf(folder, *options, seconds=5):
    """A Controller that waits so long for the calls in flight."""
    program = ("-c", PROGRAM.format(seconds))
    return served(folder, "--environment", "hanging_shelf:Shelf", *options, program=program)


def step(controller, run, name):
    """One control call that must succeed."""
    with controller.control() as core:
        path = f"/v1/environment/{'snapshot' if name in ('before', 'after') else name}"
        response = core.post(path, json=run.body(name))
    assert response.status_code == 200, response.text
    run.answers[name] = response.json()
    return run.answers[name]


def begun(controller):
    with controller.control() as core:
        (entry,) = core.get("/v1/environment/profiles").json()["profiles"]
    reset = {"deployment_profile_id": DEPLOYMENT, "profile_digest": entry["profile_digest"]}
    run = Run(None, "a", "p", **reset)
    for name in ("reset", "before"):
        step(controller, run, name)
    return run


def over_http(controller, _run):
    with controller.business(DEPLOYMENT, run_id="run-a") as agent:
        agent.post("/tools/put", json={"name": "ada", "hang": True}, timeout=60)


def over_mcp(controller, _run):
    asked = {"name": "put", "arguments": {"name": "ada", "hang": True}}
    headers = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}
    with controller.business(DEPLOYMENT, run_id="run-a") as agent:
        agent.post("/mcp", content=message("tools/call", asked), headers=headers, timeout=60)


def over_the_control_plane(controller, run):
    with controller.control() as core:
        core.post("/v1/environment/snapshot", json=run.body("after"), timeout=60)


def hangs(folder, controller, run, call):
    """A thread whose call hangs in the system by now."""
    ended = []

    def work():
        try:
            call(controller, run)
        except httpx.TransportError as error:
            ended.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    deadline = time.monotonic() + 20
    while not (folder / "hangs").exists():
        assert time.monotonic() < deadline, "the call did not come to the system"
        time.sleep(0.02)
    return thread, ended


def await_closed(url):
    """Wait until a plane takes no more connections: the first signal has come."""
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        try:
            httpx.get(f"{url}/healthz", timeout=5)
        except httpx.ConnectError:
            return
        time.sleep(0.02)
    raise AssertionError("the plane still takes connections")


def assert_ended_as_told(folder, thread, ended):
    thread.join(10)
    assert len(ended) == 1  # cut off without an answer, as by a kill
    assert not (folder / "ready.json").exists()
    log = (folder / "stderr.txt").read_text()
    assert log.endswith("State Controller stopped: 1 call was cut off\n")
    assert "Traceback" not in log
    assert "ERROR" not in log


@both_databases
@pytest.mark.parametrize("call", [over_http, over_mcp], ids=["http", "mcp"])
def test_a_tool_that_hangs_is_cut_off_and_the_run_goes_on_as_after_a_kill(folder, database, call):
    """CTL-10: the lease is as it was. The call has no known outcome, so no absence is concluded."""
    url = database if isinstance(database, str) else f"sqlite:///{database}"
    with shelf(folder, "--database", url, seconds=1) as controller:
        run = begun(controller)
        thread, ended = hangs(folder, controller, run, call)
        assert controller.stop() == 0
        assert_ended_as_told(folder, thread, ended)
    with shelf(folder, "--database", url) as controller:
        step(controller, run, "after")
        with controller.control() as core:
            state = core.get(run.snapshot_path("after")).json()
        words = {name: each["verdict"] for name, each in step(controller, run, "verify")["verdicts"].items()}
        step(controller, run, "release")
        assert controller.stop() == 0
    assert (state["state"], state["calls"]) == ({"ada": True}, [])
    assert state["unfinished"] == [{"operation": "put", "arguments": {"name": "ada", "hang": True}}]
    assert words == {"utility": "pass", "security": "not_observed", "attack": "not_applicable"}


def test_a_control_call_that_hangs_is_cut_off_and_comes_again(folder):
    with shelf(folder, seconds=1) as controller:
        run = begun(controller)
        (folder / "hang-in-state").touch()
        thread, ended = hangs(folder, controller, run, over_the_control_plane)
        assert controller.stop(signal.SIGINT) == 0
        assert_ended_as_told(folder, thread, ended)
    (folder / "hang-in-state").unlink()
    with shelf(folder) as controller:
        for name in ("after", "verify", "release"):
            step(controller, run, name)
        assert controller.stop() == 0


@pytest.mark.parametrize("first", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("second", [signal.SIGINT, signal.SIGTERM])
def test_a_second_signal_ends_it_at_once(folder, first, second):
    """The bound is ten minutes here: nobody waits for it."""
    with shelf(folder, seconds=600) as controller:
        run = begun(controller)
        thread, ended = hangs(folder, controller, run, over_http)
        controller.process.send_signal(first)
        await_closed(controller.ready["business"]["url"])
        assert controller.process.poll() is None
        assert controller.stop(second) == 0
        assert_ended_as_told(folder, thread, ended)


def test_a_call_that_ends_in_time_has_its_answer_and_nothing_is_said_of_it(folder):
    (folder / "hanging_shelf.py").write_text(SYSTEM.replace("time.sleep(3600)", "time.sleep(1)"))
    answers = []
    with shelf(folder) as controller:
        run = begun(controller)

        def call(controller, _run):
            with controller.business(DEPLOYMENT, run_id="run-a") as agent:
                answers.append(agent.post("/tools/put", json={"name": "ada", "hang": True}).status_code)

        thread, ended = hangs(folder, controller, run, call)
        assert controller.stop() == 0
        thread.join(10)
    assert (answers, ended) == ([200], [])
    assert (folder / "stderr.txt").read_text().endswith("State Controller stopped\n")
