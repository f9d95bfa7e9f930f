"""A Target as an ASGI application: the gate, the invocation path as raw ASGI, Starlette for the rest.

It runs under any ASGI server and below any mount point. Without a lifespan it makes itself ready on the first
request.
"""

from __future__ import annotations

import base64
import hashlib
import logging
from collections.abc import Callable, MutableMapping
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from agentbeat_protocol import EVIDENCE_PATH, HEALTH_PATH, INVOCATION_PATH, is_run_id
from agentbeat_sdk.answers import (
    NOTHING_THERE,
    Answer,
    RefusedError,
    Send,
    compact_json,
    error_answer,
    json_answer,
)
from agentbeat_sdk.execution import Handler
from agentbeat_sdk.gate import Gate, Head
from agentbeat_sdk.invocations import Invocations, Receive
from agentbeat_sdk.settings import Settings
from agentbeat_sdk.store_calls import StoreCalls
from agentbeat_sdk.stores import RunStore

__all__ = ["TargetApplication"]

CONNECTOR_ID = "business-http-json-v1"
INVOCATION_PROTOCOL = "target-invocation-v1"

Scope = MutableMapping[str, Any]

logger = logging.getLogger("agentbeat_sdk")


class TargetApplication:
    """The ASGI application of one Target.

    Args:
        settings: the Target's.
        handler: gives the Agent; raises RuntimeError while there is none.
        store: where claims and documents are kept.
    """

    def __init__(self, settings: Settings, handler: Callable[[], Handler], store: RunStore) -> None:
        self.settings = settings
        self._handler = handler
        self._calls = StoreCalls(store)
        self._gate = Gate(settings.token, settings.limits)
        self.invocations = Invocations(settings, handler, self._calls)
        self._routes = self._make_routes()

    @property
    def store(self) -> RunStore:
        """Where this application keeps claims and documents."""
        return self._calls.store

    def open(self) -> None:
        """Make ready, so that what is missing shows before the first run.

        Raises:
            RuntimeError: there is no Agent, or (`StoreError`) the store cannot be opened.
        """
        self._handler()
        self.store.open()
        self.invocations.draining = False

    def close(self) -> None:
        """Give back what the store holds open."""
        self._calls.close()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one ASGI connection."""
        if scope["type"] == "lifespan":
            await self._lifespan(receive, send)
        elif scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1000})
        else:
            await self._serve(scope, receive, send)

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        answer: Answer | None
        try:
            head = self._gate.admit(scope)
            if head.path != INVOCATION_PATH:
                await self._serve_rest(head, scope, receive, send)
                return
            answer = await self.invocations.answer(head, receive)
        except RefusedError as refusal:
            answer = refusal.answer()
        except Exception:
            logger.exception("a request failed")
            answer = error_answer("internal_error", "the Target failed")
        if answer is not None:
            await answer.send(send)

    async def _serve_rest(self, head: Head, scope: Scope, receive: Receive, send: Send) -> None:
        """Let Starlette serve the request. It answers a failure by itself and raises it again."""
        started = False

        async def noted(message: MutableMapping[str, Any]) -> None:
            nonlocal started
            started = True
            await send(message)

        try:
            # The path is the one that the gate has judged: it is not taken apart a second time.
            await self._routes({**scope, "path": head.path, "root_path": ""}, receive, noted)
        except Exception:
            if not started:
                raise
            logger.exception("a request failed")

    def _make_routes(self) -> Starlette:
        routes = [Route(HEALTH_PATH, self._health, methods=["GET"])]
        if self.settings.tier == "L2":
            routes.append(Route(EVIDENCE_PATH + "{run_id}", self._evidence, methods=["GET"]))
        application = Starlette(
            routes=routes, exception_handlers={HTTPException: _http_error, Exception: _internal_error}
        )
        application.router.redirect_slashes = False
        return application

    async def _health(self, _: Request) -> Response:
        """HLT-1, HLT-2: readiness and identity; a stopping Target says that it is draining, with 200."""
        health = {
            "status": "draining" if self.invocations.draining else "ok",
            "target_id": self.settings.target_id,
            "connector_id": CONNECTOR_ID,
            "invocation_protocol": INVOCATION_PROTOCOL,
            "invocation_path": INVOCATION_PATH,
            "evidence": self.settings.tier,
            "active_runs": self.invocations.active_runs,
            "max_concurrent_runs": self.settings.limits.max_concurrent_runs,
        }
        return _response(json_answer(200, compact_json(health)))

    async def _evidence(self, request: Request) -> Response:
        """EVD-10, EVD-11: the very bytes that were stored, or one answer for all that there is not."""
        run_id = request.path_params["run_id"]
        found = await self._calls(self._document, run_id) if is_run_id(run_id) else None
        if found is None:
            return _response(error_answer("not_found", NOTHING_THERE))
        document, digest = found
        tag = f'"{digest.hex()}"'
        extra = (
            (b"etag", tag.encode()),
            (b"repr-digest", b"sha-256=:" + base64.b64encode(digest) + b":"),
        )
        if _has_tag(request.headers.getlist("if-none-match"), tag):
            return _response(Answer(304, ((b"cache-control", b"no-store"), *extra), b""))
        return _response(json_answer(200, document, extra))

    def _document(self, run_id: str) -> tuple[bytes, bytes] | None:
        """The stored bytes and their SHA-256, which takes its time over 16 MiB."""
        document = self.store.document(run_id)
        return None if document is None else (document, hashlib.sha256(document).digest())

    async def _lifespan(self, receive: Receive, send: Send) -> None:
        while True:
            message = await receive()
            if message["type"] == "lifespan.startup":
                try:
                    self.open()
                except (RuntimeError, OSError) as error:
                    await send({"type": "lifespan.startup.failed", "message": str(error)})
                    return
                await send({"type": "lifespan.startup.complete"})
            else:
                self.close()
                await send({"type": "lifespan.shutdown.complete"})
                return


def _has_tag(fields: list[str], tag: str) -> bool:
    """Whether If-None-Match names this entity tag, or any (RFC 9110, section 13.1.2)."""
    tags = {part.strip().removeprefix("W/") for field in fields for part in field.split(",")}
    return tag in tags or "*" in tags


def _response(answer: Answer) -> Response:
    response = Response(answer.body, answer.status)
    response.raw_headers = list(answer.headers)
    return response


async def _http_error(_: Request, error: Exception) -> Response:
    """Starlette's own refusals: there is no such route, or not with this method."""
    if isinstance(error, HTTPException) and error.status_code == 405:
        # Starlette joins a set: sorted, so that the same request always gets the same bytes.
        methods = sorted((error.headers or {}).get("Allow", "").split(", "))
        allow = (b"allow", ", ".join(methods).encode())
        return _response(error_answer("method_not_allowed", f"expected {methods[0]}", (allow,)))
    return _response(error_answer("not_found", NOTHING_THERE))


async def _internal_error(_: Request, __: Exception) -> Response:
    return _response(error_answer("internal_error", "the Target failed"))
