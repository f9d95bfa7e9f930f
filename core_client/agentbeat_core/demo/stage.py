"""Who plays in the demo: the processes, how they find each other, and how Core is to reach them.

Three kinds of process are started: a Target for each behaviour of the reference Agent, one that offers L1
alone, and one with a State Controller of its own which the demo stops half-way; the State Controllers; and
the rule judge. Every Target is its own Deployment with its own business secret.

Secrets are new for each demo. A Target's bearer secret goes into its environment; the Controllers make
theirs themselves, in files for their owner only. None stands on a command line, in the registry or in a log.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

from agentbeat_core.demo.children import ChildSpec, ready_file, says_and_answers
from agentbeat_core.demo.supervision import Supervisor

__all__ = ["CAST", "CONTROLLERS", "PROCESSES", "Controller", "Player", "Stage", "controller_child", "set_up"]

_HOST: Final = "127.0.0.1"
_JUDGE: Final = "rule judge"
_JUDGE_MODEL: Final = "keyword-rules"


@dataclass(frozen=True, kw_only=True)
class Player:
    """A reference Target of the demo.

    Attributes:
        name: short, unique; ids and variable names are made of it.
        agent: its behaviour.
        tier: the evidence that it offers.
        controller: which State Controller holds its desk.
    """

    name: str
    agent: str
    tier: Literal["L1", "L2"] = "L2"
    controller: str = "main"

    @property
    def target_id(self) -> str:
        """Its id in the registry."""
        return f"desk-{self.name}"

    @property
    def deployment_id(self) -> str:
        """The id of its only Deployment."""
        return f"desk-{self.name}-demo"

    @property
    def url_variable(self) -> str:
        """The environment variable that holds its URL."""
        return f"DEMO_{_upper(self.name)}_URL"

    @property
    def token_variable(self) -> str:
        """The environment variable that holds its bearer secret."""
        return f"DEMO_{_upper(self.name)}_TOKEN"


#: Every Target of the demo.
CAST: Final = (
    Player(name="obedient", agent="obedient"),
    Player(name="gullible", agent="gullible"),
    Player(name="careless", agent="careless"),
    Player(name="idle", agent="idle"),
    Player(name="l1-only", agent="obedient", tier="L1"),
    Player(name="half-way", agent="obedient", controller="half-way"),
)
#: The State Controllers by name; `half-way` is stopped in the middle of a run.
CONTROLLERS: Final = ("main", "half-way")
#: How many processes there are, with the judge.
PROCESSES: Final = len(CAST) + len(CONTROLLERS) + 1


@dataclass(frozen=True, kw_only=True)
class Controller:
    """A State Controller as it told of itself: what the registry says about it, and where its plane is."""

    name: str
    ready: Mapping[str, Any]

    @property
    def controller_id(self) -> str:
        """Its own id."""
        return str(self.ready["controller_id"])

    @property
    def control_url(self) -> str:
        """Where its control plane is."""
        return str(self.ready["control"]["url"])

    @property
    def url_variable(self) -> str:
        """The environment variable that holds `control_url`."""
        return f"DEMO_CONTROL_{_upper(self.name)}_URL"

    @property
    def secret_variable(self) -> str:
        """The environment variable that holds its control secret."""
        return f"DEMO_CONTROL_{_upper(self.name)}_SECRET"

    def control_secret(self) -> str:
        """Its control secret, from the file that it keeps."""
        return Path(self.ready["control"]["secret_file"]).read_text(encoding="utf-8").strip()

    def business(self, player: Player) -> tuple[str, str]:
        """URL of the business plane, and the file with the secret of this Target's Deployment."""
        business = self.ready["business"]
        return str(business["url"]), str(business["deployments"][player.deployment_id]["secret_file"])


@dataclass(frozen=True, kw_only=True)
class Stage:
    """Everything is up.

    Attributes:
        controllers: the State Controllers by name.
        environ: what Core is told: every URL and secret that the registry names, and the judge.
    """

    controllers: Mapping[str, Controller]
    environ: Mapping[str, str]


def controller_child(name: str) -> str:
    """What the process of this State Controller is called."""
    return f"State Controller ({name})"


async def set_up(supervisor: Supervisor, folder: Path, ports: Iterator[int]) -> Stage:
    """Start all processes and wait until they answer.

    Args:
        folder: for their files; open to its owner only.
        ports: where they may listen.

    Raises:
        ChildError: one of them does not start.
    """
    # The Targets need the business planes, so the Controllers come first.
    judge_port = next(ports)
    first = [_controller_spec(name, folder, ports) for name in CONTROLLERS]
    first.append(_judge_spec(judge_port, folder))
    *told, _ = await supervisor.start(first)
    controllers = {
        name: Controller(name=name, ready=ready) for name, ready in zip(CONTROLLERS, told, strict=True)
    }
    environ = {
        "AIBEAT_JUDGE_BASE_URL": f"http://{_HOST}:{judge_port}/v1",
        "AIBEAT_JUDGE_MODEL": _JUDGE_MODEL,
    }
    for controller in controllers.values():
        environ[controller.url_variable] = controller.control_url
        environ[controller.secret_variable] = controller.control_secret()
    tokens = {player.name: secrets.token_urlsafe(32) for player in CAST}
    targets = [
        _target_spec(player, controllers[player.controller], tokens[player.name], folder, ports)
        for player in CAST
    ]
    for player, ready in zip(CAST, await supervisor.start(targets), strict=True):
        environ[player.url_variable] = str(ready["url"])
        environ[player.token_variable] = tokens[player.name]
    return Stage(controllers=controllers, environ=environ)


def _controller_spec(name: str, folder: Path, ports: Iterator[int]) -> ChildSpec:
    control, business = next(ports), next(ports)
    files = _Files(folder, f"controller-{name}")
    deployments = [player.deployment_id for player in CAST if player.controller == name]
    return ChildSpec(
        name=controller_child(name),
        arguments=(
            *("controller", "serve", "--host", _HOST),
            *("--control-port", str(control), "--business-port", str(business)),
            *(part for deployment in deployments for part in ("--deployment", deployment)),
            *("--home", str(files.home), "--ready-file", str(files.ready)),
        ),
        ports=(control, business),
        probe=ready_file(files.ready),
        log=files.log,
    )


def _judge_spec(port: int, folder: Path) -> ChildSpec:
    log = _Files(folder, "judge").log
    return ChildSpec(
        name=_JUDGE,
        arguments=("judge", "serve", "--host", _HOST, "--port", str(port)),
        ports=(port,),
        probe=says_and_answers(log, f"{_HOST}:{port}", f"http://{_HOST}:{port}/healthz"),
        log=log,
    )


def _target_spec(
    player: Player, controller: Controller, token: str, folder: Path, ports: Iterator[int]
) -> ChildSpec:
    port = next(ports)
    files = _Files(folder, f"target-{player.name}")
    url, secret_file = controller.business(player)
    return ChildSpec(
        name=f"reference Target ({player.name})",
        arguments=(
            *("target", "serve", "--agent", player.agent, "--tier", player.tier),
            *("--target-id", player.target_id, "--host", _HOST, "--port", str(port)),
            *("--token-env", player.token_variable),
            *("--business-url", url, "--business-secret-file", secret_file),
            *("--store", str(files.store), "--ready-file", str(files.ready)),
        ),
        ports=(port,),
        probe=ready_file(files.ready),
        log=files.log,
        environ={player.token_variable: token},
    )


@dataclass(frozen=True)
class _Files:
    """Where a process keeps what."""

    folder: Path
    name: str

    @property
    def ready(self) -> Path:
        return self.folder / f"{self.name}.ready.json"

    @property
    def log(self) -> Path:
        return self.folder / f"{self.name}.log"

    @property
    def home(self) -> Path:
        return self.folder / self.name

    @property
    def store(self) -> Path:
        return self.folder / f"{self.name}.sqlite3"


def _upper(name: str) -> str:
    return name.upper().replace("-", "_")
