"""What tests of a PostgreSQL server in trouble share: how far a run has come, and when a session ends."""

from __future__ import annotations

import pytest
from sqlalchemy import event

from support.controllers import code_of

#: Each control call, and the steps that a run has made before it.
DONE = {
    "reset": [],
    "before": ["reset"],
    "after": ["reset", "before"],
    "verify": ["reset", "before", "after"],
    "renew": ["reset"],
    "release": ["reset", "before"],
}
STEPS = pytest.mark.parametrize("step", DONE)
UNAVAILABLE = (503, "controller_unavailable")


class Points:
    """Ends a Controller's session at one statement, or the commit, of the next call: the `at`-th, from 1."""

    def __init__(self, rig, postgres):
        self.at, self.passed, self._postgres = 0, 0, postgres
        event.listen(rig.engine, "before_cursor_execute", self._pass)
        event.listen(rig.engine, "commit", self._pass)

    def _pass(self, *_):
        self.passed += 1
        if self.passed == self.at:
            self._postgres.terminate()

    def arm(self, at):
        self.at, self.passed = at, 0


async def refused_and_unchanged(rig, run, step):
    """The step is 503 with Retry-After, and every row is as it was."""
    rows = rig.rows()
    refused = await run.post(step)
    assert code_of(refused) == UNAVAILABLE
    assert refused.headers["Retry-After"] == "1"
    assert rig.rows() == rows
    return refused.json()["error"]["message"]
