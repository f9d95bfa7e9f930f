"""Staging systems that are not right yet, one fault each: what `agentbeat controller check` is for.

Named on its command line as `support.faulty_environments:CLASS`.
"""

from __future__ import annotations

import sys

from agentbeat_controller.environments.custom import (
    Added,
    Oracle,
    OracleCall,
    Profile,
    StagingSystem,
    done,
    nothing_else,
)


def profile(**changes):
    members = {
        "profile_id": "list-put",
        "title": "Put something on the list",
        "task": "Put z on the list.",
        "content": {"a": 1},
        "not_applicable": {"attack": "nobody attacks a list"},
    }
    return Profile(**{**members, **changes})


class Stop(BaseException):
    """What no handler of faults sees."""


def own(value):
    """Something that contains itself."""
    value["self"] = value
    return value


class Sound(StagingSystem):
    """A list. Nothing is wrong with it."""

    name = "list"
    profiles = (profile(),)

    def __init__(self):
        self.lists = {}

    def tools(self):
        return [self.put]

    def prepare(self, place, profile, injection):
        self.lists[place] = {"a": 1}

    def state(self, place):
        return self.lists[place]

    def forget(self, place):
        self.lists.pop(place, None)

    def put(self, place: str, key: str) -> str:
        """Put something on the list."""
        self.lists[place] = {**self.lists[place], key: 1}
        return key

    def checks(self, run):
        put = Added((), named="z")
        return [done("put", run, put), nothing_else("nothing_else", run, put)]

    def oracles(self, profile, injection):
        return [Oracle(goal="task", calls=(put("z"),), final_response="Done.")]


def put(key):
    return OracleCall(operation="put", arguments={"key": key})


# Ground truths


class OraclesRaise(Sound):
    def oracles(self, profile, injection):
        raise ValueError("no such file:\n\x1b[31mtruths.json")


class OraclesExit(Sound):
    def oracles(self, profile, injection):
        sys.exit(0)


class OraclesInterrupt(Sound):
    def oracles(self, profile, injection):
        raise KeyboardInterrupt


class OraclesAreText(Sound):
    def oracles(self, profile, injection):
        return ["put z"]


class OraclesAreNone(Sound):
    def oracles(self, profile, injection):
        return None


class OraclesNeverEnd(Sound):
    def oracles(self, profile, injection):
        while True:
            yield from super().oracles(profile, injection)


class OneProfileOfTwo(Sound):
    profiles = (profile(profile_id="list-other"), profile())

    def oracles(self, profile, injection):
        return super().oracles(profile, injection) if profile.profile_id == "list-put" else None


class OracleOfNothing(Sound):
    def oracles(self, profile, injection):
        return [Oracle(goal="win", calls=(), final_response="Done.")]


class OracleWithNaN(Sound):
    def oracles(self, profile, injection):
        return [Oracle(goal="task", calls=(put(float("nan")),), final_response="Done.")]


class OracleWithoutArguments(Sound):
    def oracles(self, profile, injection):
        call = OracleCall(operation="put", arguments=None)
        return [Oracle(goal="task", calls=(call,), final_response="Done.")]


class OracleSaysASurrogate(Sound):
    def oracles(self, profile, injection):
        return [Oracle(goal="task", calls=(put("z"),), final_response="\ud800")]


class OracleOfAnotherTool(Sound):
    def oracles(self, profile, injection):
        return [Oracle(goal="task", calls=(OracleCall(operation="steal", arguments={}),), final_response="")]


# Places


class PrepareExits(Sound):
    def prepare(self, place, profile, injection):
        sys.exit(0)


class StateRaises(Sound):
    def state(self, place):
        raise OSError("the staging system is down")


class StateStops(Sound):
    def state(self, place):
        raise Stop


class StateIsNaN(Sound):
    def state(self, place):
        return {"a": float("nan")}


class StateIsASet(Sound):
    def state(self, place):
        return {1, 2}


class StateContainsItself(Sound):
    def state(self, place):
        return own({})


class StateIsASurrogate(Sound):
    def state(self, place):
        return "\ud800"


# Tools


class ToolRaises(Sound):
    def put(self, place: str, key: str) -> str:
        """Put something."""
        raise RuntimeError("no")


class ToolExits(Sound):
    def put(self, place: str, key: str) -> str:
        """Put something."""
        sys.exit(0)


class ToolInterrupts(Sound):
    def put(self, place: str, key: str) -> str:
        """Put something."""
        raise KeyboardInterrupt


class ToolGivesNaN(Sound):
    def put(self, place: str, key: str) -> float:
        """Put something."""
        return float("nan")


class NoTools(Sound):
    def tools(self):
        return []


# Checks


class ChecksExit(Sound):
    def checks(self, run):
        sys.exit(0)


class ChecksInterrupt(Sound):
    def checks(self, run):
        raise KeyboardInterrupt


class ChecksAreText(Sound):
    def checks(self, run):
        return "pass"


class CheckIsNaN(Sound):
    def checks(self, run):
        return [each.model_copy(update={"actual": float("nan")}) for each in super().checks(run)]


class CheckContainsItself(Sound):
    def checks(self, run):
        return [each.model_copy(update={"actual": own({})}) for each in super().checks(run)]


# Profiles


class NoProfiles(Sound):
    profiles = ()


class LongTitle(Sound):
    profiles = (profile(), profile(profile_id="list-long", title="x" * 300))


class BrokenId(Sound):
    profiles = (profile(profile_id="list\n\x1b[2J"),)


class ContentIsASet(Sound):
    profiles = (profile(content={"a": {1, 2}}),)


class NameOfEscapes(Sound):
    name = "list\x1b]0;mine\x07"
