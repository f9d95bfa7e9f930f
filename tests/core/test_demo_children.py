"""Child processes of the demo: told apart when they fail, and gone for certain at the end."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from agentbeat_core.demo.children import Child, ChildError, ChildSpec, ready_file, says_and_answers
from agentbeat_core.demo.supervision import Supervisor, free_ports
from agentbeat_core.demo.tether import GRACE

TETHER = Path(sys.modules["agentbeat_core.demo.tether"].__file__ or "")

#: Says that it is ready, and then waits to be told to stop.
OBLIGING = """
import json, pathlib, sys, time
print("up", flush=True)
draft = pathlib.Path(sys.argv[1] + ".draft")
draft.write_text(json.dumps({"hello": "world"}))
draft.replace(sys.argv[1])
while True:
    time.sleep(0.05)
"""
STUBBORN = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN)" + OBLIGING
FAILING = """
import sys
for number in range(30):
    print("line", number)
sys.exit("cannot listen on the port")
"""
SILENT = "raise SystemExit(3)"
NEVER_READY = "import time; print('thinking', flush=True); time.sleep(60)"
UNREADABLE = "import pathlib, sys, time; pathlib.Path(sys.argv[1]).write_text('{'); time.sleep(60)"
TELLS_ENVIRONMENT = """
import json, os, pathlib, sys, time
draft = pathlib.Path(sys.argv[1] + ".draft")
draft.write_text(json.dumps(dict(os.environ)))
draft.replace(sys.argv[1])
time.sleep(60)
"""


def spec(folder: Path, code: str, name: str = "actor", environ: dict[str, str] | None = None) -> ChildSpec:
    script = folder / f"{name}.py"
    script.write_text(code)
    ready = folder / f"{name}.json"
    return ChildSpec(
        name=name,
        arguments=(str(ready),),
        ports=(4711, 4712),
        probe=ready_file(ready),
        log=folder / f"{name}.log",
        environ=environ or {},
        script=script,
    )


def alive(pid: int) -> bool:
    """Whether a process of this id runs; one that has ended and waits for its parent does not."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


async def test_a_child_is_ready_when_it_says_so_and_gone_when_the_block_ends(tmp_path: Path) -> None:
    async with Supervisor(start_seconds=20) as supervisor:
        told = await supervisor.start([spec(tmp_path, OBLIGING, "one"), spec(tmp_path, OBLIGING, "two")])
        assert told == [{"hello": "world"}] * 2
        pids = [child.pid for child in supervisor.children]
        assert all(alive(pid) for pid in pids)
    assert not any(alive(pid) for pid in pids)


async def test_a_child_that_ignores_the_request_to_stop_is_killed(tmp_path: Path) -> None:
    async with Supervisor(start_seconds=20, stop_seconds=0.1) as supervisor:
        await supervisor.start([spec(tmp_path, STUBBORN)])
        (child,) = supervisor.children
    assert not alive(child.pid)
    assert not child.running


@pytest.mark.parametrize(
    ("code", "said"),
    [
        pytest.param(FAILING, "cannot listen on the port", id="with a reason"),
        pytest.param(SILENT, "(it printed nothing)", id="without a word"),
    ],
)
async def test_a_failed_start_names_the_process_its_ports_and_its_last_lines(
    tmp_path: Path, code: str, said: str
) -> None:
    async with Supervisor(start_seconds=20) as supervisor:
        with pytest.raises(ChildError) as caught:
            await supervisor.start([spec(tmp_path, OBLIGING, "good"), spec(tmp_path, code, "bad")])
        pids = [child.pid for child in supervisor.children]
    message = str(caught.value)
    assert message.startswith("bad, port 4711 and 4712: ended by itself with exit code ")
    assert message.endswith(f"  | {said}")
    assert "line 0\n" not in message, "only the last lines"
    assert not any(alive(pid) for pid in pids), "the good one is stopped too"


@pytest.mark.parametrize(
    ("code", "why"),
    [
        pytest.param(NEVER_READY, "not ready after 0.3 seconds", id="too slow"),
        pytest.param(UNREADABLE, "cannot be read (JSONDecodeError)", id="no JSON"),
    ],
)
async def test_a_child_that_does_not_become_ready_is_told(tmp_path: Path, code: str, why: str) -> None:
    async with Supervisor(start_seconds=0.3) as supervisor:
        with pytest.raises(ChildError, match=r"^actor, port 4711 and 4712: ") as caught:
            await supervisor.start([spec(tmp_path, code)])
    assert why in str(caught.value)


async def test_work_ends_when_a_child_ends_by_itself(tmp_path: Path) -> None:
    cancelled = asyncio.Event()

    async def work() -> None:
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            cancelled.set()
            raise

    async with Supervisor(start_seconds=20) as supervisor:
        await supervisor.start([spec(tmp_path, OBLIGING, "good"), spec(tmp_path, OBLIGING, "victim")])
        os.kill(supervisor.child("victim").pid, signal.SIGKILL)
        with pytest.raises(ChildError, match=r"^victim, .*ended by itself with signal SIGKILL"):
            await supervisor.guard(work())
    assert cancelled.is_set()


async def test_a_child_that_is_killed_on_purpose_disturbs_nobody(tmp_path: Path) -> None:
    async def work() -> str:
        supervisor.child("victim").kill()
        assert not alive(supervisor.child("victim").pid), "it is gone when kill returns"
        await asyncio.sleep(0.2)
        return "done"

    async with Supervisor(start_seconds=20) as supervisor:
        await supervisor.start([spec(tmp_path, OBLIGING, "victim")])
        assert await supervisor.guard(work()) == "done"


async def test_an_error_of_the_work_is_passed_on(tmp_path: Path) -> None:
    async def work() -> None:
        raise LookupError("of the work")

    async with Supervisor(start_seconds=20) as supervisor:
        await supervisor.start([spec(tmp_path, OBLIGING)])
        with pytest.raises(LookupError, match="of the work"):
            await supervisor.guard(work())


async def test_children_are_gone_when_the_waiting_for_their_end_is_cancelled(tmp_path: Path) -> None:
    supervisor = Supervisor(start_seconds=20, stop_seconds=60)
    await supervisor.start([spec(tmp_path, STUBBORN)])
    stopping = asyncio.ensure_future(supervisor.stop())
    await asyncio.sleep(0.1)
    (child,) = supervisor.children
    assert child.running
    stopping.cancel()
    await asyncio.gather(stopping, return_exceptions=True)
    assert not alive(child.pid)


async def test_a_kill_ends_the_waiting_for_a_child_that_does_not_stop(tmp_path: Path) -> None:
    supervisor = Supervisor(start_seconds=20, stop_seconds=3_600)
    await supervisor.start([spec(tmp_path, STUBBORN)])
    stopping = asyncio.ensure_future(supervisor.stop())
    await asyncio.sleep(0.1)
    assert not stopping.done()
    supervisor.kill()
    await asyncio.wait_for(stopping, 30)
    assert not alive(supervisor.children[0].pid)


async def test_a_child_gets_its_own_variables_and_none_of_the_users_keys(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AIBEAT_JUDGE_API_KEY", "a-key-of-the-users")
    monkeypatch.setenv("SOME_MODEL_API_KEY", "another-key")
    async with Supervisor(start_seconds=20) as supervisor:
        (seen,) = await supervisor.start([spec(tmp_path, TELLS_ENVIRONMENT, environ={"DEMO_TOKEN": "own"})])
    assert seen["DEMO_TOKEN"] == "own"
    assert seen["PATH"] == os.environ["PATH"]
    assert not {"AIBEAT_JUDGE_API_KEY", "SOME_MODEL_API_KEY"} & seen.keys()


async def test_a_secret_in_a_spec_is_not_shown(tmp_path: Path) -> None:
    shown = repr(spec(tmp_path, OBLIGING, environ={"DEMO_TOKEN": "a-secret-value"}))
    assert "a-secret-value" not in shown


def test_free_ports_are_different_and_can_be_listened_on() -> None:
    ports = free_ports(20)
    assert len(set(ports)) == 20
    for port in ports:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", port))


async def test_a_real_server_is_started_found_by_its_health_and_stopped(tmp_path: Path) -> None:
    (port,) = free_ports(1)

    def judge(log: str) -> ChildSpec:
        return ChildSpec(
            name="rule judge",
            arguments=("judge", "serve", "--port", str(port)),
            ports=(port,),
            probe=says_and_answers(tmp_path / log, f":{port}/v1", f"http://127.0.0.1:{port}/healthz"),
            log=tmp_path / log,
        )

    async with Supervisor(start_seconds=30) as supervisor:
        (health,) = await supervisor.start([judge("one")])
        assert health["status"] == "ok"
        # The first one answers where the second should: it is not taken for it.
        with pytest.raises(ChildError) as caught:
            await supervisor.start([judge("two")])
    message = str(caught.value)
    assert message.startswith(f"rule judge, port {port}: ended by itself with exit code 2"), message
    assert "Address already in use" in message


async def test_whoever_answers_on_the_port_of_a_child_that_is_gone_is_not_taken_for_it(
    tmp_path: Path,
) -> None:
    async def answers() -> dict[str, str]:
        return {"status": "ok"}

    gone = ChildSpec(
        name="actor",
        arguments=(),
        ports=(1,),
        probe=answers,
        log=tmp_path / "log",
        script=_script(tmp_path, SILENT),
    )
    child = Child.launch(gone)
    while child.running:
        await asyncio.sleep(0.01)
    with pytest.raises(ChildError, match="ended by itself"):
        await child.ready(seconds=5)
    child.kill()


def test_a_server_ends_when_whoever_started_it_was_killed(tmp_path: Path) -> None:
    """SIGKILL leaves the starter no time to stop anybody: the tether does."""
    (port,) = free_ports(1)
    starter = _script(
        tmp_path,
        f"""
import subprocess, sys, time
child = subprocess.Popen(
    [sys.executable, "-P", {str(TETHER)!r}, "judge", "serve", "--port", "{port}"],
    stdin=subprocess.PIPE, start_new_session=True,
)
print(child.pid, flush=True)
time.sleep(60)
""",
    )
    with subprocess.Popen([sys.executable, starter], stdout=subprocess.PIPE, text=True) as started:
        assert started.stdout is not None
        pid = int(started.stdout.readline())
        _await(lambda: _listens(port), 30)
        started.kill()
    _await(lambda: not alive(pid), GRACE)
    assert not _listens(port)


def _script(folder: Path, code: str) -> Path:
    path = folder / "script.py"
    path.write_text(code)
    return path


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def _await(condition: object, seconds: float) -> None:
    assert callable(condition)
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"not within {seconds} seconds"
        time.sleep(0.02)
