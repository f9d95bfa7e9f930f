"""A pool of AgentDojo's workers whose answers come when a test says so."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field

__all__ = ["HeldPool", "Hold"]


@dataclass
class Hold:
    """One question whose answer is held back."""

    members: dict
    #: The worker has worked; the answer waits.
    begun: threading.Event = field(default_factory=threading.Event)
    #: The answer may go.
    free: threading.Event = field(default_factory=threading.Event)

    def fits(self, request):
        return not self.begun.is_set() and self.members.items() <= request.items()


class HeldPool:
    """A `WorkerPool` in front of another one, which stays open when this one is closed."""

    def __init__(self, pool):
        self._pool = pool
        self._guard = threading.Lock()
        self._holds = []
        #: Every question, in the order in which they came.
        self.asked = []

    def hold(self, **members):
        """Hold back the answer to the next question with these members."""
        self._holds.append(Hold(members))
        return self._holds[-1]

    def ask(self, request):
        answer = self._pool.ask(request)
        with self._guard:
            self.asked.append(request)
            hold = next((each for each in self._holds if each.fits(request)), None)
            if hold is not None:
                hold.begun.set()
        if hold is not None:
            assert hold.free.wait(60), "nobody let the answer go"
        return answer

    def close(self):
        """Let every answer go."""
        for hold in self._holds:
            hold.free.set()
