"""Work for several processes, or for none but this one.

    with worker_pool(2, settings) as pool:
        for task, result in pool.run(function, tasks):
            …

Tasks are taken as they are needed, so that only a few are in memory, and results come in the order of tasks.
A function is one of a module, called with the settings that every worker was given at its start, and a task.
One worker is this process. Of several, each ends when this process does, however it ends; one that dies ends
the work with a `StreamError`.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing.connection import wait
from typing import Any, Final, Protocol, TypeVar

from agentbeat_receipts.stream_errors import StreamError

__all__ = ["Pool", "StreamError", "usable_cores", "worker_pool"]

TaskT = TypeVar("TaskT")
ResultT = TypeVar("ResultT")

#: How many tasks may wait for each worker.
_AHEAD: Final = 3


class Pool(Protocol):
    """Whoever does the work."""

    def run(
        self, function: Callable[[Any, TaskT], ResultT], tasks: Iterable[TaskT]
    ) -> Iterator[tuple[TaskT, ResultT]]:
        """Each task with its result, in order."""
        ...

    def one(self, function: Callable[[Any, TaskT], ResultT], task: TaskT) -> ResultT:
        """The result of one task more, also while `run` is under way."""
        ...


def usable_cores() -> int:
    """How many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@contextmanager
def worker_pool(workers: int, settings: object) -> Iterator[Pool]:
    """A pool that is gone afterwards.

    Args:
        workers: how many processes work; 1 is this one.
        settings: what each is given at its start.
    """
    if workers == 1:
        yield _Here(settings)
        return
    # Forking is at home in any script, but not safe beside other threads; a server that forks is then.
    method = "fork" if threading.active_count() == 1 else "forkserver"
    context = multiprocessing.get_context(method)
    executor = ProcessPoolExecutor(workers, context, initializer=_begin, initargs=(settings,))
    try:
        yield _Processes(executor, workers)
    finally:
        executor.shutdown(wait=True, cancel_futures=True)


class _Here:
    """This process."""

    def __init__(self, settings: object) -> None:
        self._settings = settings

    def run(
        self, function: Callable[[Any, TaskT], ResultT], tasks: Iterable[TaskT]
    ) -> Iterator[tuple[TaskT, ResultT]]:
        for task in tasks:
            yield task, function(self._settings, task)

    def one(self, function: Callable[[Any, TaskT], ResultT], task: TaskT) -> ResultT:
        return function(self._settings, task)


class _Processes:
    """Other processes."""

    def __init__(self, executor: ProcessPoolExecutor, workers: int) -> None:
        self._executor = executor
        self._most = workers * _AHEAD

    def run(
        self, function: Callable[[Any, TaskT], ResultT], tasks: Iterable[TaskT]
    ) -> Iterator[tuple[TaskT, ResultT]]:
        begun: deque[tuple[TaskT, Future[ResultT]]] = deque()
        for task in tasks:
            begun.append((task, self._begin(function, task)))
            if len(begun) >= self._most:
                first, future = begun.popleft()
                yield first, _result(future)
        while begun:
            first, future = begun.popleft()
            yield first, _result(future)

    def one(self, function: Callable[[Any, TaskT], ResultT], task: TaskT) -> ResultT:
        return _result(self._begin(function, task))

    def _begin(self, function: Callable[[Any, TaskT], ResultT], task: TaskT) -> Future[ResultT]:
        try:
            return self._executor.submit(_work, function, task)
        except BrokenProcessPool:
            raise StreamError("a worker process has ended before its work") from None


def _result(future: Future[ResultT]) -> ResultT:
    try:
        return future.result()
    except BrokenProcessPool:
        raise StreamError("a worker process has ended before its work") from None


_settings: object = None


def _begin(settings: object) -> None:
    """What a worker does first."""
    global _settings
    _settings = settings
    # An interrupt from the keyboard reaches every process; the first one says what happens then.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)


def _work(function: Callable[[Any, TaskT], ResultT], task: TaskT) -> ResultT:
    return function(_settings, task)
