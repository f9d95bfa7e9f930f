"""A Target on a port, whose Agent waits when it is told to, and a strict eye on single answers."""

from __future__ import annotations

import threading

from agentbeat_sdk import Limits, MemoryStore, Run, Target
from support.raw_http import RawAnswer

__all__ = ["AUTHORIZATION", "HEALTH", "SECRET", "Served", "only"]

SECRET = "test-token"
AUTHORIZATION = f"Authorization: Bearer {SECRET}\r\n"
HEALTH = b"GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n"


class Served:
    """A served Target and the runs of its Agent; the text `wait` holds the Agent until `release`."""

    def __init__(self, limits: Limits) -> None:
        self.runs: list[str] = []
        self.begun = threading.Event()
        self.release = threading.Event()
        self.store = MemoryStore()
        self.target = Target("bench", token=SECRET, tier="L2", limits=limits, store=self.store)
        self.target.invoke(self._agent)
        self.url = ""

    def _agent(self, run: Run) -> str:
        self.runs.append(run.run_id)
        if run.text == "wait":
            self.begun.set()
            self.release.wait(10)
        return "done"

    def forget(self) -> None:
        """As before the first run, but for the store."""
        self.runs.clear()
        self.begun.clear()
        self.release.clear()


def only(answers: list[RawAnswer]) -> RawAnswer:
    """The one answer, which has the headers that every answer of a Target has."""
    (answer,) = answers
    assert answer.header("content-type") == "application/json"
    assert answer.header("cache-control") == "no-store"
    assert answer.header("x-content-type-options") == "nosniff"
    return answer
