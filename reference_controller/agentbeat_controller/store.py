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

from sqlalchemy import Connection, Row, Select, func, insert, select, update
from sqlalchemy.dialects import postgresql, sqlite

from agentbeat_controller.leases import Lease, Stage, Status
from agentbeat_controller.tables import (
    answers,
    contents,
    controller,
    deployments,
    leases,
    receipts,
    snapshots,
)
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
    owner = connection.execute(select(controller.c.controller_id)).scalar_one_or_none()
    if owner is not None:
        return str(owner)
    connection.execute(insert(controller).values(id=_ROW, controller_id=controller_id, clock_floor=0))
    return controller_id


def clock_floor(connection: Connection) -> int:
    """The latest time that any process on this database has given out."""
    return int(connection.execute(select(controller.c.clock_floor)).scalar_one())


def raise_clock_floor(connection: Connection, now: int) -> int:
    """Raise the floor to `now` unless it is higher already; the floor that holds then."""
    connection.execute(update(controller).where(controller.c.clock_floor < now).values(clock_floor=now))
    return clock_floor(connection)


# Deployments


def add_deployments(connection: Connection, deployment_profile_ids: Iterable[str]) -> None:
    """Add the Deployments that are not there yet, each with an environment id that it keeps."""
    known = set(connection.execute(select(deployments.c.deployment_profile_id)).scalars())
    for name in deployment_profile_ids:
        if name not in known:
            row = {"deployment_profile_id": name, "environment_id": new_id("env")}
            connection.execute(insert(deployments).values(**row))


def deployment_of(
    connection: Connection, deployment_profile_id: str, *, lock: bool = False
) -> Deployment | None:
    """A Deployment's row."""
    query = select(deployments.c.environment_id, deployments.c.lease_id).where(
        deployments.c.deployment_profile_id == deployment_profile_id
    )
    row = connection.execute(query.with_for_update() if lock else query).one_or_none()
    return None if row is None else Deployment(environment_id=row.environment_id, lease_id=row.lease_id)


def hold(connection: Connection, deployment_profile_id: str, lease_id: str) -> None:
    """Make `lease_id` the holder of the Deployment's one environment."""
    connection.execute(
        update(deployments)
        .where(deployments.c.deployment_profile_id == deployment_profile_id)
        .values(lease_id=lease_id)
    )


# Leases


def add_lease(connection: Connection, lease: Lease) -> None:
    """Add a lease; a second one for its run is an error of the database."""
    connection.execute(insert(leases).values(**asdict(lease)))


def lease_of_run(connection: Connection, run_id: str, *, lock: bool = False) -> Lease | None:
    """The one lease that a run has or had."""
    return _lease(connection, select(leases).where(leases.c.run_id == run_id), lock=lock)


def lease_with_id(connection: Connection, lease_id: str, *, lock: bool = False) -> Lease | None:
    """A lease by its id."""
    return _lease(connection, select(leases).where(leases.c.lease_id == lease_id), lock=lock)


def expired_leases(connection: Connection, now: int, *, limit: int) -> Sequence[Lease]:
    """Some active leases beyond their end, locked; those that another transaction works on are left out."""
    query = (
        select(leases)
        .where(leases.c.status == "active", leases.c.expires_at <= now)
        .order_by(leases.c.expires_at)
        .limit(limit)
        .with_for_update(skip_locked=True)
    )
    return [_as_lease(row) for row in connection.execute(query)]


def active_leases(connection: Connection, now: int) -> int:
    """How many leases hold an environment now."""
    query = select(func.count()).where(leases.c.status == "active", leases.c.expires_at > now)
    return int(connection.execute(query.select_from(leases)).scalar_one())


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
    connection.execute(update(leases).where(leases.c.lease_id == lease_id).values(**changes))


def _lease(connection: Connection, query: Select[Any], *, lock: bool) -> Lease | None:
    row = connection.execute(query.with_for_update() if lock else query).one_or_none()
    return None if row is None else _as_lease(row)


def _as_lease(row: Row[Any]) -> Lease:
    return Lease(**row._mapping)


# Recorded answers, snapshots, receipts


def answer_of(connection: Connection, lease_id: str, phase: str) -> Recorded | None:
    """The recorded answer of a lease's phase."""
    query = select(answers.c.request_digest, answers.c.body).where(
        answers.c.lease_id == lease_id, answers.c.phase == phase
    )
    row = connection.execute(query).one_or_none()
    return None if row is None else Recorded(request_digest=row.request_digest, body=bytes(row.body))


def record_answer(connection: Connection, lease_id: str, phase: str, recorded: Recorded) -> None:
    """Keep a 200 answer; a second one for the phase is an error of the database."""
    connection.execute(insert(answers).values(lease_id=lease_id, phase=phase, **asdict(recorded)))


def add_snapshot(connection: Connection, lease_id: str, phase: str, snapshot: Snapshot) -> None:
    """Keep a snapshot; its content only where an equal one is not there yet."""
    _add_content(connection, snapshot.digest, snapshot.content)
    connection.execute(
        insert(snapshots).values(
            snapshot_ref=snapshot.snapshot_ref,
            lease_id=lease_id,
            phase=phase,
            digest=snapshot.digest,
            taken_at=snapshot.taken_at,
        )
    )


def _add_content(connection: Connection, name: str, body: bytes) -> None:
    """Keep a content once, also when two transactions keep an equal one at the same time.

    The question comes first because most states are known and may be large. In PostgreSQL another
    transaction's content, not committed yet, is not seen by it; the insert waits for that one's end.
    """
    known = select(contents.c.digest).where(contents.c.digest == name)
    if connection.execute(known).one_or_none() is None:
        insert_of = postgresql.insert if connection.dialect.name == "postgresql" else sqlite.insert
        connection.execute(insert_of(contents).values(digest=name, body=body).on_conflict_do_nothing())


def snapshot_of(connection: Connection, lease_id: str, phase: str) -> Snapshot | None:
    """A lease's snapshot of one phase."""
    query = (
        select(snapshots.c.snapshot_ref, snapshots.c.digest, snapshots.c.taken_at, contents.c.body)
        .join(contents, contents.c.digest == snapshots.c.digest)
        .where(snapshots.c.lease_id == lease_id, snapshots.c.phase == phase)
    )
    row = connection.execute(query).one_or_none()
    if row is None:
        return None
    return Snapshot(
        snapshot_ref=row.snapshot_ref, digest=row.digest, taken_at=row.taken_at, content=bytes(row.body)
    )


def snapshot_content(connection: Connection, snapshot_ref: str) -> bytes | None:
    """The bytes of a snapshot, whosever it is."""
    query = (
        select(contents.c.body)
        .join(snapshots, contents.c.digest == snapshots.c.digest)
        .where(snapshots.c.snapshot_ref == snapshot_ref)
    )
    body = connection.execute(query).scalar_one_or_none()
    return None if body is None else bytes(body)


def add_receipt(connection: Connection, lease_id: str, receipt: StateReceipt) -> None:
    """Keep the receipt of a lease; a second one is an error of the database (CTL-10)."""
    connection.execute(
        insert(receipts).values(
            lease_id=lease_id,
            receipt_id=receipt.receipt_id,
            receipt_digest=receipt.receipt_digest,
            body=canonical_json(receipt.model_dump(mode="json")),
        )
    )
