"""A lock that is handed over in the order of arrival, and one for each of many names.

turns = Turns()
with turns.taken("run-1", seconds=10) as mine:
    if not mine: ...                # it did not come in time
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Hashable, Iterator
from contextlib import contextmanager

__all__ = ["Queue", "Turns"]


class Queue:
    """A lock that is handed over in the order of arrival."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._waiting: deque[threading.Event] = deque()
        self._taken = False

    def enter(self, seconds: float) -> bool:
        """Wait for one's turn; False when it did not come in time."""
        with self._guard:
            if not self._taken:
                self._taken = True
                return True
            turn = threading.Event()
            self._waiting.append(turn)
        if turn.wait(seconds):
            return True
        with self._guard:
            if turn.is_set():  # it was handed over while this thread woke up
                return True
            self._waiting.remove(turn)
            return False

    def leave(self) -> None:
        """Hand over to the next in line."""
        with self._guard:
            if self._waiting:
                self._waiting.popleft().set()
            else:
                self._taken = False


class Turns:
    """A queue for each name; one that nobody stands in is forgotten."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._queues: dict[Hashable, tuple[Queue, int]] = {}

    @contextmanager
    def taken(self, name: Hashable, *, seconds: float) -> Iterator[bool]:
        """The name's turn until the block ends; False when it did not come in time."""
        with self._guard:
            queue, users = self._queues.get(name) or (Queue(), 0)
            self._queues[name] = (queue, users + 1)
        mine = False
        try:
            mine = queue.enter(seconds)
            yield mine
        finally:
            if mine:
                queue.leave()
            self._done_with(name)

    def _done_with(self, name: Hashable) -> None:
        with self._guard:
            queue, users = self._queues[name]
            if users > 1:
                self._queues[name] = (queue, users - 1)
            else:
                del self._queues[name]
