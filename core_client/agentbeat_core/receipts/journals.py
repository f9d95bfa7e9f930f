"""The journal of attempts: what was begun before anything happened, and what came of it.

Killed between the two, a process leaves an attempt that was begun and never ended. It is not forgotten: going
on, it is listed as one that failed, `interrupted`, and the manifest's policy says whether it is retried. So
nobody drops a run that went badly by killing the process.

    {"assignment": "a-00001", "attempt": 1, "event": "started"}
    {"assignment": "a-00001", "attempt": 1, "event": "ended", "record": {…}, "published": {…}}

Each line is on the disk before the next step. A last line that was cut off is as if it had not been written.
What is held of a line is where it stands: evidence is long, and a batch has many attempts.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Annotated, Final, Literal

from pydantic import Field

from agentbeat_core.receipts.attempts import Ended, interrupted
from agentbeat_core.receipts.errors import BatchError
from agentbeat_protocol import ProtocolError, read_json
from agentbeat_protocol.models import NotNull, Strict, validated
from agentbeat_receipts.claims import ClaimValue
from agentbeat_receipts.domains.agent_eval.records import AttemptRecord

__all__ = ["Journal"]

_LONGEST_LINE: Final = 128 * 1024 * 1024


class _Line(Strict):
    assignment: str
    attempt: Annotated[int, Field(ge=1)]
    event: Literal["started", "ended"]
    record: Annotated[AttemptRecord | None, NotNull] = None
    published: Annotated[dict[str, ClaimValue] | None, NotNull] = None

    @property
    def ended(self) -> Ended | None:
        """What came of the attempt, where both parts of it are there."""
        if self.record is None or self.published is None:
            return None
        return Ended(record=self.record, published=self.published)


class Journal:
    """The attempts of a batch. A context manager.

    Args:
        path: its file, made when it is not there.

    Raises:
        BatchError: it holds something else.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        #: By assignment, where the line that ends each attempt stands; None where there is none.
        self._attempts: dict[str, list[int | None]] = {}
        self._file = os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT, 0o600), "r+b")
        try:
            self._take_in()
        except BaseException:
            self.close()
            raise

    def attempts(self, assignment: str) -> list[Ended]:
        """What came of an assignment's attempts; `interrupted` where one never ended."""
        places = self._attempts.get(assignment, [])
        return [interrupted() if place is None else self._ended_at(place) for place in places]

    def started(self, assignment: str, attempt: int) -> None:
        """An attempt begins now."""
        self._write({"assignment": assignment, "attempt": attempt, "event": "started"})

    def ended(self, assignment: str, attempt: int, ended: Ended) -> None:
        """An attempt has ended."""
        line = {"assignment": assignment, "attempt": attempt, "event": "ended"}
        self._write(line | ended.model_dump(mode="json"))

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def __enter__(self) -> Journal:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _take_in(self) -> None:
        """Take in the whole lines; one that was cut off would run into the next one, and is taken away."""
        place = 0
        for number, raw in enumerate(self._file, 1):
            if not raw.endswith(b"\n"):
                break
            self._take(self._read(raw, number), place)
            place += len(raw)
        self._file.truncate(place)

    def _read(self, raw: bytes, number: int) -> _Line:
        try:
            return validated(_Line, read_json(raw, max_bytes=_LONGEST_LINE))
        except ProtocolError as error:
            raise BatchError(f"{self._path}: line {number}: {error}") from None

    def _ended_at(self, place: int) -> Ended:
        self._file.seek(place)
        ended = validated(_Line, read_json(self._file.readline(), max_bytes=_LONGEST_LINE)).ended
        if ended is None:
            raise BatchError(f"{self._path}: changed while it was in use")
        return ended

    def _take(self, line: _Line, place: int) -> None:
        attempts = self._attempts.setdefault(line.assignment, [])
        ends = line.event == "ended"
        if line.attempt != len(attempts) + (0 if ends else 1) or ends != (line.ended is not None):
            raise BatchError(f"{self._path}: attempts out of order")
        if ends:
            attempts[-1] = place
        else:
            attempts.append(None)

    def _write(self, members: dict[str, object]) -> None:
        place = self._file.seek(0, os.SEEK_END)
        self._take(validated(_Line, members), place)
        self._file.write(json.dumps(members, separators=(",", ":")).encode() + b"\n")
        self._file.flush()
        os.fsync(self._file.fileno())
