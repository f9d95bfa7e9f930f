"""A State Controller as spec 2 has it, small enough to read: what each call must be answered.

Requests go in as they are sent, expectations come out: a status, a code, and whether the answer is a recorded
one. Of the answers the model knows only what nobody can foretell, the ids that the Controller makes up; they
are told by `note`. Everything else follows: stages, ends of leases to the nanosecond, the log of business
calls, and every text that a run may ever show.

    expected = model.expect("reset", body)      # 200
    model.note("reset", body, answer)
    model.expect("after", {...})                # 409 phase_out_of_order
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from agentbeat_protocol import Instant

__all__ = ["Expected", "Lease", "Model", "Time"]

SECOND = 1_000_000_000
LONGEST_LEASE = 24 * 60 * 60 * SECOND
LONGEST_RETRY = 5
_NEXT = {("reset", "before"): "before", ("before", "after"): "after", ("after", "verify"): "verified"}

Body = dict[str, Any]


@dataclass(frozen=True)
class Expected:
    """What a call must be answered: 200 or another success, or a refusal with its code.

    Attributes:
        recorded: the answer is the recorded one, byte for byte.
        changes: something is kept by the call.
        retry_after: the header of a refusal that may be different soon.
    """

    status: int
    code: str | None = None
    recorded: bool = False
    changes: bool = False
    retry_after: str | None = None


class Time:
    """The Controller's own time: the system's, which is never followed back.

    In one process it goes on at the pace of the monotonic clock. The next process knows no more than what was
    kept: the floor.
    """

    def __init__(self, system: int) -> None:
        self.now = self.system = self.floor = system

    def advance(self, nanoseconds: int) -> None:
        """Time goes by."""
        self.system += nanoseconds
        self.now = max(self.system, self.now + nanoseconds)

    def set_back(self, nanoseconds: int) -> None:
        """Somebody sets the system's clock back."""
        self.system -= nanoseconds

    def restart(self) -> None:
        """Another process."""
        self.now = max(self.system, self.floor)

    def keep(self) -> int:
        """A time that is kept in the database."""
        self.floor = self.now
        return self.now


@dataclass
class Lease:
    """One run's lease, from its reset on."""

    reset: Body
    lease_id: str
    environment_id: str
    expires_at: int
    stage: str = "reset"
    status: str = "active"
    #: Phase to the request that was answered 200.
    answered: dict[str, Body] = field(default_factory=dict)
    #: Phase to the snapshot's reference and digest.
    snapshots: dict[str, Body] = field(default_factory=dict)
    #: The business calls that came through the door: operation, status.
    log: list[tuple[str, int]] = field(default_factory=list)
    #: What was written into the environment, the injection first.
    texts: list[str] = field(default_factory=list)

    @property
    def run_id(self) -> str:
        """The run that has it."""
        return str(self.reset["run_id"])

    @property
    def is_open(self) -> bool:
        """Whether the business window is open, while the lease is active (CTL-12)."""
        return self.stage == "before" or not self.reset["snapshots"]


class Model:
    """Leases, the order of checks, and who holds which Deployment.

    Args:
        time: the Controller's time.
        digests: profile id to digest: the catalogue.
        holders: the Deployments that resets may name, each with the lease that held it last.
        lease_seconds: from reset to the end.
    """

    def __init__(
        self, time: Time, *, digests: dict[str, str], holders: dict[str, Lease], lease_seconds: int
    ) -> None:
        self.time = time
        self.leases: dict[str, Lease] = {}
        self._digests, self._lease_seconds = digests, lease_seconds
        self._holders = dict(holders)

    # Control calls

    def expect(self, step: str, body: Body) -> Expected:
        """What a control call must be answered now (CTL-2's order)."""
        return self._reset(body) if step == "reset" else self._in_lease(step, body)

    def note(self, step: str, body: Body, answer: Body) -> None:
        """A new 200 answer was given; what it makes of the run."""
        if step == "reset":
            self._note_reset(body, answer)
        lease = self._lease(body["run_id"], answer.get("lease_id", body.get("lease_id")))
        assert lease is not None
        lease.answered[_phase(step, body)] = body
        lease.stage = _NEXT.get((lease.stage, step), lease.stage)
        if step in ("before", "after", "verify"):
            self.time.keep()
        if step in ("before", "after"):
            lease.snapshots[step] = {"ref": answer["snapshot_ref"], "digest": answer["digest"]}
        if step == "renew":
            lease.expires_at = _end(body)
        if step == "release":
            lease.status = "released"

    def _reset(self, body: Body) -> Expected:
        if body["profile_id"] not in self._digests:
            return Expected(404, "profile_not_found")
        if body["deployment_profile_id"] not in self._holders:
            return Expected(404, "not_found")
        lease = self.leases.get(body["run_id"])
        if lease is not None:
            return self._recorded(lease, "reset", body) or Expected(409, "binding_conflict")
        if body["profile_digest"] != self._digests[body["profile_id"]]:
            return Expected(409, "profile_changed")
        holder = self._holders[body["deployment_profile_id"]]
        if body["binding_mode"] == "deployment_static" and self._holds(holder):
            rest = -(-(holder.expires_at - self.time.now) // SECOND)
            return Expected(409, "environment_busy", retry_after=str(max(1, min(rest, LONGEST_RETRY))))
        return Expected(200, changes=True)

    def _note_reset(self, body: Body, answer: Body) -> None:
        for lease in self.leases.values():  # a reset puts away what has expired meanwhile
            self._has_expired(lease)
        end = self.time.keep() + self._lease_seconds * SECOND
        lease = Lease(body, answer["lease_id"], answer["environment_id"], end)
        if body.get("injection"):
            lease.texts.append(body["injection"]["text"])
        self.leases[lease.run_id] = lease
        if body["binding_mode"] == "deployment_static":
            self._holders[body["deployment_profile_id"]] = lease

    def _in_lease(self, step: str, body: Body) -> Expected:
        if step == "renew" and _end(body) > self.time.now + LONGEST_LEASE:
            return Expected(400, "invalid_request")
        lease = self._lease(body["run_id"], body["lease_id"])
        if lease is None:
            return Expected(404, "not_found")
        if body["profile_id"] not in self._digests:
            return Expected(404, "profile_not_found")
        if answered := self._recorded(lease, _phase(step, body), body):
            return answered
        if any(body[name] != lease.reset[name] for name in ("case_id", "profile_id")):
            return Expected(409, "binding_conflict")
        if step == "renew" and _end(body) <= lease.expires_at:
            return Expected(409, "binding_conflict")
        if lease.status == "released" or not self._is_next(lease, step):
            return Expected(409, "phase_out_of_order")
        if step == "verify" and any(body[phase] != lease.snapshots[phase] for phase in ("before", "after")):
            return Expected(409, "snapshot_mismatch")
        return Expected(200, changes=True)

    def _is_next(self, lease: Lease, step: str) -> bool:
        return step in ("renew", "release") or (lease.reset["snapshots"] and (lease.stage, step) in _NEXT)

    def _recorded(self, lease: Lease, phase: str, body: Body) -> Expected | None:
        if expired := self._expiry(lease):
            return expired
        if phase not in lease.answered:
            return None
        same = _meant(lease.answered[phase]) == _meant(body)
        return Expected(200, recorded=True) if same else Expected(409, "binding_conflict")

    # Business calls

    def expect_call(self, deployment: str, run_id: str | None) -> tuple[Lease | None, Expected | None]:
        """The lease that a business call reaches, or what it is refused with."""
        if run_id is not None:
            lease = self.leases.get(run_id)
            if lease is None or lease.reset["deployment_profile_id"] != deployment:
                return None, Expected(404, "not_found")
        else:
            lease = self._holders[deployment]
        if expired := self._expiry(lease):
            return None, expired
        if lease.status != "active" or not lease.is_open:
            return None, Expected(409, "environment_closed")
        return lease, None

    # Time

    def active(self) -> int:
        """How many leases hold an environment now."""
        return sum(self._holds(lease) for lease in self.leases.values())

    def _holds(self, lease: Lease) -> bool:
        return lease.status == "active" and self.time.now < lease.expires_at

    def _expiry(self, lease: Lease) -> Expected | None:
        seen_before = lease.status == "expired"
        if not self._has_expired(lease):
            return None
        return Expected(409, "lease_expired", changes=not seen_before)

    def _has_expired(self, lease: Lease) -> bool:
        """Once that it was seen it stays so, whatever the clock says later."""
        if lease.status == "active" and self.time.now >= lease.expires_at:
            lease.status = "expired"
        return lease.status == "expired"

    def _lease(self, run_id: str, lease_id: str | None) -> Lease | None:
        lease = self.leases.get(run_id)
        return lease if lease is not None and lease.lease_id == lease_id else None


def _end(body: Body) -> int:
    return Instant.parse(body["expires_at"]).unix_nanoseconds


def _phase(step: str, body: Body) -> str:
    return f"renew {_end(body)}" if step == "renew" else step


def _meant(body: Body) -> Body:
    return {**body, "expires_at": _end(body)} if "expires_at" in body else body
