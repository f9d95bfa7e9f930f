"""What goes wrong between two processes, and how it is said.

    ProtocolError                 a message breaks a rule of the protocol
    ├── JSONError                 its bytes are no strict JSON (J-*)
    ├── CanonicalError            its value has no canonical form (C-*)
    ├── SchemaError               its shape is wrong (S-*, or the rule that asks for the shape)
    │   └── URLError              a URL of our own configuration is unsound (see `origins`)
    ├── MeaningError              it contradicts itself or the run it is bound to (X-*, EVD-*, INV-*, RCP-*)
    └── EvidenceRefError          an evidence reference leads elsewhere (O-*)

Each carries the rule that it breaks, the wire's error code, where in the document it happened, what was
found there and what was expected. `got` is short and safe to print: a type, a length or a cut excerpt,
never a whole value of the other side.

>>> error = SchemaError("S-TYPE", path="/events/0/sequence", got="boolean", expected="an integer >= 0")
>>> str(error)
'S-TYPE at /events/0/sequence: got boolean, expected an integer >= 0'
>>> error.status
400
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any, Final

__all__ = [
    "CONTROLLER_CODES",
    "TARGET_CODES",
    "CanonicalError",
    "EvidenceRefError",
    "JSONError",
    "MeaningError",
    "ProtocolError",
    "SchemaError",
    "cut",
    "error_envelope",
    "json_pointer",
    "status_of",
]

#: Every error code of the Target protocol and its HTTP status (spec 1, "Error codes").
TARGET_CODES: Final[Mapping[str, int]] = MappingProxyType(
    {
        "invalid_request": 400,
        "invalid_json": 400,
        "invalid_request_schema": 400,
        "target_invocation_schema_invalid": 400,
        "invalid_run_id": 400,
        "invalid_case_id": 400,
        "invalid_input": 400,
        "invalid_metadata": 400,
        "runtime_override_forbidden": 400,
        "correlation_binding_mismatch": 400,
        "unauthorized": 401,
        "not_found": 404,
        "method_not_allowed": 405,
        "request_timeout": 408,
        "run_id_reused": 409,
        "request_too_large": 413,
        "unsupported_media_type": 415,
        "request_header_too_large": 431,
        "internal_error": 500,
        "target_execution_failed": 502,
        "target_busy": 503,
        "target_draining": 503,
        "target_timeout": 504,
    }
)

#: The State Controller's own codes beside the Target's (spec 2).
CONTROLLER_CODES: Final[Mapping[str, int]] = MappingProxyType(
    {
        "profile_not_found": 404,
        "profile_changed": 409,
        "phase_out_of_order": 409,
        "binding_conflict": 409,
        "environment_busy": 409,
        "environment_closed": 409,
        "lease_expired": 409,
        "snapshot_mismatch": 409,
        "controller_unavailable": 503,
    }
)

#: The longest excerpt of the other side's text that an error repeats (INV-10), in code points.
EXCERPT: Final = 64


def status_of(code: str) -> int:
    """The HTTP status that goes with an error code; an unknown code is an internal error, 500."""
    return TARGET_CODES.get(code) or CONTROLLER_CODES.get(code) or 500


def cut(text: str, limit: int = EXCERPT) -> str:
    """`text` on one line, at most `limit` code points, control characters and surrogates escaped."""
    safe = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text[:limit])
    return safe if len(text) <= limit and len(safe) <= limit else safe[: limit - 1] + "…"


def json_pointer(parts: Iterable[object]) -> str:
    """The RFC 6901 pointer along member names and indexes, each cut to 64 characters as it stands there."""
    return "".join("/" + cut(str(part).replace("~", "~0").replace("/", "~1")) for part in parts)


def error_envelope(code: str, message: str) -> dict[str, Any]:
    """The body of every refusal: `{"error": {"code": …, "message": …}}` (INV-10)."""
    return {"error": {"code": code, "message": message}}


class ProtocolError(ValueError):
    """A message breaks a rule of the protocol.

    Args:
        rule: the id of a requirement (`EVD-7`) or a rule code of the case files (`J-DUPKEY`).
        code: the wire's snake_case error code; its HTTP status is `status`.
        path: RFC 6901 pointer to the offending place; empty for the whole document.
        got: what stood there, short and safe.
        expected: what the rule asks for.
    """

    default_code = "invalid_request_schema"

    def __init__(
        self, rule: str, *, code: str | None = None, path: str = "", got: str, expected: str
    ) -> None:
        self.rule = rule
        self.code = code or self.default_code
        self.path = path
        self.got = got
        self.expected = expected
        super().__init__(f"{rule} at {path or 'the document'}: got {got}, expected {expected}")

    @property
    def status(self) -> int:
        """The HTTP status that a server answers with for this error."""
        return status_of(self.code)

    def envelope(self) -> dict[str, Any]:
        """The error body for this refusal, without the rule's id and without any value of the request."""
        where = f"{self.path}: " if self.path else ""
        return error_envelope(self.code, f"{where}expected {self.expected}")


class JSONError(ProtocolError):
    """The bytes are not strict JSON (J-*, listed in `strict_json`)."""

    default_code = "invalid_json"


class CanonicalError(ProtocolError):
    """The value has no RFC 8785 form: rule C-INTEXACT, C-NONFINITE, C-SURROGATE, C-TYPE or C-DEPTH."""

    default_code = "invalid_json"


class SchemaError(ProtocolError):
    """The shape is wrong: a type, length, pattern, count, or a missing or unknown member (S-*)."""


class MeaningError(ProtocolError):
    """The shape is right, but the message contradicts itself or the run it is bound to."""


class EvidenceRefError(ProtocolError):
    """An evidence reference does not name this run's route on the registered endpoint (EVD-9, O-*)."""

    default_code = "evidence_ref_refused"
