"""Whom the items check, and the runner behind them.

The items of one Target share one runner and one event loop, which only runs while an item does.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from typing import Any, Final

import pytest

from agentbeat_conformance.catalogues import load_catalogue
from agentbeat_conformance.commands.options import UsageError, secret_of
from agentbeat_conformance.endpoints import Endpoint
from agentbeat_conformance.exchanges import Exchange
from agentbeat_conformance.outcomes import Result
from agentbeat_conformance.plans import Plan, PlanError, make_plan
from agentbeat_conformance.reports.curls import repeat_command
from agentbeat_conformance.reports.details import details
from agentbeat_conformance.reports.records import shell_variables
from agentbeat_conformance.requirements import Capability, Requirement, Tier
from agentbeat_conformance.runner import Runner
from agentbeat_conformance.transcript_records import Subject
from agentbeat_conformance.wires import AsgiWire, SocketWire, marker
from agentbeat_protocol import URLError

__all__ = [
    "Conformance",
    "conformance_of_application",
    "conformance_of_target",
    "given_secret",
    "given_tasks",
    "given_tier",
]

#: Where an application in process is said to be.
_IN_PROCESS: Final = "http://target.example"
#: How `pytest-xdist` keeps all items of one Target in one process.
_TOGETHER: Final = ("loadscope", "loadfile")


class Conformance:
    """One Target, and the checks on it.

    Args:
        secret: its bearer secret; None for a Target without one.
        variable: the environment variable that the secret came from.
    """

    def __init__(
        self,
        wire: SocketWire | AsgiWire,
        endpoint: Endpoint,
        *,
        tier: Tier,
        secret: str | None,
        tasks: Sequence[str],
        budget: int | None = None,
        variable: str | None = None,
    ) -> None:
        self.tier = tier
        self._wire = wire
        self._endpoint = endpoint
        self._secret = secret
        self._tasks = tuple(tasks)
        self._budget = budget
        self._variables = shell_variables({"secret": variable or "TOKEN"})
        self._loop = asyncio.Runner(loop_factory=asyncio.new_event_loop)
        self._runner: Runner | None = None

    def plan(self, only: Iterable[str] = ()) -> Plan:
        """The plan for these requirements, by default all of the tier.

        Raises:
            PlanError: see `make_plan`.
        """
        given = {
            Capability.AUTH: self._secret is not None,
            Capability.TASK: bool(self._tasks),
            Capability.SOCKET: self._wire.has_sockets,
        }
        return make_plan(
            self.tier,
            catalogue=load_catalogue(),
            only=only,
            capabilities={capability for capability, there in given.items() if there},
            tasks=len(self._tasks),
            budget=self._budget,
        )

    def result(self, made: Requirement, planned: Iterable[str]) -> Result:
        """Check a requirement; with the first one the Target is asked whether it is there.

        Args:
            planned: the ids of all that will be checked.
        """
        if self._runner is None:
            self._runner = self._made_runner(self.plan(planned))
            self._loop.run(self._runner.begin())
        return self._loop.run(self._runner.attempt(made))

    def details(self, result: Result) -> str:
        """The result in full, with the commands that repeat its exchanges."""
        exchanges = self._runner.exchanges if self._runner is not None else ()
        return details(result, exchanges, repeat=self._repeat)

    def close(self) -> None:
        """End the application, and the loop."""
        if isinstance(self._wire, AsgiWire):
            self._loop.run(self._wire.aclose())
        self._loop.close()

    def _made_runner(self, plan: Plan) -> Runner:
        options = {
            "scheme": self._endpoint.origin.scheme,
            "host": self._endpoint.authority,
            "prefix": self._endpoint.prefix,
            "secret": None if self._secret is None else marker(),
            "tasks": list(self._tasks),
        }
        return Runner(
            plan,
            Subject(kind="target", url=self._endpoint.url, options=options),
            wire=self._wire,
            secrets={} if self._secret is None else {"secret": self._secret},
        )

    def _repeat(self, exchange: Exchange) -> str | None:
        if not self._wire.has_sockets:
            return None
        return repeat_command(
            exchange.request, origin=str(self._endpoint.origin), variables=self._variables, lines=True
        )


def conformance_of_target(config: pytest.Config) -> Conformance:
    """The Target that the command line names.

    Raises:
        pytest.UsageError: the options do not fit together.
    """
    if config.getoption("numprocesses", None) and config.getoption("dist", "no") not in _TOGETHER:
        raise pytest.UsageError(
            "--agentbeat-target: every process would run the Agent for itself; "
            "use -n 0, or --dist loadscope to keep the requirements together"
        )
    variable = config.getoption("agentbeat_token_env")
    try:
        wire = SocketWire(config.getoption("agentbeat_target"))
        conformance = Conformance(
            wire,
            wire.endpoint,
            tier=given_tier(config),
            secret=given_secret(config),
            tasks=given_tasks(config),
            budget=config.getoption("agentbeat_budget"),
            variable=variable,
        )
        conformance.plan()
    except URLError as error:
        # Not repeated as a whole: it may hold a password.
        raise pytest.UsageError(f"--agentbeat-target: got {error.got}, expected {error.expected}") from None
    except PlanError as error:
        raise pytest.UsageError(f"agentbeat: {error}") from None
    return conformance


def conformance_of_application(
    config: pytest.Config, app: Any, *, secret: str | None, tasks: Sequence[str]
) -> Conformance:
    """An application in this process."""
    return Conformance(
        AsgiWire(app),
        Endpoint.parse(_IN_PROCESS),
        tier=given_tier(config),
        secret=secret,
        tasks=tasks,
        budget=config.getoption("agentbeat_budget"),
    )


def given_secret(config: pytest.Config) -> str | None:
    """The secret in the variable that the command line names; None without one."""
    try:
        return secret_of(config.getoption("agentbeat_token_env"))
    except UsageError as error:
        raise pytest.UsageError(f"--agentbeat-token-env: {error}") from None


def given_tasks(config: pytest.Config) -> tuple[str, ...]:
    """The tasks of the command line, else those of the settings."""
    return tuple(config.getoption("agentbeat_task") or config.getini("agentbeat_tasks"))


def given_tier(config: pytest.Config) -> Tier:
    """The tier of the command line, else that of the settings."""
    name = config.getoption("agentbeat_tier") or config.getini("agentbeat_tier")
    tiers: dict[str, Tier] = {"L1": "target-L1", "L2": "target-L2"}
    if name not in tiers:
        raise pytest.UsageError(f"agentbeat_tier: got {name}, expected L1 or L2")
    return tiers[name]
