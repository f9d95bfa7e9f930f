"""Which Agent plays which profile: the plan of all runs.

A profile is a user task, or a pair of a user task and an injection task:

>>> name = "agentdojo-v1.2.2-slack-user_task_2-injection_task_1"
>>> entry = Entry(profile_id=name, profile_digest="", case_id="", task="", injection=None)
>>> entry.suite, entry.user_task, entry.injection_task
('slack', 'user_task_2', 'injection_task_1')
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from agentbeat_protocol import Injection

__all__ = ["AGENTS", "BENCHMARK", "DEFAULT_AGENTS", "SUITES", "Entry", "Play", "planned", "read_entries"]

BENCHMARK: Final = "agentdojo-v1.2.2"
SUITES: Final = ("workspace", "travel", "banking", "slack")
#: Every Agent, in the order of the table.
AGENTS: Final = ("ground-truth", "resisting", "obeying-first", "obeying-last", "idle")
#: Those that are known figures for.
DEFAULT_AGENTS: Final = ("ground-truth", "resisting", "obeying-first", "idle")

#: What each Agent is put to: user tasks alone, pairs, or both.
_PLAYS_TASKS: Final = frozenset({"ground-truth", "idle"})
_PLAYS_PAIRS: Final = frozenset({"resisting", "obeying-first", "obeying-last", "idle"})

_PROFILE: Final = re.compile(
    rf"{re.escape(BENCHMARK)}-(?P<suite>[a-z]+)-(?P<user>user_task_\d+)(-(?P<injection>injection_task_\d+))?"
)


@dataclass(frozen=True, kw_only=True)
class Entry:
    """A profile of the benchmark, as the Controller's file of ground truths describes it.

    Attributes:
        injection: what reset plants; None for a user task alone.
    """

    profile_id: str
    profile_digest: str
    case_id: str
    task: str
    injection: Injection | None

    @property
    def suite(self) -> str:
        """The suite's name."""
        return self._part("suite")

    @property
    def user_task(self) -> str:
        """The user task's name."""
        return self._part("user")

    @property
    def injection_task(self) -> str:
        """The injection task's name; empty for a user task alone."""
        return self._part("injection")

    def _part(self, name: str) -> str:
        found = _PROFILE.fullmatch(self.profile_id)
        if found is None:
            raise ValueError(f"got the profile {self.profile_id[:100]!r}, expected one of {BENCHMARK}")
        return found[name] or ""


@dataclass(frozen=True, kw_only=True)
class Play:
    """One run: an Agent and the profile that it is put to."""

    agent: str
    entry: Entry

    @property
    def name(self) -> str:
        """The Agent and the profile, as messages name them."""
        return f"{self.agent} {self.entry.profile_id}"


def read_entries(raw: bytes) -> tuple[Entry, ...]:
    """The profiles in a file of ground truths, `oracles-v1`.

    Raises:
        ValueError: that is no such file.
    """
    try:
        document = json.loads(raw)
        if document["schema_version"] != "oracles-v1":
            raise ValueError("another schema_version than oracles-v1")
        return tuple(_entry(profile) for profile in document["profiles"])
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"no file of ground truths: {error}") from None


def _entry(profile: dict[str, Any]) -> Entry:
    injection = profile["injection"]
    return Entry(
        profile_id=profile["profile_id"],
        profile_digest=profile["profile_digest"],
        case_id=profile["case_id"],
        task=profile["task"],
        injection=None if injection is None else Injection.model_validate(injection),
    )


def planned(entries: Sequence[Entry], *, agents: Iterable[str], full: bool) -> tuple[Play, ...]:
    """The runs, Agent by Agent.

    Args:
        full: all pairs; otherwise one for each injection task. An idle Agent is never put to more: which task
            it does not do makes no difference to an attack that nobody carries out.
    """
    tasks = [entry for entry in entries if not entry.injection_task]
    pairs = [entry for entry in entries if entry.injection_task]
    sample = list(_one_for_each_injection_task(pairs))
    return tuple(
        Play(agent=agent, entry=entry)
        for agent in agents
        for entry in (
            *(tasks if agent in _PLAYS_TASKS else ()),
            *(() if agent not in _PLAYS_PAIRS else pairs if full and agent != "idle" else sample),
        )
    )


def _one_for_each_injection_task(pairs: Sequence[Entry]) -> Iterator[Entry]:
    """The first injection task of a suite with its first user task, the second with the second …"""
    for suite in dict.fromkeys(entry.suite for entry in pairs):
        mine = [entry for entry in pairs if entry.suite == suite]
        users = list(dict.fromkeys(entry.user_task for entry in mine))
        injections = list(dict.fromkeys(entry.injection_task for entry in mine))
        by_names = {(entry.user_task, entry.injection_task): entry for entry in mine}
        for place, injection in enumerate(injections):
            yield by_names[users[place % len(users)], injection]
