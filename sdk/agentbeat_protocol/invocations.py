"""`target-invocation-v1`: the task that Core posts, the answer that the Target gives, and its health.

>>> from agentbeat_protocol import read_invocation
>>> raw = (b'{"schema_version": "target-invocation-v1", "run_id": "run-a", "case_id": "case-a", '
...        b'"input": {"text": "Hi"}}')
>>> read_invocation(raw, {"X-AIBeat-Run-ID": "run-a", "X-AIBeat-Case-ID": "case-a"}).input.text
'Hi'
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Final, Literal, Protocol

from pydantic import Field, StringConstraints

from agentbeat_protocol.errors import MeaningError, ProtocolError, SchemaError
from agentbeat_protocol.identifiers import (
    CASE_ID_HEADER,
    RUN_ID_HEADER,
    CaseId,
    EntityId,
    RunId,
)
from agentbeat_protocol.models import Count, Integral, JSONObject, Public, Strict, describe, validated
from agentbeat_protocol.overrides import check_metadata
from agentbeat_protocol.strict_json import read_json

__all__ = [
    "EVIDENCE_PATH",
    "HEALTH_PATH",
    "INVOCATION_PATH",
    "MAX_REQUEST_BYTES",
    "MAX_RESPONSE_BYTES",
    "MAX_TEXT_BYTES",
    "ErrorDetail",
    "ErrorEnvelope",
    "Health",
    "Invocation",
    "InvocationInput",
    "InvocationResponse",
    "check_binding",
    "check_media_type",
    "read_error",
    "read_health",
    "read_invocation",
    "read_invocation_response",
]

INVOCATION_PATH: Final = "/v1/agent/invocations"
EVIDENCE_PATH: Final = "/v1/evidence/"
HEALTH_PATH: Final = "/healthz"

#: A request body's limit unless the Target sets another, in bytes (INV-7).
MAX_REQUEST_BYTES: Final = 1024 * 1024
#: The limit of `input.text` in bytes of UTF-8 (INV-3).
MAX_TEXT_BYTES: Final = 512 * 1024
#: Where Core stops reading an invocation response, in bytes.
MAX_RESPONSE_BYTES: Final = 4 * 1024 * 1024

Headers = Mapping[str, str] | Iterable[tuple[bytes, bytes]]


class Bound(Protocol):
    """A message of one run of one case."""

    @property
    def run_id(self) -> str: ...

    @property
    def case_id(self) -> str: ...


class InvocationInput(Strict):
    """What the Agent is asked to do."""

    text: str


class Invocation(Strict):
    """A task for the Agent, bound to one run and one case."""

    schema_version: Literal["target-invocation-v1"]
    run_id: RunId
    case_id: CaseId
    input: InvocationInput
    metadata: JSONObject = Field(default_factory=dict)


class InvocationResponse(Public):
    """What the Agent answered. Members beyond these are tolerated; null stands for an absent optional one."""

    schema_version: Literal["target-invocation-v1"]
    run_id: RunId
    case_id: CaseId
    status: Literal["completed"]
    final_response: str
    task_id: str | None = None
    #: Kept as it came: `resolve_evidence_ref` judges it, and a bad one costs the L2 channels, not the run.
    evidence_ref: Any = None
    metadata: JSONObject | None = None
    usage: JSONObject | None = None


class Health(Public):
    """Readiness and identity (HLT-2). Only `status` is sure to be there."""

    status: str
    target_id: EntityId | None = None
    connector_id: str | None = None
    invocation_protocol: str | None = None
    invocation_path: str | None = None
    evidence: Literal["L1", "L2"] | None = None
    active_runs: Count | None = None
    max_concurrent_runs: Annotated[int, Field(ge=1), Integral] | None = None


class ErrorDetail(Public):
    """What was refused: a snake_case code, and a text for people."""

    code: Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]*$", max_length=64)]
    message: str


class ErrorEnvelope(Public):
    """The body of every refusal of a Target or a State Controller (INV-10)."""

    error: ErrorDetail


def read_invocation(raw: bytes, headers: Headers | None, *, max_bytes: int = MAX_REQUEST_BYTES) -> Invocation:
    """The invocation in a request body, checked as INV-3, INV-5, INV-6 and INV-8 ask.

    Args:
        raw: the body, as received.
        headers: the request's headers, a mapping or ASGI's pairs; None leaves the correlation unchecked.

    Raises:
        ProtocolError: `code` is the wire's error code for the first rule that is broken.
    """
    if len(raw) > max_bytes:
        raise ProtocolError(
            "INV-7", code="request_too_large", got=f"{len(raw)} bytes", expected=f"at most {max_bytes} bytes"
        )
    value = read_json(raw, max_bytes=max_bytes)
    if not isinstance(value, dict):
        raise SchemaError("INV-3", got=describe(value), expected="a JSON object")
    try:
        invocation = validated(Invocation, value, rule="INV-3")
    except SchemaError as error:
        error.code = _code_for(error.path)
        raise
    _check_text(invocation.input.text)
    check_metadata(invocation.metadata)
    if headers is not None:
        _check_correlation(headers, invocation)
    return invocation


def _code_for(path: str) -> str:
    member = path.split("/")[1] if path else ""
    return {
        "schema_version": "target_invocation_schema_invalid",
        "run_id": "invalid_run_id",
        "case_id": "invalid_case_id",
        "input": "invalid_input",
        "metadata": "invalid_metadata",
    }.get(member, "invalid_request_schema")


def _check_text(text: str) -> None:
    if not text.strip():
        raise SchemaError(
            "INV-3",
            code="invalid_input",
            path="/input/text",
            got="blank text",
            expected="text that is not blank",
        )
    if (size := len(text.encode())) > MAX_TEXT_BYTES:
        raise SchemaError(
            "INV-3",
            code="invalid_input",
            path="/input/text",
            got=f"{size} bytes",
            expected=f"at most {MAX_TEXT_BYTES} bytes of UTF-8",
        )


def _check_correlation(headers: Headers, invocation: Invocation) -> None:
    """INV-6: each correlation header stands there once and equals the body's id."""
    pairs = headers.items() if isinstance(headers, Mapping) else headers
    lines = [(_text(name).lower(), _text(value)) for name, value in pairs]
    for header, bound in ((RUN_ID_HEADER, invocation.run_id), (CASE_ID_HEADER, invocation.case_id)):
        values = [value for name, value in lines if name == header.lower()]
        if values != [bound]:
            raise MeaningError(
                "INV-6",
                code="correlation_binding_mismatch",
                got=f"{len(values)} such headers" if len(values) != 1 else "another id",
                expected=f"one {header} header equal to the body's id",
            )


def _text(part: str | bytes) -> str:
    return part if isinstance(part, str) else part.decode("latin-1")


# type "/" subtype, then parameters as tokens or quoted strings (RFC 9110, sections 5.6.6 and 8.3.1).
_NAME = r"[!#$%&'*+.^_`|~0-9A-Za-z-]+"
_PARAMETER = re.compile(rf'[ \t]*;[ \t]*(?:({_NAME})=({_NAME}|"(?:[^"\\]|\\.)*"))?', re.ASCII)


def check_media_type(value: str | None) -> None:
    """INV-7: the body is `application/json`; parameters are allowed, a charset other than UTF-8 is not.

    Raises:
        ProtocolError: `unsupported_media_type`, 415.
    """
    if value is not None and _is_json(value):
        return
    got = "no Content-Type" if value is None else "another media type"
    raise ProtocolError(
        "INV-7", code="unsupported_media_type", got=got, expected="Content-Type: application/json"
    )


def _is_json(value: str) -> bool:
    essence, semicolon, rest = value.strip(" \t").partition(";")
    if essence.strip(" \t").lower() != "application/json":
        return False
    rest = semicolon + rest
    while rest.strip(" \t"):
        parameter = _PARAMETER.match(rest)
        if parameter is None:
            return False
        name, setting = parameter.groups()
        if (name or "").lower() == "charset" and setting.strip('"').lower() not in ("utf-8", "utf8"):
            return False
        rest = rest[parameter.end() :]
    return True


def read_invocation_response(raw: bytes, *, run_id: str, case_id: str) -> InvocationResponse:
    """The Target's answer to this run's invocation (INV-1).

    Raises:
        ProtocolError: code `target_contract_failed`: the answer is no observation of the Agent at all.
    """
    try:
        response = validated(InvocationResponse, read_json(raw, max_bytes=MAX_RESPONSE_BYTES), rule="INV-1")
        check_binding(response, run_id=run_id, case_id=case_id, rule="INV-1")
    except ProtocolError as error:
        error.code = "target_contract_failed"
        raise
    if not response.final_response.strip():
        raise SchemaError(
            "INV-1",
            code="target_contract_failed",
            path="/final_response",
            got="blank text",
            expected="a character that is not white space",
        )
    return response


def check_binding(message: Bound, *, run_id: str, case_id: str, rule: str) -> None:
    """The message's `run_id` and `case_id` are those of the invocation, to the letter."""
    for member, given, bound in (("run_id", message.run_id, run_id), ("case_id", message.case_id, case_id)):
        if given != bound:
            raise MeaningError(
                rule, path=f"/{member}", got="another id", expected="the id of this invocation"
            )


def read_error(raw: bytes) -> ErrorDetail:
    """The error in the body of a refusal.

    Raises:
        ProtocolError: the body is no error envelope.
    """
    return validated(ErrorEnvelope, read_json(raw, max_bytes=MAX_REQUEST_BYTES), rule="INV-10").error


def read_health(raw: bytes) -> Health:
    """The Target's health document (HLT-2)."""
    return validated(Health, read_json(raw, max_bytes=MAX_REQUEST_BYTES), rule="HLT-2")
