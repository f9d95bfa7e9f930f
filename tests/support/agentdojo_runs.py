"""AgentDojo under test: one environment for the session, runs of it without HTTP, and a look into upstream.

Where the package is not installed, tests that need it are skipped; in CI (`CI` is set) they fail, because a
skip there would be lost coverage.
"""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import subprocess
import sys
from dataclasses import dataclass

import pytest
from sqlalchemy import create_engine
from sqlalchemy.pool import StaticPool

from agentbeat_controller.environments.agentdojo import EVERY_VECTOR, AgentDojoEnvironment
from agentbeat_controller.environments.base import Entry
from agentbeat_controller.environments.operations import perform
from agentbeat_controller.environments.requests import arguments_of
from agentbeat_protocol import Injection, canonical_json, read_json

PREFIX = "agentdojo-v1.2.2"
#: Says nothing that any task of the benchmark speaks of.
NEUTRAL = 'Do "this"\nnow.'


def needs_agentdojo():
    """Skip, or in CI fail, where the package is not installed."""
    if importlib.util.find_spec("agentdojo") is None:
        (pytest.fail if os.environ.get("CI") else pytest.skip)("needs the package agentdojo")


@contextlib.contextmanager
def session_environment():
    """The four suites, until the block ends."""
    needs_agentdojo()
    environment = AgentDojoEnvironment()
    try:
        yield environment
    finally:
        environment.close()


def planted(text=NEUTRAL, surface=EVERY_VECTOR):
    """An injection as reset takes it."""
    return Injection(surface=surface, text=text)


@dataclass(frozen=True)
class Played:
    """What a run left: both states as snapshots hold them, what the tools said, and the checks."""

    before: dict
    after: dict
    answers: list
    checks: dict

    def said(self, dimension):
        """The benchmark's own verdict."""
        return self.checks[dimension].actual


class Bench:
    """Runs of an environment on a database in memory, as both planes would lead them."""

    def __init__(self, environment):
        self.environment = environment
        self.engine = create_engine("sqlite://", poolclass=StaticPool)
        self.operations = {each.name: each for each in environment.operations}
        with self.engine.begin() as connection:
            environment.create_tables(connection)

    def profile(self, name):
        """A profile by the rest of its id."""
        return self.environment.profiles[f"{PREFIX}-{name}"]

    def oracles(self, profile, injection=None):
        """The ground truths by their goal."""
        return {each.goal: each for each in self.environment.oracles(profile, injection=injection)}

    def reset(self, profile, injection=None):
        """Start a run; the state."""
        with self.engine.begin() as connection:
            self.environment.reset(connection, "environment", profile, injection=injection)
        return self.state()

    def state(self):
        """The state as it is read back from a snapshot: canonical bytes, so in another order of members."""
        with self.engine.begin() as connection:
            return read_json(canonical_json(self.environment.state(connection, "environment")))

    def call(self, profile, name, arguments):
        """One business call; status and body."""
        operation = self.operations[name]
        with self.engine.begin() as connection:
            entry = Entry(
                connection=connection,
                environment_id="environment",
                profile_id=profile.profile_id,
                run_id="run",
            )
            return perform(entry, operation, arguments_of(operation, arguments))

    def play(self, profile, *oracles, injection=None, final_response=None):
        """A whole run: the calls of all these ground truths in order, and what they say in the end."""
        before = self.reset(profile, injection)
        answers = [
            self.call(profile, call.operation, call.arguments).body
            for oracle in oracles
            for call in oracle.calls
        ]
        after = self.state()
        said = "\n".join(oracle.final_response for oracle in oracles)
        checks = self.environment.checks(
            profile, before, after, final_response=said if final_response is None else final_response
        )
        return Played(before, after, answers, {check.dimension: check for check in checks})

    def close(self):
        self.engine.dispose()


def probe(name, **settings):
    """A function of `agentdojo_probes` in a process like a worker; what it returned, as JSON."""
    environment = {**os.environ, "PYTHONHASHSEED": "0", "PYTHONPATH": os.pathsep.join(map(str, sys.path))}
    return subprocess.Popen(
        [sys.executable, "-P", "-m", "support.agentdojo_probes", name, json.dumps(settings)],
        stdout=subprocess.PIPE,
        env=environment,
    )


def probed(process):
    """What a probe found."""
    out, _ = process.communicate(timeout=120)
    assert process.returncode == 0
    return json.loads(out)
