"""Rows in and out of the control plane's tables. Each function works inside the caller's transaction.

`lock=True` takes the row until the transaction ends (`SELECT … FOR UPDATE`; in SQLite the whole transaction
already holds the write lock). Locks are always taken in the order deployment, lease, records, clock, so that
two transactions never wait for each other.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from sqlalchemy import Connection, Row

from agentbeat_controller import statements
from agentbeat_controller.leases import Lease, Stage, Status
from agentbeat_protocol import StateReceipt, canonical_json

__all__ = [
    "Deployment",
    "Recorded",
    "Snapshot",
    "active_leases",
    "add_deployments",
    "add_lease",
    "add_receipt",
    "add_snapshot",
    "advance",
    "answer_of",
    "claim_controller",
    "clock_floor",
    "deployment_of",
    "expired_leases",
    "hold",
    "lease_of_run",
    "lease_with_id",
    "new_id",
    "raise_clock_floor",
    "record_answer",
    "snapshot_content",
    "snapshot_of",
]

_ROW = 1


def new_id(kind: str) -> str:
    """An id that nobody can guess: `kind`, a hyphen and 128 random bits in hex."""
    return f"{kind}-{secrets.token_hex(16)}"


@dataclass(frozen=True, kw_only=True)
class Deployment:
    """A Deployment's one environment, and the lease that held it last."""

    environment_id: str
    lease_id: str | None


@dataclass(frozen=True, kw_only=True)
class Recorded:
    """A 200 answer as it was given, and the digest of the request that it answers."""

    request_digest: str
    body: bytes


@dataclass(frozen=True, kw_only=True)
class Snapshot:
    """A snapshot with its content, the canonical bytes that the digest is over."""

    snapshot_ref: str
    digest: str
    taken_at: int
    content: bytes


# The Controller itself


def claim_controller(connection: Connection, controller_id: str) -> str:
    """The id of the Controller that this database belongs to; an empty one is claimed for `controller_id`."""
    owner = connection.execute(statements.CONTROLLER_ID).scalar_one_or_none()
    if owner is not None:
        return str(owner)
    row = {"id": _ROW, "controller_id": controller_id, "clock_floor": 0}
    connection.execute(statements.ADD_CONTROLLER, row)
    return controller_id


def clock_floor(connection: Connection) -> int:
    """The latest time that any process on this database has given out."""
    return int(connection.execute(statements.CLOCK_FLOOR).scalar_one())


def raise_clock_floor(connection: Connection, now: int) -> int:
    """Raise the floor to `now` unless it is higher already; the floor that holds then."""
    raised = connection.execute(statements.RAISE_CLOCK_FLOOR, {"now": now}).rowcount
    return now if raised else clock_floor(connection)


# Deployments


def add_deployments(connection: Connection, deployment_profile_ids: Iterable[str]) -> None:
    """Add the Deployments that are not there yet, each with an environment id that it keeps."""
    known = set(connection.execute(statements.KNOWN_DEPLOYMENTS).scalars())
    for name in deployment_profile_ids:
        if name not in known:
            row = {"deployment_profile_id": name, "environment_id": new_id("env")}
            connection.execute(statements.ADD_DEPLOYMENT, row)


def deployment_of(
    connection: Connection, deployment_profile_id: str, *, lock: bool = False
) -> Deployment | None:
    """A Deployment's row."""
    found = connection.execute(statements.DEPLOYMENT[lock], {"the_deployment": deployment_profile_id})
    row = found.one_or_none()
    return None if row is None else Deployment(environment_id=row.environment_id, lease_id=row.lease_id)


def hold(connection: Connection, deployment_profile_id: str, lease_id: str) -> None:
    """Make `lease_id` the holder of the Deployment's one environment."""
    connection.execute(statements.HOLD, {"the_deployment": deployment_profile_id, "lease_id": lease_id})


# Leases


def add_lease(connection: Connection, lease: Lease) -> None:
    """Add a lease; a second one for its run is an error of the database."""
    connection.execute(statements.ADD_LEASE, asdict(lease))


def lease_of_run(connection: Connection, run_id: str, *, lock: bool = False) -> Lease | None:
    """The one lease that a run has or had."""
    row = connection.execute(statements.LEASE_OF_RUN[lock], {"the_run": run_id}).one_or_none()
    return None if row is None else _as_lease(row)


def lease_with_id(connection: Connection, lease_id: str, *, lock: bool = False) -> Lease | None:
    """A lease by its id."""
    row = connection.execute(statements.LEASE_WITH_ID[lock], {"the_lease": lease_id}).one_or_none()
    return None if row is None else _as_lease(row)


def expired_leases(connection: Connection, now: int, *, limit: int) -> Sequence[Lease]:
    """Some active leases beyond their end, locked; those that another transaction works on are left out."""
    found = connection.execute(statements.EXPIRED_LEASES, {"now": now, "most": limit})
    return [_as_lease(row) for row in found]


def active_leases(connection: Connection, now: int) -> int:
    """How many leases hold an environment now."""
    return int(connection.execute(statements.ACTIVE_LEASES, {"now": now}).scalar_one())


def advance(
    connection: Connection,
    lease_id: str,
    *,
    stage: Stage | None = None,
    status: Status | None = None,
    expires_at: int | None = None,
) -> None:
    """Change what is given of a lease, and nothing else."""
    given = {"stage": stage, "status": status, "expires_at": expires_at}
    changes = {name: value for name, value in given.items() if value is not None}
    connection.execute(statements.CHANGE_LEASE, {"the_lease": lease_id, **changes})


def _as_lease(row: Row[Any]) -> Lease:
    return Lease(**row._mapping)


# Recorded answers, snapshots, receipts


def answer_of(connection: Connection, lease_id: str, phase: str) -> Recorded | None:
    """The recorded answer of a lease's phase."""
    row = connection.execute(statements.ANSWER, {"the_lease": lease_id, "the_phase": phase}).one_or_none()
    return None if row is None else Recorded(request_digest=row.request_digest, body=bytes(row.body))


def record_answer(connection: Connection, lease_id: str, phase: str, recorded: Recorded) -> None:
    """Keep a 200 answer; a second one for the phase is an error of the database."""
    connection.execute(statements.ADD_ANSWER, {"lease_id": lease_id, "phase": phase, **asdict(recorded)})


def add_snapshot(connection: Connection, lease_id: str, phase: str, snapshot: Snapshot) -> None:
    """Keep a snapshot; its content only where an equal one is not there yet."""
    _add_content(connection, snapshot.digest, snapshot.content)
    row = {
        "snapshot_ref": snapshot.snapshot_ref,
        "lease_id": lease_id,
        "phase": phase,
        "digest": snapshot.digest,
        "taken_at": snapshot.taken_at,
    }
    connection.execute(statements.ADD_SNAPSHOT, row)


def _add_content(connection: Connection, name: str, body: bytes) -> None:
    """Keep a content once, also when two transactions keep an equal one at the same time.

    The question comes first because most states are known and may be large. In PostgreSQL another
    transaction's content, not committed yet, is not seen by it; the insert waits for that one's end.
    """
    known = connection.execute(statements.CONTENT_IS_KNOWN, {"the_digest": name})
    if known.one_or_none() is None:
        connection.execute(statements.ADD_CONTENT[connection.dialect.name], {"digest": name, "body": body})


def snapshot_of(connection: Connection, lease_id: str, phase: str) -> Snapshot | None:
    """A lease's snapshot of one phase."""
    row = connection.execute(statements.SNAPSHOT, {"the_lease": lease_id, "the_phase": phase}).one_or_none()
    if row is None:
        return None
    return Snapshot(
        snapshot_ref=row.snapshot_ref, digest=row.digest, taken_at=row.taken_at, content=bytes(row.body)
    )


def snapshot_content(connection: Connection, snapshot_ref: str) -> bytes | None:
    """The bytes of a snapshot, whosever it is."""
    found = connection.execute(statements.CONTENT_OF_SNAPSHOT, {"the_snapshot": snapshot_ref})
    body = found.scalar_one_or_none()
    return None if body is None else bytes(body)


def add_receipt(connection: Connection, lease_id: str, receipt: StateReceipt) -> None:
    """Keep the receipt of a lease; a second one is an error of the database (CTL-10)."""
    row = {
        "lease_id": lease_id,
        "receipt_id": receipt.receipt_id,
        "receipt_digest": receipt.receipt_digest,
        "body": canonical_json(receipt.model_dump(mode="json")),
    }
    connection.execute(statements.ADD_RECEIPT, row)
