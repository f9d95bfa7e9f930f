"""Plays calls against an environment as Core and an Agent would: through both planes, in this process.

A Controller on a database of its own in a temporary folder; nothing listens on a network. Each play is a run:
reset, snapshot before, the calls over the business plane, snapshot after, verify, release.

    async with player_on(environment) as player:
        play = await player.play(profile, oracle.calls, oracle.final_response)
        play.verdicts.utility.verdict
"""

from __future__ import annotations

import json
import secrets
import tempfile
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote

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
    ProtocolError,
    ReleaseRequest,
    ResetRequest,
    SnapshotRequest,
    Verdicts,
    VerifyRequest,
    digest,
    read_json,
)
from agentbeat_protocol.models import validated

from .routes import Route, routes_of

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message

__all__ = ["Play", "PlayError", "Player", "player_on"]

_DEPLOYMENT: Final = "deployment-check"
#: The members of a state that the business plane writes by itself: calls, and those that were begun.
_LOG: Final = frozenset({"calls", "unfinished"})


class PlayError(Exception):
    """A run could not be played to its end; the message says at which step, and why."""


@dataclass(frozen=True, kw_only=True)
class Play:
    """One run.

    Args:
        statuses: the HTTP status of each call.
        refusals: the error code of each call, `tool_failed` where the tool says so in its answer; else None.
        effective: whether each call changed the state, its log apart; empty unless that was asked for.
    """

    verdicts: Verdicts
    checks: tuple[Check, ...]
    state_digest: str
    before: Any
    after: Any
    statuses: tuple[int, ...]
    refusals: tuple[str | None, ...]
    effective: tuple[bool, ...]

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
    """Plays runs; made by `player_on`."""

    def __init__(self, environment: Environment, plane: ControlPlane, app: ASGIApp, secret: str) -> None:
        self._environment = environment
        self._plane = plane
        self._app = app
        self._headers = {"authorization": f"Bearer {secret}", "content-type": "application/json"}
        self._number = 0
        #: How an operation is called, by its name.
        self.routes: Mapping[str, Route] = {}
        #: Runs played so far.
        self.plays = 0

    async def open(self) -> None:
        """Read the business plane's document.

        Raises:
            PlayError: it has none.
        """
        status, document = await self._call("GET", "/openapi.json", "", b"", {})
        if status != 200 or not isinstance(document, dict):
            raise PlayError(f"GET /openapi.json was answered {status}, expected the document of the tools")
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
            PlayError: a control call was refused, or a call has no route.
        """
        self.plays += 1
        self._number += 1
        common = {
            "schema_version": "state-controller-v1",
            "run_id": f"run-check-{self._number:06d}",
            "case_id": f"case-check-{self._number:06d}",
            "profile_id": profile.profile_id,
        }
        reset = self._reset(common, profile, injection)
        lease = {**common, "lease_id": reset["lease_id"]}
        try:
            return await self._play(lease, reset, calls, final_response, watch=watch)
        finally:
            with suppress(ProtocolError):
                self._plane.release(validated(ReleaseRequest, lease))

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
        answer = _answer("verify", lambda: self._plane.verify(validated(VerifyRequest, body)))
        return Play(
            verdicts=Verdicts.model_validate(answer["verdicts"]),
            checks=tuple(Check.model_validate(check) for check in answer["checks"]),
            state_digest=reset["state_digest"],
            before=self._content(before),
            after=self._content(after),
            statuses=tuple(status for status, _ in outcomes),
            refusals=tuple(code for _, code in outcomes),
            effective=tuple(old != new for old, new in pairwise(states)),
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
        return _answer("reset", lambda: self._plane.reset(validated(ResetRequest, body)))

    def _snapshot(self, lease: dict[str, Any], phase: str) -> dict[str, str]:
        body = {**lease, "phase": phase}
        answer = _answer(phase, lambda: self._plane.snapshot(validated(SnapshotRequest, body)))
        return {"ref": answer["snapshot_ref"], "digest": answer["digest"]}

    def _content(self, reference: dict[str, str]) -> Any:
        raw = self._plane.snapshot_content(reference["ref"])
        return read_json(raw, max_bytes=len(raw))

    def _records(self, environment_id: str) -> str:
        """The digest of the records: the log of calls is changed by every call."""
        try:
            with self._plane.book.transactions.begin() as connection:
                state = self._environment.state(connection, environment_id)
        except ProtocolError as error:
            raise PlayError(f"the state could not be read: {error.code}") from None
        return digest(records_of(state))

    async def _outcome(self, call: OracleCall, run_id: str) -> tuple[int, str | None]:
        route = self.routes.get(call.operation)
        if route is None:
            raise PlayError(f"the business plane has no operation {call.operation}")
        status, answer = await self._call(*route.request(call.arguments), {RUN_ID_HEADER.lower(): run_id})
        if 200 <= status < 300:
            return status, "tool_failed" if route.failed(answer) else None
        error = answer.get("error") if isinstance(answer, dict) else None
        return status, str(error.get("code")) if isinstance(error, dict) else f"status {status}"

    async def _call(
        self, method: str, path: str, query: str, body: bytes, headers: Mapping[str, str]
    ) -> tuple[int, Any]:
        """One request to the business plane, and its JSON answer."""
        sent: list[Message] = []

        async def receive() -> Message:
            return {"type": "http.request", "body": body, "more_body": False}

        async def send(message: Message) -> None:
            sent.append(message)

        fields = {"host": "business.test", **self._headers, **headers, "content-length": str(len(body))}
        scope = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": method,
            "scheme": "http",
            "path": unquote(path),
            "raw_path": path.encode(),
            "query_string": query.encode(),
            "root_path": "",
            "headers": [(name.encode(), value.encode()) for name, value in fields.items()],
            "server": ("business.test", 80),
            "client": ("127.0.0.1", 1),
        }
        await self._app(scope, receive, send)
        raw = b"".join(message.get("body", b"") for message in sent[1:])
        try:
            return sent[0]["status"], json.loads(raw)
        except ValueError:
            return sent[0]["status"], None


def records_of(state: Any) -> Any:
    """A state without the log of calls."""
    if not isinstance(state, Mapping):
        return state
    return {name: value for name, value in state.items() if name not in _LOG}


def _answer(step: str, call: Any) -> dict[str, Any]:
    try:
        answer: dict[str, Any] = json.loads(call())
    except ProtocolError as error:
        raise PlayError(f"{step} was refused: {error.code}") from None
    return answer


@asynccontextmanager
async def player_on(environment: Environment) -> AsyncIterator[Player]:
    """A player on a database in a temporary folder, which is gone afterwards.

    Raises:
        PlayError: the business plane does not say what its operations are.
    """
    secret = secrets.token_urlsafe(32)
    with tempfile.TemporaryDirectory(prefix="agentbeat-check-") as folder:
        engine = open_engine(f"sqlite:///{Path(folder) / 'check.db'}")
        # Nothing here needs to outlive a power cut.
        event.listen(engine, "connect", lambda each, _: each.execute("PRAGMA synchronous = OFF"))
        try:
            plane = ControlPlane(
                environment=environment,
                transactions=Transactions(engine),
                controller_id="controller-check",
                deployments=[_DEPLOYMENT],
                signer=None,
            )
            plane.start()
            app = environment.business_app(Door(plane.book, {_DEPLOYMENT: secret}))
            player = Player(environment, plane, app, secret)
            await player.open()
            yield player
        finally:
            engine.dispose()
