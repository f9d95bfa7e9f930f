"""`agentbeat controller oracles`: an environment's ground truths as a file, for scripted Agents.

A scripted Agent plays what an oracle says, over the business plane and without knowing anything else of the
Controller. So the file has all that a run of it needs, one profile a line:

    {"schema_version": "oracles-v1", "environment": "agentdojo", "profiles": [
    {"profile_id": …, "profile_digest": …, "case_id": …, "title": …, "task": …,
     "injection": {"surface": …, "text": …},
     "oracles": [{"goal": "task", "calls": [{"operation": …, "arguments": {…}}], "final_response": …}, …]},
    …
    ]}

By `case_id` a scripted Agent knows what it is about: it is the profile's id in the letters that a case's id
may have (`case-agentdojo-v1-2-2-slack-user-task-0`), and cases for a scripted Agent are called so.

An oracle holds for the starting state of a reset with the profile's `injection` (null: none), because a
ground truth may pass on what it has read. The text is the profile's own sample. A profile that does not offer
a surface that was asked for stands in the file without an injection.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, Final, TextIO

from agentbeat_controller.environments.oracles import Oracle, OracleEnvironment
from agentbeat_protocol import Injection, ProtocolError, cut

if TYPE_CHECKING:
    from agentbeat_controller.environments.base import Environment, Profile

__all__ = [
    "ORACLES_SCHEMA",
    "OracleChoice",
    "OracleFileError",
    "case_id_of",
    "configure",
    "run",
    "write_oracles",
]

ORACLES_SCHEMA: Final = "oracles-v1"


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the sub-command's own options."""
    parser.add_argument(
        "--profiles",
        action="append",
        default=[],
        metavar="PATTERN",
        help="shell pattern of profile ids, such as 'agentdojo-*-banking-*'; repeatable (default: all)",
    )
    parser.add_argument(
        "--surface",
        action="append",
        default=[],
        metavar="NAME",
        help="with the sample injection at this surface, where a profile has one; repeatable: the first that "
        "it has (default: no injection)",
    )


def run(args: argparse.Namespace, environment: Environment) -> int:
    """Write the file to standard output; the exit code: 0, or 2 with a message."""
    try:
        write_oracles(environment, OracleChoice(patterns=args.profiles, surfaces=args.surface), sys.stdout)
    except OracleFileError as error:
        print(f"agentbeat controller: {cut(str(error), 400)}", file=sys.stderr)
        return 2
    except ProtocolError as error:
        told = f"{error.got}, expected {error.expected}"
        print(f"agentbeat controller: {cut(told, 400)}", file=sys.stderr)
        return 2
    return 0


class OracleFileError(Exception):
    """There is nothing to write; the message says why."""


@dataclass(frozen=True, kw_only=True)
class OracleChoice:
    """Which ground truths are asked for.

    Args:
        patterns: shell patterns of profile ids; empty: all profiles.
        surfaces: where the sample injection stands, at the first that a profile has; empty: no injection.
    """

    patterns: Sequence[str] = ()
    surfaces: Sequence[str] = ()

    def profiles(self, environment: Environment) -> list[Profile]:
        """The profiles that a pattern matches, in the catalogue's order.

        Raises:
            OracleFileError: a pattern matches none, or none offers the surface.
        """
        profiles = list(environment.profiles.values())
        for pattern in self.patterns:
            if not any(fnmatchcase(profile.profile_id, pattern) for profile in profiles):
                raise OracleFileError(f"no profile of {environment.name} matches {cut(pattern, 100)!r}")
        if self.patterns:
            profiles = [
                each for each in profiles if any(fnmatchcase(each.profile_id, p) for p in self.patterns)
            ]
        for surface in self.surfaces:
            if not any(surface in profile.injections for profile in profiles):
                raise OracleFileError(f"no such profile has an injection at {cut(surface, 100)!r}")
        return profiles

    def injection(self, profile: Profile) -> Injection | None:
        """What is planted for this profile."""
        texts = profile.injections
        surface = next((each for each in self.surfaces if each in texts), None)
        return None if surface is None else Injection(surface=surface, text=texts[surface])


def case_id_of(profile_id: str) -> str:
    """The id of a case about this profile.

    >>> case_id_of("agentdojo-v1.2.2-slack-user_task_0")
    'case-agentdojo-v1-2-2-slack-user-task-0'
    """
    return "case-" + re.sub(r"[^a-z0-9]+", "-", profile_id.lower()).strip("-")


def write_oracles(environment: Environment, choice: OracleChoice, file: TextIO) -> None:
    """Write the file.

    Raises:
        OracleFileError: nothing has been written.
    """
    if not isinstance(environment, OracleEnvironment):
        raise OracleFileError(f"the environment {environment.name} knows no ground truths")
    profiles = choice.profiles(environment)
    if len({case_id_of(profile.profile_id) for profile in profiles}) < len(profiles):
        raise OracleFileError("two profiles have ids that differ in punctuation only: one case id for both")
    head = {"schema_version": ORACLES_SCHEMA, "environment": environment.name}
    file.write(f'{_json(head)[:-1]}, "profiles": [\n')
    file.writelines(_lines(environment, profiles, choice))
    file.write("]}\n")


def _lines(environment: OracleEnvironment, profiles: list[Profile], choice: OracleChoice) -> Iterator[str]:
    for place, profile in enumerate(profiles, 1):
        injection = choice.injection(profile)
        oracles = environment.oracles(profile, injection=injection)
        entry = {
            "profile_id": profile.profile_id,
            "profile_digest": profile.profile_digest,
            "case_id": case_id_of(profile.profile_id),
            "title": profile.title,
            "task": profile.task,
            "injection": None if injection is None else injection.model_dump(mode="json"),
            "oracles": [_oracle(oracle) for oracle in oracles],
        }
        yield _json(entry) + (",\n" if place < len(profiles) else "\n")


def _oracle(oracle: Oracle) -> dict[str, Any]:
    return {
        "goal": oracle.goal,
        "calls": [{"operation": call.operation, "arguments": dict(call.arguments)} for call in oracle.calls],
        "final_response": oracle.final_response,
    }


def _json(value: Any) -> str:
    return json.dumps(value)  # plain ASCII: what does not print is escaped
