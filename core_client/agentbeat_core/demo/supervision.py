"""All children of the demo together: started at once, watched, and stopped whatever happens.

    async with Supervisor(start_seconds=60) as supervisor:
        ready = await supervisor.start([spec, another])
        result = await supervisor.guard(work())

Leaving the block stops every child, all at the same time, and waits until they are gone.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Coroutine, Sequence
from contextlib import ExitStack
from types import TracebackType
from typing import Any, Final, Self, TypeVar

from agentbeat_core.demo.children import STOP_SECONDS, Child, ChildSpec

__all__ = ["Supervisor", "free_ports"]

Result = TypeVar("Result")

_WATCH_SECONDS: Final = 0.1


class Supervisor:
    """The children of one demo.

    Args:
        start_seconds: how long all children of one `start` have to become ready.
        stop_seconds: how long a child has to stop before it is killed.
    """

    def __init__(self, *, start_seconds: float = 60.0, stop_seconds: float = STOP_SECONDS) -> None:
        self._start_seconds = start_seconds
        self._stop_seconds = stop_seconds
        self._children: list[Child] = []

    @property
    def children(self) -> tuple[Child, ...]:
        """Every child that was started, in order."""
        return tuple(self._children)

    async def start(self, specs: Sequence[ChildSpec]) -> list[dict[str, Any]]:
        """Start these children at once and wait until all are ready; what each ready file says.

        Raises:
            ChildError: one of them does not start. The others are stopped with the block.
        """
        begun = [self._launch(spec) for spec in specs]
        waiting = [asyncio.ensure_future(child.ready(seconds=self._start_seconds)) for child in begun]
        try:
            return await asyncio.gather(*waiting)
        finally:
            for each in waiting:
                each.cancel()

    async def complete(self, spec: ChildSpec) -> None:
        """Start this child and wait until it has ended well.

        Raises:
            ChildError: it does not start, or ends with an error.
        """
        await self._launch(spec).ended(seconds=self._start_seconds)

    def child(self, name: str) -> Child:
        """The child of this name.

        Raises:
            KeyError: there is none.
        """
        for child in self._children:
            if child.spec.name == name:
                return child
        raise KeyError(name)

    async def guard(self, work: Coroutine[Any, Any, Result]) -> Result:
        """The result of `work`, which is cancelled as soon as a child ends by itself.

        Raises:
            ChildError: a child has ended by itself.
        """
        working = asyncio.ensure_future(work)
        watching = asyncio.ensure_future(self._watch())
        try:
            await asyncio.wait({working, watching}, return_when=asyncio.FIRST_COMPLETED)
            if working.done():
                return working.result()
            watching.result()
            raise AssertionError("the watch ends with an error only")
        finally:
            for task in (working, watching):
                task.cancel()
            await asyncio.gather(working, watching, return_exceptions=True)

    async def stop(self) -> None:
        """Stop every child, and wait until all are gone. The last started is asked first."""
        await asyncio.gather(*(child.stop(grace=self._stop_seconds) for child in reversed(self._children)))

    def kill(self) -> None:
        """End every child at once, without grace."""
        for child in self._children:
            child.kill()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            await self.stop()
        finally:
            self.kill()

    def _launch(self, spec: ChildSpec) -> Child:
        child = Child.launch(spec)
        self._children.append(child)
        return child

    async def _watch(self) -> None:
        while True:
            for child in self._children:
                child.check()
            await asyncio.sleep(_WATCH_SECONDS)


def free_ports(count: int) -> list[int]:
    """Ports of 127.0.0.1 that nobody listens on now; held until the last is found, so that none repeats."""
    with ExitStack() as held:
        found = []
        for _ in range(count):
            taken = held.enter_context(socket.socket())
            taken.bind(("127.0.0.1", 0))
            found.append(taken.getsockname()[1])
    return found
