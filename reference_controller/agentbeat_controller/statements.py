"""The control plane's statements, each built once: a call only binds values.

To build a statement anew and to find its compiled form costs SQLAlchemy more than to execute it. In a WHERE,
`the_…` is what a row is found by, so that its name meets no column's that is set.

    connection.execute(LEASE_OF_RUN[True], {"the_run": run_id})     # with its lock
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

from sqlalchemy import Executable, Select, bindparam, func, insert, select, update
from sqlalchemy.dialects import postgresql, sqlite

from agentbeat_controller.tables import (
    answers,
    contents,
    controller,
    deployments,
    leases,
    receipts,
    snapshots,
)

__all__ = [
    "ACTIVE_LEASES",
    "ADD_ANSWER",
    "ADD_CONTENT",
    "ADD_CONTROLLER",
    "ADD_DEPLOYMENT",
    "ADD_LEASE",
    "ADD_RECEIPT",
    "ADD_SNAPSHOT",
    "ANSWER",
    "CHANGE_LEASE",
    "CLOCK_FLOOR",
    "CONTENT_IS_KNOWN",
    "CONTENT_OF_SNAPSHOT",
    "CONTROLLER_ID",
    "DEPLOYMENT",
    "EXPIRED_LEASES",
    "HOLD",
    "KNOWN_DEPLOYMENTS",
    "LEASE_OF_RUN",
    "LEASE_WITH_ID",
    "RAISE_CLOCK_FLOOR",
    "SNAPSHOT",
]


def _with_lock(query: Select[Any]) -> Mapping[bool, Select[Any]]:
    """A query as it is, under False, and with a lock on what it finds, under True."""
    return MappingProxyType({False: query, True: query.with_for_update()})


# The Controller itself

CONTROLLER_ID: Final = select(controller.c.controller_id)
ADD_CONTROLLER: Final = insert(controller)
CLOCK_FLOOR: Final = select(controller.c.clock_floor)
RAISE_CLOCK_FLOOR: Final = (
    update(controller).where(controller.c.clock_floor < bindparam("now")).values(clock_floor=bindparam("now"))
)

# Deployments

KNOWN_DEPLOYMENTS: Final = select(deployments.c.deployment_profile_id)
ADD_DEPLOYMENT: Final = insert(deployments)
DEPLOYMENT: Final = _with_lock(
    select(deployments.c.environment_id, deployments.c.lease_id).where(
        deployments.c.deployment_profile_id == bindparam("the_deployment")
    )
)
HOLD: Final = update(deployments).where(deployments.c.deployment_profile_id == bindparam("the_deployment"))

# Leases

ADD_LEASE: Final = insert(leases)
CHANGE_LEASE: Final = update(leases).where(leases.c.lease_id == bindparam("the_lease"))
LEASE_OF_RUN: Final = _with_lock(select(leases).where(leases.c.run_id == bindparam("the_run")))
LEASE_WITH_ID: Final = _with_lock(select(leases).where(leases.c.lease_id == bindparam("the_lease")))
EXPIRED_LEASES: Final = (
    select(leases)
    .where(leases.c.status == "active", leases.c.expires_at <= bindparam("now"))
    .order_by(leases.c.expires_at)
    .limit(bindparam("most"))
    .with_for_update(skip_locked=True)
)
ACTIVE_LEASES: Final = (
    select(func.count())
    .select_from(leases)
    .where(leases.c.status == "active", leases.c.expires_at > bindparam("now"))
)

# Recorded answers, snapshots, receipts

ANSWER: Final = select(answers.c.request_digest, answers.c.body).where(
    answers.c.lease_id == bindparam("the_lease"), answers.c.phase == bindparam("the_phase")
)
ADD_ANSWER: Final = insert(answers)
CONTENT_IS_KNOWN: Final = select(contents.c.digest).where(contents.c.digest == bindparam("the_digest"))
#: By the name of the dialect; a content that another transaction has added meanwhile is left alone.
ADD_CONTENT: Final[Mapping[str, Executable]] = MappingProxyType(
    {
        "postgresql": postgresql.insert(contents).on_conflict_do_nothing(),
        "sqlite": sqlite.insert(contents).on_conflict_do_nothing(),
    }
)
ADD_SNAPSHOT: Final = insert(snapshots)
SNAPSHOT: Final = (
    select(snapshots.c.snapshot_ref, snapshots.c.digest, snapshots.c.taken_at, contents.c.body)
    .join(contents, contents.c.digest == snapshots.c.digest)
    .where(snapshots.c.lease_id == bindparam("the_lease"), snapshots.c.phase == bindparam("the_phase"))
)
CONTENT_OF_SNAPSHOT: Final = (
    select(contents.c.body)
    .join(snapshots, contents.c.digest == snapshots.c.digest)
    .where(snapshots.c.snapshot_ref == bindparam("the_snapshot"))
)
ADD_RECEIPT: Final = insert(receipts)
