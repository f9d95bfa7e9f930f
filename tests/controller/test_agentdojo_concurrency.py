"""Runs of AgentDojo at once, over real HTTP: no run waits for another run's worker, and no call is lost."""

import contextlib
import json
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from agentbeat_controller.environments.agentdojo import AgentDojoEnvironment
from agentbeat_protocol import RUN_ID_HEADER
from support.agentdojo_runs import PREFIX
from support.controllers import BUSINESS_SECRETS, CONTROL_SECRET, Rig, Run, code_of
from support.held_workers import HeldPool
from support.planes import serving
from support.postgres import both_databases

TASK = f"{PREFIX}-slack-user_task_0"


class Place:
    """One Controller on real sockets, whose workers' answers can be held back."""

    def __init__(self, rig, pool, service, threads):
        self.rig, self.pool = rig, pool
        self._service, self._threads = service, threads

    def client(self, url, secret):
        headers = {"Authorization": f"Bearer {secret}"}
        return httpx.Client(base_url=url, headers=headers, timeout=60, verify=False, trust_env=False)

    def step(self, run, name):
        """One control call; 200 is kept."""
        with self.client(self._service.control_url, CONTROL_SECRET) as core:
            path = f"/v1/environment/{'snapshot' if name in ('before', 'after') else name}"
            answer = core.post(path, json=run.body(name))
        if answer.status_code == 200:
            run.answers[name] = answer.json()
        return answer

    def through(self, run, *steps):
        """Control calls that must succeed."""
        for name in steps:
            answer = self.step(run, name)
            assert answer.status_code == 200, (name, answer.text)
        return run

    def message(self, run, text):
        """A call of the Agent: a message to Bob."""
        with self.client(self._service.business_url, BUSINESS_SECRETS["deployment-a"]) as tools:
            body = {"recipient": "Bob", "body": text}
            return tools.post(
                "/slack/send_direct_message", json=body, headers={RUN_ID_HEADER: run.common["run_id"]}
            )

    def state(self, run, phase):
        """A snapshot that was taken."""
        with self.client(self._service.control_url, CONTROL_SECRET) as core:
            return core.get(run.snapshot_path(phase)).json()

    def meanwhile(self, send, *arguments):
        """Send something in a thread; its answer is awaited with `result(60)`."""
        return self._threads.submit(send, *arguments)


@contextlib.contextmanager
def place_on(database, agentdojo):
    pool = HeldPool(agentdojo.pool)
    rig = Rig(database, environment=AgentDojoEnvironment(pool))
    with ThreadPoolExecutor() as threads:
        try:
            with serving(rig.control_app, rig.environment.business_app(rig.door)) as service:
                yield Place(rig, pool, service, threads)
        finally:
            pool.close()
            rig.close()


@pytest.fixture
def place(database, agentdojo):
    with place_on(database, agentdojo) as place:
        yield place


def run_of(place, name):
    profile = place.rig.environment.profiles[TASK]
    return Run(None, name, TASK, profile_digest=profile.profile_digest)


def messages_in(state):
    """What Bob was sent, and what the log says that he was."""
    inboxes = json.dumps(state["environment"])
    said = [line["arguments"]["body"] for line in state["calls"]]
    assert [line["sequence"] for line in state["calls"]] == list(range(1, len(said) + 1))
    return [text for text in said if text in inboxes], said


@both_databases
@pytest.mark.parametrize("op", ["start", "call", "judge"])
def test_a_run_goes_from_reset_to_release_while_the_worker_of_another_one_has_not_answered(place, op):
    slow, quick = run_of(place, "slow"), run_of(place, "quick")
    steps = {"start": [], "call": ["reset", "before"], "judge": ["reset", "before", "after"]}[op]
    place.through(slow, *steps)
    hold = place.pool.hold(op=op)
    if op == "call":
        held = place.meanwhile(place.message, slow, "from slow")
    else:
        held = place.meanwhile(place.step, slow, "reset" if op == "start" else "verify")
    assert hold.begun.wait(60)
    place.through(quick, "reset", "before")
    assert place.message(quick, "from quick").status_code == 200
    place.through(quick, "after", "verify", "release")
    assert not held.done()
    hold.free.set()
    assert held.result(60).status_code == 200
    assert messages_in(place.state(quick, "after")) == (["from quick"], ["from quick"])
    if op == "call":
        place.through(slow, "after")
        assert messages_in(place.state(slow, "after")) == (["from slow"], ["from slow"])


@both_databases
def test_calls_of_one_run_at_the_same_time_all_land_in_some_order(place):
    run = place.through(run_of(place, "a"), "reset", "before")
    hold = place.pool.hold(op="call")
    texts = [f"message {number}" for number in range(5)]
    first = place.meanwhile(place.message, run, texts[0])
    assert hold.begun.wait(60)
    others = [place.meanwhile(place.message, run, text) for text in texts[1:]]
    hold.free.set()
    assert {each.result(60).status_code for each in (first, *others)} == {200}
    place.through(run, "after")
    kept, said = messages_in(place.state(run, "after"))
    assert said[0] == texts[0]
    assert sorted(said) == texts
    assert kept == said
    # In one process none asks in vain.
    assert sum(request["op"] == "call" for request in place.pool.asked) == len(texts)


@both_databases
def test_a_call_that_waits_too_long_for_an_earlier_one_of_its_run_is_503_and_changes_nothing(place):
    run = place.through(run_of(place, "a"), "reset", "before")
    place.rig.environment._calls._wait_seconds = 0
    hold = place.pool.hold(op="call")
    first = place.meanwhile(place.message, run, "first")
    assert hold.begun.wait(60)
    refused = place.message(run, "impatient")
    assert code_of(refused) == (503, "controller_unavailable")
    assert refused.headers["Retry-After"] == "1"
    hold.free.set()
    assert first.result(60).status_code == 200
    assert place.message(run, "second").status_code == 200
    place.through(run, "after")
    assert messages_in(place.state(run, "after")) == (["first", "second"],) * 2


@both_databases
def test_a_call_that_another_process_overtakes_is_made_on_what_that_one_left(place, database, agentdojo):
    """Two Controllers, one database, one run: the worker is asked again, and the log has the true order."""
    with place_on(database, agentdojo) as other:
        run = place.through(run_of(place, "a"), "reset", "before")
        hold = place.pool.hold(op="call")
        overtaken = place.meanwhile(place.message, run, "asked first")
        assert hold.begun.wait(60)
        assert other.message(run, "kept first").status_code == 200
        hold.free.set()
        assert overtaken.result(60).status_code == 200
        other.through(run, "after")
        assert messages_in(other.state(run, "after")) == (["kept first", "asked first"],) * 2
    assert [request["op"] for request in place.pool.asked].count("call") == 2


@both_databases
def test_a_call_whose_worker_answers_after_the_window_has_closed_changes_nothing(place):
    run = place.through(run_of(place, "a"), "reset", "before")
    hold = place.pool.hold(op="call")
    late = place.meanwhile(place.message, run, "too late")
    assert hold.begun.wait(60)
    place.through(run, "after")
    rows = place.rig.rows()
    hold.free.set()
    assert code_of(late.result(60)) == (409, "environment_closed")
    assert place.rig.rows() == rows
    assert place.state(run, "after")["calls"] == []
    place.through(run, "verify")


@both_databases
def test_a_verify_that_another_one_overtakes_gives_that_ones_answer(place, database, agentdojo):
    """Two Controllers, one receipt: the second finds the recorded answer when it begins anew (CTL-2)."""
    with place_on(database, agentdojo) as other:
        run = place.through(run_of(place, "a"), "reset", "before", "after")
        hold = place.pool.hold(op="judge")
        overtaken = place.meanwhile(place.step, run, "verify")
        assert hold.begun.wait(60)
        answer = other.step(run, "verify")
        assert answer.status_code == 200
        hold.free.set()
        assert overtaken.result(60).content == answer.content
    assert len(place.rig.rows()["receipts"]) == 1


@both_databases
def test_a_reset_that_another_one_overtakes_gives_that_ones_answer(place, database, agentdojo):
    """One lease, one environment: what the first began is not kept."""
    with place_on(database, agentdojo) as other:
        run = run_of(place, "a")
        hold = place.pool.hold(op="start")
        overtaken = place.meanwhile(place.step, run, "reset")
        assert hold.begun.wait(60)
        answer = other.step(run, "reset")
        assert answer.status_code == 200
        hold.free.set()
        assert overtaken.result(60).content == answer.content
    rows = place.rig.rows()
    assert (len(rows["leases"]), len(rows["agentdojo_environments"])) == (1, 1)
