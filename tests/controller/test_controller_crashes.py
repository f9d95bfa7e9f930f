"""CTL-10: a kill between any two statements of any call, and a restart."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

CALLS = ("reset", "before", "after", "verify", "renew", "release", "business", "late")


@pytest.fixture(scope="module")
def crashes(tmp_path_factory):
    """Call to what was found after a kill at each of its points; the last point is after the commit."""
    folder = tmp_path_factory.mktemp("crashes")
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])}
    command = [sys.executable, "-m", "support.crash_points", str(folder)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("call", CALLS)
def test_a_kill_before_the_commit_leaves_every_row_as_it_was(crashes, call):
    """Nothing of the call is there, so the lease is as it was, or was never given."""
    points = crashes[call]
    assert len(points) >= 5
    assert all(point["unchanged"] for point in points[:-1])
    assert not points[-1]["unchanged"]


@pytest.mark.parametrize("call", CALLS)
def test_after_a_restart_the_same_call_does_its_work_once(crashes, call):
    """Whether it was killed before or after its commit; sent once more, it has the recorded answer."""
    for point in crashes[call]:
        if call == "business":
            assert (point["first"], point["second"]) == ("written", "written")
        elif call == "late":
            assert (point["first"], point["second"]) == ("lease_expired", "lease_expired")
        else:
            assert json.loads(point["first"])["run_id"] == "run-a"
            assert point["second"] == point["first"]


@pytest.mark.parametrize("call", CALLS)
def test_no_snapshot_is_without_its_content_and_no_run_has_two_receipts(crashes, call):
    for point in crashes[call]:
        assert point["without_content"] == []
        assert point["receipts"] == (1 if call == "verify" else 0)
