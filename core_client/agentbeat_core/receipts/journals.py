"""The journal of attempts: what was begun before anything happened, and what came of it.

Killed between the two, a process leaves an attempt that was begun and never ended. It is not forgotten: going
on, it is listed as one that failed, `interrupted`, and the manifest's policy says whether it is retried. So
nobody drops a run that went badly by killing the process.

    {"assignment": "a-00001", "attempt": 1, "event": "started"}
    {"assignment": "a-00001", "attempt": 1, "event": "ended", "record": {…}}

Each line is on the disk before the next step. A last line that was cut off is as if it had not been written.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Annotated, Final, Literal

from pydantic import Field

from agentbeat_core.receipts.attempts import interrupted_record
from agentbeat_core.receipts.errors import BatchError
from agentbeat_protocol import ProtocolError, read_json
from agentbeat_protocol.models import NotNull, Strict, validated
from agentbeat_receipts.domains.agent_eval.records import AttemptRecord

__all__ = ["Journal"]

_LONGEST_LINE: Final = 128 * 1024 * 1024


class _Line(Strict):
    assignment: str
    attempt: Annotated[int, Field(ge=1)]
    event: Literal["started", "ended"]
    record: Annotated[AttemptRecord | None, NotNull] = None


class Journal:
    """The attempts of a batch. A context manager.

    Args:
        path: its file, made when it is not there.

    Raises:
        BatchError: it holds something else.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._attempts: dict[str, list[AttemptRecord | None]] = {}
        kept = self._read() if path.exists() else 0
        self._file = os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600), "wb")
        # A line that was cut off would run into the next one.
        self._file.truncate(kept)
        self._file.seek(0, os.SEEK_END)

    def records(self, assignment: str) -> list[AttemptRecord]:
        """The records of an assignment's attempts; `interrupted` where one never ended."""
        return [record or interrupted_record() for record in self._attempts.get(assignment, [])]

    def started(self, assignment: str, attempt: int) -> None:
        """An attempt begins now."""
        self._take(_Line(assignment=assignment, attempt=attempt, event="started"))
        self._write({"assignment": assignment, "attempt": attempt, "event": "started"})

    def ended(self, assignment: str, attempt: int, record: AttemptRecord) -> None:
        """An attempt has ended."""
        self._take(_Line(assignment=assignment, attempt=attempt, event="ended", record=record))
        plain = record.model_dump(mode="json")
        self._write({"assignment": assignment, "attempt": attempt, "event": "ended", "record": plain})

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def __enter__(self) -> Journal:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _read(self) -> int:
        """Take in the whole lines; how many bytes they are."""
        raw = self._path.read_bytes()
        whole = raw[: raw.rfind(b"\n") + 1]
        for number, line in enumerate(whole.splitlines(), 1):
            try:
                self._take(validated(_Line, read_json(line, max_bytes=_LONGEST_LINE)))
            except ProtocolError as error:
                raise BatchError(f"{self._path}: line {number}: {error}") from None
        return len(whole)

    def _take(self, line: _Line) -> None:
        attempts = self._attempts.setdefault(line.assignment, [])
        ended = line.event == "ended"
        if line.attempt != len(attempts) + (0 if ended else 1) or ended != (line.record is not None):
            raise BatchError(f"{self._path}: attempts out of order")
        if ended:
            attempts[-1] = line.record
        else:
            attempts.append(None)

    def _write(self, line: dict[str, object]) -> None:
        self._file.write(json.dumps(line, separators=(",", ":")).encode() + b"\n")
        self._file.flush()
        os.fsync(self._file.fileno())
