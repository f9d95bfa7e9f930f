"""Requests to an ASGI application in this process: no port, no server, and the same answers.

    async with AsgiWire(app) as wire:
        exchange = await wire.exchange(request, scope="HLT-1")

What a server would do to a connection is done here to the exchange: an application that raises before it
answers closes it, one that stops half-way or breaks its own Content-Length cuts it. As behind a real server
an application may go on after its answer; what is left when the wire closes is cancelled.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Final, Self, TypeAlias
from urllib.parse import unquote_to_bytes

from agentbeat_conformance.exchanges import MAX_ANSWER_BYTES, Answer, Exchange, Failure, Request
from agentbeat_conformance.wires.lifespans import Lifespan, LifespanError

__all__ = ["ASGIApp", "AsgiWire"]

_Message: TypeAlias = MutableMapping[str, Any]
ASGIApp: TypeAlias = Callable[
    [Any, Callable[[], Awaitable[Any]], Callable[[Any], Awaitable[None]]], Awaitable[None]
]

#: How long the wire waits for a whole answer, in seconds, when the request does not say.
TIMEOUT_SECONDS: Final = 60.0
_BODILESS: Final = frozenset({204, 304})


class AsgiWire:
    """Carries requests to an application; a request that needs a real connection is a fault of the check.

    Args:
        app: the application.
        timeout: seconds for a whole answer.
        max_bytes: where reading a body stops.

    Attributes:
        trouble: why the application could not start, for people; None if it could.
    """

    has_sockets = False

    def __init__(
        self, app: ASGIApp, *, timeout: float = TIMEOUT_SECONDS, max_bytes: int = MAX_ANSWER_BYTES
    ) -> None:
        self.trouble: str | None = None
        self._app = app
        self._timeout = timeout
        self._max_bytes = max_bytes
        self._lifespan: Lifespan | None = None
        self._starting = asyncio.Lock()
        self._running: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Self:
        await self._start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def exchange(self, request: Request, *, scope: str) -> Exchange:  # noqa: ARG002 - the Wire's signature
        """Call the application with the request and wait for its answer (see `Wire`).

        Raises:
            ValueError: the request needs a real connection; its check has to need the capability `socket`.
        """
        if request.needs_socket or request.withhold:
            raise ValueError("this request needs a real connection: its check has to need Capability.SOCKET")
        if not await self._start():
            return Exchange(request=request, answer=None, failure=Failure.UNREACHABLE)
        outcome = await self._call(request)
        if isinstance(outcome, Failure):
            return Exchange(request=request, answer=None, failure=outcome)
        return Exchange(request=request, answer=outcome)

    async def aclose(self) -> None:
        """Cancel what still runs, and end the application."""
        for task in self._running:
            task.cancel()
        await asyncio.gather(*self._running, return_exceptions=True)
        lifespan, self._lifespan = self._lifespan, None
        if lifespan is not None:
            await lifespan.end()

    async def _start(self) -> bool:
        async with self._starting:
            if self._lifespan is None and self.trouble is None:
                lifespan = Lifespan(self._app)
                try:
                    await lifespan.start()
                except LifespanError as error:
                    self.trouble = str(error)
                    await lifespan.end()
                else:
                    self._lifespan = lifespan
        return self._lifespan is not None

    async def _call(self, request: Request) -> Answer | Failure:
        call = _Call(request, self._max_bytes)
        state = dict(self._lifespan.state) if self._lifespan else {}
        task = asyncio.create_task(self._run(call, _scope(request, state)))
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        seconds = self._timeout if request.seconds is None else request.seconds
        try:
            async with asyncio.timeout(seconds):
                return await call.outcome
        except TimeoutError:
            return Failure.TIMEOUT
        finally:
            call.gone.set()

    async def _run(self, call: _Call, scope: _Message) -> None:
        try:
            await self._app(scope, call.receive, call.send)
        except (Exception, SystemExit):  # noqa: BLE001 - whatever it raises, the connection ends
            call.end()
        else:
            call.end()


def _scope(request: Request, state: dict[str, Any]) -> _Message:
    path, _, query = request.target.encode("latin-1").partition(b"?")
    host = next((value for name, value in request.fields if name.lower() == "host"), "")
    name, _, port = host.rpartition(":") if host[-1:].isdigit() and ":" in host else (host, "", "80")
    return {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.4"},
        "http_version": "1.1",
        "method": request.method,
        "scheme": "http",
        "path": unquote_to_bytes(path).decode("utf-8", "replace"),
        "raw_path": path,
        "query_string": query,
        "root_path": "",
        "headers": [
            (field.lower().encode("latin-1"), value.strip(" \t").encode("latin-1"))
            for field, value in request.fields
        ],
        "client": ("127.0.0.1", 1),
        "server": (name, int(port)),
        "state": state,
    }


@dataclass(kw_only=False)
class _Call:
    """One call of the application: what it receives, and what it has sent so far."""

    request: Request
    max_bytes: int
    #: Set once nobody listens any more: the answer is whole, or it was not waited for.
    gone: asyncio.Event = field(default_factory=asyncio.Event)
    outcome: asyncio.Future[Answer | Failure] = field(
        default_factory=lambda: asyncio.get_running_loop().create_future()
    )
    _asked: bool = False
    _start: _Message | None = None
    _body: bytearray = field(default_factory=bytearray)

    async def receive(self) -> _Message:
        if not self._asked:
            self._asked = True
            return {"type": "http.request", "body": self.request.body, "more_body": False}
        await self.gone.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: _Message) -> None:
        if self.outcome.done():
            # Behind a server these bytes would go nowhere.
            return
        kind = message["type"]
        if kind == "http.response.start" and self._start is None:
            self._start = message
        elif kind == "http.response.body" and self._start is not None:
            self._body += message.get("body", b"")
            if len(self._body) > self.max_bytes:
                self._settle(Failure.TOO_LARGE)
            elif not message.get("more_body", False):
                self._settle(self._answer(self._start))
            # An endless answer must not keep the loop from everything else.
            await asyncio.sleep(0)
        else:
            raise RuntimeError(f"unexpected ASGI message {kind}")

    def end(self) -> None:
        """The application has returned or raised."""
        self._settle(Failure.CLOSED if self._start is None else Failure.CUT)

    def _settle(self, outcome: Answer | Failure) -> None:
        if not self.outcome.done():
            self.outcome.set_result(outcome)

    def _answer(self, start: _Message) -> Answer | Failure:
        fields = tuple(
            (bytes(name).decode("latin-1").lower(), bytes(value).decode("latin-1"))
            for name, value in start.get("headers", ())
        )
        status = int(start["status"])
        bodiless = self.request.method == "HEAD" or status in _BODILESS
        answer = Answer(status=status, fields=fields, body=b"" if bodiless else bytes(self._body))
        declared = answer.value("content-length")
        return Failure.CUT if declared not in (None, str(len(answer.body))) and not bodiless else answer
