"""Both planes in one process: two ports, one event loop, one orderly end.

The ports are bound before anything is served, so port 0 is a real number by the time it is told, and a port
that is taken fails at once with its name. SIGINT and SIGTERM stop both planes: no new connections, and the
calls in flight are finished, up to a bound. A second signal does not wait. What is left then is cut off, and
`run` says how many calls that are. Their threads cannot be ended: to be rid of them is to end the process.

    service = Service.bind(control=control_app, business=business_app, host="127.0.0.1")
    cut_off = await service.run(on_ready=lambda: print(service.control_url))
"""

from __future__ import annotations

import asyncio
import signal
import socket
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

import uvicorn

from agentbeat_controller.connections import BoundedConfig, BoundedProtocol
from agentbeat_controller.front import guarded
from agentbeat_controller.limits import ControllerLimits

if TYPE_CHECKING:
    from starlette.types import ASGIApp

__all__ = ["PlaneError", "PortError", "Service"]

_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)
_BACKLOG: Final = 512


class PortError(Exception):
    """A port cannot be listened on; the message names plane, host, port and the system's reason."""


class PlaneError(Exception):
    """A plane's application did not start; the message names the plane."""


@dataclass(frozen=True, kw_only=True)
class _Plane:
    name: str
    socket: socket.socket
    app: ASGIApp
    lifespan: Literal["auto", "off"]

    @property
    def url(self) -> str:
        """The origin that the plane is reached at."""
        host, port = self.socket.getsockname()[:2]
        return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


class Service:
    """The two planes of one Controller, bound to their ports.

    Args:
        limits: of connections, and how long calls in flight may take when the service stops.
    """

    def __init__(self, control: _Plane, business: _Plane, *, limits: ControllerLimits) -> None:
        self._planes = (control, business)
        self._drain_seconds = limits.drain_seconds
        self._stopping, self._hurried = asyncio.Event(), asyncio.Event()
        self._servers = tuple(_Server(_config(plane, limits), name=plane.name) for plane in self._planes)
        self.control_url = control.url
        self.business_url = business.url

    @classmethod
    def bind(
        cls,
        *,
        control: ASGIApp,
        business: ASGIApp,
        host: str = "127.0.0.1",
        control_port: int = 0,
        business_port: int = 0,
        limits: ControllerLimits | None = None,
    ) -> Service:
        """Listen on both ports; port 0 takes a free one.

        Args:
            control: a `ControlApp`.
            business: an environment's own application; it is served behind `guarded`.

        Raises:
            PortError: one of them cannot be listened on; the other is given back.
        """
        limits = limits or ControllerLimits()
        control_socket = _listen("control plane", host, control_port, limits)
        try:
            business_socket = _listen("business plane", host, business_port, limits)
        except PortError:
            control_socket.close()
            raise
        return cls(
            _Plane(name="control plane", socket=control_socket, app=control, lifespan="off"),
            _Plane(
                name="business plane", socket=business_socket, app=guarded(business, limits), lifespan="auto"
            ),
            limits=limits,
        )

    async def run(self, *, on_ready: Callable[[], None] = lambda: None) -> int:
        """Serve until a signal or `stop`; how many calls were still under way at the end, and are cut off.

        Args:
            on_ready: called once, when both planes answer.

        Raises:
            PlaneError: an application did not start; the other plane is stopped again.
        """
        loop = asyncio.get_running_loop()
        for number in _SIGNALS:
            loop.add_signal_handler(number, self.stop)
        running = [
            asyncio.create_task(server.serve(sockets=[plane.socket]))
            for plane, server in zip(self._planes, self._servers, strict=True)
        ]
        for each in running:
            each.add_done_callback(lambda _: self._stopping.set())
        try:
            for server in self._servers:
                await server.up.wait()
            if all(server.started for server in self._servers):
                on_ready()
            await self._stopping.wait()
        finally:
            # Where one plane has failed, or `on_ready` has, the other must not go on alone.
            await self._drain(running)
            for plane in self._planes:
                plane.socket.close()  # a server that never came up has not
            for number in _SIGNALS:
                loop.remove_signal_handler(number)
        for failure in [each.exception() for each in running if not each.cancelled()]:
            if failure is not None:
                raise failure
        return sum(len(server.server_state.tasks) for server in self._servers)

    async def _drain(self, running: Sequence[asyncio.Task[None]]) -> None:
        """End both servers: when their calls have ended, after the bound, or when somebody is in a hurry."""
        for server in self._servers:
            server.should_exit = True
        hurried = asyncio.create_task(self._hurried.wait())
        ended = asyncio.gather(*running, return_exceptions=True)
        await asyncio.wait((ended, hurried), timeout=self._drain_seconds, return_when=asyncio.FIRST_COMPLETED)
        hurried.cancel()
        for each in running:
            each.cancel()
        await asyncio.wait(running)

    def stop(self) -> None:
        """Stop both planes; the second time without waiting for the calls in flight."""
        if self._stopping.is_set():
            self._hurried.set()
        self._stopping.set()


class _Server(uvicorn.Server):
    """A server that leaves the signals to the service and says when it is up."""

    def __init__(self, config: uvicorn.Config, *, name: str) -> None:
        super().__init__(config)
        self._name = name
        #: Set when it serves, or never will.
        self.up = asyncio.Event()

    async def serve(self, sockets: list[socket.socket] | None = None) -> None:
        """Serve without taking the process's signals: there are two of us."""
        try:
            await self._serve(sockets)
        finally:
            self.up.set()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start as usual, then say so.

        Raises:
            PlaneError: the application gave up; uvicorn would end the process.
        """
        try:
            await super().startup(sockets=sockets)
        except SystemExit:
            raise PlaneError(f"{self._name}: the application did not start") from None
        self.up.set()


def _config(plane: _Plane, limits: ControllerLimits) -> BoundedConfig:
    config = BoundedConfig(
        plane.app,
        http=BoundedProtocol,
        loop="asyncio",
        ws="none",
        lifespan=plane.lifespan,
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=limits.idle_seconds,
    )
    config.limits = limits
    return config


def _listen(name: str, host: str, port: int, limits: ControllerLimits) -> socket.socket:
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        opened = socket.create_server((host, port), family=family, backlog=_BACKLOG)
    except OSError as error:
        raise PortError(f"{name}: cannot listen on {host} port {port}: {error.strerror or error}") from None
    # asyncio sets TCP_NODELAY only on sockets that name their protocol; without it each answer on a kept
    # connection waits 40 ms for the client's delayed acknowledgement.
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP, fileno=opened.detach())
    if hasattr(socket, "TCP_USER_TIMEOUT"):  # Linux; each accepted connection inherits it
        listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, limits.stalled_seconds * 1000)
    listening.setblocking(False)
    return listening
