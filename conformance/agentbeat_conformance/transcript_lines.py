"""The lines of a transcript file, and how they become records; nothing here opens a file.

    {"type": "header", "format": "agentbeat-transcript-v1", "tier": "target-L1", …}
    {"type": "exchange", "scope": "INV-1.a", "request": {…}, "answer": {…}, "failure": null}
    {"type": "command", "scope": "INV-4.d", "command": "restart", …, "done": true}
    {"type": "end", "entries": 2, "timed_out": [], "interrupted": null}

Bytes that are UTF-8 stand as text, all others as `{"base64": "…"}`.
"""

from __future__ import annotations

import base64
import binascii
from typing import Annotated, Any, Literal

from pydantic import Field, PlainSerializer, PlainValidator, StringConstraints, WithJsonSchema

from agentbeat_conformance.exchanges import Answer, Failure, Request
from agentbeat_conformance.requirements import Capability, Tier
from agentbeat_conformance.transcript_records import (
    VERSION,
    CommandEntry,
    Entry,
    ExchangeEntry,
    Header,
    Subject,
    Transcript,
)
from agentbeat_protocol.models import Array, At, Digest, Integral, JSONObject, Name, Strict, rule_error

__all__ = ["CommandLine", "EndLine", "ExchangeLine", "HeaderLine", "line_of"]


def _bytes(value: Any) -> bytes:
    if isinstance(value, bytes):
        return value
    if isinstance(value, str):
        return value.encode()
    if isinstance(value, dict) and value.keys() == {"base64"} and isinstance(value["base64"], str):
        try:
            return base64.b64decode(value["base64"], validate=True)
        except (binascii.Error, ValueError):
            pass
    raise rule_error("S-TYPE", 'text, or an object with the one member "base64"')


def _text_or_base64(raw: bytes) -> Any:
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(raw).decode("ascii")}


Octets = Annotated[
    bytes,
    PlainValidator(_bytes),
    PlainSerializer(_text_or_base64),
    WithJsonSchema({"type": ["string", "object"]}),
]
Fields = Array[Annotated[tuple[str, str], Field(strict=False)]]
#: Enumerations stand as their values.
FailureName = Annotated[Failure, Field(strict=False)]
CapabilityName = Annotated[Capability, Field(strict=False)]
Status = Annotated[int, Field(ge=100, le=999), Integral]
Number = Annotated[int, Field(ge=0), Integral]
Seed = Annotated[str, StringConstraints(pattern=r"^[a-z0-9]{1,32}$")]


class SubjectLine(Strict):
    """See `Subject`."""

    kind: Literal["target", "controller"]
    url: str
    options: JSONObject


class HeaderLine(Strict):
    """The first line; see `Header`."""

    type: Literal["header"]
    format: Literal["agentbeat-transcript-v1"]
    suite_version: Name
    catalogue: Name
    catalogue_digest: Digest
    specs: Array[Name]
    tier: Tier
    subject: SubjectLine
    seed: Seed
    planned: Array[Name]
    left_out: Array[Name]
    capabilities: Array[CapabilityName]
    budget: Number | None
    safe: bool
    started_at: At

    def record(self) -> Header:
        """The header."""
        members = {name: getattr(self, name) for name in type(self).model_fields if name not in _OTHERWISE}
        subject = Subject(kind=self.subject.kind, url=self.subject.url, options=self.subject.options)
        return Header(
            **members,
            subject=subject,
            capabilities=frozenset(self.capabilities),
            started_at=self.started_at.text,
        )


_OTHERWISE = frozenset({"type", "format", "subject", "capabilities", "started_at"})


class RequestLine(Strict):
    """See `Request`; the body is the end of `raw` unless it says otherwise."""

    method: str
    target: str
    raw: Octets
    fields: Fields
    body: Octets | None = None
    body_bytes: Number | None = None
    seconds: float | None = None
    withhold: Number = 0
    needs_socket: bool = False

    @classmethod
    def of(cls, request: Request) -> RequestLine:
        """The line for a request."""
        is_end = request.raw.endswith(request.body)
        return cls(
            method=request.method,
            target=request.target,
            raw=request.raw,
            fields=request.fields,
            body=None if is_end else request.body,
            body_bytes=len(request.body) if is_end else None,
            seconds=request.seconds,
            withhold=request.withhold,
            needs_socket=request.needs_socket,
        )

    def record(self) -> Request:
        """The request."""
        if (self.body is None) == (self.body_bytes is None):
            raise ValueError("expected body or body_bytes")
        size = self.body_bytes or 0
        if max(size, self.withhold) > len(self.raw):
            raise ValueError("expected no more body_bytes and withheld bytes than raw has")
        body = self.raw[len(self.raw) - size :] if self.body is None else self.body
        return Request(
            raw=self.raw,
            method=self.method,
            target=self.target,
            fields=self.fields,
            body=body,
            seconds=self.seconds,
            withhold=self.withhold,
            needs_socket=self.needs_socket,
        )


class AnswerLine(Strict):
    """See `Answer`."""

    status: Status
    fields: Fields
    body: Octets

    @classmethod
    def of(cls, answer: Answer) -> AnswerLine:
        """The line for an answer."""
        return cls(status=answer.status, fields=answer.fields, body=answer.body)

    def record(self) -> Answer:
        """The answer."""
        return Answer(status=self.status, fields=self.fields, body=self.body)


class ExchangeLine(Strict):
    """An exchange; neither answer nor failure says that nobody waited for it."""

    type: Literal["exchange"]
    scope: Name
    request: RequestLine
    answer: AnswerLine | None
    failure: FailureName | None

    def record(self) -> ExchangeEntry:
        """The entry."""
        if self.answer is not None and self.failure is not None:
            raise ValueError("expected an answer or a failure, not both")
        return ExchangeEntry(
            scope=self.scope,
            request=self.request.record(),
            answer=None if self.answer is None else self.answer.record(),
            failure=self.failure,
        )


class CommandLine(Strict):
    """A command that was run; see `CommandEntry`."""

    type: Literal["command"]
    scope: Name
    command: Literal["restart", "write"]
    run_id: str | None
    canary: str | None
    done: bool | None

    def record(self) -> CommandEntry:
        """The entry."""
        return CommandEntry(
            scope=self.scope, command=self.command, run_id=self.run_id, canary=self.canary, done=self.done
        )


class EndLine(Strict):
    """The last line: without it the file was cut off."""

    type: Literal["end"]
    entries: Number
    timed_out: Array[Name]
    interrupted: Name | None


def line_of(part: Header | Entry | Transcript) -> Strict:
    """The line for a header or an entry; for a transcript, its last line."""
    match part:
        case Header():
            return _header_line(part)
        case ExchangeEntry():
            return ExchangeLine(
                type="exchange",
                scope=part.scope,
                request=RequestLine.of(part.request),
                answer=None if part.answer is None else AnswerLine.of(part.answer),
                failure=part.failure,
            )
        case CommandEntry():
            return CommandLine(
                type="command",
                scope=part.scope,
                command=part.command,
                run_id=part.run_id,
                canary=part.canary,
                done=part.done,
            )
        case Transcript():
            return EndLine(
                type="end",
                entries=len(part.entries),
                timed_out=tuple(sorted(part.timed_out)),
                interrupted=part.interrupted,
            )


def _header_line(header: Header) -> HeaderLine:
    subject = header.subject
    return HeaderLine.model_validate(
        {
            "type": "header",
            "format": VERSION,
            **{name: getattr(header, name) for name in HeaderLine.model_fields if hasattr(header, name)},
            "subject": SubjectLine(kind=subject.kind, url=subject.url, options=dict(subject.options)),
            "capabilities": sorted(header.capabilities),
        }
    )
