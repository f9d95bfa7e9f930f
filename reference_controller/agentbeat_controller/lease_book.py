"""The book of leases: who holds what, until when, and what each call was answered.

Every control call goes through `reset_once` or `in_lease`. They keep what all calls share: one transaction,
the order of checks (CTL-2), recorded answers, and expiry that stays recorded.

A refusal is raised, and the transaction rolls back. Only `lease_expired` is raised after a commit: that the
lease has ended by time is itself worth keeping.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any, Final

from sqlalchemy import Connection

from agentbeat_controller import store
from agentbeat_controller.asides import with_asides
from agentbeat_controller.environments.base import Environment
from agentbeat_controller.injections import add_injection
from agentbeat_controller.leases import Lease
from agentbeat_controller.refusals import (
    binding_conflict,
    environment_busy,
    lease_expired,
    not_found,
    profile_not_found,
)
from agentbeat_controller.store import Deployment, Recorded
from agentbeat_controller.timekeeping import NANOSECONDS, Timekeeper
from agentbeat_controller.transactions import Transactions
from agentbeat_protocol import (
    CanonicalError,
    ControllerMessage,
    JSONError,
    ProtocolError,
    ReleaseRequest,
    RenewRequest,
    ResetRequest,
    SnapshotRequest,
    VerifyRequest,
    canonical_json,
    digest,
)

__all__ = ["LeaseBook", "LeaseRequest"]

#: The requests that speak of a lease.
LeaseRequest = SnapshotRequest | VerifyRequest | RenewRequest | ReleaseRequest

#: How many leases beyond their end one reset puts away, so that what is stored follows what is in use.
_SWEEP: Final = 8


class LeaseBook:
    """Leases and recorded answers, one transaction per call.

    Args:
        environment: whose records a lease that ends leaves behind.
        max_retry_after: the longest wait that a busy environment suggests, in seconds.
    """

    def __init__(
        self,
        *,
        transactions: Transactions,
        environment: Environment,
        timekeeper: Timekeeper,
        max_retry_after: int,
    ) -> None:
        self.transactions = transactions
        self._environment = environment
        self._timekeeper = timekeeper
        self._max_retry_after = max_retry_after

    # Time

    def now(self, connection: Connection) -> int:
        """The Controller's time, in nanoseconds since 1970."""
        return self._timekeeper.now(floor=store.clock_floor(connection))

    def tick(self, connection: Connection) -> int:
        """The time for something that is kept: from its commit on, no process gives out an earlier one.

        Takes the clock's row until the transaction ends, so it comes last of all locks.
        """
        # The floor is not read first: where it is higher, raising it says so.
        return store.raise_clock_floor(connection, self._timekeeper.now(floor=0))

    def tick_within(self, connection: Connection, lease: Lease) -> int:
        """`tick` for what is kept of a locked lease: work that outlasts its lease comes to nothing.

        Raises:
            ProtocolError: `lease_expired`; the next call on the lease records that.
        """
        time = self.tick(connection)
        if lease.has_expired(time):
            raise lease_expired()
        return time

    def ends_by_time(self, connection: Connection, lease: Lease) -> bool:
        """Whether a locked lease has expired; if so that is recorded, and no clock brings it back."""
        if not lease.has_expired(self.now(connection)):
            return False
        if lease.status == "active":
            self._expire(connection, lease)
        return True

    def _expire(self, connection: Connection, lease: Lease) -> None:
        store.advance(connection, lease.lease_id, status="expired")
        self._environment.drop(connection, lease.environment_id)

    # Calls

    def reset_once(
        self,
        request: ResetRequest,
        make: Callable[[Connection, str], tuple[Lease, ControllerMessage]],
        *,
        check: Callable[[], None],
    ) -> bytes:
        """The answer to a reset: the recorded one, or that of a new lease which `make` prepares.

        Args:
            make: given the environment id that the run gets; called inside the transaction, and again where
                that is begun anew: it met another one, or `make` put a question (`asides`).
            check: refuses a new run for good; looked at before a refusal that suggests to try again.

        Raises:
            ProtocolError: `lease_expired`, `binding_conflict`, `environment_busy`, or what `check` and `make`
                raise.
        """
        request_digest = _request_digest(request)

        def work(connection: Connection) -> bytes | ProtocolError:
            # The Deployment comes before the run: of two equal requests the second waits here, and then
            # finds its answer instead of an environment that its own run holds.
            deployment = self._locked_deployment(connection, request)
            earlier = store.lease_of_run(connection, request.run_id, lock=True)
            if earlier is not None:
                found = self._recorded(connection, earlier, "reset", request_digest)
                if found is None:
                    raise binding_conflict("the run's first reset")
                return found
            check()
            environment_id = self._claim(connection, deployment)
            lease, answer = make(connection, environment_id)
            store.add_lease(connection, lease)
            if request.injection is not None:
                add_injection(connection, lease.lease_id, request.injection)
            if lease.binding_mode == "deployment_static":
                store.hold(connection, lease.deployment_profile_id, lease.lease_id)
            return _record(connection, lease.lease_id, "reset", request_digest, answer)

        return self._committed(work)

    def in_lease(
        self,
        request: LeaseRequest,
        phase: str,
        act: Callable[[Connection, Lease], ControllerMessage],
        *,
        profiles: Collection[str],
        check: Callable[[Connection], None] | None = None,
    ) -> bytes:
        """The answer to a call on a lease: the recorded one of this phase, or what `act` does now.

        Args:
            phase: what the answer is recorded under, once per lease.
            profiles: the profile ids of the catalogue.
            check: refuses what needs the clock and no lease (400); looked at first.

        Raises:
            ProtocolError: in CTL-2's order; then what `act` raises.
        """
        request_digest = _request_digest(request)

        def work(connection: Connection) -> bytes | ProtocolError:
            if check is not None:
                check(connection)
            lease = store.lease_with_id(connection, request.lease_id, lock=True)
            if lease is None or lease.run_id != request.run_id:
                raise not_found("CTL-2", "a lease of this run")
            if request.profile_id not in profiles and request.profile_id != lease.profile_id:
                raise profile_not_found()
            found = self._recorded(connection, lease, phase, request_digest)
            if found is not None:
                return found
            lease.check_binding(case_id=request.case_id, profile_id=request.profile_id)
            return _record(connection, lease.lease_id, phase, request_digest, act(connection, lease))

        return self._committed(work)

    def _committed(self, work: Callable[[Connection], bytes | ProtocolError]) -> bytes:
        try:
            outcome = with_asides(lambda: self.transactions.run(work))
        except (CanonicalError, JSONError) as error:
            # The request was read before: what cannot be written as JSON here comes from the environment.
            raise RuntimeError(f"the environment gave what JSON cannot hold: {error}") from error
        if isinstance(outcome, ProtocolError):
            raise outcome
        return outcome

    def _recorded(
        self, connection: Connection, lease: Lease, phase: str, request_digest: str
    ) -> bytes | ProtocolError | None:
        """CTL-2: expiry first, then the answer that this very request had; None for a phase without one."""
        if self.ends_by_time(connection, lease):
            return lease_expired()
        recorded = store.answer_of(connection, lease.lease_id, phase)
        if recorded is None:
            return None
        if recorded.request_digest != request_digest:
            raise binding_conflict("the request that this run and phase was answered for")
        return recorded.body

    def _locked_deployment(self, connection: Connection, request: ResetRequest) -> Deployment | None:
        """The Deployment whose one environment the run asks for; None for a run with one of its own."""
        if request.binding_mode != "deployment_static":
            return None
        deployment = store.deployment_of(connection, request.deployment_profile_id, lock=True)
        if deployment is None:
            raise not_found("CTL-6", "a Deployment of this Controller")
        return deployment

    def _claim(self, connection: Connection, deployment: Deployment | None) -> str:
        """The environment id for a new lease: the Deployment's one, if it is free, or a new one (CTL-6)."""
        now = self.now(connection)
        if deployment is not None and deployment.lease_id is not None:
            self._check_free(connection, deployment.lease_id, now)
        for lease in store.expired_leases(connection, now, limit=_SWEEP):
            self._expire(connection, lease)
        return store.new_id("env") if deployment is None else deployment.environment_id

    def _check_free(self, connection: Connection, lease_id: str, now: int) -> None:
        holder = store.lease_with_id(connection, lease_id, lock=True)
        if holder is None or self.ends_by_time(connection, holder) or holder.status != "active":
            return
        rest = -(-(holder.expires_at - now) // NANOSECONDS)
        raise environment_busy(max(1, min(rest, self._max_retry_after)))


def _record(
    connection: Connection, lease_id: str, phase: str, request_digest: str, answer: ControllerMessage
) -> bytes:
    body = canonical_json(answer.model_dump(mode="json"))
    store.record_answer(connection, lease_id, phase, Recorded(request_digest=request_digest, body=body))
    return body


def _request_digest(request: ResetRequest | LeaseRequest) -> str:
    """What makes two requests the same: every member, an instant by when it is, not by how it is written."""
    members: dict[str, Any] = request.model_dump(mode="json")
    if isinstance(request, RenewRequest):
        at = request.expires_at
        members["expires_at"] = [at.minute, at.second, at.fraction]
    return digest(members)
