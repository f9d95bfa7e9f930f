"""The tests' own PostgreSQL: nothing of it is left, and where it is missing in CI nothing is green."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from support.postgres import ROLE, session_cluster

OWNER = """
import sys, time
from support.postgres import session_cluster
with session_cluster() as cluster:
    print(cluster.folder, cluster.keeper.pid, flush=True)
    time.sleep(60)
"""


def gone(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


@pytest.mark.usefixtures("postgres_cluster")
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_a_cluster_ends_with_the_process_that_started_it_however_that_ends(number):
    """Its server is stopped and its folder removed, though a killed process could do neither."""
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])}
    owner = subprocess.Popen(
        [sys.executable, "-c", OWNER],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    with owner:
        folder, keeper = owner.stdout.readline().split()
        server = int((Path(folder) / "data" / "postmaster.pid").read_text().split()[0])
        owner.send_signal(number)
        owner.wait(30)
    deadline = time.monotonic() + 30
    while not (gone(int(keeper)) and gone(server)) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert gone(int(keeper))
    assert gone(server)
    assert not Path(folder).exists()


@pytest.mark.parametrize(
    ("ci", "ends"), [("1", pytest.fail.Exception), (None, pytest.skip.Exception)], ids=["ci", "elsewhere"]
)
def test_where_postgresql_is_missing_tests_fail_in_ci_and_are_skipped_elsewhere(
    tmp_path, monkeypatch, ci, ends
):
    monkeypatch.delenv("CI", raising=False)
    if ci:
        monkeypatch.setenv("CI", ci)
    script = tmp_path / "keeper.py"
    script.write_text("""print('{"ok": false, "reason": "not installed"}')""")
    with pytest.raises(ends, match="not installed"), session_cluster(script):
        pass


def test_a_database_that_is_given_back_is_empty_for_the_next_test(postgres_cluster):
    """Tables, rows and the settings of the database alone are gone; whoever was connected is not any more."""
    database = postgres_cluster.take()
    database.query("CREATE TABLE left_over (n INTEGER)")
    database.query(f"ALTER DATABASE {database.name} SET work_mem = '3MB'")
    postgres_cluster.give_back(database)
    again = postgres_cluster.take()
    assert again.name == database.name
    assert again.query("SELECT count(*) FROM pg_tables WHERE schemaname = 'public'") == [(0,)]
    assert again.query("SHOW work_mem") != [("3MB",)]
    assert again.query("SELECT rolsuper FROM pg_roles WHERE rolname = %s", ROLE) == [(False,)]
    postgres_cluster.give_back(again)
