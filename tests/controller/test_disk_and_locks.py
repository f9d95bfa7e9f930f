"""A disk that is full and a database that is locked, under a real Controller: 503, nothing half-written.

The disk is full at any byte: the process may write files up to a size and no further (`RLIMIT_FSIZE`), so a
transaction comes to its end after no page of it, after one, after two, and so on. Where there is room again
the same call does its work. `test_control_databases` has SQLite's own "disk is full" in process.
"""

import sqlite3
import sys
import threading

import pytest

from agentbeat_controller.environments.desk import DESK_PROFILES
from support import controller_nursery
from support.controllers import NONCE, code_of
from support.nurseries import nursery

resource = pytest.importorskip("resource")
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs prlimit")

PROFILE = next(each.entry() for each in DESK_PROFILES if each.profile_id == "desk-refund-full")
RUN = "run-full"
CALLS = ("reset", "before", "renew", "business-call", "after", "verify", "release")
UNAVAILABLE = (503, "controller_unavailable")
#: A page in the write-ahead log, with its head.
FRAME = 4096 + 24


@pytest.fixture(scope="module")
def controllers():
    with nursery() as grown:
        yield grown


@pytest.fixture
def place(controllers, tmp_path):
    """A Controller on SQLite that does not wait long for a lock."""
    environment = {controller_nursery.LOCK_WAIT: "0.05"}
    with controllers.place(tmp_path, clock=True, environment=environment) as place:
        place.start()
        yield place


class Run:
    """One run in `deployment_static`, call by call."""

    def __init__(self, place):
        self.place, self.answers = place, {}
        self.common = {
            "schema_version": "state-controller-v1",
            "run_id": RUN,
            "case_id": "case-full",
            "profile_id": PROFILE.profile_id,
        }

    def send(self, call):
        """A call; what a 200 says is kept."""
        if call == "business-call":
            body = {"amount_minor": 100, "reason": "Damaged."}
            return self.place.call("POST", "/v1/orders/ORD-1003/refunds", body=body)
        response = self.place.post(call, self.body(call))
        if response.status_code == 200:
            self.answers[call] = response.json()
        return response

    def through(self, *calls):
        """Calls that must succeed."""
        for call in calls:
            response = self.send(call)
            assert response.is_success, (call, response.text)

    def body(self, call):
        """The request of a control call."""
        if call == "reset":
            return {
                **self.common,
                "deployment_profile_id": "deployment-a",
                "profile_digest": PROFILE.profile_digest,
                "binding_mode": "deployment_static",
                "attempt_nonce": NONCE,
                "snapshots": True,
            }
        lease = {**self.common, "lease_id": self.answers["reset"]["lease_id"]}
        if call in ("before", "after"):
            return {**lease, "phase": call}
        if call == "renew":
            return {**lease, "expires_at": "2026-03-01T11:00:00Z"}
        if call == "verify":
            snapshots = {
                phase: {"ref": self.answers[phase]["snapshot_ref"], "digest": self.answers[phase]["digest"]}
                for phase in ("before", "after")
            }
            return {**lease, **snapshots, "final_response": "Done."}
        return lease

    def snapshot(self, phase):
        """The content of a snapshot."""
        return self.place.control().get(f"/v1/environment/snapshots/{self.answers[phase]['snapshot_ref']}")


def code_of_any(response):
    """The code of a refusal, None of a success."""
    return None if response.is_success else code_of(response)


def leave_room(place, room):
    """The Controller's files may grow by so many bytes beyond its write-ahead log; None: as they like."""
    size = (place.home / "controller.db-wal").stat().st_size
    limit = resource.RLIM_INFINITY if room is None else size + room
    resource.prlimit(place.pid, resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))


def assert_refused_whole(place, run, call):
    """503 with Retry-After, and every row is as it was."""
    rows = place.rows()
    refused = run.send(call)
    assert code_of(refused) == UNAVAILABLE
    assert refused.headers["Retry-After"] == "1"
    assert place.rows() == rows


def test_a_disk_that_is_full_at_any_page_of_a_call_keeps_nothing_of_it(place):
    """A whole run, each call with room for no page, for one, and so on; then there is room again."""
    run, refusals = Run(place), dict.fromkeys(CALLS, 0)
    for call in CALLS:
        rows = place.rows()
        leave_room(place, 0)
        while code_of_any(response := run.send(call)) == UNAVAILABLE:
            assert response.headers["Retry-After"] == "1"
            assert place.rows() == rows
            refusals[call] += 1
            leave_room(place, refusals[call] * FRAME)
        assert response.is_success
        leave_room(place, None)
    assert min(refusals.values()) >= 2
    assert len(run.snapshot("after").json()["calls"]) == 1
    assert run.answers["verify"]["receipt"]["after"]["digest"] == run.answers["after"]["digest"]
    rows = place.rows()
    assert (len(rows["receipts"]), len(rows["snapshots"])) == (1, 2)


def test_a_full_disk_does_not_keep_anyone_from_reading(place):
    """What changes nothing needs no room: the health route, snapshots, recorded answers."""
    run = Run(place)
    run.through("reset", "before")
    first = run.answers["before"]
    leave_room(place, 0)
    assert place.control().get("/healthz").json()["active_leases"] == 1
    assert run.snapshot("before").status_code == 200
    assert run.send("before").json() == first
    assert_refused_whole(place, run, "after")


def test_a_controller_that_is_killed_on_a_full_disk_comes_up_with_what_was_answered(place):
    """Half of a transaction lies in the log; the restart finds the last whole one."""
    run = Run(place)
    run.through("reset", "before", "business-call")
    leave_room(place, FRAME)
    assert_refused_whole(place, run, "after")
    rows = place.rows()
    place.kill()
    place.start()
    assert place.rows() == rows
    run.through("after", "verify", "release")
    assert len(run.snapshot("after").json()["calls"]) == 1


def lock(place):
    """Another process has the write lock."""
    other = sqlite3.connect(place.home / "controller.db", isolation_level=None, check_same_thread=False)
    other.execute("BEGIN IMMEDIATE")
    return other


def test_a_locked_database_refuses_every_call_whole(place):
    """Of both planes, and of those that only read; unlocked, each does its work."""
    run = Run(place)
    for call in CALLS:
        other = lock(place)
        assert_refused_whole(place, run, call)
        health = place.control().get("/healthz")
        assert (code_of(health), health.headers["Retry-After"]) == (UNAVAILABLE, "1")
        other.close()
        run.through(call)
    assert len(place.rows()["receipts"]) == 1
    assert place.log.read_text().count("database is locked") >= len(CALLS)


def test_a_lock_that_goes_in_time_is_waited_for(controllers, tmp_path):
    """Nobody is refused because another process was at work for a moment."""
    with controllers.place(tmp_path, clock=True) as place:
        place.start()
        run, other = Run(place), lock(place)
        unlock = threading.Timer(0.2, other.close)
        unlock.start()
        run.through("reset")
        unlock.join()
        run.through("before")


def test_a_controller_does_not_start_on_a_locked_database(place):
    """It says so and ends with 2; nothing of it is left in the way of the next start."""
    Run(place).through("reset")
    place.kill()
    rows, other = place.rows(), lock(place)
    place.launch()
    assert place.gone() == 2
    other.close()
    assert "answers" in place.log.read_text().splitlines()[-1]
    assert place.rows() == rows
    place.start()
    assert place.control().get("/healthz").json()["active_leases"] == 1
