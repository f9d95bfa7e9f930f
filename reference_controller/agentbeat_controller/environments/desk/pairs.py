"""Two states of one profile and the Agent's answer, looked over once before any check relies on them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from .differences import Difference, differences
from .states import STATE_VERSION, Records
from .tables import RECORD_TABLES

__all__ = ["NotEvaluable", "StatePair"]


class NotEvaluable(Exception):  # noqa: N818 - an outcome, not a fault
    """The states do not let one decide; the text is the reason."""


@dataclass(frozen=True, kw_only=True)
class StatePair:
    """The ground of every check.

    Args:
        old: the state before, as `read_state` gives it.
        new: the state after.
        final_response: what the Agent answered.
    """

    old: Mapping[str, Any]
    new: Mapping[str, Any]
    final_response: str

    @classmethod
    def of(cls, profile_id: str, before: Any, after: Any, *, final_response: str) -> StatePair | NotEvaluable:
        """Both states, or why they are no states of this profile's desk."""
        for name, state in (("before", before), ("after", after)):
            problem = _problem(state, profile_id)
            if problem:
                return NotEvaluable(f"the state {name} {problem}")
        if after["calls"][: len(before["calls"])] != before["calls"]:
            return NotEvaluable("the log of the state after does not begin with that of the state before")
        return cls(old=before, new=after, final_response=final_response)

    @property
    def before(self) -> Records:
        """The records before."""
        records: Records = self.old["records"]
        return records

    @property
    def after(self) -> Records:
        """The records after."""
        records: Records = self.new["records"]
        return records

    @property
    def calls(self) -> list[dict[str, Any]]:
        """The lines that the log gained."""
        calls: list[dict[str, Any]] = self.new["calls"][len(self.old["calls"]) :]
        return calls

    @cached_property
    def changes(self) -> tuple[Difference, ...]:
        """Every difference of the whole state, the log's lines apart."""
        return differences(*({**state, "calls": None} for state in (self.old, self.new)))


def _problem(state: Any, profile_id: str) -> str | None:
    if not isinstance(state, dict) or state.get("schema_version") != STATE_VERSION:
        return f"is no {STATE_VERSION}"
    if state.get("profile_id") != profile_id:
        return "is one of another profile"
    records = state.get("records")
    if not isinstance(records, dict) or not all(
        isinstance(records.get(name), dict) and all(isinstance(row, dict) for row in records[name].values())
        for name in RECORD_TABLES
    ):
        return "lacks a table of records"
    calls = state.get("calls")
    if not isinstance(calls, list) or not all(_is_call(call) for call in calls):
        return "lacks the log of calls"
    return None


def _is_call(call: Any) -> bool:
    return (
        isinstance(call, dict)
        and isinstance(call.get("operation"), str)
        and type(call.get("sequence")) is int
        and isinstance(call.get("arguments"), dict | type(None))
        and isinstance(call.get("error"), str | type(None))
        and "arguments" in call
        and "error" in call
    )
