"""`target.run()`: a Target on a port of its own, until it is told to stop.

Stopping is in order. On SIGTERM or SIGINT the Target goes on serving, but begins no run: a new invocation is
answered 503 `target_draining` and `/healthz` says `draining`. When the runs in flight have their answers, or
`drain_timeout` is over and they were given up (502, their evidence kept), the port is closed and `run`
returns. A second signal ends it at once.
"""

from __future__ import annotations

import contextlib
import logging
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator
from types import FrameType

import uvicorn

from agentbeat_sdk.application import TargetApplication
from agentbeat_sdk.http_protocol import LimitedConfig, LimitedProtocol

__all__ = ["TargetServer", "serve"]

logger = logging.getLogger("agentbeat_sdk")

#: Seconds that clients get to read their last answers, after the last run has ended.
_LAST_ANSWERS = 5

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class TargetServer(uvicorn.Server):
    """A server for one application on one socket.

    Args:
        application: what it serves.
        on_start: called once with the server's URL when it accepts connections.
    """

    def __init__(self, application: TargetApplication, on_start: Callable[[str], None]) -> None:
        config = LimitedConfig(
            application,
            http=LimitedProtocol,
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,
            timeout_graceful_shutdown=_LAST_ANSWERS,
        )
        config.limits = application.settings.limits
        super().__init__(config)
        self._application = application
        self._on_start = on_start
        self._give_up_at: float | None = None

    def stop(self) -> None:
        """Begin to stop; from any thread and from a signal handler. The second time: stop at once."""
        if self._application.invocations.draining:
            self.should_exit = self.force_exit = True
        self._application.invocations.draining = True

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:  # noqa: ARG002 - uvicorn's names
        """Stop because of a signal."""
        self.stop()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Stop on a signal. Unlike uvicorn's, it does not kill the process with that signal afterwards."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {number: signal.signal(number, self.handle_exit) for number in _SIGNALS}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, signal.SIG_DFL if handler is None else handler)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Accept connections, and say where."""
        await super().startup(sockets)
        for listener in sockets or []:
            host, port = listener.getsockname()[:2]
            self._on_start(f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}")

    async def on_tick(self, counter: int) -> bool:
        """Every tenth of a second: see whether the draining is over."""
        invocations = self._application.invocations
        if invocations.draining and not self.should_exit:
            limits = self._application.settings.limits
            now = time.monotonic()
            if self._give_up_at is None:
                self._give_up_at = now + limits.drain_timeout
            if invocations.pending_runs == 0:
                self.should_exit = True
            elif now > self._give_up_at:
                logger.warning("giving up %d runs that are still in flight", invocations.pending_runs)
                invocations.abort()
                # Their evidence is closed and stored yet; then they are no longer pending.
                self.should_exit = now > self._give_up_at + limits.cancel_timeout + _LAST_ANSWERS
        return await super().on_tick(counter)


def serve(application: TargetApplication, host: str, port: int, on_start: Callable[[str], None]) -> None:
    """Serve until a signal stops it.

    Raises:
        RuntimeError: there is no Agent, or (`StoreError`) the store cannot be opened.
        OSError: the port is taken, or the host is none of this machine's.
    """
    application.open()
    try:
        with listening(host, port) as listener:
            TargetServer(application, on_start).run([listener])
    finally:
        application.close()


def listening(host: str, port: int) -> socket.socket:
    """A bound socket; port 0 takes a free one."""
    addresses = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    family, kind, _, _, address = addresses[0]
    # asyncio sets TCP_NODELAY only on sockets that name their protocol; without it each answer on a kept
    # connection waits 40 ms for the client's delayed acknowledgement.
    listener = socket.socket(family, kind, socket.IPPROTO_TCP)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(2_048)
    except BaseException:
        listener.close()
        raise
    return listener
