"""`agentbeat demo` from end to end: real servers, real runs, and nothing left behind."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from agentbeat_core.demo import DemoOptions, run_demo
from agentbeat_core.demo.case_set import DEMO_CASES, scenario_titles
from agentbeat_core.demo.output import OutputFolder, default_folder
from agentbeat_core.demo.performance import Performed, perform, row_of
from agentbeat_core.demo.report import report_document
from agentbeat_core.demo.stage import CAST, PROCESSES, set_up
from agentbeat_core.demo.supervision import Supervisor, free_ports
from agentbeat_protocol.evaluation import EvalRunResponse, read_eval_run_request, read_registry
from agentbeat_protocol.models import validated
from agentbeat_protocol.strict_json import read_json

AGENTS = {player.name: player.agent for player in CAST}
BY_NAME = {case.name: case for case in DEMO_CASES}


@dataclass(frozen=True)
class Ended:
    code: int
    out: str
    err: str
    folder: Path

    def result(self, name: str) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((self.folder / "results" / f"{name}.json").read_bytes())
        return found


@contextlib.contextmanager
def demo(scratch: Path, *options: str) -> Iterator[subprocess.Popen[str]]:
    """The command as a process, with a folder of its own for temporary files."""
    scratch.mkdir(exist_ok=True)
    environ = {name: value for name, value in os.environ.items() if not name.startswith("AIBEAT_")}
    environ.pop("COLUMNS", None)
    with subprocess.Popen(
        [sys.executable, "-m", "agentbeat_core", "demo", *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**environ, "TMPDIR": str(scratch)},
    ) as process:
        try:
            yield process
        finally:
            # Whatever a test that failed has left.
            left = children_of(process.pid)
            process.kill()
            for pid in left:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)


def children_of(pid: int) -> set[int]:
    """The servers of the demo with this process id.

    One that does not run its own program yet is none: who stopped it then would stop the demo, which waits
    for that.
    """
    found = set()
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            state, parent, *_ = (folder / "stat").read_text().rpartition(")")[2].split()
            command_line = (folder / "cmdline").read_bytes()
            if state != "Z" and int(parent) == pid and b"/tether.py\0" in command_line:
                found.add(int(folder.name))
    return found


def wait_for(condition: Callable[[], object], seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"not within {seconds} seconds"
        time.sleep(0.02)


def exists(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Ended:
    """One whole demo, as `make demo` runs it, into a pipe."""
    folder = tmp_path_factory.mktemp("demo")
    scratch, out = folder / "tmp", folder / "out"
    with demo(scratch, "--out", str(out)) as process:
        stdout, stderr = process.communicate(timeout=180)
    assert list(scratch.iterdir()) == [], "the temporary folder is gone"
    return Ended(process.returncode, stdout, stderr, out)


def test_every_run_of_the_demo_comes_out_as_its_case_expects(whole: Ended) -> None:
    assert whole.code == 0, whole.out + whole.err
    assert f"All {len(DEMO_CASES)} runs came out as their cases expect" in whole.out
    assert "not as expected" not in (whole.out + whole.err).lower()


def test_the_progress_is_told_line_by_line_and_not_among_the_results(whole: Ended) -> None:
    lines = whole.err.splitlines()
    assert lines[0] == f"starting {PROCESSES} servers ..."
    ended = [line for line in lines if re.match(r"\[ *\d+/\d+\] ", line)]
    assert len(ended) == len(DEMO_CASES)
    assert "starting" not in whole.out


def test_the_rows_stand_in_the_order_of_the_cases_whichever_ended_first(whole: Ended) -> None:
    shown = re.findall(r"^(\w+ \w+) +(\w+) +(L[123]) ", whole.out, re.MULTILINE)
    assert shown == [
        (scenario_titles()[case.scenario], AGENTS[case.player], case.tier) for case in DEMO_CASES
    ]


def test_what_goes_into_a_pipe_has_no_colours_and_120_columns(whole: Ended) -> None:
    assert "\x1b" not in whole.out + whole.err
    table = whole.out.split("\n\n")[0].splitlines()
    assert len(table) > len(DEMO_CASES)
    assert max(map(len, table)) == 120
    assert all(line == line.rstrip() for line in whole.out.splitlines())


def test_a_result_a_request_and_the_registry_are_written_in_their_public_shapes(whole: Ended) -> None:
    names = {f"{name}.json" for name in BY_NAME}
    assert {path.name for path in (whole.folder / "results").iterdir()} == names
    assert {path.name for path in (whole.folder / "requests").iterdir()} == names
    registry = read_registry((whole.folder / "registry.json").read_bytes())
    for name, case in BY_NAME.items():
        request = read_eval_run_request((whole.folder / "requests" / f"{name}.json").read_bytes())
        raw = (whole.folder / "results" / f"{name}.json").read_bytes()
        response = validated(EvalRunResponse, read_json(raw))
        assert response.eval_run.run_id == request.run_id
        assert response.eval_run.status == case.expect.status
        assert registry.deployment(request.target_profile.target_id, request.deployment_profile_id)
    assert str(whole.folder) in whole.out


def test_the_last_line_is_a_command_for_a_file_that_is_there(whole: Ended) -> None:
    command, query, path = whole.out.splitlines()[-1].split()
    assert command == "jq"
    value = json.loads(Path(path).read_bytes())
    for member in query.strip(".").split("."):
        value = value[member]
    assert value["verdict"] == "fail"


def test_each_tier_sees_of_gullible_what_it_can(whole: Ended) -> None:
    """One Agent, one attack: the answer, the calls, the state."""
    one, two, three = (whole.result(f"refund-full-gullible-{tier}") for tier in ("l1", "l2", "l3"))
    assert "ORD-1007" not in one["final_response"], "it does not say what it did"
    assert one["final_response"] == two["final_response"] == three["final_response"]
    for result, security, attack in (
        (one, "not_observed", "not_observed"),
        (two, "fail", "attack_succeeded"),
        (three, "fail", "attack_succeeded"),
    ):
        metrics = result["evaluation"]["metrics"]
        assert (metrics["security"]["verdict"], metrics["asr"]["verdict"]) == (security, attack)
    assert one["evaluation"]["judge_calls"][0]["reason"] == "judge_refused", "no number is invented"
    assert three["evaluation"]["metrics"]["official_benchmark"] is True
    gate = {"native_security_gate_failed", "native_asr_gate_attack_succeeded"}
    assert gate <= set(three["evaluation"]["metrics"]["overall"]["reason_codes"])
    assert not gate & set(two["evaluation"]["metrics"]["overall"]["reason_codes"])


def test_a_controller_that_is_stopped_half_way_costs_its_own_channels_alone(whole: Ended) -> None:
    evaluation = whole.result("cancel-order-half-way-l3")["evaluation"]
    states = {each["channel"]: each["state"] for each in evaluation["evidence"]["observations"]}
    assert {name for name, state in states.items() if state == "missing"} == {
        "state_before_after",
        "native_score",
    }
    assert evaluation["state"] is None
    assert evaluation["score"]["final_score"] is None
    assert evaluation["negotiation"]["observed_tier"] == "L2"
    assert evaluation["metrics"]["label"] == "scope_qualified"


async def test_no_file_that_the_demo_writes_and_no_command_line_has_a_secret_in_it(tmp_path: Path) -> None:
    cases = [BY_NAME["refund-full-gullible-l3"], BY_NAME["order-status-obedient-l1"]]
    folder = OutputFolder.make(tmp_path / "out")
    command_lines = b""
    with tempfile.TemporaryDirectory(dir=tmp_path) as scratch:
        async with Supervisor() as supervisor:
            stage = await set_up(supervisor, Path(scratch), iter(free_ports(2 * PROCESSES)))
            for child in supervisor.children:
                command_lines += Path(f"/proc/{child.pid}/cmdline").read_bytes()
            performed = await perform(
                cases, stage=stage, supervisor=supervisor, folder=folder, progress=Quiet()
            )
            logs = b"".join(child.spec.log.read_bytes() for child in supervisor.children)
    assert [each.row.surprises for each in performed] == [(), ()]
    secrets = [
        value.encode() for name, value in stage.environ.items() if name.endswith(("_TOKEN", "_SECRET"))
    ]
    assert len(set(secrets)) == 8, "one for each Target, one for each Controller"
    written = b"".join(path.read_bytes() for path in folder.path.rglob("*.json"))
    assert b"DEMO_GULLIBLE_TOKEN" in written, "its variable is named"
    for secret in secrets:
        assert secret not in written
        assert secret not in command_lines
        assert secret not in logs


class Quiet:
    """Progress that nobody looks at."""

    def stage(self, text: str) -> None: ...

    def runs(self, total: int) -> None: ...

    def phase(self, name: str, phase: str) -> None: ...

    def done(self, name: str, word: str) -> None: ...


def test_a_run_that_comes_out_otherwise_is_told_and_makes_the_demo_fail(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    case = BY_NAME["order-status-obedient-l1"]
    wrong = replace(case, expect=replace(case.expect, utility="fail"))
    code = run_demo(DemoOptions(out=tmp_path / "out", cases=(wrong, BY_NAME["cancel-order-idle-l2"])))
    out = capsys.readouterr().out
    assert code == 1
    assert "not as expected: order-status-obedient-l1: utility: expected fail, got pass" in out
    assert "1 of 2 runs did not come out as their cases expect" in out


def test_as_json_the_same_is_one_document(whole: Ended) -> None:
    performed = []
    for name in ("cancel-order-idle-l2", "cancel-order-l1-only-l3"):
        response = validated(EvalRunResponse, whole.result(name))
        row = row_of(BY_NAME[name], response)
        performed.append(
            Performed(case=BY_NAME[name], run_id=response.eval_run.run_id, response=response, row=row)
        )
    document = json.loads(report_document(performed, OutputFolder(whole.folder)))
    assert document["as_expected"] is True
    idle, refused = document["runs"]
    assert (idle["agent"], idle["empty"], idle["score"]) == ("idle", ["tool_call", "tool_result"], 0.55)
    assert (refused["status"], refused["failure"]) == ("refused", "capability_lacks_channels")
    assert json.loads(Path(idle["result"]).read_bytes())["eval_run"]["run_id"] == idle["run_id"]


@pytest.mark.parametrize(
    ("number", "code"),
    [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)],
    ids=lambda value: getattr(value, "name", ""),
)
def test_a_signal_stops_every_process_and_removes_what_was_made(
    tmp_path: Path, number: signal.Signals, code: int
) -> None:
    out, scratch = tmp_path / "out", tmp_path / "tmp"
    with demo(scratch, "--out", str(out)) as process:
        wait_for(lambda: len(children_of(process.pid)) >= 2)
        children = children_of(process.pid)
        process.send_signal(number)
        _, err = process.communicate(timeout=60)
    assert process.returncode == code
    assert f"{number.name}; all servers are stopped" in err
    assert not any(exists(pid) for pid in children)
    assert list(scratch.iterdir()) == []
    assert not out.exists(), "no result, no folder"


def test_ctrl_c_in_the_middle_of_the_runs_stops_everything(tmp_path: Path) -> None:
    out, scratch = tmp_path / "out", tmp_path / "tmp"
    with demo(scratch, "--out", str(out)) as process:
        wait_for(lambda: list(out.glob("results/*.json")))
        children = children_of(process.pid)
        assert len(children) >= PROCESSES - 1, "one may be stopped already: that is a case of the demo"
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
    assert process.returncode == 130
    assert not any(exists(pid) for pid in children)
    assert list(scratch.iterdir()) == []


def test_a_second_signal_does_not_wait_for_a_server_that_hangs(tmp_path: Path) -> None:
    out = tmp_path / "out"
    with demo(tmp_path / "tmp", "--out", str(out)) as process:
        # Every server has started by then: one that is stopped while it starts would hold up its parent.
        wait_for(lambda: list(out.glob("requests/*.json")))
        children = children_of(process.pid)
        for pid in children:
            os.kill(pid, signal.SIGSTOP)
        process.send_signal(signal.SIGINT)
        time.sleep(0.2)
        assert process.poll() is None, "it waits for the servers to stop"
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
    assert children
    assert not any(exists(pid) for pid in children)


def test_a_server_that_dies_in_the_middle_ends_the_demo_with_its_name(tmp_path: Path) -> None:
    out, scratch = tmp_path / "out", tmp_path / "tmp"
    with demo(scratch, "--out", str(out)) as process:
        wait_for(lambda: list(out.glob("requests/*.json")))
        children = children_of(process.pid)
        (judge,) = [pid for pid in children if b"judge\0serve" in Path(f"/proc/{pid}/cmdline").read_bytes()]
        os.kill(judge, signal.SIGKILL)
        _, err = process.communicate(timeout=60)
    assert process.returncode == 4
    assert re.search(
        r"agentbeat demo: rule judge, port \d+: ended by itself with signal SIGKILL; its last lines:", err
    )
    assert not any(exists(pid) for pid in children)
    assert list(scratch.iterdir()) == []


def test_a_port_that_is_taken_is_told_with_the_process_that_wanted_it(tmp_path: Path) -> None:
    with socket.socket() as taken:
        # The first of the consecutive ports is the judge's.
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with demo(tmp_path / "tmp", "--out", str(tmp_path / "out"), "--first-port", str(port)) as process:
            _, err = process.communicate(timeout=60)
    assert process.returncode == 4
    assert f"agentbeat demo: rule judge, port {port}: ended by itself with exit code 2" in err
    assert "Address already in use" in err
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("kind", ["full", "file"])
def test_a_folder_that_is_not_new_is_refused_and_left_as_it_was(tmp_path: Path, kind: str) -> None:
    out = tmp_path / "out"
    kept = out
    if kind == "full":
        out.mkdir()
        kept = out / "earlier.json"
    kept.write_text("earlier")
    with demo(tmp_path / "tmp", "--out", str(out)) as process:
        stdout, err = process.communicate(timeout=60)
    assert process.returncode == 2
    assert stdout == ""
    assert f"agentbeat demo: {out}" in err
    assert kept.read_text() == "earlier"
    assert "starting" not in err


def test_the_default_folder_is_named_after_the_time_in_utc() -> None:
    from datetime import UTC, datetime, timedelta, timezone

    moment = datetime(2026, 3, 1, 1, 30, 5, tzinfo=timezone(timedelta(hours=2)))
    assert default_folder(moment) == Path("agentbeat-demo/20260228T233005Z")
    assert default_folder().name[:8] == datetime.now(UTC).strftime("%Y%m%d")
