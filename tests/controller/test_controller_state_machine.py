"""A real Controller process, on either database, against the model of spec 2: any calls of four runs.

Hypothesis draws resets, business calls, snapshots, verifies, renewals, releases, all of them out of order
too, repeated to the byte or with a member changed, while time goes by, the clock is set back and the process
is killed. The model foretells each answer; what is kept is compared with it after every step. A process lives
on from example to example: each has runs of its own, and time has ended what earlier ones left.

`pytest --hypothesis-profile=long` tries as many sequences as one has patience for.
"""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import initialize, invariant, precondition, rule, run_state_machine_as_test

from agentbeat_protocol import Instant
from support.controller_model import SECOND, Expected
from support.controller_play import CANARY, LEASE_SECONDS, PROFILES, Play, Subject
from support.nurseries import DEPLOYMENTS, nursery

RUNS = st.sampled_from("abcd")
#: Sequences for each database. More than Hypothesis tries by default is asked for by a profile.
EXAMPLES = (
    {"sqlite": 20, "postgresql": 5}
    if settings.default.max_examples == 100
    else dict.fromkeys(("sqlite", "postgresql"), settings.default.max_examples)
)
#: Business calls: method, path, the operation that the log tells of, and its answer where it is let in.
CALLS = {
    "reply": ("POST", "/v1/tickets/TCK-7/replies", "add_ticket_reply", (201, None)),
    "read": ("GET", "/v1/tickets/TCK-7", "get_ticket", (200, None)),
    "unknown": ("GET", "/v1/tickets/TCK-999", "get_ticket", (404, "not_found")),
    "malformed": ("POST", "/v1/tickets/TCK-7/replies", "add_ticket_reply", (400, "invalid_request")),
}
#: What tools do after each step of a run that goes on.
BETWEEN = st.lists(st.sampled_from(sorted(CALLS)), max_size=2)
#: What a reset is drawn from, and how far the run goes on at once.
RESET = {
    "profile": st.sampled_from(sorted(PROFILES)),
    "mode": st.sampled_from(["catalog", "deployment_static"]),
    "deployment": st.sampled_from(DEPLOYMENTS),
    "snapshots": st.sampled_from([True, True, True, False]),
    "steps": st.integers(0, 3),
    "between": BETWEEN,
}


class Controllers(Play):
    """The rules."""

    @initialize(others=st.integers(0, 2), **RESET)
    def begin(self, others, **drawn):
        """A new example, in which something has happened already."""
        self.start_example()
        for run in "abc"[: 1 + others]:
            self.reset(run, **drawn)

    # Core's calls

    @rule(run=RUNS, **RESET)
    def reset(self, run, profile, mode, deployment, snapshots, steps, between):
        """A run's first reset, and what comes next; where it was granted before, the same again."""
        if run not in self.resets:
            surface = PROFILES[profile]
            injection = surface and {"surface": surface, "text": self.canary(run)}
            members = self.reset_members(profile, mode, deployment, snapshots, injection)
            body = self.common(run, profile) | members
        else:
            body = self.resets[run]
        self.post(run, "reset", body)
        self._go_on(run, steps, between)

    @precondition(lambda self: self.resets)
    @rule(run=RUNS, steps=st.integers(1, 4), between=BETWEEN)
    def go_on(self, run, steps, between):
        """The steps that are next for the run; verify has its snapshots mixed up first."""
        self._go_on(self.known(run), steps, between)

    def _go_on(self, run, steps, between):
        for _ in range(steps):
            lease = self.lease(run)
            stage = "" if lease is None else lease.stage
            step = {"reset": "before", "before": "after", "after": "verify"}.get(stage, "release")
            if step == "verify":
                self.post(run, step, self.body(run, step) | {"before": self.reference(run, "after")})
            self.post(run, step, self.body(run, step))
            for what in between:
                self.call(run, what, "run")

    @precondition(lambda self: any(lease.stage == "after" for lease in self.model.leases.values()))
    @rule(other=RUNS, phase=st.sampled_from(["before", "after"]))
    def mix_up(self, other, phase):
        """Verify a run by a snapshot of another one, of its other phase, or of nobody (CTL-7)."""
        run = next(lease.run_id[-1] for lease in self.model.leases.values() if lease.stage == "after")
        other_phase = "after" if phase == "before" else "before"
        reference = self.reference(other, other_phase if other == run else phase)
        self.post(run, "verify", self.body(run, "verify") | {phase: reference})

    @precondition(lambda self: self.resets)
    @rule(run=RUNS, step=st.sampled_from(["before", "after", "verify", "release"]))
    def step(self, run, step):
        """Any step, most of them out of order."""
        run = self.known(run)
        self.post(run, step, self.body(run, step))

    @precondition(lambda self: self.resets)
    @rule(run=RUNS, ahead=st.sampled_from([-60, 0, 1, 600, LEASE_SECONDS, 86_400, 86_401]))
    def renew(self, run, ahead):
        """A later end, an earlier one, one that is too far away."""
        run = self.known(run)
        end = Instant.from_nanoseconds(self.time.now + ahead * SECOND)
        self.post(run, "renew", {**self.body(run, "renew"), "expires_at": str(end)})

    @precondition(lambda self: self.sent)
    @rule(which=st.integers(0, 999), reordered=st.booleans())
    def repeat(self, which, reordered):
        """A call that was answered 200, byte for byte, or with its members in another order."""
        (run, step, _), body = sorted(self.sent.items())[which % len(self.sent)]
        self.post(run, step, dict(reversed(body.items())) if reordered else body)

    @precondition(lambda self: self.resets)
    @rule(
        run=RUNS,
        step=st.sampled_from(["reset", "before", "after", "verify", "release"]),
        twist=st.sampled_from(["case", "nonce", "digest", "profile", "lease", "response", "reference"]),
        other=RUNS,
    )
    def twist(self, run, step, twist, other):
        """A call with one member changed; a lease and a snapshot may be another run's, or nobody's."""
        run = self.known(run)
        body = self.body(run, step)
        changed = {
            "case": {"case_id": "case-other"},
            "nonce": {"attempt_nonce": "f" * 32},
            "digest": {"profile_digest": "sha256:" + "0" * 64},
            "profile": {"profile_id": "desk-of-nobody"},
            "lease": {"lease_id": self.body(other, "release")["lease_id"]},
            "response": {"final_response": "Nothing was done."},
            "reference": {"before": self.reference(other, "before")},
        }[twist]
        self.post(run, step, body | {name: value for name, value in changed.items() if name in body})

    @rule(wrong=st.sampled_from(["secret", "business secret", "member", "json"]))
    def send_what_is_never_taken(self, wrong):
        """401 and 400 come before anything that a run has done."""
        seen = self.subject.changes()
        send = self.place.control().post
        path, body = "/v1/environment/release", {"lease_id": "x"}
        if wrong == "secret":
            response = send(path, json=body, headers={"Authorization": "Bearer " + "x" * 43})
        elif wrong == "business secret":
            response = send(path, json=body, headers=self.place.business().headers)
        elif wrong == "member":
            response = send(path, json={**self.common("a"), "lease_id": "x", "verdict": "pass"})
        else:
            response = send(path, content=b"{", headers={"Content-Type": "application/json"})
        assert response.status_code == (401 if "secret" in wrong else 400)
        assert self.subject.changes() == seen

    # The Agent's calls

    @rule(
        run=RUNS,
        what=st.sampled_from(sorted(CALLS)),
        named=st.sampled_from(["run", "run", "run", "nobody", "another deployment", "unknown run"]),
    )
    def call(self, run, what, named):
        """A business call, which reaches the environment of the run that it names, if that is open."""
        run = self.open_one(run)
        lease = self.lease(run)
        deployment = lease.reset["deployment_profile_id"] if lease else DEPLOYMENTS[0]
        if named == "another deployment":
            deployment = DEPLOYMENTS[1 - DEPLOYMENTS.index(deployment)]
        run_id = {"nobody": None, "unknown run": "run-of-nobody"}.get(named, self.run_id(run))
        reached, refused = self.model.expect_call(deployment, run_id)
        text = self.canary(run)
        method, path, operation, answered = CALLS[what]
        body = {"reply": {"body": text}, "malformed": {}}.get(what)
        if reached is not None:
            reached.log.append((operation, answered[0]))
            if what == "reply":
                reached.texts.append(text)
        expected = refused or Expected(*answered, changes=True)
        seen = self.subject.changes()
        response = self.place.call(method, path, run_id=run_id, deployment=deployment, body=body)
        self.check(response, expected, seen)
        if reached is not None and what == "read":
            assert set(CANARY.findall(response.text)) == set(reached.texts)

    # What happens around them

    @rule(seconds=st.sampled_from([1, 60, LEASE_SECONDS // 3, LEASE_SECONDS - 1, LEASE_SECONDS]))
    def wait(self, seconds):
        """Time goes by."""
        self.advance(seconds * SECOND)

    @rule(seconds=st.sampled_from([1, 2 * LEASE_SECONDS]))
    def set_back(self, seconds):
        """Somebody sets the clock back."""
        self.place.clock.set_back(seconds * SECOND)
        self.time.set_back(seconds * SECOND)

    @rule()
    def kill_and_restart(self):
        """Everything is there again: answers to the byte, snapshots, and the time that was kept."""
        self.place.kill()
        self.place.start()
        self.time.restart()
        self.assert_health()
        for (run, step, _), body in sorted(self.sent.items()):
            self.post(run, step, body)

    # What always holds

    @invariant()
    def what_is_kept_is_what_the_model_says(self):
        """Every lease with its stage, status and end; one receipt per verified run; nothing left behind."""
        self.assert_kept()

    def teardown(self):
        """The run of every lease is over; what was kept is still the same."""
        if not hasattr(self, "model"):
            return
        self.assert_health()
        for run in "abcd":
            if self.lease(run) is not None:
                self.post(run, "release", self.body(run, "release"))
        for reference, content in self.contents.items():
            assert self.read(reference) == content


@pytest.fixture
def subject(request, tmp_path):
    url = request.getfixturevalue("postgres_url") if request.param == "postgresql" else None
    settled = {"clock": True, "lease_seconds": LEASE_SECONDS}
    with nursery() as grown, grown.place(tmp_path, database=url, **settled) as place:
        subject = Subject(place)
        with contextlib.closing(subject.database):
            yield subject


@pytest.mark.long
@pytest.mark.parametrize(("subject", "examples"), EXAMPLES.items(), indirect=["subject"])
def test_any_calls_in_any_order_are_answered_as_the_model_says(subject, examples):
    machine = type("ControllersUnderTest", (Controllers,), {"subject": subject})
    run_state_machine_as_test(machine, settings=settings(max_examples=examples, stateful_step_count=40))
