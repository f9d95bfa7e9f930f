"""CTL-10: a kill between any two statements of any call, and a restart."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from support.agentdojo_runs import needs_agentdojo

CALLS = [
    "reset",
    "before",
    "after",
    "verify",
    "renew",
    "release",
    "business-call",
    "call-on-an-expired-lease",
]


def crash_points(folder, environment, call):
    """What was found after a kill at each point of the call; the last point is after its commit."""
    variables = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])}
    command = [sys.executable, "-m", "support.crash_points", str(folder), environment, call]
    done = subprocess.run(command, env=variables, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("call", CALLS)
def test_a_kill_at_any_point_of_a_call_leaves_all_of_it_or_nothing(tmp_path, call):
    """Before the commit every row is as it was; sent again after the restart, the call does its work once."""
    assert_all_or_nothing(crash_points(tmp_path, "ledger", call), call)


@pytest.mark.parametrize("call", ["reset", "verify", "business-call"])
def test_a_kill_before_or_after_a_worker_has_answered_leaves_all_of_a_call_or_nothing(tmp_path, call):
    """AgentDojo: the calls that begin anew once the worker has answered."""
    needs_agentdojo()
    assert_all_or_nothing(crash_points(tmp_path, "agentdojo", call), call)


def assert_all_or_nothing(points, call):
    assert len(points) >= 5
    assert [point["unchanged"] for point in points] == [True] * (len(points) - 1) + [False]
    for point in points:
        if call == "business-call":
            assert (point["first"], point["second"]) == ("written", "written")
        elif call == "call-on-an-expired-lease":
            assert (point["first"], point["second"]) == ("lease_expired", "lease_expired")
        else:
            assert json.loads(point["first"])["run_id"] == "run-a"
            assert point["second"] == point["first"]
        assert point["without_content"] == []
        assert point["receipts"] == (1 if call == "verify" else 0)
