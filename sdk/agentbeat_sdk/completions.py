"""The Agent's answer: what it may be, and the bytes of the invocation response that carries it (INV-1)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, cast

from agentbeat_protocol import (
    EVIDENCE_PATH,
    MAX_RESPONSE_BYTES,
    Invocation,
    ProtocolError,
    digest_bytes,
    read_json,
    task_id,
)
from agentbeat_sdk.answers import compact_json
from agentbeat_sdk.runs import Completion

__all__ = ["checked_completion", "response_body"]

#: The member of the response's metadata that binds the evidence to it. It is the Target's own.
EVIDENCE_DIGEST: Final = "evidence_digest"

# What the response holds beside the Agent's answer: ids, digest, names and punctuation.
_ENVELOPE_BYTES: Final = 2_048


def checked_completion(value: object) -> Completion:
    """What the Agent returned, as a Completion of plain JSON values that any strict reader takes.

    Raises:
        ValueError: it is neither a str nor a Completion, its text is blank, a part of it is not JSON, or the
            response would be longer than Core reads. The message holds nothing of the value.
    """
    completion = Completion(value) if isinstance(value, str) else value
    if not isinstance(completion, Completion):
        raise ValueError(f"the Agent returned {type(value).__name__}, expected a str or a Completion")
    text = completion.final_response
    if not isinstance(text, str) or not text.strip():
        raise ValueError("the Agent's final_response: expected a character that is not white space")
    usage, usage_size = _json_object("usage", completion.usage)
    metadata, metadata_size = _json_object("metadata", completion.metadata)
    try:
        size = len(compact_json(text)) + usage_size + metadata_size + _ENVELOPE_BYTES
    except UnicodeEncodeError:
        raise ValueError("the Agent's final_response: expected no lone surrogate") from None
    if size > MAX_RESPONSE_BYTES:
        raise ValueError(f"the Agent's answer: got about {size} bytes, expected at most {MAX_RESPONSE_BYTES}")
    if usage is None and metadata is None:
        return completion
    return Completion(text, usage, metadata)


def _json_object(name: str, value: Mapping[str, Any] | None) -> tuple[dict[str, Any] | None, int]:
    """The object as a strict reader reads it back, and its length in bytes."""
    if value is None:
        return None, 0
    if not isinstance(value, Mapping):
        raise ValueError(f"the Agent's {name}: got {type(value).__name__}, expected a JSON object")
    try:
        raw = compact_json(dict(value))
        return cast(dict[str, Any], read_json(raw)), len(raw)
    except ProtocolError as error:
        raise ValueError(f"the Agent's {name}: expected {error.expected}") from None
    except (TypeError, ValueError, RecursionError):
        raise ValueError(f"the Agent's {name}: expected JSON values only") from None


def response_body(invocation: Invocation, completion: Completion, document: bytes | None) -> bytes:
    """The invocation response: the same bytes for the same answer, members in the order of spec 1.

    Args:
        invocation: what is answered.
        completion: the Agent's answer, checked.
        document: the finished evidence of an L2 Target; its digest goes into the response's metadata.
    """
    run_id, case_id = invocation.run_id, invocation.case_id
    # No id has a character that JSON escapes.
    members = [
        b'{"schema_version":"target-invocation-v1","run_id":"%b","case_id":"%b","status":"completed"'
        % (run_id.encode(), case_id.encode()),
        b'"final_response":%b' % compact_json(completion.final_response),
        b'"task_id":"%b"' % task_id(run_id, case_id).encode(),
    ]
    # Only a document that this Target serves may be vouched for.
    metadata = {key: value for key, value in (completion.metadata or {}).items() if key != EVIDENCE_DIGEST}
    if document is not None:
        members.append(b'"evidence_ref":"%b%b"' % (EVIDENCE_PATH.encode(), run_id.encode()))
        metadata[EVIDENCE_DIGEST] = digest_bytes(document)
    if metadata or completion.metadata is not None:
        members.append(b'"metadata":%b' % compact_json(metadata))
    if completion.usage is not None:
        members.append(b'"usage":%b' % compact_json(completion.usage))
    return b",".join(members) + b"}"
