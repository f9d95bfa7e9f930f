"""The ground truths that an environment knows, looked at before anything is played.

for oracle in ground_truths(environment, profile, None):
    print(oracle.goal, len(oracle.calls))
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, get_args

from agentbeat_controller.environments.base import Profile
from agentbeat_controller.environments.oracles import Oracle, OracleCall, OracleEnvironment, OracleGoal
from agentbeat_protocol import Injection, canonical_json

from .steps import UnfitError

__all__ = ["ground_truths"]


def ground_truths(environment: object, profile: Profile, injection: Injection | None) -> tuple[Oracle, ...]:
    """Those of a profile; none where the environment knows none.

    Raises:
        UnfitError: what it gives are no ground truths; and whatever it raises itself.
        CanonicalError: an argument that JSON cannot hold.
    """
    if not isinstance(environment, OracleEnvironment):
        return ()
    found = environment.oracles(profile, injection=injection)
    _expect("something", found, Sequence)
    for oracle in found:
        _expect("a ground truth", oracle, Oracle)
        if oracle.goal not in get_args(OracleGoal):
            raise UnfitError(f"the goal {oracle.goal!r}, and none of {', '.join(get_args(OracleGoal))}")
        _expect("a closing text", oracle.final_response, str)
        canonical_json(oracle.final_response)
        _expect("calls of a ground truth", oracle.calls, Sequence)
        for call in oracle.calls:
            _check_call(call)
    return tuple(found)


def _check_call(call: Any) -> None:
    _expect("a call of a ground truth", call, OracleCall)
    _expect("an operation of a call", call.operation, str)
    _expect("arguments of a call", call.arguments, Mapping)
    _expect("free arguments of a call", call.free, Sequence)
    canonical_json(dict(call.arguments))


def _expect(what: str, value: Any, kind: type) -> None:
    if not isinstance(value, kind):
        raise UnfitError(f"{what} of the type {type(value).__name__}, and no {kind.__name__}")
