"""Plays calls against an environment as Core and an Agent would: through both planes, in this process.

A Controller on a database of its own in a temporary folder; nothing listens on a network. Each play is a run:
reset, snapshot before, the calls over the business plane, snapshot after, verify, release. Each is a step
(`steps`): whatever the environment does in one, it ends in a `PlayError` that says so.

    async with player_on(environment) as player:
        play = await player.play(profile, oracle.calls, oracle.final_response)
        play.verdicts.utility.verdict
"""

from __future__ import annotations

import json
import secrets
import tempfile
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import event

from agentbeat_controller.control_plane import ControlPlane
from agentbeat_controller.databases import open_engine
from agentbeat_controller.door import Door
from agentbeat_controller.environments.base import Environment, Profile
from agentbeat_controller.environments.oracles import OracleCall
from agentbeat_controller.transactions import Transactions
from agentbeat_protocol import (
    RUN_ID_HEADER,
    Check,
    Injection,
    ReleaseRequest,
    ResetRequest,
    SnapshotRequest,
    Verdicts,
    VerifyRequest,
    digest,
    read_json,
)
from agentbeat_protocol.models import validated

from .asgi_calls import asgi_call
from .routes import Route, routes_of
from .steps import PlayError, Steps, UnfitError

if TYPE_CHECKING:
    from starlette.types import ASGIApp

__all__ = ["Play", "PlayError", "Player", "player_on"]

_DEPLOYMENT: Final = "deployment-check"
#: The members of a state that the business plane writes by itself: calls, and those that were begun.
_LOG: Final = frozenset({"calls", "unfinished"})


@dataclass(frozen=True, kw_only=True)
class Play:
    """One run.

    Args:
        statuses: the HTTP status of each call.
        refusals: the error code of each call, `tool_failed` where the tool says so in its answer; else None.
        effective: whether each call changed the state, its log apart; empty unless that was asked for.
        said: what the Controller's log says of the judgement, in brackets; empty if nothing.
    """

    verdicts: Verdicts
    checks: tuple[Check, ...]
    state_digest: str
    before: Any
    after: Any
    statuses: tuple[int, ...]
    refusals: tuple[str | None, ...]
    effective: tuple[bool, ...]
    said: str

    @property
    def words(self) -> tuple[str, str, str]:
        """The verdicts' words: utility, security, attack."""
        each = self.verdicts
        return each.utility.verdict, each.security.verdict, each.attack.verdict

    @property
    def records(self) -> Any:
        """The after state without the log of calls."""
        return records_of(self.after)


class Player:
    """Plays runs; made by `player_on`.

    Attributes:
        steps: what is being done; whoever plays says in it what that is part of.
        routes: how an operation is called, by its name.
        plays: runs played so far.
    """

    def __init__(
        self, environment: Environment, plane: ControlPlane, app: ASGIApp, secret: str, steps: Steps
    ) -> None:
        self.steps = steps
        self._environment = environment
        self._plane = plane
        self._app = app
        self._headers = {"authorization": f"Bearer {secret}", "content-type": "application/json"}
        self.routes: Mapping[str, Route] = {}
        self.plays = 0

    async def open(self) -> None:
        """Read the business plane's document.

        Raises:
            PlayError: it has none.
        """
        with self.steps.step("GET /openapi.json", expected="the document of the tools"):
            status, document = await asgi_call(self._app, "GET", "/openapi.json", "", b"", self._headers)
            if status != 200 or not isinstance(document, dict):
                raise UnfitError(f"status {status}")
            self.routes = routes_of(document)

    async def play(
        self,
        profile: Profile,
        calls: Sequence[OracleCall],
        final_response: str,
        *,
        injection: Injection | None = None,
        watch: bool = False,
    ) -> Play:
        """One run.

        Args:
            watch: find out which calls changed the state.

        Raises:
            PlayError: a step was refused or failed, or a call has no route.
        """
        self.plays += 1
        common = {
            "schema_version": "state-controller-v1",
            "run_id": f"run-check-{self.plays:06d}",
            "case_id": f"case-check-{self.plays:06d}",
            "profile_id": profile.profile_id,
        }
        reset = self._reset(common, profile, injection)
        lease = {**common, "lease_id": reset["lease_id"]}
        try:
            play = await self._play(lease, reset, calls, final_response, watch=watch)
        except BaseException:
            with suppress(PlayError):  # what went wrong first is what is told
                self._release(lease)
            raise
        self._release(lease)
        return play

    async def _play(
        self,
        lease: dict[str, Any],
        reset: dict[str, Any],
        calls: Sequence[OracleCall],
        final_response: str,
        *,
        watch: bool,
    ) -> Play:
        before = self._snapshot(lease, "before")
        outcomes: list[tuple[int, str | None]] = []
        states = [self._records(reset["environment_id"])] if watch else []
        for call in calls:
            outcomes.append(await self._outcome(call, lease["run_id"]))
            if watch:
                states.append(self._records(reset["environment_id"]))
        after = self._snapshot(lease, "after")
        body = {**lease, "before": before, "after": after, "final_response": final_response}
        answer = self._control("verify", lambda: self._plane.verify(validated(VerifyRequest, body)))
        said = self.steps.reason()
        return Play(
            verdicts=Verdicts.model_validate(answer["verdicts"]),
            checks=tuple(Check.model_validate(check) for check in answer["checks"]),
            state_digest=reset["state_digest"],
            before=self._content(before),
            after=self._content(after),
            statuses=tuple(status for status, _ in outcomes),
            refusals=tuple(code for _, code in outcomes),
            effective=tuple(old != new for old, new in pairwise(states)),
            said=said,
        )

    def _reset(self, common: dict[str, Any], profile: Profile, injection: Injection | None) -> dict[str, Any]:
        modes = profile.binding_modes
        body = {
            **common,
            "deployment_profile_id": _DEPLOYMENT,
            "profile_digest": profile.profile_digest,
            "binding_mode": "catalog" if "catalog" in modes else modes[0],
            "attempt_nonce": secrets.token_hex(16),
            "snapshots": True,
        }
        if injection is not None:
            body["injection"] = injection.model_dump()
        return self._control("reset", lambda: self._plane.reset(validated(ResetRequest, body)))

    def _snapshot(self, lease: dict[str, Any], phase: str) -> dict[str, str]:
        body = {**lease, "phase": phase}
        step = f"snapshot {phase}"
        answer = self._control(step, lambda: self._plane.snapshot(validated(SnapshotRequest, body)))
        return {"ref": answer["snapshot_ref"], "digest": answer["digest"]}

    def _release(self, lease: dict[str, Any]) -> None:
        self._control("release", lambda: self._plane.release(validated(ReleaseRequest, lease)))

    def _control(self, step: str, call: Callable[[], bytes]) -> dict[str, Any]:
        with self.steps.control(step):
            answer: dict[str, Any] = json.loads(call())
        return answer

    def _content(self, reference: dict[str, str]) -> Any:
        raw = self._plane.snapshot_content(reference["ref"])
        return read_json(raw, max_bytes=len(raw))

    def _records(self, environment_id: str) -> str:
        """The digest of the records: the log of calls is changed by every call."""
        with self.steps.control("state"), self._plane.book.transactions.begin() as connection:
            return digest(records_of(self._environment.state(connection, environment_id)))

    async def _outcome(self, call: OracleCall, run_id: str) -> tuple[int, str | None]:
        route = self.routes.get(call.operation)
        if route is None:
            known = ", ".join(sorted(self.routes)) or "it has none"
            found = f"got {call.operation}, expected an operation of the business plane: {known}"
            raise self.steps.untried("a call", found)
        headers = {**self._headers, RUN_ID_HEADER.lower(): run_id}
        with self.steps.step(f"call of {call.operation}"):
            status, answer = await asgi_call(self._app, *route.request(call.arguments), headers)
        if 200 <= status < 300:
            return status, "tool_failed" if route.failed(answer) else None
        error = answer.get("error") if isinstance(answer, dict) else None
        code = str(error.get("code")) if isinstance(error, dict) else f"status {status}"
        return status, f"{code}{self.steps.reason()}"


def records_of(state: Any) -> Any:
    """A state without the log of calls."""
    if not isinstance(state, Mapping):
        return state
    return {name: value for name, value in state.items() if name not in _LOG}


@asynccontextmanager
async def player_on(
    environment: Environment, steps: Steps | None = None, *, within: str | None = None
) -> AsyncIterator[Player]:
    """A player on a database in a temporary folder, which is gone afterwards.

    Args:
        within: where that folder is made; None: where temporary ones are.

    Raises:
        PlayError: a Controller cannot be started on the environment, or its business plane does not say what
            its operations are.
    """
    steps = steps or Steps()
    with steps.listening(), tempfile.TemporaryDirectory(prefix="agentbeat-check-", dir=within) as folder:
        engine = open_engine(f"sqlite:///{Path(folder) / 'check.db'}")
        # Nothing here needs to outlive a power cut.
        event.listen(engine, "connect", lambda each, _: each.execute("PRAGMA synchronous = OFF"))
        try:
            player = _started(environment, Transactions(engine), steps)
            await player.open()
            yield player
        finally:
            engine.dispose()


def _started(environment: Environment, transactions: Transactions, steps: Steps) -> Player:
    secret = secrets.token_urlsafe(32)
    with steps.control("the start of the Controller"):
        plane = ControlPlane(
            environment=environment,
            transactions=transactions,
            controller_id="controller-check",
            deployments=[_DEPLOYMENT],
            signer=None,
        )
        plane.start()
    with steps.step("business_app", expected="an ASGI application"):
        app = environment.business_app(Door(plane.book, {_DEPLOYMENT: secret}))
    return Player(environment, plane, app, secret, steps)
