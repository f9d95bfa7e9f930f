"""The processes of a benchmark run: a State Controller, and a Target for each scripted Agent.

The Controller's ground truths go into a file first, which the Targets play from. Secrets are new each time: a
Target's is in its environment, the Controller's are in files for their owner only.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple

from agentbeat_core.agentdojo.plays import BENCHMARK, Entry, read_entries
from agentbeat_core.demo.children import ChildError, ChildSpec, ready_file
from agentbeat_core.demo.stage import Controller
from agentbeat_core.demo.supervision import Supervisor

__all__ = ["SURFACE", "Stage", "deployment_id", "set_up", "target_id"]

#: Where injections are planted: at the vectors that the task's ground truth is shown, as the benchmark does.
SURFACE: Final = "seen_vectors"

_HOST: Final = "127.0.0.1"
_ENVIRONMENT: Final = "agentdojo"


def target_id(agent: str) -> str:
    """A Target's id in the registry."""
    return f"agentdojo-{agent}"


def deployment_id(agent: str) -> str:
    """The id of a Target's only Deployment."""
    return f"agentdojo-{agent}-bench"


class _Variables(NamedTuple):
    url: str
    secret: str


@dataclass(frozen=True, kw_only=True)
class Stage:
    """Everything is up.

    Attributes:
        agents: the Agents that have a Target.
        entries: the profiles, in the catalogue's order.
        environ: what Core is told: every URL and secret that the registry names.
    """

    agents: tuple[str, ...]
    entries: tuple[Entry, ...]
    controller: Controller
    environ: Mapping[str, str]

    @staticmethod
    def variables(agent: str) -> _Variables:
        """The environment variables that hold a Target's URL and its secret."""
        name = agent.upper().replace("-", "_")
        return _Variables(f"AGENTDOJO_{name}_URL", f"AGENTDOJO_{name}_TOKEN")


async def set_up(
    supervisor: Supervisor,
    folder: Path,
    ports: Iterator[int],
    *,
    agents: Sequence[str],
    suites: Sequence[str],
) -> Stage:
    """Start all processes and wait until they answer.

    Args:
        folder: for their files; open to its owner only.
        ports: where they may listen: two for the Controller, one for each Agent.
        suites: whose ground truths are needed.

    Raises:
        ChildError: one of them does not start.
    """
    oracles = folder / "oracles.json"
    (ready,) = await supervisor.start([_controller_spec(agents, folder, ports)])
    await supervisor.complete(_oracles_spec(suites, oracles, folder))
    try:
        entries = read_entries(oracles.read_bytes())
    except ValueError as error:
        raise ChildError(f"the Controller's ground truths cannot be read: {error}") from None
    controller = Controller(name=_ENVIRONMENT, ready=ready)
    environ = {
        controller.url_variable: controller.control_url,
        controller.secret_variable: controller.control_secret(),
    }
    tokens = {agent: secrets.token_urlsafe(32) for agent in agents}
    specs = [_target_spec(agent, ready, tokens[agent], oracles, folder, next(ports)) for agent in agents]
    for agent, told in zip(agents, await supervisor.start(specs), strict=True):
        variables = Stage.variables(agent)
        environ[variables.url] = str(told["url"])
        environ[variables.secret] = tokens[agent]
    return Stage(agents=tuple(agents), entries=entries, controller=controller, environ=environ)


def _oracles_spec(suites: Sequence[str], output: Path, folder: Path) -> ChildSpec:
    return ChildSpec(
        name="ground truths",
        arguments=(
            *("controller", "oracles", "--environment", _ENVIRONMENT, "--surface", SURFACE),
            *(part for suite in suites for part in ("--profiles", f"{BENCHMARK}-{suite}-*")),
        ),
        ports=(),
        probe=ready_file(output),
        log=folder / "oracles.log",
        output=output,
    )


def _controller_spec(agents: Sequence[str], folder: Path, ports: Iterator[int]) -> ChildSpec:
    control, business, ready = next(ports), next(ports), folder / "controller.ready.json"
    return ChildSpec(
        name="State Controller",
        arguments=(
            *("controller", "serve", "--environment", _ENVIRONMENT, "--host", _HOST),
            *("--control-port", str(control), "--business-port", str(business)),
            *(part for agent in agents for part in ("--deployment", deployment_id(agent))),
            *("--home", str(folder / "controller"), "--ready-file", str(ready)),
        ),
        ports=(control, business),
        probe=ready_file(ready),
        log=folder / "controller.log",
    )


def _target_spec(
    agent: str, controller: Mapping[str, Any], token: str, oracles: Path, folder: Path, port: int
) -> ChildSpec:
    business, ready = controller["business"], folder / f"target-{agent}.ready.json"
    variable = Stage.variables(agent).secret
    return ChildSpec(
        name=f"Target ({agent})",
        arguments=(
            *("target", "serve", "--agent", agent, "--target-id", target_id(agent)),
            # An idle Agent plays no script.
            *(() if agent == "idle" else ("--oracles", str(oracles))),
            *("--host", _HOST, "--port", str(port), "--token-env", variable),
            *("--business-url", str(business["url"])),
            *("--business-secret-file", str(business["deployments"][deployment_id(agent)]["secret_file"])),
            *("--store", str(folder / f"target-{agent}.sqlite3"), "--ready-file", str(ready)),
        ),
        ports=(port,),
        probe=ready_file(ready),
        log=folder / f"target-{agent}.log",
        environ={variable: token},
    )
