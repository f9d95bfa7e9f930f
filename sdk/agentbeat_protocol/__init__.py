"""The AgentBeat wire: what Targets, State Controllers and Core say to one another, and nothing else.

The room is pure. It reads bytes into frozen models and refuses, with the rule's id, what breaks a rule of the
protocol; it turns values into canonical bytes and digests; and it holds the few functions that two rooms must
agree on. It opens no file and no socket.

>>> read_json(b'{"b": 2.0, "a": 1}')
{'b': 2.0, 'a': 1}
>>> canonical_json({"b": 2.0, "a": 1})
b'{"a":1,"b":2}'
>>> digest({"b": 2.0, "a": 1}) == digest({"a": 1, "b": 2})
True
"""

from agentbeat_protocol.canonical import canonical_json, digest, digest_bytes, digest_text, is_digest
from agentbeat_protocol.controller import (
    CONTROL_PATH,
    Catalogue,
    ControllerHealth,
    ControllerMessage,
    Injection,
    ProfileEntry,
    ReleaseAnswer,
    ReleaseRequest,
    RenewAnswer,
    RenewRequest,
    ResetAnswer,
    ResetRequest,
    SnapshotAnswer,
    SnapshotReference,
    SnapshotRequest,
    VerifyAnswer,
    VerifyRequest,
    read_catalogue,
    read_controller_answer,
    read_controller_health,
    read_controller_request,
)
from agentbeat_protocol.errors import (
    CONTROLLER_CODES,
    TARGET_CODES,
    CanonicalError,
    EvidenceRefError,
    JSONError,
    MeaningError,
    ProtocolError,
    SchemaError,
    cut,
    error_envelope,
    status_of,
)
from agentbeat_protocol.events import CHANNEL_OF, Event
from agentbeat_protocol.evidence import (
    MAX_EVIDENCE_BYTES,
    EvidenceDocument,
    dropped_counts,
    evidence_notes,
    read_evidence,
)
from agentbeat_protocol.identifiers import (
    CASE_ID_HEADER,
    RUN_ID_HEADER,
    is_case_id,
    is_run_id,
    task_id,
)
from agentbeat_protocol.instants import Instant
from agentbeat_protocol.invocations import (
    EVIDENCE_PATH,
    HEALTH_PATH,
    INVOCATION_PATH,
    MAX_RESPONSE_BYTES,
    ErrorEnvelope,
    Health,
    Invocation,
    InvocationResponse,
    check_media_type,
    read_error,
    read_health,
    read_invocation,
    read_invocation_response,
)
from agentbeat_protocol.models import Ratio
from agentbeat_protocol.origins import Origin, URLError, same_origin
from agentbeat_protocol.overrides import check_metadata, is_runtime_override
from agentbeat_protocol.references import check_no_redirect, resolve_evidence_ref
from agentbeat_protocol.state_receipts import StateReceipt, receipt_digest, signing_payload
from agentbeat_protocol.strict_json import JSONValue, read_json
from agentbeat_protocol.verdicts import (
    DIMENSIONS,
    Check,
    Verdict,
    Verdicts,
    native_score,
    verdicts_follow,
    verdicts_from_checks,
)

__all__ = [
    "CASE_ID_HEADER",
    "CHANNEL_OF",
    "CONTROLLER_CODES",
    "CONTROL_PATH",
    "DIMENSIONS",
    "EVIDENCE_PATH",
    "HEALTH_PATH",
    "INVOCATION_PATH",
    "MAX_EVIDENCE_BYTES",
    "MAX_RESPONSE_BYTES",
    "RUN_ID_HEADER",
    "TARGET_CODES",
    "CanonicalError",
    "Catalogue",
    "Check",
    "ControllerHealth",
    "ControllerMessage",
    "ErrorEnvelope",
    "Event",
    "EvidenceDocument",
    "EvidenceRefError",
    "Health",
    "Injection",
    "Instant",
    "Invocation",
    "InvocationResponse",
    "JSONError",
    "JSONValue",
    "MeaningError",
    "Origin",
    "ProfileEntry",
    "ProtocolError",
    "Ratio",
    "ReleaseAnswer",
    "ReleaseRequest",
    "RenewAnswer",
    "RenewRequest",
    "ResetAnswer",
    "ResetRequest",
    "SchemaError",
    "SnapshotAnswer",
    "SnapshotReference",
    "SnapshotRequest",
    "StateReceipt",
    "URLError",
    "Verdict",
    "Verdicts",
    "VerifyAnswer",
    "VerifyRequest",
    "canonical_json",
    "check_media_type",
    "check_metadata",
    "check_no_redirect",
    "cut",
    "digest",
    "digest_bytes",
    "digest_text",
    "dropped_counts",
    "error_envelope",
    "evidence_notes",
    "is_case_id",
    "is_digest",
    "is_run_id",
    "is_runtime_override",
    "native_score",
    "read_catalogue",
    "read_controller_answer",
    "read_controller_health",
    "read_controller_request",
    "read_error",
    "read_evidence",
    "read_health",
    "read_invocation",
    "read_invocation_response",
    "read_json",
    "receipt_digest",
    "resolve_evidence_ref",
    "same_origin",
    "signing_payload",
    "status_of",
    "task_id",
    "verdicts_follow",
    "verdicts_from_checks",
]
