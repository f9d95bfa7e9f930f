"""The control plane over HTTP: a raw ASGI application with a handful of routes.

In this order: the secret (401, before the body and on unknown routes too), the route (404, 405), the media
type (415), the size (413), the JSON and its shape (400); then one call of `ControlPlane` in a worker thread.
Only `GET /healthz` needs no secret. A client that goes away does not stop its call half-way.

    app = ControlApp(plane, secret=keys.control_secret())
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final, TypeVar

from anyio import CapacityLimiter
from starlette.responses import Response

from agentbeat_controller.control_plane import ControlPlane
from agentbeat_controller.credentials import ControlSecret
from agentbeat_controller.environments.containment import in_thread
from agentbeat_controller.front import guarded, header, json_response, read_body, refusal
from agentbeat_controller.refusals import not_found
from agentbeat_protocol import (
    CONTROL_PATH,
    Catalogue,
    ControllerHealth,
    ControllerMessage,
    ProtocolError,
    ReleaseRequest,
    RenewRequest,
    ResetRequest,
    SnapshotRequest,
    VerifyRequest,
    canonical_json,
    read_controller_request,
)

if TYPE_CHECKING:
    from starlette.types import Receive, Scope, Send

__all__ = ["ControlApp"]

HEALTH_PATH: Final = "/healthz"
_PROFILES: Final = CONTROL_PATH + "profiles"
_SNAPSHOTS: Final = CONTROL_PATH + "snapshots/"

RequestT = TypeVar("RequestT", bound=ControllerMessage)


@dataclass(frozen=True, kw_only=True)
class _Post:
    """A POST route: how its body becomes an answer, and how long the body may be."""

    answer: Callable[[bytes], bytes]
    max_bytes: int


class ControlApp:
    """The ASGI application of the control plane.

    Args:
        plane: does the work.
        secret: the control plane's bearer secret.
    """

    def __init__(self, plane: ControlPlane, *, secret: str) -> None:
        self._plane = plane
        self._secret = ControlSecret(secret)
        self._limits = plane.limits
        self._at_once = CapacityLimiter(self._limits.control_threads)
        self._posts = self._post_routes()
        self._guarded = guarded(self._serve, self._limits)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        await self._guarded(scope, receive, send)

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            response = await self._respond(scope, receive)
        except ProtocolError as error:
            response = refusal(error)
        await response(scope, receive, send)

    async def _respond(self, scope: Scope, receive: Receive) -> Response:
        path: str = scope["path"]
        if path != HEALTH_PATH:
            self._secret.check(header(scope, b"authorization"))
        if b"%" in (scope.get("raw_path") or b""):
            raise not_found("CTL-9", "a route of the control plane")
        if (post := self._posts.get(path)) is not None:
            if scope["method"] != "POST":
                return _method_not_allowed("POST")
            body = await read_body(
                scope, receive, max_bytes=post.max_bytes, seconds=self._limits.body_seconds
            )
            return json_response(await self._call(partial(post.answer, body)))
        read = self._get(path)
        if scope["method"] != "GET":
            return _method_not_allowed("GET")
        return json_response(await self._call(read))

    def _get(self, path: str) -> Callable[[], bytes]:
        plane = self._plane
        if path == HEALTH_PATH:
            return lambda: _json(plane.health())
        if path == _PROFILES:
            return lambda: _json(plane.catalogue())
        if path.startswith(_SNAPSHOTS):
            return partial(plane.snapshot_content, path.removeprefix(_SNAPSHOTS))
        raise not_found("CTL-9", "a route of the control plane")

    def _post_routes(self) -> Mapping[str, _Post]:
        plane, limits = self._plane, self._limits

        def post(model: type[RequestT], do: Callable[[RequestT], bytes], max_bytes: int) -> _Post:
            def answer(body: bytes) -> bytes:
                return do(read_controller_request(body, model, max_bytes=max_bytes))

            return _Post(answer=answer, max_bytes=max_bytes)

        return {
            CONTROL_PATH + "reset": post(ResetRequest, plane.reset, limits.max_body_bytes),
            CONTROL_PATH + "snapshot": post(SnapshotRequest, plane.snapshot, limits.max_body_bytes),
            CONTROL_PATH + "verify": post(VerifyRequest, plane.verify, limits.max_verify_bytes),
            CONTROL_PATH + "renew": post(RenewRequest, plane.renew, limits.max_body_bytes),
            CONTROL_PATH + "release": post(ReleaseRequest, plane.release, limits.max_body_bytes),
        }

    async def _call(self, work: Callable[[], bytes]) -> bytes:
        return await in_thread(work, limiter=self._at_once)


def _json(message: Catalogue | ControllerHealth) -> bytes:
    return canonical_json(message.model_dump(mode="json"))


def _method_not_allowed(allowed: str) -> Response:
    error = ProtocolError("CTL-9", code="method_not_allowed", got="another method", expected=allowed)
    return refusal(error, headers={"Allow": allowed})
