"""The lifespan of an ASGI application: started before the first request, ended after the last."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Any, Final

__all__ = ["Lifespan", "LifespanError"]

#: How long start and end may take, in seconds.
_PATIENCE: Final = 30.0


class LifespanError(Exception):
    """The application says that it could not start."""


class Lifespan:
    """Runs the application's lifespan in a task of its own.

    An application that raises or returns at the lifespan scope has none, as servers have it by default.

    Attributes:
        state: what the application put into its lifespan state; each request gets a copy.
    """

    def __init__(self, app: Any) -> None:
        self.state: dict[str, Any] = {}
        self._app = app
        self._asked: asyncio.Queue[dict[str, str]] = asyncio.Queue()
        self._told: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Start the application.

        Raises:
            LifespanError: it answered `lifespan.startup.failed`, or nothing in time.
        """
        self._task = asyncio.create_task(self._run())
        await self._step("lifespan.startup")

    async def end(self) -> None:
        """End the application, which has started; one that does not end in time is cancelled."""
        task, self._task = self._task, None
        if task is None:
            return
        if not task.done():
            with contextlib.suppress(LifespanError):
                await self._step("lifespan.shutdown", task)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    async def _run(self) -> None:
        scope = {"type": "lifespan", "asgi": {"version": "3.0", "spec_version": "2.0"}, "state": self.state}
        await self._app(scope, self._asked.get, self._told.put)

    async def _step(self, step: str, task: asyncio.Task[None] | None = None) -> None:
        running = task or self._task
        if running is None:
            raise RuntimeError("the lifespan was not started")
        await self._asked.put({"type": step})
        answer = asyncio.create_task(self._told.get())
        try:
            await asyncio.wait({running, answer}, timeout=_PATIENCE, return_when=asyncio.FIRST_COMPLETED)
            if not answer.done() and not running.done():
                raise LifespanError(f"the application did not answer {step} within {_PATIENCE:g} seconds")
            if answer.done() and answer.result().get("type") == f"{step}.failed":
                raise LifespanError(f"the application answered {step}.failed")
        finally:
            answer.cancel()
            await asyncio.gather(answer, return_exceptions=True)
