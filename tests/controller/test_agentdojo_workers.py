"""The worker processes of AgentDojo: started, lost, replaced, bounded, ended with whoever started them."""

import os
import signal
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

from agentbeat_controller.environments.agentdojo import AgentDojoEnvironment, WorkerError, WorkerPool
from agentbeat_controller.environments.agentdojo.processes import WorkerProcess
from agentbeat_protocol import ProtocolError
from support.agentdojo_runs import PREFIX, Bench, needs_agentdojo, probe, probed
from support.controllers import Rig, Run, code_of, served

TASK = f"{PREFIX}-slack-user_task_0"
needs_proc = pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="looks into /proc")
QUESTION = {"op": "start", "suite": "slack", "user_task": "user_task_0", "injection": None}


@contextmanager
def pool_of(**settings):
    needs_agentdojo()
    pool = WorkerPool(**settings)
    try:
        yield pool
    finally:
        pool.close()


def runs(pid):
    """Whether a process of this id runs; one that has ended and waits for its parent does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


def until(holds):
    """Wait until something holds; fail when it does not."""
    deadline = time.monotonic() + 20
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.01)


# Losing workers


def test_a_worker_that_ended_while_it_was_idle_is_replaced_unseen():
    with pool_of(size=1) as pool:
        first = pool.ask(QUESTION)
        (pid,) = pool.workers()
        os.kill(pid, signal.SIGKILL)
        until(lambda: not pool._idle[0].alive())
        assert pool.ask(QUESTION) == first
        assert pool.workers() != (pid,)


def test_a_worker_that_does_not_answer_in_time_is_killed_and_replaced():
    with pool_of(size=1) as pool:
        pool.ask(QUESTION)
        (pid,) = pool.workers()
        os.kill(pid, signal.SIGSTOP)
        pool._answer_seconds = 0.1
        with pytest.raises(WorkerError, match="in time"):
            pool.ask(QUESTION)
        assert (runs(pid), pool.workers()) == (False, ())
        pool._answer_seconds = 20
        assert "state" in pool.ask(QUESTION)


async def test_a_worker_killed_in_the_middle_of_a_call_gives_503_and_the_state_is_as_it_was(tmp_path):
    """Reset, business call and verify alike; asked again, each goes through."""
    needs_agentdojo()
    environment = AgentDojoEnvironment(WorkerPool(size=1))
    rig = Rig(tmp_path / "controller.db", environment=environment)
    try:
        profile = environment.profiles[TASK]
        run = Run(rig.control(), "a", TASK, profile_digest=profile.profile_digest)
        tools = rig.business(run_id="run-a")

        async def lost(send):
            rows = rig.rows()
            with _killed_when_asked(environment.pool):
                answer = await send()
            assert code_of(answer) == (503, "controller_unavailable")
            assert answer.headers["Retry-After"] == "1"
            assert rig.rows() == rows

        async def call():
            return await tools.post("/slack/send_direct_message", json={"recipient": "Bob", "body": "hi"})

        await lost(lambda: run.post("reset"))
        await run.through("reset", "before")
        await lost(call)
        assert (await call()).json() == {"result": "None", "error": None}
        await run.through("after")
        await lost(lambda: run.post("verify"))
        verified = await run.through("verify")
        assert [check["actual"] for check in verified["checks"]] == [False]
        after = (await run.client.get(run.snapshot_path("after"))).json()
        assert [line["status"] for line in after["calls"]] == [200]
    finally:
        rig.close()
        environment.close()


@contextmanager
def _killed_when_asked(pool):
    """The worker stands still, so that whatever is asked next is under way when it is killed."""
    (pid,) = pool.workers()
    os.kill(pid, signal.SIGSTOP)

    def kill():
        until(lambda: pool._busy)
        os.kill(pid, signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    try:
        yield
    finally:
        killer.join()


# Bounds


@pytest.mark.parametrize(("cores", "size"), [(1, 2), (2, 2), (5, 5)])
def test_a_pool_has_a_worker_for_each_core_and_two_at_least(monkeypatch, cores, size):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(cores)), raising=False)
    assert WorkerPool()._size == size


def test_there_are_never_more_workers_than_the_pools_size():
    with pool_of(size=2) as pool, ThreadPoolExecutor(8) as threads:
        answers = list(threads.map(pool.ask, [QUESTION] * 24))
        assert len({answer["state"] for answer in answers}) == 1
        assert 1 <= len(pool.workers()) <= 2


def test_a_state_that_would_become_too_large_is_refused_and_kept_as_it_was(agentdojo):
    """A snapshot of it could not be read by Core; the worker's memory is bounded too."""
    bench = Bench(agentdojo)
    profile = bench.profile("workspace-user_task_0")
    start = {"op": "start", "suite": "workspace", "user_task": "user_task_0"}
    injection = {"surface": "every_vector", "text": "x" * 200_000}
    state = agentdojo.pool.ask({**start, "injection": injection})["state"]
    request = {"op": "call", "suite": "workspace", "state": state, "tool": "append_to_file"}
    answer = agentdojo.pool.ask({**request, "arguments": {"file_id": "1", "content": "y" * 2_000_000}})
    assert answer["refused"] == "state_too_large"
    before = bench.reset(profile)
    arguments = {"file_id": "1", "content": "y" * 5_000_000}
    outcome = bench.call(profile, "workspace_append_to_file", arguments)
    assert (outcome.status, outcome.body["error"]["code"]) == (429, "call_limit_reached")
    assert bench.state()["environment"] == before["environment"]
    bench.close()


def test_a_worker_imports_no_client_of_a_language_model(agentdojo):
    names = {name.split(".")[0] for name in probed(probe("modules"))}
    assert "agentdojo" in names
    assert names.isdisjoint(
        {"openai", "anthropic", "cohere", "google", "vertexai", "langchain", "sqlalchemy"}
    )


@needs_proc
def test_a_worker_has_no_variable_of_this_process_and_a_fixed_order_of_sets(agentdojo, monkeypatch):
    monkeypatch.setenv("DATABASE_PASSWORD", "a-secret-of-the-controller")
    with pool_of(size=1) as pool:
        pool.ask(QUESTION)
        (pid,) = pool.workers()
        given = dict(
            line.split("=", 1) for line in Path(f"/proc/{pid}/environ").read_text().split("\0") if "=" in line
        )
        assert given.keys() == {"PYTHONHASHSEED", "PYTHONPATH", "PYTHONUTF8", "TZ"}
        assert given["PYTHONHASHSEED"] == "0"


# Faults of the caller


def test_a_question_that_a_worker_does_not_know_is_a_fault_and_the_worker_goes_on(capfd):
    with pool_of(size=1) as pool:
        with pytest.raises(RuntimeError, match="KeyError"):
            pool.ask({"op": "no such"})
        workers = pool.workers()
        assert "state" in pool.ask(QUESTION)
        assert pool.workers() == workers


# The end


def test_closing_ends_every_worker_also_one_that_is_asked_and_stands_still():
    with pool_of(size=2) as pool:
        pool.ask(QUESTION)
        (stuck,) = pool.workers()
        os.kill(stuck, signal.SIGSTOP)
        with ThreadPoolExecutor(1) as threads:
            asked = threads.submit(pool.ask, QUESTION)
            until(lambda: pool._busy)
            pool.close()
            with pytest.raises(WorkerError):
                asked.result(20)
        assert not runs(stuck)
        with pytest.raises(WorkerError, match="closed"):
            pool.ask(QUESTION)
        pool.close()


def test_a_closed_environment_says_that_it_is_not_available(tmp_path):
    needs_agentdojo()
    environment = AgentDojoEnvironment()
    environment.close()
    with pytest.raises(ProtocolError) as refused:
        environment.profiles  # noqa: B018 - asks a worker
    assert refused.value.code == "controller_unavailable"


def test_a_worker_ends_when_its_line_closes_even_in_the_middle_of_something():
    """Nobody kills it: it sees the end of its input."""
    needs_agentdojo()
    worker = WorkerProcess.start()
    worker._line.sendall(b'{"op": "describe"}\n' * 50)
    worker._line.close()
    assert worker._process.wait(20) == 0


@needs_proc
def test_a_worker_ends_when_its_line_closes_with_an_answer_that_nobody_has_read():
    """Then the line is reset, as by a kill between question and answer."""
    needs_agentdojo()
    worker = WorkerProcess.start()
    try:
        worker._line.sendall(b'{"op": "describe"}\n')
        worker._line.recv(1, socket.MSG_PEEK)
        worker._line.close()
        assert worker._process.wait(20) == 0
    finally:
        worker.kill()


def test_a_controller_that_is_killed_leaves_no_worker_behind(tmp_path):
    """`kill -9` of the Controller: no handler runs, the workers' lines just close."""
    needs_agentdojo()
    with served(tmp_path, "--environment", "agentdojo") as controller:
        workers = children_of(controller.process.pid)
        assert len(workers) == 1
        controller.kill()
        until(lambda: not any(runs(pid) for pid in workers))
    with served(tmp_path, "--environment", "agentdojo") as controller:
        assert controller.ready["environment"] == "agentdojo"
        (worker,) = children_of(controller.process.pid)
        assert controller.stop() == 0
        assert not runs(worker)


def children_of(pid):
    """The processes that this one's main thread has started."""
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
