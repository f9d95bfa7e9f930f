"""Effects: what a run may have done to a state, at a place in it.

    Changed(("tables", "orders", "7", "status"), to="paid")       a value became another one
    Added(("tables", "refunds"), where={"order_id": 7})           a new member appeared below
    Removed(("tables", "orders", "8"))                            a member is gone

`outcomes` makes checks of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

from agentbeat_controller.environments.desk.differences import ABSENT, Difference, excerpt

from .pointers import place
from .systems import StagedRun

__all__ = ["ANY", "Added", "Changed", "Effect", "Removed"]

#: How many new members a check shows.
_SHOWN: Final = 10


class _Any:
    def __repr__(self) -> str:
        return "anything"


#: Stands for whatever value there is.
ANY: Final = _Any()

#: A value, `ANY`, or a function that says whether a value is meant.
Meant = Any


def _meant(wanted: Meant, value: Any) -> bool:
    if wanted is ANY:
        return True
    if callable(wanted):
        return bool(wanted(value))
    return type(wanted) is type(value) and bool(wanted == value)


def _found(state: Any, path: tuple[str, ...]) -> Any:
    for part in path:
        if not isinstance(state, Mapping) or part not in state:
            return ABSENT
        state = state[part]
    return state


class Effect(Protocol):
    """Something that a run may have done to the state."""

    def happened(self, run: StagedRun) -> bool:
        """Whether the run did it."""
        ...

    def covers(self, run: StagedRun, change: Difference) -> bool:
        """Whether this change is, or belongs to, the effect as it is meant."""
        ...

    def shown(self, run: StagedRun) -> Any:
        """What stands there after the run, for the check's `actual`."""
        ...

    @property
    def path(self) -> tuple[str, ...]:
        """Where it is looked for."""
        ...

    @property
    def expected(self) -> Any:
        """The effect in plain JSON, for the check's `expected`."""
        ...


@dataclass(frozen=True)
class Changed:
    """The value at `path` was there before and is another one now: a meant one."""

    path: tuple[str, ...]
    to: Meant = ANY

    def happened(self, run: StagedRun) -> bool:
        """Whether it changed to what is meant."""
        new = _found(run.after, self.path)
        if new is ABSENT or not _meant(self.to, new):
            return False
        return any(self._below(change) for change in run.changes)

    def covers(self, run: StagedRun, change: Difference) -> bool:
        """A change at the place, or below it, if what stands there now is meant."""
        new = _found(run.after, self.path)
        return self._below(change) and new is not ABSENT and _meant(self.to, new)

    def shown(self, run: StagedRun) -> Any:
        """The value now."""
        return _shown(_found(run.after, self.path))

    @property
    def expected(self) -> Any:
        """The place and the value."""
        return {"changed": place(self.path), "to": _told(self.to)}

    def _below(self, change: Difference) -> bool:
        here = change.path[: len(self.path)] == self.path
        return here and not (len(change.path) == len(self.path) and change.before is ABSENT)


@dataclass(frozen=True)
class Added:
    """A new member directly below `path`, with meant values in the members that `where` names.

    Args:
        named: the name of the new member; `ANY` where the system chooses it.
        where: what is meant, by member; members that are not named may have any value. Empty: any value.
        whole: the new member's only members are those of `where`.
        most: how many such new members are meant.
    """

    path: tuple[str, ...]
    where: Mapping[str, Meant] = field(default_factory=dict)
    named: Meant = ANY
    whole: bool = False
    most: int = 1

    def happened(self, run: StagedRun) -> bool:
        """Whether there is one."""
        return bool(self._all(run))

    def covers(self, run: StagedRun, change: Difference) -> bool:
        """One of the first `most` such members."""
        return change in self._all(run)[: self.most]

    def shown(self, run: StagedRun) -> Any:
        """Every new member there."""
        new = [change for change in run.changes if self._is_new(change)]
        return {change.path[-1]: excerpt(change.after) for change in new[:_SHOWN]}

    @property
    def expected(self) -> Any:
        """The place and the values."""
        where = {name: _told(wanted) for name, wanted in self.where.items()}
        return {"added": place(self.path), "where": where, "most": self.most}

    def _all(self, run: StagedRun) -> list[Difference]:
        return [change for change in run.changes if self._is_new(change) and self._is_meant(change)]

    def _is_new(self, change: Difference) -> bool:
        return change.path[:-1] == self.path and change.before is ABSENT

    def _is_meant(self, change: Difference) -> bool:
        if not _meant(self.named, change.path[-1]):
            return False
        if not self.where:
            return not self.whole or change.after == {}
        new = change.after
        if not isinstance(new, Mapping) or (self.whole and new.keys() != self.where.keys()):
            return False
        return all(name in new and _meant(wanted, new[name]) for name, wanted in self.where.items())


@dataclass(frozen=True)
class Removed:
    """The member at `path` was there before and is gone."""

    path: tuple[str, ...]

    def happened(self, run: StagedRun) -> bool:
        """Whether it is gone."""
        return any(self.covers(run, change) for change in run.changes)

    def covers(self, run: StagedRun, change: Difference) -> bool:  # noqa: ARG002 - one signature
        """That very change."""
        return change.path == self.path and change.after is ABSENT

    def shown(self, run: StagedRun) -> Any:
        """What stands there now."""
        return _shown(_found(run.after, self.path))

    @property
    def expected(self) -> Any:
        """The place."""
        return {"removed": place(self.path)}


def _shown(value: Any) -> Any:
    return "nothing" if value is ABSENT else excerpt(value)


def _told(wanted: Meant) -> Any:
    if wanted is ANY or isinstance(wanted, Callable):  # type: ignore[arg-type]
        return "anything" if wanted is ANY else getattr(wanted, "__name__", "a meant value")
    return excerpt(wanted)
