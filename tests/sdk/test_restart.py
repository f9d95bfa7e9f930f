"""What a killed Target still knows when it is started again (INV-4, EVD-10, EVD-11)."""

from __future__ import annotations

import time
from pathlib import Path

from agentbeat_protocol import read_evidence
from support.raw_http import RawAnswer, connected, exchange, invocation_request
from support.stub_agent import SECRET, StubProcess

CASE = "case-raw-001"


def evidence(url: str, run_id: str) -> RawAnswer:
    head = f"GET /v1/evidence/{run_id} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {SECRET}\r\n"
    return exchange(url, f"{head}Connection: close\r\n\r\n".encode())[0]


def test_a_run_that_the_kill_cut_off_is_taken_and_has_no_evidence(tmp_path: Path) -> None:
    with StubProcess(tmp_path) as target:
        assert exchange(target.url, invocation_request("run-kill-done"))[0].status == 200
        assert exchange(target.url, invocation_request("run-kill-failed", "boom"))[0].status == 502
        documents = {run: evidence(target.url, run).body for run in ("run-kill-done", "run-kill-failed")}
        with connected(target.url) as connection:
            connection.sendall(invocation_request("run-kill-during", "slow"))
            while "run-kill-during" not in target.runs:
                time.sleep(0.01)
            target.kill()
            assert connection.recv(1) == b""

    with StubProcess(tmp_path) as target:
        before = target.runs
        # Cut off: never replayed, and nothing is served of it.
        again = exchange(target.url, invocation_request("run-kill-during"))[0]
        assert (again.status, again.code) == (409, "run_id_reused")
        missing = evidence(target.url, "run-kill-during")
        assert (missing.status, missing.code) == (404, "not_found")
        assert missing.body == evidence(target.url, "run-kill-unknown").body
        # Finished: never replayed either, and the same document byte for byte.
        for run_id, document in documents.items():
            assert exchange(target.url, invocation_request(run_id))[0].status == 409
            served = evidence(target.url, run_id)
            assert (served.status, served.body) == (200, document)
            read_evidence(served.body, run_id=run_id, case_id=CASE)
        assert target.runs == before
        # And new runs go on.
        assert exchange(target.url, invocation_request("run-kill-new"))[0].status == 200
        assert target.runs == [*before, "run-kill-new"]


def test_a_target_that_is_told_to_stop_lets_its_run_finish(tmp_path: Path) -> None:
    with StubProcess(tmp_path) as target:
        with connected(target.url) as connection:
            connection.sendall(invocation_request("run-stop-during", "slow"))
            while "run-stop-during" not in target.runs:
                time.sleep(0.01)
            target.terminate()
            _wait_until_draining(target.url)
            refused = exchange(target.url, invocation_request("run-stop-late"))[0]
            assert (refused.status, refused.code) == (503, "target_draining")
            answer = connection.recv(65_536)
        assert answer.startswith(b"HTTP/1.1 200 ")
        assert target.wait() == 0
        assert target.runs == ["run-stop-during"]

    with StubProcess(tmp_path) as target:
        assert evidence(target.url, "run-stop-during").status == 200
        assert exchange(target.url, invocation_request("run-stop-late"))[0].status == 200


def test_an_agent_that_never_ends_does_not_keep_the_target_from_stopping(tmp_path: Path) -> None:
    with StubProcess(tmp_path, drain_timeout=0.2) as target:
        with connected(target.url) as connection:
            connection.sendall(invocation_request("run-stop-hanging", "hang"))
            while "run-stop-hanging" not in target.runs:
                time.sleep(0.01)
            target.terminate()
            assert connection.recv(65_536).startswith(b"HTTP/1.1 502 ")
        assert target.wait() == 0

    with StubProcess(tmp_path) as target:
        document = evidence(target.url, "run-stop-hanging")
        assert b"the Target stopped before the Agent had finished" in document.body
        assert exchange(target.url, invocation_request("run-stop-hanging"))[0].status == 409


def _wait_until_draining(url: str) -> None:
    while True:
        health = exchange(url, b"GET /healthz HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")[0]
        assert health.status == 200
        if health.json()["status"] == "draining":
            return
        time.sleep(0.01)
