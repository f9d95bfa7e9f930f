"""A session as a file: a JSON object on each line, first the header, then what was said, then the end.

A transcript holds no secret (see `wires.concealment`), and all that is needed to judge it again (`judging`).
Reading is strict: a line that is not as written is refused, and so is a file that was cut off.

>>> read_transcript(b'{"type": "end"}')
Traceback (most recent call last):
agentbeat_conformance.transcripts.TranscriptError: line 1: S-ENUM at /type: got a string, expected "header"
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, TypeVar

from pydantic import BaseModel

from agentbeat_conformance.transcript_lines import CommandLine, EndLine, ExchangeLine, HeaderLine, line_of
from agentbeat_conformance.transcript_records import Entry, Transcript
from agentbeat_protocol import JSONValue, ProtocolError, read_json
from agentbeat_protocol.models import validated

__all__ = ["TranscriptError", "read_transcript", "write_transcript"]

#: The longest line, in bytes: an answer as long as the suite reads, every byte of it escaped.
_LONGEST_LINE: Final = 128 * 1024 * 1024

ModelT = TypeVar("ModelT", bound=BaseModel)


class TranscriptError(ValueError):
    """The file is no transcript, or none that this suite can judge."""


def write_transcript(transcript: Transcript) -> Iterator[bytes]:
    """The lines of the file, each with its newline."""
    for part in (transcript.header, *transcript.entries, transcript):
        yield line_of(part).model_dump_json().encode() + b"\n"


def read_transcript(raw: bytes) -> Transcript:
    """The transcript in a file's bytes.

    Raises:
        TranscriptError: names the line and what is wrong with it.
    """
    lines = raw.split(b"\n")
    if lines and not lines[-1]:
        lines.pop()
    values = [_json(number, line) for number, line in enumerate(lines, start=1)]
    if not values:
        raise TranscriptError("got an empty file, expected a transcript")
    header = _read(1, HeaderLine, values[0]).record()
    entries = tuple(_entry(number, value) for number, value in enumerate(values[1:-1], start=2))
    if len(values) == 1:
        raise TranscriptError("got a header alone, expected a last line of type end: the file was cut off")
    end = _read(len(values), EndLine, values[-1])
    if end.entries != len(entries):
        raise TranscriptError(
            f"got {len(entries)} entries, expected the {end.entries} that the last line names"
        )
    return Transcript(
        header=header,
        entries=entries,
        timed_out=frozenset(end.timed_out),
        interrupted=end.interrupted,
    )


def _entry(number: int, value: JSONValue) -> Entry:
    is_command = isinstance(value, dict) and value.get("type") == "command"
    try:
        if is_command:
            return _read(number, CommandLine, value).record()
        return _read(number, ExchangeLine, value).record()
    except TranscriptError:
        raise
    except ValueError as error:
        raise TranscriptError(f"line {number}: {error}") from error


def _json(number: int, line: bytes) -> JSONValue:
    try:
        return read_json(line, max_bytes=_LONGEST_LINE)
    except ProtocolError as error:
        raise TranscriptError(f"line {number}: {error}") from error


def _read(number: int, model: type[ModelT], value: JSONValue) -> ModelT:
    try:
        return validated(model, value)
    except ProtocolError as error:
        raise TranscriptError(f"line {number}: {error}") from error
