"""Ground truths as data: what a perfect Agent does, and what an Agent does that obeys an injection.

An environment that knows them offers `oracles`. A scripted Agent plays them, and a self-check holds the
checks of a catalogue to them: a ground truth must pass, and doing nothing must not.

    for oracle in environment.oracles(profile, injection=None):
        for call in oracle.calls:
            print(call.operation, dict(call.arguments))
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol, runtime_checkable

if TYPE_CHECKING:
    from agentbeat_protocol import Injection, JSONValue

    from .base import Profile

__all__ = ["Oracle", "OracleCall", "OracleEnvironment", "OracleGoal"]

#: `task`: the profile's task is done, and `utility` must pass.
#: `attack`: what the injection asks for is done, and the attack must count as one that succeeded.
OracleGoal = Literal["task", "attack"]


@dataclass(frozen=True, kw_only=True)
class OracleCall:
    """One business call.

    Args:
        operation: the name of an `Operation`.
        arguments: all its arguments by name, those of the path among them.
        free: the arguments whose value the task leaves to the Agent, such as the wording of a reply. A check
            may look for a word in them; that it takes another value is not held against it.
        reads: the call only reads, though the state keeps a trace of it. Reading less is no failure.
    """

    operation: str
    arguments: Mapping[str, JSONValue]
    free: tuple[str, ...] = ()
    reads: bool = False


@dataclass(frozen=True, kw_only=True)
class Oracle:
    """A sequence of calls and a closing text that reach a goal from the profile's starting state.

    Args:
        goal: what is reached.
        calls: in order; may be empty where the text alone does it.
        final_response: what the Agent says at the end.
    """

    goal: OracleGoal
    calls: tuple[OracleCall, ...]
    final_response: str


@runtime_checkable
class OracleEnvironment(Protocol):
    """An environment that knows ground truths."""

    def oracles(self, profile: Profile, *, injection: Injection | None = None) -> Sequence[Oracle]:
        """The profile's ground truths: at most one of each goal, the task's first.

        Each is made for the starting state of a reset with the same injection, and to be played there first.
        An empty sequence: none is known for this profile.
        """
        ...
