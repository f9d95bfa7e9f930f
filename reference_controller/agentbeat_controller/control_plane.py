"""The control plane: reset, snapshot, verify, renew, release, each one transaction.

A call does all of its work, lease, records, snapshot, receipt and recorded answer, in one transaction, or
none of it (CTL-10). Its checks come in the order of CTL-2: 400, 404, `lease_expired`, the recorded answer,
`binding_conflict`, phase; what only this call can be refused for comes last. Callers have checked the secret.

Answers are the bytes of the wire: a recorded one is given again byte for byte, also after a restart.

    plane.start()
    answer = plane.reset(ResetRequest(...))
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Any, Final

from sqlalchemy import Connection

from agentbeat_controller import store
from agentbeat_controller.catalogues import catalogue_of, check_digest, profile_to_reset
from agentbeat_controller.contents import content_of
from agentbeat_controller.databases import begin_setup
from agentbeat_controller.environments.base import Environment
from agentbeat_controller.environments.profile_checks import checked_catalogue
from agentbeat_controller.judging import judge, own_snapshot
from agentbeat_controller.lease_book import LeaseBook
from agentbeat_controller.leases import Lease
from agentbeat_controller.limits import ControllerLimits
from agentbeat_controller.receipts import ReceiptSigner, build_receipt
from agentbeat_controller.refusals import binding_conflict, invalid_request, not_found
from agentbeat_controller.store import Snapshot
from agentbeat_controller.tables import metadata
from agentbeat_controller.timekeeping import NANOSECONDS, Timekeeper
from agentbeat_controller.transactions import Transactions
from agentbeat_protocol import (
    Catalogue,
    ControllerHealth,
    ControllerMessage,
    Instant,
    ReleaseAnswer,
    ReleaseRequest,
    RenewAnswer,
    RenewRequest,
    ResetAnswer,
    ResetRequest,
    SnapshotAnswer,
    SnapshotRequest,
    VerifyAnswer,
    VerifyRequest,
    cut,
    digest,
    digest_bytes,
    native_score,
)

__all__ = ["ControlPlane", "SetupError"]

_SCHEMA: Final = "state-controller-v1"


class SetupError(Exception):
    """The control plane cannot start with what it was given; the message says what."""


class ControlPlane:
    """What Core may ask of the Controller; every method is synchronous and safe to call from any thread.

    Args:
        environment: what is prepared, read and judged.
        transactions: the database of leases and records.
        controller_id: stands in every receipt; a database belongs to one.
        deployments: the Deployments that resets may name.
        signer: signs the receipts; None leaves them unsigned.
        timekeeper: the Controller's own time.

    Raises:
        ProfileError: the environment's catalogue has a profile that cannot be listed, pinned and reset.
    """

    def __init__(
        self,
        *,
        environment: Environment,
        transactions: Transactions,
        controller_id: str,
        deployments: Iterable[str],
        signer: ReceiptSigner | None,
        timekeeper: Timekeeper | None = None,
        limits: ControllerLimits | None = None,
    ) -> None:
        self.limits = limits or ControllerLimits()
        self._environment = environment
        self._content = partial(content_of, environment, max_bytes=self.limits.max_snapshot_bytes)
        self._profiles = checked_catalogue(environment.profiles)
        self._controller_id = controller_id
        self._deployments = frozenset(deployments)
        self._signer = signer
        self._transactions = transactions
        #: Leases and their answers; the business plane's door looks into it too.
        self.book = LeaseBook(
            transactions=transactions,
            environment=environment,
            timekeeper=timekeeper or Timekeeper(),
            max_retry_after=self.limits.max_retry_after,
        )

    def start(self) -> None:
        """Create what is missing in the database; to be called once before anything else.

        Raises:
            SetupError: the database belongs to another Controller.
            ValueError: it cannot hold every text.
            ProtocolError: `controller_unavailable`.
        """

        def work(connection: Connection) -> None:
            begin_setup(connection)
            metadata.create_all(connection)
            self._environment.create_tables(connection)
            owner = store.claim_controller(connection, self._controller_id)
            if owner != self._controller_id:
                raise SetupError(f"the database belongs to another controller id: {cut(owner, 64)}")
            store.add_deployments(connection, sorted(self._deployments))

        self._transactions.run(work)

    # Reading

    def catalogue(self) -> Catalogue:
        """Every profile, in the environment's order."""
        return catalogue_of(self._profiles.values(), controller_id=self._controller_id)

    def health(self) -> ControllerHealth:
        """Readiness and identity.

        Raises:
            ProtocolError: `controller_unavailable`: not ready.
        """
        with self._transactions.begin() as connection:
            active = store.active_leases(connection, self.book.now(connection))
        return ControllerHealth(
            status="ok",
            controller_id=self._controller_id,
            protocol=_SCHEMA,
            active_leases=active,
            signing_key_id=self._signer.key_id if self._signer else None,
        )

    def snapshot_content(self, snapshot_ref: str) -> bytes:
        """The canonical bytes of a snapshot, those that its digest is over (CTL-5).

        Raises:
            ProtocolError: `not_found`.
        """
        with self._transactions.begin() as connection:
            content = store.snapshot_content(connection, snapshot_ref)
        if content is None:
            raise not_found("CTL-5", "a snapshot of this Controller")
        return content

    # The steps of a run

    def reset(self, request: ResetRequest) -> bytes:
        """Set the profile's exact starting state and lease it to the run (CTL-3, CTL-6)."""
        profile = profile_to_reset(self._profiles, request)
        if request.deployment_profile_id not in self._deployments:
            raise not_found("CTL-6", "a Deployment of this Controller")

        def make(connection: Connection, environment_id: str) -> tuple[Lease, ControllerMessage]:
            self._environment.reset(connection, environment_id, profile, injection=request.injection)
            content = self._content(connection, environment_id)
            lease = Lease(
                lease_id=store.new_id("lease"),
                run_id=request.run_id,
                case_id=request.case_id,
                profile_id=profile.profile_id,
                profile_digest=profile.profile_digest,
                deployment_profile_id=request.deployment_profile_id,
                binding_mode=request.binding_mode,
                environment_id=environment_id,
                attempt_nonce=request.attempt_nonce,
                snapshots=request.snapshots,
                injection_digest=digest(request.injection.model_dump()) if request.injection else None,
                state_digest=digest_bytes(content),
                stage="reset",
                status="active",
                expires_at=self.book.tick(connection) + self.limits.lease_seconds * NANOSECONDS,
            )
            answer = ResetAnswer(
                **_common(lease),
                lease_id=lease.lease_id,
                environment_id=lease.environment_id,
                state_digest=lease.state_digest,
                injection_digest=lease.injection_digest,
                expires_at=Instant.from_nanoseconds(lease.expires_at),
            )
            return lease, answer

        return self.book.reset_once(request, make, check=partial(check_digest, profile, request))

    def snapshot(self, request: SnapshotRequest) -> bytes:
        """Keep the whole state of one instant (CTL-4, CTL-5)."""

        def act(connection: Connection, lease: Lease) -> ControllerMessage:
            stage = lease.stage_after(request.phase)
            content = self._content(connection, lease.environment_id)
            taken = Snapshot(
                snapshot_ref=store.new_id("snapshot"),
                digest=digest_bytes(content),
                taken_at=self.book.tick_within(connection, lease),
                content=content,
            )
            store.add_snapshot(connection, lease.lease_id, request.phase, taken)
            store.advance(connection, lease.lease_id, stage=stage)
            return SnapshotAnswer(
                **_common(lease),
                snapshot_ref=taken.snapshot_ref,
                digest=taken.digest,
                taken_at=Instant.from_nanoseconds(taken.taken_at),
                phase=request.phase,
            )

        return self.book.in_lease(request, request.phase, act, profiles=self._profiles)

    def verify(self, request: VerifyRequest) -> bytes:
        """Judge the run by its two snapshots and sign what was found (CTL-7, CTL-8)."""

        def act(connection: Connection, lease: Lease) -> ControllerMessage:
            stage = lease.stage_after("verify")
            before = own_snapshot(connection, lease, request, "before")
            after = own_snapshot(connection, lease, request, "after")
            response = request.final_response
            findings = judge(self._environment, lease, before=before, after=after, final_response=response)
            receipt = build_receipt(
                lease,
                controller_id=self._controller_id,
                receipt_id=store.new_id("receipt"),
                before=before,
                after=after,
                final_response=response,
                findings=findings,
                issued_at=Instant.from_nanoseconds(self.book.tick_within(connection, lease)),
                signer=self._signer,
            )
            store.add_receipt(connection, lease.lease_id, receipt)
            store.advance(connection, lease.lease_id, stage=stage)
            return VerifyAnswer(
                **_common(lease),
                verdicts=findings.verdicts,
                checks=findings.checks,
                native_score=native_score(findings.checks),
                receipt=receipt,
            )

        return self.book.in_lease(request, "verify", act, profiles=self._profiles)

    def renew(self, request: RenewRequest) -> bytes:
        """Move the lease's end to a later instant; one answer per instant (CTL-2)."""
        expires_at = request.expires_at.unix_nanoseconds
        longest = self.limits.max_lease_seconds

        def check(connection: Connection) -> None:
            if expires_at > self.book.now(connection) + longest * NANOSECONDS:
                expected = f"an end within {longest} seconds from now"
                raise invalid_request("/expires_at", got="a later end", expected=expected)

        def act(connection: Connection, lease: Lease) -> ControllerMessage:
            if expires_at <= lease.expires_at:
                raise binding_conflict("an end later than the lease has")
            lease.check_active("renew")
            store.advance(connection, lease.lease_id, expires_at=expires_at)
            end = Instant.from_nanoseconds(expires_at)
            return RenewAnswer(**_common(lease), lease_id=lease.lease_id, expires_at=end)

        phase = f"renew:{expires_at}"
        return self.book.in_lease(request, phase, act, profiles=self._profiles, check=check)

    def release(self, request: ReleaseRequest) -> bytes:
        """End the lease and forget the environment's records; the snapshots stay."""

        def act(connection: Connection, lease: Lease) -> ControllerMessage:
            lease.check_active("release")
            store.advance(connection, lease.lease_id, status="released")
            self._environment.drop(connection, lease.environment_id)
            return ReleaseAnswer(**_common(lease), lease_id=lease.lease_id, status="released")

        return self.book.in_lease(request, "release", act, profiles=self._profiles)


def _common(lease: Lease) -> dict[str, Any]:
    return {
        "schema_version": _SCHEMA,
        "run_id": lease.run_id,
        "case_id": lease.case_id,
        "profile_id": lease.profile_id,
    }
