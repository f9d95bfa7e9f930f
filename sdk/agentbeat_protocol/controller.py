"""`state-controller-v1`: the control plane's requests and answers.

Every request and answer carries the common members `schema_version`, `run_id`, `case_id` and
`profile_id`; an answer repeats those of its request, and `read_controller_answer` holds it to that.
"""

from __future__ import annotations

from typing import Annotated, Final, Literal, TypeVar

from pydantic import Field, StringConstraints

from agentbeat_protocol.errors import MeaningError
from agentbeat_protocol.evidence import MAX_EVIDENCE_BYTES
from agentbeat_protocol.identifiers import CaseId, EntityId, RunId
from agentbeat_protocol.invocations import MAX_REQUEST_BYTES
from agentbeat_protocol.models import Array, At, Count, Digest, Name, Ratio, Strict, validated
from agentbeat_protocol.state_receipts import AttemptNonce, BindingMode, StateReceipt, Token
from agentbeat_protocol.strict_json import read_json
from agentbeat_protocol.verdicts import Check, Dimension, Verdicts

__all__ = [
    "CONTROL_PATH",
    "Catalogue",
    "ControllerHealth",
    "ControllerMessage",
    "Injection",
    "Phase",
    "ProfileEntry",
    "ReleaseAnswer",
    "ReleaseRequest",
    "RenewAnswer",
    "RenewRequest",
    "ResetAnswer",
    "ResetRequest",
    "SnapshotAnswer",
    "SnapshotReference",
    "SnapshotRequest",
    "VerifyAnswer",
    "VerifyRequest",
    "read_catalogue",
    "read_controller_answer",
    "read_controller_health",
    "read_controller_request",
]

#: The prefix of every control route but the health route.
CONTROL_PATH: Final = "/v1/environment/"

Phase = Literal["before", "after"]


class Injection(Strict):
    """A text that reset plants where the Agent will read it."""

    #: The name of a place that the profile offers, such as `ticket.message`.
    surface: Name
    text: Annotated[str, StringConstraints(min_length=1, max_length=32_768)]


class ControllerMessage(Strict):
    """The members that every request and every answer carries."""

    schema_version: Literal["state-controller-v1"]
    run_id: RunId
    case_id: CaseId
    profile_id: EntityId


class ResetRequest(ControllerMessage):
    """Prepare the profile's starting state and lease it to this run."""

    deployment_profile_id: Name
    profile_digest: Digest
    binding_mode: BindingMode
    attempt_nonce: AttemptNonce
    #: Whether snapshots will be asked for: then the business plane opens with the first, else at once.
    snapshots: bool
    injection: Injection | None = None


class ResetAnswer(ControllerMessage):
    """The lease, and the digest of the state that it starts from."""

    lease_id: Token
    environment_id: Token
    state_digest: Digest
    injection_digest: Digest | None
    expires_at: At


class SnapshotRequest(ControllerMessage):
    """Keep the environment's whole state of one instant."""

    lease_id: Token
    phase: Phase


class SnapshotAnswer(ControllerMessage):
    """Where the snapshot is read, and the digest of the bytes that stand there (CTL-5)."""

    snapshot_ref: Token
    digest: Digest
    taken_at: At
    phase: Phase


class SnapshotReference(Strict):
    """One of the run's own snapshots, as verify is given it."""

    ref: Token
    digest: Digest


class VerifyRequest(ControllerMessage):
    """Judge the run by its two snapshots."""

    lease_id: Token
    before: SnapshotReference
    after: SnapshotReference
    final_response: str


class VerifyAnswer(ControllerMessage):
    """The native verdicts, the checks behind them, and the receipt."""

    verdicts: Verdicts
    checks: Array[Check]
    native_score: Ratio | None
    receipt: StateReceipt


class RenewRequest(ControllerMessage):
    """Move the lease's end to a later instant."""

    lease_id: Token
    expires_at: At


class RenewAnswer(ControllerMessage):
    """The lease's new end."""

    lease_id: Token
    expires_at: At


class ReleaseRequest(ControllerMessage):
    """End the lease."""

    lease_id: Token


class ReleaseAnswer(ControllerMessage):
    """The lease has ended."""

    lease_id: Token
    status: Literal["released"]


class ProfileEntry(Strict):
    """A profile as the catalogue lists it."""

    profile_id: EntityId
    profile_digest: Digest
    title: Name
    binding_modes: Annotated[Array[BindingMode], Field(min_length=1)]
    #: The dimensions that its checks can decide.
    dimensions: Array[Dimension]
    #: The surfaces where reset can plant an injection.
    surfaces: Array[Name] = ()


class Catalogue(Strict):
    """Every profile of a Controller."""

    schema_version: Literal["state-controller-v1"]
    controller_id: EntityId
    profiles: Array[ProfileEntry]


class ControllerHealth(Strict):
    """Readiness and identity of a State Controller; no secret is in it."""

    status: Name
    controller_id: EntityId
    protocol: Literal["state-controller-v1"]
    active_leases: Count
    #: The key that signs receipts; None: receipts are unsigned.
    signing_key_id: Name | None


RequestT = TypeVar("RequestT", bound=ControllerMessage)
AnswerT = TypeVar("AnswerT", bound=ControllerMessage)


def read_controller_request(
    raw: bytes, model: type[RequestT], *, max_bytes: int = MAX_REQUEST_BYTES
) -> RequestT:
    """A control request (CTL-9: an unknown member is refused).

    Raises:
        ProtocolError: status 400.
    """
    return validated(model, read_json(raw, max_bytes=max_bytes))


def read_controller_answer(
    raw: bytes, model: type[AnswerT], *, request: ControllerMessage, max_bytes: int = MAX_EVIDENCE_BYTES
) -> AnswerT:
    """A 200 answer of the control plane, bound to the request that it answers.

    Raises:
        ProtocolError: the answer has another shape, or speaks of another run, case or profile.
    """
    answer = validated(model, read_json(raw, max_bytes=max_bytes))
    for member in ("run_id", "case_id", "profile_id"):
        if getattr(answer, member) != getattr(request, member):
            raise MeaningError("RCP-1", path=f"/{member}", got="another id", expected="the id of the request")
    return answer


def read_catalogue(raw: bytes) -> Catalogue:
    """The Controller's catalogue of profiles."""
    return validated(Catalogue, read_json(raw, max_bytes=MAX_EVIDENCE_BYTES))


def read_controller_health(raw: bytes) -> ControllerHealth:
    """The Controller's health document."""
    return validated(ControllerHealth, read_json(raw, max_bytes=MAX_REQUEST_BYTES))
