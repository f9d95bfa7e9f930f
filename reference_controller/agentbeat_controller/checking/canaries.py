"""A call that leaves a text of one's choice in an environment: found by trying.

The conformance suite wants to see a write of its own in the state. Any ground-truth call with a text among
its arguments may do: each is tried with another text, and the first that is taken and found in the state is
the one, those that leave it in a record before those that leave it in the log of calls alone.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from agentbeat_controller.environments.base import Environment, Profile
from agentbeat_controller.environments.oracles import OracleCall

from .asking import CANARY
from .ground_truths import ground_truths
from .players import Player
from .steps import PlayError

__all__ = ["CanaryCall", "canary_call"]

_TRYING: Final = "a call that writes, for the CTL rules"
#: How many calls are tried.
_TRIES: Final = 60


@dataclass(frozen=True, kw_only=True)
class CanaryCall:
    """The call, for a run of this profile."""

    profile_id: str
    method: str
    path: str
    query: str
    body: str

    def as_json(self, *, url: str, secret_file: str) -> str:
        """What `asking write` reads."""
        call = {"method": self.method, "path": self.path, "query": self.query, "body": self.body}
        return json.dumps({**call, "url": url, "secret_file": secret_file})


async def canary_call(environment: Environment, player: Player, profiles: list[Profile]) -> CanaryCall | None:
    """The first call that leaves the text in the state of one of these profiles; None where none does.

    Profiles with a surface come first: with them the suite can try more rules.
    """
    in_log: CanaryCall | None = None
    tries = 0
    for profile in sorted(profiles, key=lambda each: not each.surfaces):
        for call in _candidates(environment, player, profile):
            if (tries := tries + 1) > _TRIES:
                return in_log
            found = await _left(player, profile, call)
            if found == "record":
                return _described(player, profile, call)
            if found == "log" and in_log is None:
                in_log = _described(player, profile, call)
    return in_log


def _candidates(environment: Environment, player: Player, profile: Profile) -> Iterator[OracleCall]:
    player.steps.trying = _TRYING
    try:
        with player.steps.step("oracles"):
            known = ground_truths(environment, profile, None)
    except PlayError:
        return  # the profile's own check has said so
    for oracle in known:
        for call in oracle.calls:
            # Free texts first: an id with other letters would be refused.
            names = sorted(call.arguments, key=lambda name: name not in call.free)
            for name in names:
                if isinstance(call.arguments[name], str):
                    yield OracleCall(operation=call.operation, arguments={**call.arguments, name: CANARY})


async def _left(player: Player, profile: Profile, call: OracleCall) -> str | None:
    try:
        play = await player.play(profile, (call,), "")
    except PlayError:
        return None
    if play.refusals != (None,):
        return None
    if CANARY in _text(play.records):
        return "record"
    return "log" if CANARY in _text(play.after) else None


def _text(value: Any) -> str:
    return json.dumps(value)


def _described(player: Player, profile: Profile, call: OracleCall) -> CanaryCall:
    method, path, query, body = player.routes[call.operation].request(call.arguments)
    return CanaryCall(
        profile_id=profile.profile_id, method=method, path=path, query=query, body=body.decode()
    )
