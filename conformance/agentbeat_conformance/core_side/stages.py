"""The scene of one scenario: its servers, the registry file, the request, the environment of the Core.

    async with Stage(scenario) as stage:
        spoken = await evaluate(stage.request, stage.environment)

Every scene has servers, secrets and a journal of its own, so scenes may run side by side.
"""

from __future__ import annotations

import asyncio
import json
import os
import secrets
import socket
import tempfile
from collections.abc import Mapping
from contextlib import AsyncExitStack
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from agentbeat_conformance.core_side import documents
from agentbeat_conformance.core_side.controllers import HostileController
from agentbeat_conformance.core_side.corpus import CASE_ID
from agentbeat_conformance.core_side.deliveries import Answer, json_answer
from agentbeat_conformance.core_side.judges import HostileJudge
from agentbeat_conformance.core_side.scenarios import Place, Scenario
from agentbeat_conformance.core_side.servers import Arrival, Delivery, Journal, Server
from agentbeat_conformance.core_side.targets import FINAL_RESPONSE, HostileTarget, evidence_document
from agentbeat_protocol import EVIDENCE_PATH, INVOCATION_PATH
from agentbeat_protocol.origins import Origin

__all__ = ["Canary", "NotHereError", "Stage"]

_HERE: Final = Place(base="http://127.0.0.1:{target}")
_SECRETS: Final = ("target", "controller", "judge")


class NotHereError(Exception):
    """This machine has not what the scenario needs, such as IPv6."""


class Canary(Server):
    """Another origin, which nobody may call. To whom calls it all the same it plays the Target."""

    def __init__(self, journal: Journal, stage: Stage) -> None:
        super().__init__("canary", journal)
        self._stage = stage

    def answer(self, arrival: Arrival) -> Delivery:
        """What the Target would say, so that who follows is caught believing it, too."""
        ids = {"run_id": self._stage.run_id, "case_id": self._stage.case_id}
        if arrival.method == "POST":
            reply = {"schema_version": "target-invocation-v1", **ids, "status": "completed"}
            reply |= {"final_response": FINAL_RESPONSE, "evidence_ref": EVIDENCE_PATH + ids["run_id"]}
            return json_answer(reply)
        return Answer(body=json.dumps(evidence_document(**ids)).encode())


class Stage:
    """A scenario's servers and documents.

    Attributes:
        request: the request's bytes.
        environment: what is set beside the environment of the suite; None unsets a variable.
    """

    def __init__(self, scenario: Scenario) -> None:
        self.scenario = scenario
        self.place = scenario.place or _HERE
        self.run_id = scenario.run_id or "run-" + scenario.id.replace(".", "-")
        self.case_id = scenario.case_id or CASE_ID
        self.secrets = {name: f"{name}-{secrets.token_hex(16)}" for name in _SECRETS}
        self.journal = Journal(tokens=(self.run_id, *self.secrets.values()))
        self.target = HostileTarget(
            self.journal,
            secret=self.secrets["target"],
            prefix=self.place.prefix,
            host=self.place.host,
            port=self.place.port,
        )
        self.controller = HostileController(self.journal, secret=self.secrets["controller"])
        self.judge = HostileJudge(self.journal, secret=self.secrets["judge"])
        self.canary = Canary(self.journal, self)
        self.request = b""
        self.environment: dict[str, str | None] = {}
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> Self:
        await self._find_place()
        async with AsyncExitStack() as stack:
            for server in (self.target, self.controller, self.judge, self.canary):
                server.listens = server.name not in self.scenario.absent
                try:
                    await stack.enter_async_context(server)
                except OSError as error:
                    raise NotHereError(self._needs(os.strerror(error.errno or 0))) from None
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="agentbeat-core-")))
            self.scenario.arrange(self)
            self._write(folder)
            self._stack = stack.pop_all()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._stack.aclose()

    @property
    def base(self) -> str:
        """The registered base URL."""
        return self.filled(self.place.base) + self.place.prefix

    @property
    def origin(self) -> Origin:
        """The registered origin."""
        return Origin.parse(self.base)

    @property
    def canary_origin(self) -> str:
        """The origin that nobody may call."""
        return f"http://127.0.0.1:{self.canary.port}"

    @property
    def evidence_path(self) -> str:
        """The only path that the evidence may be read from."""
        return f"{self.place.prefix}{EVIDENCE_PATH}{self.run_id}"

    @property
    def invocation_path(self) -> str:
        """The only path that the Agent may be invoked at."""
        return self.place.prefix + INVOCATION_PATH

    def filled(self, text: str) -> str:
        """`{target}`, `{canary}` and `{run}` filled in: two ports and the run id."""
        for name, value in (
            ("{target}", str(self.target.port)),
            ("{canary}", str(self.canary.port)),
            ("{run}", self.run_id),
        ):
            text = text.replace(name, value)
        return text

    def requested(self) -> Mapping[str, Any]:
        """The request as JSON."""
        value: Mapping[str, Any] = json.loads(self.request)
        return value

    def _write(self, folder: Path) -> None:
        scenario = self.scenario
        request = documents.eval_request(
            scenario.tier, run_id=self.run_id, case_id=self.case_id, changes=scenario.request
        )
        self.request = json.dumps(request, ensure_ascii=False).encode()
        without: dict[str, Any] = {} if scenario.has_controller else {"state_controller": ...}
        insecure = {} if self.place.loopback else {"endpoint.allow_insecure_http": True}
        registry = documents.registry(
            verify_key=self.controller.verify_key, changes={**without, **insecure, **scenario.registry}
        )
        file = folder / "registry.json"
        file.write_text(json.dumps(registry, indent=2), encoding="utf-8")
        self.environment = {
            "AIBEAT_AGENT_TARGET_REGISTRY": str(file),
            "AIBEAT_JUDGE_BASE_URL": f"http://127.0.0.1:{self.judge.port}/v1",
            "AIBEAT_JUDGE_MODEL": "conformance-judge",
            "AIBEAT_JUDGE_API_KEY": self.secrets["judge"],
            documents.TARGET_URL: self.base,
            documents.TARGET_SECRET: self.secrets["target"],
            documents.CONTROLLER_URL: f"http://127.0.0.1:{self.controller.port}",
            documents.CONTROLLER_SECRET: self.secrets["controller"],
        }
        for name, value in scenario.environment.items():
            self.environment[name] = None if value is None else self.filled(value)

    async def _find_place(self) -> None:
        """Whether the registered host leads to this machine.

        Raises:
            NotHereError: it does not.
        """
        if self.scenario.place is None:
            return
        host = Origin.parse(self.place.base.replace("{target}", "1")).host
        loop = asyncio.get_running_loop()
        try:
            await loop.getaddrinfo(host, 80, type=socket.SOCK_STREAM)
        except OSError as error:
            raise NotHereError(self._needs(error.strerror or "the name is not known")) from None

    def _needs(self, why: str) -> str:
        needs = self.place.needs or f"a free port of {self.place.host}"
        return f"needs {needs}: {why.lower()}"
