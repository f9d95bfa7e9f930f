"""Calls of a store from the event loop: in a thread when the store may wait, at once when it does not."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final, ParamSpec, TypeVar

from agentbeat_sdk.stores import RunStore

__all__ = ["StoreCalls"]

P = ParamSpec("P")
Result = TypeVar("Result")

# Apart from asyncio's own pool: Agents that fill that one must not keep claims and evidence waiting.
_THREADS: Final = 4


class StoreCalls:
    """Runs functions that use `store` where they hold up nobody."""

    def __init__(self, store: RunStore) -> None:
        self.store = store
        self._threads = ThreadPoolExecutor(_THREADS, "agentbeat-store") if store.blocking else None

    async def __call__(self, function: Callable[P, Result], *args: P.args, **kwargs: P.kwargs) -> Result:
        """The result of `function(*args)`; a call that has begun is not broken off."""
        if self._threads is None:
            return function(*args, **kwargs)
        call = self._threads.submit(function, *args, **kwargs)
        return await asyncio.wrap_future(call)

    def close(self) -> None:
        """Wait for the calls that have begun, then close the store. The next call opens both again."""
        if self._threads is not None:
            self._threads.shutdown()
            self._threads = ThreadPoolExecutor(_THREADS, "agentbeat-store")
        self.store.close()
