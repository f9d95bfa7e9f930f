"""A few worker processes, started when they are needed and replaced when they fail.

Workers keep nothing, so any of them can answer anything, and losing one loses only the answer that it owed:
the caller is told, and what it had stored is as it was. A worker that ended while it was idle is replaced
unseen. There are never more than `size`; further callers wait.

A worker computes and waits for nothing, so more of them than there are cores would answer no sooner.
"""

from __future__ import annotations

import os
import threading
import time
from typing import Any, Final

from .processes import WorkerError, WorkerProcess

__all__ = ["WorkerPool"]

_FEWEST: Final = 2
#: Until a question is answered. The slowest of the benchmark's own takes well below a second.
_ANSWER_SECONDS: Final = 20.0
#: Until a worker is free.
_WAIT_SECONDS: Final = 20.0


class WorkerPool:
    """Workers for any number of threads.

    Args:
        size: workers at the same time; None: as many as cores, and two at least, so that one question which
            is not answered does not hold up the others.
        answer_seconds: until a worker that does not answer is killed.
    """

    def __init__(self, *, size: int | None = None, answer_seconds: float = _ANSWER_SECONDS) -> None:
        self._size = max(_FEWEST, _cores()) if size is None else size
        self._answer_seconds = answer_seconds
        self._changed = threading.Condition()
        self._idle: list[WorkerProcess] = []
        self._busy: set[WorkerProcess] = set()
        #: Workers that run or are being started.
        self._taken = 0
        self._closed = False

    def ask(self, request: dict[str, Any]) -> dict[str, Any]:
        """A worker's answer.

        Raises:
            WorkerError: there was none; a worker in whose hands it failed has been killed.
        """
        worker = self._take()
        try:
            answer = worker.ask(request, seconds=self._answer_seconds)
        except BaseException:
            self._drop(worker)
            raise
        self._give_back(worker)
        if (failure := answer.get("failed")) is not None:
            raise RuntimeError(f"the worker failed: {failure}")
        return answer

    def workers(self) -> tuple[int, ...]:
        """The process ids of the workers that run."""
        with self._changed:
            return tuple(worker.pid for worker in (*self._idle, *self._busy))

    def close(self) -> None:
        """End all workers, those too that are still asked something; safe to call twice."""
        with self._changed:
            self._closed = True
            idle, self._idle = self._idle, []
            busy = tuple(self._busy)
            self._changed.notify_all()
        for worker in idle:
            worker.close()
        for worker in busy:
            worker.kill()

    def _take(self) -> WorkerProcess:
        worker = self._idle_or_turn()
        if worker is not None and not worker.alive():
            worker.kill()
            worker = None
        if worker is None:
            try:
                worker = WorkerProcess.start()
            except BaseException:
                self._free_turn()
                raise
        with self._changed:
            closed = self._closed
            self._busy.add(worker)
        if closed:
            self._drop(worker)
            raise WorkerError("the environment is closed")
        return worker

    def _idle_or_turn(self) -> WorkerProcess | None:
        """An idle worker, or None: this thread may start one."""
        deadline = time.monotonic() + _WAIT_SECONDS
        with self._changed:
            while not self._closed:
                if self._idle:
                    return self._idle.pop()
                if self._taken < self._size:
                    self._taken += 1
                    return None
                if not self._changed.wait(deadline - time.monotonic()):
                    raise WorkerError("no worker was free in time")
        raise WorkerError("the environment is closed")

    def _give_back(self, worker: WorkerProcess) -> None:
        with self._changed:
            self._busy.discard(worker)
            if not self._closed:
                self._idle.append(worker)
                self._changed.notify()
                return
        worker.close()

    def _drop(self, worker: WorkerProcess) -> None:
        worker.kill()
        with self._changed:
            self._busy.discard(worker)
        self._free_turn()

    def _free_turn(self) -> None:
        with self._changed:
            self._taken -= 1
            self._changed.notify()


def _cores() -> int:
    """The cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
