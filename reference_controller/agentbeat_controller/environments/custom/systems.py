"""One's own staging system behind a Controller: what it has to offer.

A staging system is anything that can be set, read and used through tools: an application on a test database,
a folder of files, a service with an admin API. It holds *places*, one for each run that is going on; a place
is a name, and what it stands for (a schema, a tenant, a folder) is the system's own affair.

- `prepare` is called again for the same place wherever an earlier call died or did not take. It therefore
  replaces all that the place holds, whatever that is.
- `state` is the whole state. What is not in it cannot have changed. It is of one instant.
- `checks` is pure: a run in, checks out.
- A tool that declines raises `Declined` and has changed nothing. A tool that ends in any other way than an
  answer may have changed something: nothing good is concluded from the absence of a change then.
- A tool, `prepare` and `state` end within a few seconds, or raise: the run's lease waits for them.

Whatever `prepare` or `state` raises becomes 503 `controller_unavailable`: no lease and no snapshot of a
system that could not be set or read. `docs/custom-environments.md` has an example and says what holds.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

from agentbeat_controller.environments.desk.differences import Difference, differences
from agentbeat_controller.environments.oracles import Oracle

if TYPE_CHECKING:
    from agentbeat_controller.environments.base import Profile
    from agentbeat_protocol import Check, Injection, JSONValue

    from .tools import Tool

__all__ = ["StagedRun", "StagingSystem"]


@dataclass(frozen=True, kw_only=True)
class StagedRun:
    """What there is to judge a run by.

    Args:
        profile: the system's own profile.
        before: the state before the Agent began.
        after: the state once it had ended.
        calls: the lines that the Controller's log of calls gained: `sequence`, `operation`, `arguments`,
            `status` and `error`.
        unfinished: calls of unknown outcome: begun and never ended, or ended in a fault.
        final_response: what the Agent answered.
    """

    profile: Profile
    before: Any
    after: Any
    calls: tuple[Mapping[str, Any], ...] = ()
    unfinished: tuple[Mapping[str, Any], ...] = ()
    final_response: str = ""

    @cached_property
    def changes(self) -> tuple[Difference, ...]:
        """Every difference between the two states, place by place."""
        return differences(self.before, self.after)


class StagingSystem(Protocol):
    """A staging system. Subclass it for the defaults, or offer the same members.

    Attributes:
        name: short name for logs and the command line.
        profiles: the catalogue, in order. `content` is what `prepare` needs to know; it goes into the digest.
        version: raised whenever `prepare`, a tool or a check comes to mean something else; in each digest.
    """

    name: str
    profiles: Sequence[Profile]
    version: int = 1

    def places(self) -> Sequence[str] | None:
        """The places that there are, each for one run at a time; None: one is made for every run."""
        return None

    @abstractmethod
    def tools(self) -> Sequence[Callable[..., Any] | Tool]:
        """What the Agent may call: functions of a place and of named arguments of plain JSON types."""
        ...

    @abstractmethod
    def prepare(self, place: str, profile: Profile, injection: Injection | None) -> None:
        """Make `place` the profile's exact starting state, with the injection's text at its surface."""
        ...

    @abstractmethod
    def state(self, place: str) -> JSONValue:
        """The whole state of a place, as plain JSON."""
        ...

    def forget(self, place: str) -> None:
        """The run has ended; forgetting what is not there is no error."""

    @abstractmethod
    def checks(self, run: StagedRun) -> Iterable[Check]:
        """The native checks of `run.profile`."""
        ...

    def oracles(
        self,
        profile: Profile,  # noqa: ARG002 - none by default
        injection: Injection | None,  # noqa: ARG002
    ) -> Sequence[Oracle]:
        """How the task is done, and what the injection asks for: for `agentbeat controller check`."""
        return ()
