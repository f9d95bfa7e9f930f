"""The control plane's own tables; an environment's records stand beside them in the same database.

Times are whole nanoseconds since 1970 (`BigInteger`). A snapshot is a row that points to a content, and a
content is stored once per digest; foreign keys see to it that there is no snapshot without one (CTL-10).
The primary key of `receipts` is the lease, and a run has one lease: so there are never two for one run.
"""

from __future__ import annotations

from typing import Final

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
)

__all__ = [
    "answers",
    "contents",
    "controller",
    "deployments",
    "injections",
    "leases",
    "metadata",
    "receipts",
    "signing_keys",
    "snapshots",
]

metadata: Final = MetaData()

#: Longest texts, in characters, as the protocol bounds them.
_TOKEN: Final = String(128)
_NAME: Final = String(256)
_DIGEST: Final = String(71)

#: One row: whose database this is, and the latest time that was given out.
controller: Final = Table(
    "controller",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("controller_id", _NAME, nullable=False),
    Column("clock_floor", BigInteger, nullable=False),
)

#: The public keys that receipts were signed with, in the order of their use; the last one signs.
signing_keys: Final = Table(
    "signing_keys",
    metadata,
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("key_id", String(64), nullable=False),
    Column("verify_key", String(64), nullable=False),
)

leases: Final = Table(
    "leases",
    metadata,
    Column("lease_id", _TOKEN, primary_key=True),
    Column("run_id", String(160), nullable=False, unique=True),
    Column("case_id", String(200), nullable=False),
    Column("profile_id", _NAME, nullable=False),
    Column("profile_digest", _DIGEST, nullable=False),
    Column("deployment_profile_id", _NAME, nullable=False),
    Column("binding_mode", String(32), nullable=False),
    Column("environment_id", _TOKEN, nullable=False),
    Column("attempt_nonce", String(32), nullable=False),
    Column("snapshots", Boolean, nullable=False),
    Column("injection_digest", _DIGEST),
    Column("state_digest", _DIGEST, nullable=False),
    Column("stage", String(16), nullable=False),
    Column("status", String(16), nullable=False),
    Column("expires_at", BigInteger, nullable=False),
    Index("leases_by_end", "status", "expires_at"),
)

#: A Deployment's one environment for `deployment_static`, and the lease that held it last.
deployments: Final = Table(
    "deployments",
    metadata,
    Column("deployment_profile_id", _NAME, primary_key=True),
    Column("environment_id", _TOKEN, nullable=False, unique=True),
    Column("lease_id", _TOKEN, ForeignKey("leases.lease_id")),
)

#: The injections that were planted, in words; the lease has the digest.
injections: Final = Table(
    "injections",
    metadata,
    Column("lease_id", _TOKEN, ForeignKey("leases.lease_id"), primary_key=True),
    Column("surface", Text, nullable=False),
    Column("text", Text, nullable=False),
)

#: The 200 answers, byte for byte (CTL-2).
answers: Final = Table(
    "answers",
    metadata,
    Column("lease_id", _TOKEN, ForeignKey("leases.lease_id"), primary_key=True),
    Column("phase", String(64), primary_key=True),
    Column("request_digest", _DIGEST, nullable=False),
    Column("body", LargeBinary, nullable=False),
)

#: Canonical states, each once.
contents: Final = Table(
    "contents",
    metadata,
    Column("digest", _DIGEST, primary_key=True),
    Column("body", LargeBinary, nullable=False),
)

snapshots: Final = Table(
    "snapshots",
    metadata,
    Column("snapshot_ref", _TOKEN, primary_key=True),
    Column("lease_id", _TOKEN, ForeignKey("leases.lease_id"), nullable=False),
    Column("phase", String(16), nullable=False),
    Column("digest", _DIGEST, ForeignKey("contents.digest"), nullable=False),
    Column("taken_at", BigInteger, nullable=False),
    UniqueConstraint("lease_id", "phase"),
)

receipts: Final = Table(
    "receipts",
    metadata,
    Column("lease_id", _TOKEN, ForeignKey("leases.lease_id"), primary_key=True),
    Column("receipt_id", _TOKEN, nullable=False, unique=True),
    Column("receipt_digest", _DIGEST, nullable=False),
    Column("body", LargeBinary, nullable=False),
)
