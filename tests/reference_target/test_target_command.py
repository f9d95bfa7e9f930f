"""`agentbeat target serve` as a process: options, the ready file, signals; and beside a real Controller."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from agentbeat_controller.environments.desk import DeskEnvironment
from agentbeat_reference_target import BEHAVIOURS, command
from agentbeat_reference_target.scripted import SCRIPTED_AGENTS
from support.controllers import Served, served

TOKEN = "target-secret-0123456789"
BUSINESS = "business-secret-0123456789"
CLI = [sys.executable, "-m", "agentbeat_reference_target", "serve"]
SCRIPTED = ["--business-url", "http://127.0.0.1:9", "--business-secret-env", "DESK_SECRET", "--oracles"]
ENVIRON = {**os.environ, "TARGET_TOKEN": TOKEN, "DESK_SECRET": BUSINESS, "EMPTY": ""}


@dataclass
class TargetProcess:
    """A served Target and what its ready file says."""

    process: subprocess.Popen[bytes]
    ready: dict[str, Any]
    log: Path

    def client(self) -> httpx.Client:
        headers = {"Authorization": f"Bearer {TOKEN}"}
        return httpx.Client(base_url=self.ready["url"], headers=headers, timeout=20, trust_env=False)

    def invoke(self, run_id: str, case_id: str, text: str) -> dict[str, Any]:
        body = {
            "schema_version": "target-invocation-v1",
            "run_id": run_id,
            "case_id": case_id,
            "input": {"text": text},
            "metadata": {},
        }
        headers = {"X-AIBeat-Run-ID": run_id, "X-AIBeat-Case-ID": case_id}
        with self.client() as http:
            answer = http.post("/v1/agent/invocations", json=body, headers=headers)
            assert answer.status_code == 200, answer.text
            response: dict[str, Any] = answer.json()
            return response

    def stop(self, number: signal.Signals = signal.SIGTERM) -> int:
        self.process.send_signal(number)
        return self.process.wait(15)


@contextlib.contextmanager
def target_process(folder: Path, *options: str) -> Iterator[TargetProcess]:
    """A Target on a free port with its store in `folder`, killed at the end if it still runs."""
    ready, log = folder / "target-ready.json", folder / "target-stderr.txt"
    fixed = ["--port", "0", "--store", str(folder / "runs.sqlite3"), "--ready-file", str(ready)]
    with log.open("wb") as sink:
        process = subprocess.Popen(
            [*CLI, "--token-env", "TARGET_TOKEN", *fixed, *options], stdout=sink, stderr=sink, env=ENVIRON
        )
        try:
            deadline = time.monotonic() + 30
            while not ready.exists():
                assert process.poll() is None, log.read_text()
                assert time.monotonic() < deadline, "the Target did not come up"
                time.sleep(0.02)
            yield TargetProcess(process, json.loads(ready.read_text()), log)
        finally:
            if process.poll() is None:
                process.kill()
            process.wait(10)


def parsed(*arguments: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    command.configure(parser)
    return parser.parse_args(["serve", *arguments])


def test_serve_tells_where_it_is_and_no_secret_and_stops_in_order(tmp_path: Path) -> None:
    options = ("--agent", "idle", "--tier", "L1", "--target-id", "desk-1")
    desk = ("--business-url", "http://127.0.0.1:9", "--business-secret-env", "DESK_SECRET")
    with target_process(tmp_path, *options, *desk) as target:
        with target.client() as http:
            health = http.get("/healthz").json()
        answer = target.invoke("run-1", "case-1", "Cancel order ORD-1006.")
        assert target.stop() == 0
        told, printed = target.ready, target.log.read_text()
    assert told == {
        "schema_version": "agentbeat-target-ready-v1",
        "pid": target.process.pid,
        "url": told["url"],
        "target_id": "desk-1",
        "agent": "idle",
        "tier": "L1",
        "open": False,
        "business_url": "http://127.0.0.1:9",
        "store": str(tmp_path / "runs.sqlite3"),
    }
    assert (health["target_id"], health["evidence"]) == ("desk-1", "L1")
    assert answer["final_response"] == "I have read the task and I have done nothing."
    assert told["url"] in printed
    assert "Target stopped" in printed
    assert not any(secret in printed + json.dumps(told) for secret in (TOKEN, BUSINESS))
    assert not (tmp_path / "target-ready.json").exists()


def test_a_secret_file_is_read_without_its_line_end_and_ctrl_c_stops(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text(f"{BUSINESS}\n")
    with target_process(
        tmp_path, "--business-url", "http://127.0.0.1:9", "--business-secret-file", str(secret)
    ) as target:
        answer = target.invoke("run-1", "case-1", "Cancel order ORD-1006.")
        assert target.stop(signal.SIGINT) == 0
    assert answer["final_response"] == (
        "I could not cancel order ORD-1006: the desk did not answer (ConnectError). I have done nothing."
    )


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--token-env", "NOT_SET"], "the environment variable NOT_SET is not set"),
        (["--token-env", "EMPTY"], "the environment variable EMPTY is not set, or is empty"),
        (["--token-file", "{folder}/none"], "{folder}/none: No such file"),
        (["--token-file", "{folder}/long"], "is longer than 4096 bytes"),
        (["--token-file", "{folder}/spaced"], "token: expected"),
        (["--open", "--business-url", "http://127.0.0.1:9"], "--business-url needs"),
        (["--open", "--business-secret-env", "DESK_SECRET"], "without --business-url"),
        (
            ["--open", "--business-url", "desk", "--business-secret-env", "DESK_SECRET"],
            "business URL: expected",
        ),
        (["--open", "--target-id", ""], "target_id: expected"),
        (["--open", "--oracles", "{folder}/spaced"], "--oracles is for a scripted Agent"),
        (["--open", "--agent", "resisting"], "needs --oracles and --business-url"),
        (["--open", "--agent", "resisting", *SCRIPTED, "{folder}/spaced"], "spaced: no oracles-v1 file"),
        (["--open", "--agent", "resisting", *SCRIPTED, "{folder}/none"], "{folder}/none: No such file"),
        (["--open", "--store", "{folder}/none/runs.sqlite3"], "{folder}/none"),
        (["--open", "--port", "{port}"], "127.0.0.1 port {port}: Address already in use"),
        (["--open", "--host", "nowhere.invalid"], "nowhere.invalid"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_what_cannot_be_served_is_said_in_one_line(
    options: list[str],
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Exit code 2, no traceback, no secret, no ready file."""
    monkeypatch.setattr(os, "environ", ENVIRON)
    (tmp_path / "long").write_text("x" * 5_000)
    (tmp_path / "spaced").write_text("two words")
    ready = tmp_path / "ready.json"
    ready.write_text("of an earlier process")
    defaults = ["--port", "0", "--store", str(tmp_path / "runs.sqlite3"), "--ready-file", str(ready)]
    with socket.create_server(("127.0.0.1", 0)) as taken:
        names = {"folder": str(tmp_path), "port": str(taken.getsockname()[1])}
        status = command.run(parsed(*defaults, *(option.format(**names) for option in options)))
    printed = capsys.readouterr()
    assert (status, printed.out) == (2, "")
    assert said.format(**names) in printed.err
    assert printed.err.startswith("agentbeat target: ")
    assert len(printed.err.splitlines()) == 1
    assert not any(secret in printed.err for secret in (TOKEN, BUSINESS, "two words"))
    assert not ready.exists()


@pytest.mark.parametrize(
    "options",
    [
        [],
        ["--open", "--token-env", "X"],
        ["--open", "--agent", "helpful"],
        ["--open", "--port", "65536"],
        ["--open", "--tier", "L3"],
    ],
    ids=["no secret", "a secret and none", "no such behaviour", "no such port", "a tier of the Controller"],
)
def test_options_that_make_no_sense_are_refused(
    options: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stopped:
        parsed(*options)
    assert stopped.value.code == 2
    assert "error:" in capsys.readouterr().err


def test_the_command_knows_every_behaviour_without_loading_what_serves_them() -> None:
    assert tuple(BEHAVIOURS) == command._AGENTS
    assert tuple(SCRIPTED_AGENTS) == command._SCRIPTED
    assert (command.EXTRA, "\n" in command.HELP) == ("reference", False)
    code = "import sys; import agentbeat_reference_target.command; print(*sys.modules)"
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"httpx", "agentbeat_sdk", "starlette"} & set(printed.stdout.split())


# -- beside a real Controller --------------------------------------------------------------------------------


def post(controller: Served, route: str, body: dict[str, Any]) -> dict[str, Any]:
    with controller.control() as http:
        answer = http.post(f"/v1/environment/{route}", json=body)
        assert answer.status_code == 200, answer.text
        return dict(answer.json())


@pytest.mark.parametrize(
    ("mode", "agent", "verdicts"),
    [
        ("catalog", "obedient", ("pass", "pass", "attack_blocked")),
        ("deployment_static", "gullible", ("pass", "fail", "attack_succeeded")),
    ],
)
def test_real_processes_from_reset_to_verdict(
    mode: str, agent: str, verdicts: tuple[str, ...], tmp_path: Path
) -> None:
    """Target and Controller as processes. In a catalogue the run id of the headers finds the environment."""
    profile = DeskEnvironment().profiles["desk-refund-full"]
    surface, text = next(iter(profile.injections.items()))
    common = {
        "schema_version": "state-controller-v1",
        "run_id": "run-pair-001",
        "case_id": "case-pair-001",
        "profile_id": profile.profile_id,
    }
    with served(tmp_path) as controller:
        business = controller.ready["business"]
        secret_file = business["deployments"]["deployment-desk"]["secret_file"]
        desk = ("--business-url", business["url"], "--business-secret-file", secret_file)
        with target_process(tmp_path, "--agent", agent, *desk) as target:
            closed = target.invoke("run-early", "case-pair-001", profile.task)
            lease = post(
                controller,
                "reset",
                common
                | {
                    "deployment_profile_id": "deployment-desk",
                    "profile_digest": profile.profile_digest,
                    "binding_mode": mode,
                    "attempt_nonce": "0123456789abcdef" * 2,
                    "snapshots": True,
                    "injection": {"surface": surface, "text": text},
                },
            )
            held = common | {"lease_id": lease["lease_id"]}
            before = post(controller, "snapshot", held | {"phase": "before"})
            answer = target.invoke("run-pair-001", "case-pair-001", profile.task)
            after = post(controller, "snapshot", held | {"phase": "after"})
            references = {
                phase: {"ref": taken["snapshot_ref"], "digest": taken["digest"]}
                for phase, taken in (("before", before), ("after", after))
            }
            verdict = post(
                controller,
                "verify",
                held | references | {"final_response": answer["final_response"]},
            )["verdicts"]
            late = target.invoke("run-late", "case-pair-001", profile.task)
    assert tuple(verdict[name]["verdict"] for name in ("utility", "security", "attack")) == verdicts
    for outside in (closed, late):
        assert "I have done nothing." in outside["final_response"]
