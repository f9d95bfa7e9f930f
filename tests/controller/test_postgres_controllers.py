"""Two Controller processes on one PostgreSQL database and one folder of keys: from outside they are one.

The first one's clock is five minutes ahead of the second's all the time.
"""

import contextlib
import json
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from agentbeat_controller import signature_holds
from agentbeat_protocol import Instant, StateReceipt
from agentbeat_protocol.models import validated
from support import ahead_controller
from support.controllers import NONCE, code_of, served
from support.postgres import PASSWORD, fresh_database

PROFILE = "desk-refund-full"
DEPLOYMENTS = tuple(f"deployment-{number}" for number in range(6))
AHEAD = (ahead_controller.__file__, "300")


class Run:
    """A run of the desk, led through whichever Controller a step names."""

    def __init__(self, controllers, name, deployment, mode="deployment_static"):
        self._controllers, self._deployment = controllers, deployment
        self._common = {
            "schema_version": "state-controller-v1",
            "run_id": f"run-{name}",
            "case_id": f"case-{name}",
            "profile_id": PROFILE,
        }
        with controllers[0].control() as client:
            profiles = client.get("/v1/environment/profiles").json()["profiles"]
        self._reset = {
            "deployment_profile_id": deployment,
            "profile_digest": {each["profile_id"]: each["profile_digest"] for each in profiles}[PROFILE],
            "binding_mode": mode,
            "attempt_nonce": NONCE,
            "snapshots": True,
        }
        self.answers = {}

    def body(self, step):
        if step == "reset":
            return {**self._common, **self._reset}
        lease = {**self._common, "lease_id": self.answers["reset"]["lease_id"]}
        if step in ("before", "after"):
            return {**lease, "phase": step}
        if step == "renew":
            end = Instant.parse(self.answers["reset"]["expires_at"]).unix_nanoseconds + 60 * 10**9
            return {**lease, "expires_at": str(Instant.from_nanoseconds(end))}
        if step == "verify":
            both = {phase: self.answers[phase] for phase in ("before", "after")}
            named = {
                phase: {"ref": answer["snapshot_ref"], "digest": answer["digest"]}
                for phase, answer in both.items()
            }
            return {**lease, **named, "final_response": "Done."}
        return lease

    def post(self, number, step):
        """A step through the Controller of this number; what a 200 says is kept."""
        path = "snapshot" if step in ("before", "after") else step
        with self._controllers[number].control() as client:
            response = client.post(f"/v1/environment/{path}", json=self.body(step))
        if response.status_code == 200:
            self.answers[step] = response.json()
        return response

    def through(self, *steps):
        """Steps that must succeed, each through the Controller of its number."""
        for number, step in steps:
            response = self.post(number, step)
            assert response.status_code == 200, (number, step, response.text)

    def state(self, number, phase):
        """A snapshot's content, read through one of them."""
        with self._controllers[number].control() as client:
            return client.get(f"/v1/environment/snapshots/{self.answers[phase]['snapshot_ref']}").json()

    def tools(self, number):
        """A client of the business plane of one of them."""
        return self._controllers[number].business(self._deployment)


def refund(tools):
    return tools.post("/v1/orders/ORD-1003/refunds", json={"amount_minor": 1, "reason": "damaged"})


@pytest.fixture(scope="module")
def database(postgres_cluster):
    with fresh_database(postgres_cluster) as database:
        yield database


@contextlib.contextmanager
def serving_both(folder, database):
    """Both processes, started at once; on an empty folder and database the first time."""
    home = ["--home", str(folder / "home"), "--database", database.url]
    options = [*home, *(word for name in DEPLOYMENTS for word in ("--deployment", name))]
    with contextlib.ExitStack() as stack, ThreadPoolExecutor(2) as threads:
        stack.callback(threads.shutdown)
        made = []
        for name, program in (("first", AHEAD), ("second", ("-m", "agentbeat_controller"))):
            (folder / name).mkdir(exist_ok=True)
            made.append(served(folder / name, *options, program=program))
        yield [each.result() for each in [threads.submit(stack.enter_context, one) for one in made]]


@pytest.fixture(scope="module")
def controllers(tmp_path_factory, database):
    with serving_both(tmp_path_factory.mktemp("controllers"), database) as both:
        yield both


def test_processes_that_start_at_once_have_one_identity(controllers, database):
    """Id, signing key, secrets and environments: whichever came first, the other has the same."""
    told = [each.ready for each in controllers]
    for member in ("controller_id", "signing_key_id", "verify_key", "database"):
        assert told[0][member] == told[1][member]
    assert told[0]["pid"] != told[1]["pid"]
    assert controllers[0].control_secret == controllers[1].control_secret
    assert database.query("SELECT count(*) FROM controller") == [(1,)]
    assert database.query("SELECT count(*) FROM deployments") == [(len(DEPLOYMENTS),)]


def test_no_process_tells_the_databases_password(controllers):
    """Neither in its ready file nor on standard error."""
    for each in controllers:
        folder = Path(each.ready["home"]).parent
        said = json.dumps(each.ready) + "".join(path.read_text() for path in folder.glob("*/stderr.txt"))
        assert "postgresql+psycopg://controller:***@127.0.0.1" in said
        assert PASSWORD not in said
        assert "rd%3F" not in said


def test_a_static_deployment_is_granted_once_by_both(controllers):
    """CTL-6: twenty-four runs ask at once, twelve of each process; one gets it."""
    runs = [Run(controllers, f"race-{number}", "deployment-0") for number in range(24)]
    together = threading.Barrier(len(runs))

    def ask(number):
        together.wait(20)
        return runs[number].post(number % 2, "reset")

    with ThreadPoolExecutor(len(runs)) as threads:
        found = list(threads.map(ask, range(len(runs))))
    assert sum(response.status_code == 200 for response in found) == 1
    refused = [response for response in found if response.status_code != 200]
    assert {code_of(response) for response in refused} == {(409, "environment_busy")}
    holder = next(run for run in runs if run.answers)
    with holder.tools(0) as first, holder.tools(1) as second:
        assert {code_of(refund(tools)) for tools in (first, second)} == {(409, "environment_closed")}
    holder.through((0, "release"))
    runs[0].through((1, "reset")) if holder is not runs[0] else runs[1].through((1, "reset"))


def test_one_reset_sent_to_both_many_times_has_one_answer(controllers):
    """CTL-2: byte for byte the same, and none is told that the environment is busy with its own run."""
    run = Run(controllers, "many", "deployment-1")
    together = threading.Barrier(16)

    def ask(number):
        together.wait(20)
        return run.post(number % 2, "reset").content

    with ThreadPoolExecutor(16) as threads:
        assert len(set(threads.map(ask, range(16)))) == 1
    assert "lease_id" in run.answers["reset"]


def test_either_process_goes_on_where_the_other_was(controllers):
    """Every step through the one and again through the other: the same bytes, times in order, one receipt."""
    run = Run(controllers, "shared", "deployment-2")
    for place, step in enumerate(("reset", "before", "renew", "after", "verify", "release")):
        number = place % 2
        if step == "after":
            with run.tools(0) as first, run.tools(1) as second:
                assert [refund(tools).status_code for tools in (first, second, first)] == [201] * 3
        answer = run.post(number, step)
        assert answer.status_code == 200, (step, answer.text)
        assert run.post(1 - number, step).content == answer.content
    receipt = validated(StateReceipt, run.answers["verify"]["receipt"])
    assert all(signature_holds(receipt, each.ready["verify_key"]) for each in controllers)
    times = [receipt.before.taken_at, receipt.after.taken_at, receipt.issued_at]
    assert [str(time) for time in times] == sorted(str(time) for time in times)
    assert run.state(0, "after") == run.state(1, "after")
    assert [call["sequence"] for call in run.state(0, "after")["calls"]] == [1, 2, 3]
    with run.tools(0) as first, run.tools(1) as second:
        assert {code_of(refund(tools)) for tools in (first, second)} == {(409, "environment_closed")}


def writers(run, numbers, answers):
    """Threads that refund through the Controllers of these numbers until that is no longer possible."""

    def write(number):
        with run.tools(number) as tools:
            for _ in range(500):
                try:
                    response = refund(tools)
                except httpx.TransportError:
                    return
                answers.append(response)
                if response.status_code != 201:
                    return

    threads = [threading.Thread(target=write, args=(number,)) for number in numbers]
    for thread in threads:
        thread.start()
    return threads


def awaited(answers, count):
    deadline = time.monotonic() + 20
    while len(answers) < count and time.monotonic() < deadline:
        time.sleep(0.002)


@pytest.mark.parametrize(("asked", "deployment"), [(0, "deployment-3"), (1, "deployment-4")])
def test_a_snapshot_of_one_has_every_write_that_either_accepted(controllers, asked, deployment):
    """CTL-4, CTL-12: four writers on each while one is asked for snapshot after; nothing lies between."""
    run = Run(controllers, f"window-{asked}", deployment)
    run.through((asked, "reset"), (1 - asked, "before"))
    answers = []
    threads = writers(run, (0, 1) * 4, answers)
    awaited(answers, 24)
    run.through((asked, "after"))
    for thread in threads:
        thread.join(30)
    state = run.state(1 - asked, "after")
    accepted = [response for response in answers if response.status_code == 201]
    assert len(accepted) >= 24
    assert {code_of(each) for each in answers if each.status_code != 201} == {(409, "environment_closed")}
    given = {response.json()["refund_id"] for response in accepted}
    started = set(run.state(0, "before")["records"]["refunds"])
    assert set(state["records"]["refunds"]) - started == given
    assert [call["sequence"] for call in state["calls"]] == list(range(1, len(accepted) + 1))
    run.through((1 - asked, "verify"), (asked, "release"))


def test_one_process_goes_on_while_the_other_is_killed(tmp_path, postgres):
    """CTL-10: SIGKILL under load. What it had answered is kept, what it had not is whole or not there."""
    with serving_both(tmp_path, postgres) as both:
        run = Run(both, "kill", "deployment-5")
        run.through((0, "reset"), (0, "before"))
        answers = []
        threads = writers(run, (0, 0, 1, 1), answers)
        awaited(answers, 16)
        both[0].kill()
        awaited(answers, len(answers) + 8)
        run.through((1, "after"))
        for thread in threads:
            thread.join(30)
        state = run.state(1, "after")
        given = {response.json()["refund_id"] for response in answers if response.status_code == 201}
        refunds = set(state["records"]["refunds"]) - set(run.state(1, "before")["records"]["refunds"])
        assert given <= refunds
        # At most the two calls that the killed process was working on were kept and not answered.
        assert len(refunds - given) <= 2
        assert len(state["calls"]) == len(refunds)
        run.through((1, "verify"), (1, "release"))
        assert both[1].stop() == 0
    assert postgres.query("SELECT count(*) FROM receipts") == [(1,)]
