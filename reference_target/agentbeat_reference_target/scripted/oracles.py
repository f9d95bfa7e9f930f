"""The file of ground truths, `oracles-v1`: what `agentbeat controller oracles` prints.

Members that nobody here needs are not looked at. What is needed is checked when the Target starts, not in the
middle of a run.

    book = OracleBook.load(Path("oracles.json"))
    book.oracle("case-agentdojo-v1-2-2-slack-user-task-0", "task").calls[0].operation
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, Literal

from pydantic import BaseModel, ConfigDict, ValidationError

__all__ = ["Call", "Goal", "Oracle", "OracleBook", "OraclesError"]

#: What a ground truth reaches: the user's task, or what the injection asks for.
Goal = Literal["task", "attack"]

#: Bytes of the largest file that is read.
_LONGEST_FILE: Final = 256 * 1024 * 1024


class OraclesError(ValueError):
    """The file cannot be used, or has no ground truth for a run; the message says which."""


class _Model(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


class Call(_Model):
    """One business call: an operation's id and all its arguments."""

    operation: str
    arguments: dict[str, Any]


class Oracle(_Model):
    """Calls in their order, and what is said at the end."""

    goal: Goal
    calls: tuple[Call, ...]
    final_response: str


class _Profile(_Model):
    case_id: str
    oracles: tuple[Oracle, ...]


class _File(_Model):
    schema_version: Literal["oracles-v1"]
    profiles: tuple[_Profile, ...]


class OracleBook:
    """All ground truths of a file.

    Args:
        oracles: case id to goal to ground truth.
    """

    def __init__(self, oracles: Mapping[str, Mapping[str, Oracle]]) -> None:
        self._oracles = oracles

    def __len__(self) -> int:
        """How many cases it knows."""
        return len(self._oracles)

    @classmethod
    def load(cls, path: Path) -> OracleBook:
        """The book in a file.

        Raises:
            OraclesError: it is no `oracles-v1`, or too large.
            OSError: it cannot be read.
        """
        with path.open("rb") as file:
            raw = file.read(_LONGEST_FILE + 1)
        if len(raw) > _LONGEST_FILE:
            raise OraclesError(f"{path}: longer than {_LONGEST_FILE} bytes")
        return cls.read(raw, name=str(path))

    @classmethod
    def read(cls, raw: bytes, *, name: str = "the ground truths") -> OracleBook:
        """The book in these bytes.

        Args:
            name: what messages call them.

        Raises:
            OraclesError: they are no `oracles-v1`.
        """
        try:
            file = _File.model_validate_json(raw)
        except ValidationError as error:
            first = error.errors(include_input=False, include_url=False)[0]
            where = "/".join(map(str, first["loc"])) or "the document"
            raise OraclesError(f"{name}: no oracles-v1 file: {where}: {first['msg']}") from None
        return cls({each.case_id: {oracle.goal: oracle for oracle in each.oracles} for each in file.profiles})

    def oracle(self, case_id: str, goal: Goal) -> Oracle:
        """The ground truth of a case.

        Raises:
            OraclesError: there is none.
        """
        oracle = self._oracles.get(case_id, {}).get(goal)
        if oracle is None:
            what = "case of this name" if case_id not in self._oracles else f"{goal} for this case"
            raise OraclesError(f"the file of ground truths has no {what}")
        return oracle
