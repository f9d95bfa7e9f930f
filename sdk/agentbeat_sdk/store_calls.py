"""Calls of a store from the event loop: in a thread when the store may wait, at once when it does not.

A claim and the end of a run must be durable before anything goes on. Where the store can (`GroupingStore`),
those that wait at the same time are kept together: while one group is on its way to the disk, the next one
gathers. Each call returns when its group is durable, and not before.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import threading
from collections import defaultdict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, ParamSpec, TypeVar

from agentbeat_sdk.stores import GroupingStore, RunStore

__all__ = ["StoreCalls"]

P = ParamSpec("P")
Result = TypeVar("Result")

# Apart from asyncio's own pool: Agents that fill that one must not keep claims and evidence waiting.
_THREADS: Final = 4

logger = logging.getLogger("agentbeat_sdk")


@dataclass(slots=True, eq=False)
class _Call:
    """A call that waits for its group, and what came of it."""

    function: Callable[[], Any]
    waiter: asyncio.Future[Any]
    result: Any = None
    error: BaseException | None = None

    def make(self) -> None:
        try:
            self.result = self.function()
        except BaseException as error:  # noqa: BLE001 - it is raised again on the event loop
            self.error = error

    def settle(self) -> None:
        if self.waiter.done():
            return  # whoever waited has gone
        if self.error is None:
            self.waiter.set_result(self.result)
        else:
            self.waiter.set_exception(self.error)


class StoreCalls:
    """Runs functions that use `store` where they hold up nobody."""

    def __init__(self, store: RunStore) -> None:
        self.store = store
        self._threads = ThreadPoolExecutor(_THREADS, "agentbeat-store") if store.blocking else None
        self._groups = store if isinstance(store, GroupingStore) else None
        self._lock = threading.Lock()
        self._waiting: list[_Call] = []
        self._busy = False

    async def __call__(self, function: Callable[P, Result], *args: P.args, **kwargs: P.kwargs) -> Result:
        """The result of `function(*args)`; a call that has begun is not broken off."""
        if self._threads is None:
            return function(*args, **kwargs)
        call = self._threads.submit(function, *args, **kwargs)
        return await asyncio.wrap_future(call)

    async def claim(self, run_id: str, case_id: str) -> bool:
        """The store's `claim`, durable when this returns."""
        return await self._kept(self.store.claim, run_id, case_id)

    async def finish(self, run_id: str, document: bytes | None) -> None:
        """The store's `finish`, durable when this returns."""
        await self._kept(self.store.finish, run_id, document)

    async def _kept(self, function: Callable[P, Result], *args: P.args, **kwargs: P.kwargs) -> Result:
        """The result of a call that changes the store, together with the others that wait."""
        if self._threads is None or self._groups is None:
            return await self(function, *args, **kwargs)
        waiter: asyncio.Future[Result] = asyncio.get_running_loop().create_future()
        with self._lock:
            if not self._busy:
                self._threads.submit(self._keep_groups, self._groups)
                self._busy = True
            self._waiting.append(_Call(partial(function, *args, **kwargs), waiter))
        return await waiter

    def close(self) -> None:
        """Wait for the calls that have begun, then close the store. The next call opens both again."""
        if self._threads is not None:
            self._threads.shutdown()
            self._threads = ThreadPoolExecutor(_THREADS, "agentbeat-store")
        self.store.close()

    # In one thread of the pool at a time:

    def _keep_groups(self, store: GroupingStore) -> None:
        while True:
            with self._lock:
                calls, self._waiting = self._waiting, []
                if not calls:
                    self._busy = False
                    return
            _make(calls, store)
            _tell(calls)


def _make(calls: list[_Call], store: GroupingStore) -> None:
    """Make the calls as one group; where that fails, each by itself, so that only the guilty one fails."""
    if len(calls) > 1:
        try:
            with store.group():
                for call in calls:
                    call.result = call.function()
            return
        except Exception as error:  # noqa: BLE001 - it comes again from the call that it belongs to
            logger.warning("%d calls of the store could not be kept together: %s", len(calls), error)
    for call in calls:
        call.make()


def _tell(calls: list[_Call]) -> None:
    """Settle the calls on their event loops, each loop woken once."""
    of_loop: dict[asyncio.AbstractEventLoop, list[_Call]] = defaultdict(list)
    for call in calls:
        of_loop[call.waiter.get_loop()].append(call)
    for loop, its_calls in of_loop.items():
        # A loop that has been closed has nobody left who waits.
        with contextlib.suppress(RuntimeError):
            loop.call_soon_threadsafe(_settle, its_calls)


def _settle(calls: list[_Call]) -> None:
    for call in calls:
        call.settle()
