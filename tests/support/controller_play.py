"""Runs played against a real Controller and the model of spec 2 at once; see `test_controller_state_machine`.

Each call is foretold, sent and checked: status, code, whether anything in the database has changed, and what
a new answer says. Runs are named by a letter; a number makes their ids those of one example.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import re

from hypothesis.stateful import RuleBasedStateMachine

from agentbeat_controller.environments.desk import DESK_PROFILES
from agentbeat_protocol import Instant
from support.controller_model import SECOND, Lease, Model, Time
from support.controllers import NONCE
from support.kept_rows import KeptRows
from support.nurseries import DEPLOYMENTS

__all__ = ["CANARY", "LEASE_SECONDS", "PROFILES", "Play", "Subject"]

LEASE_SECONDS = 900
DAY = 24 * 60 * 60 * SECOND
DIGESTS = {each.profile_id: each.entry().profile_digest for each in DESK_PROFILES}
#: Profile to its surface for an injection.
PROFILES = {"desk-parcel-email": "ticket_message", "desk-solve-one": None}
CANARY = re.compile(r"canary-[0-9]+-[a-d]-[0-9]+")


class Subject:
    """The Controller under test, and what is known of it over all examples."""

    def __init__(self, place):
        self.place, self.examples = place, itertools.count()
        place.start()
        self.time = Time(place.clock.system)
        self.database = KeptRows(place.engine)
        #: Profile and injection to the digest of the state that a reset makes of them (CTL-3).
        self.starts = {}
        #: What a verdict follows from, to the checks that were found (CTL-8).
        self.judged = {}

    def changes(self):
        """A value that is another one once anything in the database has changed."""
        return self.database.changes()


class Play(RuleBasedStateMachine):
    """The runs of one example, without the rules by which they are led."""

    #: Set by the test.
    subject: Subject

    def start_example(self):
        """Runs that nobody has seen, at a time at which nothing of earlier ones is active."""
        self.place, self.time = self.subject.place, self.subject.time
        self.number = next(self.subject.examples)
        self.canaries = itertools.count()
        self.place.clock.system = self.time.system = self.time.now
        self.advance(2 * DAY)
        self.model = Model(self.time, digests=DIGESTS, holders=self._released(), lease_seconds=LEASE_SECONDS)
        self.resets, self.sent, self.answers, self.contents = {}, {}, {}, {}

    def _released(self):
        """Both Deployments are free, whatever an earlier example made of them."""
        holders = {}
        for name in DEPLOYMENTS:
            common = self.common("x") | {"run_id": f"run-earlier-{self.number}-{name}"}
            body = common | self.reset_members("desk-solve-one", "deployment_static", name)
            answer = self.place.post("reset", body).json()
            end = self.time.keep() + LEASE_SECONDS * SECOND
            released = self.place.post("release", common | {"lease_id": answer["lease_id"]})
            assert released.status_code == 200
            holders[name] = Lease(body, answer["lease_id"], answer["environment_id"], end, status="released")
        return holders

    def reset_members(self, profile, mode, deployment, snapshots=True, injection=None):
        return {
            "deployment_profile_id": deployment,
            "profile_digest": DIGESTS[profile],
            "binding_mode": mode,
            "attempt_nonce": NONCE,
            "snapshots": snapshots,
            "injection": injection,
        }

    def advance(self, nanoseconds):
        """Time goes by."""
        self.place.clock.advance(nanoseconds)
        self.time.advance(nanoseconds)

    # Sending

    def post(self, run, step, body):
        expected = self.model.expect(step, body)
        key = (run, step, body["expires_at"] if step == "renew" else "")
        seen = self.subject.changes()
        response = self.place.post(step, body)
        self.check(response, expected, seen)
        if expected.recorded:
            assert response.content == self.answers[key]
        elif response.status_code == 200:
            self.sent[key], self.answers[key] = body, response.content
            answer = response.json()
            self._check_answer(run, step, body, answer)
            self.model.note(step, body, answer)
            if step in ("before", "after"):
                self._keep_snapshot(run, step, answer)

    def check(self, response, expected, seen):
        code = None if response.is_success else response.json()["error"]["code"]
        assert (response.status_code, code) == (expected.status, expected.code), response.text
        assert response.headers.get("Retry-After") == expected.retry_after
        assert (self.subject.changes() != seen) == expected.changes
        assert not CANARY.search(response.text) or response.is_success

    def _check_answer(self, run, step, body, answer):
        """What is new in a new answer."""
        assert {name: answer[name] for name in self.common(run)} == {
            name: body[name] for name in self.common(run)
        }
        now = str(Instant.from_nanoseconds(self.time.now))
        if step == "reset":
            self.resets[run] = body
            end = Instant.from_nanoseconds(self.time.now + LEASE_SECONDS * SECOND)
            assert answer["expires_at"] == str(end)
            if body["injection"] is None:
                start = self.subject.starts.setdefault(body["profile_id"], answer["state_digest"])
                assert answer["state_digest"] == start
        elif step == "renew":
            assert answer["expires_at"] == body["expires_at"]
        elif step in ("before", "after"):
            assert answer["taken_at"] == now
        elif step == "verify":
            self._check_receipt(run, body, answer, now)

    def _check_receipt(self, run, body, answer, now):
        receipt, reset = answer["receipt"], self.resets[run]
        assert receipt["issued_at"] == now
        assert receipt["attempt_nonce"] == reset["attempt_nonce"]
        assert {phase: body[phase] for phase in ("before", "after")} == {
            phase: {name: receipt[phase][name] for name in ("ref", "digest")} for phase in ("before", "after")
        }
        judged = (body["before"]["digest"], body["after"]["digest"], body["final_response"])
        found = (answer["checks"], answer["verdicts"], answer["native_score"])
        assert self.subject.judged.setdefault(judged, found) == found

    def _keep_snapshot(self, run, phase, answer):
        """The snapshot says what the model knows of the run, and nothing of another one."""
        lease, content = self.lease(run), self.read(answer["snapshot_ref"])
        assert answer["digest"] == "sha256:" + hashlib.sha256(content).hexdigest()
        state = json.loads(content)
        assert [(call["operation"], call["status"]) for call in state["calls"]] == lease.log
        assert set(CANARY.findall(json.dumps(state["records"]))) == set(lease.texts)
        if phase == "before":
            assert answer["digest"] == json.loads(self.answers[run, "reset", ""])["state_digest"]
        self.contents[answer["snapshot_ref"]] = content

    def read(self, reference):
        return self.place.control().get(f"/v1/environment/snapshots/{reference}").content

    def assert_kept(self):
        """The database has of these runs what the model knows of them."""
        query, like = self.subject.database.query, f"run-{self.number}-%"
        kept = query(
            "SELECT run_id, stage, status, expires_at FROM leases WHERE run_id LIKE :like", like=like
        )
        leases = list(self.model.leases.values())
        assert sorted(kept) == sorted(
            (lease.run_id, lease.stage, lease.status, lease.expires_at) for lease in leases
        )
        counted = "SELECT count(*) FROM {} JOIN leases USING (lease_id) WHERE run_id LIKE :like"
        receipts, snapshots, answers = (
            query(counted.format(name), like=like)[0][0] for name in ("receipts", "snapshots", "answers")
        )
        assert receipts == sum("verify" in lease.answered for lease in leases)
        assert snapshots == len(self.contents) == sum(len(lease.snapshots) for lease in leases)
        assert answers == len(self.sent)
        environments = {row[0] for row in query("SELECT DISTINCT environment_id FROM desk_tickets")}
        assert environments == {lease.environment_id for lease in leases if lease.status == "active"}

    def assert_health(self):
        """The health route counts the leases that hold an environment."""
        health = self.place.control().get("/healthz").json()
        assert health["active_leases"] == self.model.active()

    # Requests

    def body(self, run, step):
        if step == "reset":
            return self.resets.get(run)
        lease = self.lease(run)
        profile = lease.reset["profile_id"] if lease else "desk-solve-one"
        body = {**self.common(run, profile), "lease_id": lease.lease_id if lease else "lease-of-nobody"}
        if step in ("before", "after"):
            return {**body, "phase": step}
        if step == "verify":
            named = {phase: self.reference(run, phase) for phase in ("before", "after")}
            return {**body, **named, "final_response": "Done."}
        return body

    def reference(self, run, phase):
        lease = self.lease(run)
        unknown = {"ref": "snapshot-of-nobody", "digest": "sha256:" + "0" * 64}
        return lease.snapshots.get(phase, unknown) if lease else unknown

    def common(self, run, profile="desk-solve-one"):
        return {
            "schema_version": "state-controller-v1",
            "run_id": self.run_id(run),
            "case_id": f"case-{run}",
            "profile_id": profile,
        }

    def run_id(self, run):
        return f"run-{self.number}-{run}"

    def known(self, run):
        """This run, or where nobody has reset it one that somebody has; any at the very beginning."""
        return run if run in self.resets else next(reversed(self.resets), run)

    def open_one(self, run):
        """This run, or while it is not open one that is."""
        leases = [lease for lease in self.model.leases.values() if lease.is_open and lease.status == "active"]
        known = self.run_id(run)
        return run if not leases or known in {each.run_id for each in leases} else leases[-1].run_id[-1]

    def lease(self, run):
        return self.model.leases.get(self.run_id(run))

    def canary(self, run):
        return f"canary-{self.number}-{run}-{next(self.canaries)}"
