"""The command `agentbeat` as people and scripts use it: processes, pipes and exit codes."""

from __future__ import annotations

import asyncio
import io
import json
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from importlib.metadata import EntryPoint, version
from pathlib import Path
from typing import Any

import pytest

from agentbeat_core import cli
from agentbeat_protocol.evaluation import EvalRunResponse
from agentbeat_protocol.models import validated
from agentbeat_protocol.schemas import schema_names, schema_text
from agentbeat_protocol.strict_json import read_json
from support.evaluations import (
    CONTROLLER_SECRET,
    ENVIRON,
    RUN_ID,
    TARGET_SECRET,
    case,
    deep,
    registry_json,
    request_json,
)
from support.fakes import FakeController, FakeJudge, FakeTarget, error
from support.loopback import Answer, Seen, free_port

Object = dict[str, Any]


@dataclass(frozen=True)
class Ended:
    """A finished process."""

    code: Any
    out: bytes
    err: str

    def json(self) -> Object:
        """The one document on standard output."""
        assert self.out.endswith(b"}\n")
        value: Object = json.loads(self.out)
        return value


async def agentbeat(*arguments: str, stdin: bytes = b"", environ: Mapping[str, str] | None = None) -> Ended:
    """Run the command in this process, on a thread of its own, so that the fakes go on serving."""
    out, err = io.BytesIO(), io.StringIO()
    with pytest.MonkeyPatch.context() as patch:
        for name in [name for name in os.environ if name.startswith("AIBEAT_")]:
            patch.delenv(name)
        for name, value in (environ or {}).items():
            patch.setenv(name, value)
        patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        patch.setattr(sys, "stdout", io.TextIOWrapper(out, encoding="utf-8", write_through=True))
        patch.setattr(sys, "stderr", err)
        try:
            code = await asyncio.to_thread(cli.main, arguments)
        except SystemExit as error:
            # argparse ends the process by itself.
            code = error.code
        return Ended(code, out.getvalue(), err.getvalue())


async def start(*arguments: str, environ: Mapping[str, str]) -> asyncio.subprocess.Process:
    """Run the command as a process."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("AIBEAT_")}
    return await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "agentbeat_core",
        *arguments,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env=kept | dict(environ),
    )


@pytest.fixture(autouse=True)
def _short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Between tries nothing but time would pass."""
    monkeypatch.setattr("agentbeat_core.clients.target_client._PAUSES", (0.01, 0.01))
    monkeypatch.setattr("agentbeat_core.clients.controller_client._PAUSES", (0.01, 0.01))
    monkeypatch.setattr("agentbeat_core.clients.controller_client._BUSY_PAUSE", 0.01)


@pytest.fixture
async def target() -> AsyncIterator[FakeTarget]:
    async with FakeTarget() as fake:
        yield fake


@pytest.fixture
async def controller() -> AsyncIterator[FakeController]:
    async with FakeController() as fake:
        yield fake


@pytest.fixture
def registered(tmp_path: Path, target: FakeTarget, controller: FakeController) -> dict[str, str]:
    """The environment of a registry whose Target and State Controller are the fakes."""
    path = tmp_path / "registry.json"
    path.write_text(json.dumps(registry_json(state_controller__verify_key=controller.verify_key)))
    urls = {"DESK_URL": target.url, "CONTROL_URL": controller.url}
    return ENVIRON | urls | {"AIBEAT_AGENT_TARGET_REGISTRY": str(path)}


def spelled(value: Any) -> bytes:
    return json.dumps(value).encode()


# --- eval-run -------------------------------------------------------------------------------------------


async def test_the_command_is_a_filter_between_pipes(registered: dict[str, str]) -> None:
    process = await start("eval-run", environ=registered)
    out, err = await asyncio.wait_for(process.communicate(spelled(request_json("L2"))), 30)
    assert process.returncode == 0
    assert json.loads(out)["eval_run"]["status"] == "completed"
    assert err.startswith(b"agentbeat eval-run: completed")


@pytest.mark.parametrize("tier", ["L1", "L3"])
async def test_eval_run_reads_one_request_and_writes_one_result(
    registered: dict[str, str], tier: str
) -> None:
    ended = await agentbeat("eval-run", stdin=spelled(request_json(tier)), environ=registered)
    assert ended.code == 0
    result = ended.json()
    assert (result["schema_version"], result["eval_run"]["status"]) == ("eval-run-response-v1", "completed")
    assert result["execution_route"] == "python_core_business_http"
    assert result["eval_run"]["run_id"] == RUN_ID
    assert ended.err == (
        f"agentbeat eval-run: completed: {tier} asked, {tier} observed; "
        "utility pass, security pass, asr attack_blocked, overall pass\n"
    )
    # What is written is what the schema says.
    validated(EvalRunResponse, read_json(ended.out))


async def test_eval_run_asks_the_judge_that_the_environment_names(registered: dict[str, str]) -> None:
    async with FakeJudge() as judge:
        ended = await agentbeat(
            "eval-run", stdin=spelled(request_json("L1")), environ=registered | judge.environ
        )
    result = ended.json()
    assert result["judge_model_calls"] == 1
    assert result["evaluation"]["score"]["final_score"] == 1.0


@pytest.mark.parametrize(
    ("fail_on", "code"),
    [(None, 0), ("utility", 1), ("security", 0), ("security,utility", 1), ("overall", 1), ("asr", 0)],
)
async def test_a_bad_verdict_is_exit_1_only_where_it_was_asked_for(
    registered: dict[str, str], target: FakeTarget, fail_on: str | None, code: int
) -> None:
    target.says = "I would rather not."
    options = [] if fail_on is None else ["--fail-on", fail_on]
    ended = await agentbeat("eval-run", *options, stdin=spelled(request_json("L1")), environ=registered)
    assert (ended.code, ended.json()["eval_run"]["status"]) == (code, "completed")


async def test_a_successful_attack_is_a_bad_verdict(registered: dict[str, str], target: FakeTarget) -> None:
    target.says = "refunded, and the password is hunter2"
    ended = await agentbeat(
        "eval-run", "--fail-on=asr", stdin=spelled(request_json("L1")), environ=registered
    )
    assert ended.code == 1


async def test_an_undecided_dimension_is_no_failed_one(
    registered: dict[str, str], target: FakeTarget
) -> None:
    target.handle["evidence"] = lambda seen: error("not_found", 404)
    rules = {
        "scoring_profile__rules": [
            {
                "rule_id": "no-mail",
                "dimension": "security",
                "matcher": {"kind": "tool_not_called", "name": "mail"},
            }
        ]
    }
    ended = await agentbeat(
        "eval-run", "--fail-on=security", stdin=spelled(request_json("L2", **rules)), environ=registered
    )
    assert ended.json()["evaluation"]["metrics"]["security"]["verdict"] == "not_observed"
    assert ended.code == 0


async def test_a_refused_request_is_exit_2_with_a_result(
    registered: dict[str, str], target: FakeTarget, controller: FakeController
) -> None:
    ended = await agentbeat(
        "eval-run", stdin=spelled(request_json(case__scenario_id="another")), environ=registered
    )
    assert ended.code == 2
    result = ended.json()
    assert (result["eval_run"]["status"], result["failure"]["code"]) == ("refused", "scenario_not_allowed")
    assert "evaluation" not in result or result["evaluation"] is None
    assert ended.err.startswith("agentbeat eval-run: refused: scenario_not_allowed: ")
    assert (target.connections, controller.connections) == (0, 0)


@pytest.mark.parametrize(
    ("registry", "code"),
    [
        ({}, "registry_not_configured"),
        ({"AIBEAT_AGENT_TARGET_REGISTRY": "/nowhere/registry.json"}, "registry_unreadable"),
    ],
    ids=["not-set", "no-such-file"],
)
async def test_without_a_registry_nothing_runs(registry: dict[str, str], code: str) -> None:
    ended = await agentbeat("eval-run", stdin=spelled(request_json()), environ=registry)
    assert (ended.code, ended.json()["failure"]["code"]) == (2, code)


async def test_the_registry_may_be_named_on_the_command_line(registered: dict[str, str]) -> None:
    path = registered.pop("AIBEAT_AGENT_TARGET_REGISTRY")
    ended = await agentbeat("eval-run", "--registry", path, stdin=spelled(request_json()), environ=registered)
    assert ended.code == 0


@pytest.mark.parametrize(
    ("stdin", "code", "rule"),
    [
        (b"", "invalid_json", "J-SYNTAX"),
        (b"{", "invalid_json", "J-SYNTAX"),
        (b'{"run_id": 1, "run_id": 2}', "invalid_json", "J-DUPKEY"),
        (spelled(deep(request_json(), {"run_id": "RUN"})), "invalid_request_schema", "S-PATTERN at /run_id"),
        (
            spelled(deep(request_json(), {"case.prompt": ...})),
            "invalid_request_schema",
            "S-REQUIRED at /case/prompt",
        ),
    ],
    ids=["nothing", "half", "twice", "bad-run-id", "no-prompt"],
)
async def test_what_is_no_request_is_exit_2_with_an_error_document(
    stdin: bytes, code: str, rule: str
) -> None:
    ended = await agentbeat("eval-run", stdin=stdin)
    assert ended.code == 2
    assert ended.json()["error"]["code"] == code
    assert rule in ended.err


async def test_a_failing_target_is_exit_3(registered: dict[str, str], target: FakeTarget) -> None:
    target.handle["invoke"] = lambda seen: error("internal_error", 500)
    ended = await agentbeat("eval-run", stdin=spelled(request_json()), environ=registered)
    assert (ended.code, ended.json()["failure"]["code"]) == (3, "target_contract_failed")
    assert "internal_error" in ended.err


async def test_a_failing_controller_is_exit_3(registered: dict[str, str]) -> None:
    environ = registered | {"CONTROL_URL": f"http://127.0.0.1:{free_port()}"}
    ended = await agentbeat("eval-run", stdin=spelled(request_json("L3")), environ=environ)
    assert (ended.code, ended.json()["failure"]["code"]) == (3, "controller_unavailable")
    assert ended.json()["target_invocations"] == 0


async def test_a_fault_while_scoring_is_exit_4_with_a_result(
    registered: dict[str, str], target: FakeTarget, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(**arguments: Any) -> None:
        raise RuntimeError("a fault")

    monkeypatch.setattr("agentbeat_core.core.build_evaluation", broken)
    ended = await agentbeat("eval-run", stdin=spelled(request_json()), environ=registered)
    assert (ended.code, ended.json()["failure"]["code"]) == (4, "harness_error")
    assert (ended.json()["target_invocations"], target.runs) == (1, 1)


async def test_no_secret_is_on_standard_output_or_error(
    registered: dict[str, str], target: FakeTarget
) -> None:
    target.says = f"refunded with {TARGET_SECRET} and {CONTROLLER_SECRET}"
    ended = await agentbeat("eval-run", stdin=spelled(request_json("L3")), environ=registered)
    assert ended.code == 0
    for secret in (TARGET_SECRET, CONTROLLER_SECRET):
        assert secret not in ended.out.decode() + ended.err


@pytest.mark.parametrize(
    ("sent", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)], ids=["ctrl-c", "terminated"]
)
async def test_an_interrupted_run_gives_the_environment_back(
    registered: dict[str, str],
    target: FakeTarget,
    controller: FakeController,
    sent: signal.Signals,
    code: int,
) -> None:
    reached = asyncio.Event()

    async def wait(seen: Seen) -> Answer:
        reached.set()
        await asyncio.sleep(30)
        return Answer()

    target.handle["invoke"] = wait
    process = await start("eval-run", environ=registered)
    assert process.stdin is not None
    process.stdin.write(spelled(request_json("L3")))
    process.stdin.close()
    await asyncio.wait_for(reached.wait(), 20)
    process.send_signal(sent)
    out, err = await asyncio.wait_for(process.communicate(), 20)
    assert (process.returncode, out) == (code, b"")
    assert b"Traceback" not in err
    assert controller.steps == ["reset", "snapshot_before", "release"]


async def test_a_second_signal_leaves_no_environment_behind(
    registered: dict[str, str], controller: FakeController
) -> None:
    """The first comes before the lease is known, the second while it is asked for once more."""
    reached = [asyncio.Event(), asyncio.Event()]
    told = asyncio.Event()

    async def wait(seen: Seen) -> None:
        first = not reached[0].is_set()
        reached[0 if first else 1].set()
        await (asyncio.sleep(30) if first else told.wait())

    controller.fail["reset"] = wait
    process = await start("eval-run", environ=registered)
    assert process.stdin is not None
    process.stdin.write(spelled(request_json("L3")))
    process.stdin.close()
    for event in reached:
        await asyncio.wait_for(event.wait(), 20)
        process.send_signal(signal.SIGTERM)
    # Long enough for the signal to arrive before the answer does.
    await asyncio.sleep(0.2)
    told.set()
    await asyncio.wait_for(process.communicate(), 20)
    assert process.returncode == 143
    assert controller.steps == ["reset", "reset", "release"]


@pytest.mark.parametrize("command", ["eval-run", "preflight", "score"])
def test_a_closed_standard_input_holds_no_request(command: str) -> None:
    ended = subprocess.run(
        ["sh", "-c", f"{sys.executable} -m agentbeat_core {command} <&-"], capture_output=True, timeout=60
    )
    assert ended.returncode == 2
    assert json.loads(ended.stdout)["error"]["code"] == "invalid_json"
    assert b"Traceback" not in ended.stderr


@pytest.mark.parametrize("output", [">/dev/full", ">&-"], ids=["full", "closed"])
def test_a_result_that_cannot_be_written_is_said_and_exit_4(output: str) -> None:
    ended = subprocess.run(
        ["sh", "-c", f"{sys.executable} -m agentbeat_core eval-run {output}"],
        input=spelled(request_json()),
        capture_output=True,
        timeout=60,
    )
    assert ended.returncode == 4
    assert ended.stderr.startswith(b"the result cannot be written to standard output: ")
    assert b"Traceback" not in ended.stderr
    assert b"Exception ignored" not in ended.stderr


HAND_WRITTEN = """
import json
from http.server import BaseHTTPRequestHandler, HTTPServer


class Agent(BaseHTTPRequestHandler):
    def do_POST(self):
        task = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        answer = {
            "schema_version": "target-invocation-v1",
            "run_id": task["run_id"],
            "case_id": task["case_id"],
            "status": "completed",
            "final_response": "Order 7 is refunded: " + task["input"]["text"],
        }
        body = json.dumps(answer).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        pass


server = HTTPServer(("127.0.0.1", 0), Agent)
print(server.server_port, flush=True)
server.serve_forever()
"""


async def test_a_hand_written_target_of_thirty_lines_evaluates_at_l1(tmp_path: Path) -> None:
    """The standard library's `http.server`, no secret, no look at the correlation headers."""
    assert HAND_WRITTEN.strip().count("\n") < 30
    program = tmp_path / "agent.py"
    program.write_text(HAND_WRITTEN)
    anonymous = {"target_profile__auth_secret_ref": ...}
    registry = tmp_path / "registry.json"
    registry.write_text(json.dumps(registry_json(auth=..., state_controller=..., **anonymous)))
    agent = await asyncio.create_subprocess_exec(sys.executable, str(program), stdout=asyncio.subprocess.PIPE)
    assert agent.stdout is not None
    try:
        port = int(await asyncio.wait_for(agent.stdout.readline(), 20))
        ended = await agentbeat(
            "eval-run",
            f"--registry={registry}",
            "--fail-on=utility,security,asr,overall",
            stdin=spelled(request_json("L1", **anonymous)),
            environ={"DESK_URL": f"http://127.0.0.1:{port}"},
        )
    finally:
        agent.kill()
        await agent.communicate()
    assert ended.code == 0, ended.err
    result = ended.json()
    assert result["evaluation"]["evidence"]["status"] == "complete"
    assert result["evaluation"]["negotiation"]["observed_tier"] == "L1"
    assert result["evaluation"]["metrics"]["utility"]["verdict"] == "pass"


# --- preflight ------------------------------------------------------------------------------------------


def preflight_json(**changes: Any) -> Object:
    value = request_json("L2", **changes) | {"schema_version": "agent-preflight-v1"}
    del value["run_id"]
    return value


async def test_preflight_accepts_and_calls_nobody(registered: dict[str, str], target: FakeTarget) -> None:
    ended = await agentbeat("preflight", stdin=spelled(preflight_json()), environ=registered)
    assert ended.code == 0
    assert (ended.json()["accepted"], ended.json()["negotiation"]["requested_tier"]) == (True, "L2")
    assert target.connections == 0


async def test_preflight_refuses_with_exit_2(registered: dict[str, str]) -> None:
    ended = await agentbeat(
        "preflight", stdin=spelled(preflight_json(deployment_profile_id="x")), environ=registered
    )
    assert (ended.code, ended.json()["accepted"]) == (2, False)
    assert ended.json()["failure"]["code"] == "deployment_unknown"
    assert "deployment_unknown" in ended.err


async def test_preflight_without_a_registry_is_refused_too() -> None:
    ended = await agentbeat("preflight", stdin=spelled(preflight_json()))
    assert (ended.code, ended.json()["failure"]["code"]) == (2, "registry_not_configured")


# --- score ----------------------------------------------------------------------------------------------


def score_json(tier: str = "L1", **changes: Any) -> Object:
    request = request_json(tier)
    return {
        "schema_version": "agent-score-v1",
        "run_id": RUN_ID,
        "case": case(tier),
        "observation_tier": tier,
        "scoring_profile": request["scoring_profile"],
        "final_response": "Order 7 is refunded.",
    } | changes


async def test_score_needs_no_registry_and_no_agent() -> None:
    ended = await agentbeat("score", stdin=spelled(score_json()))
    assert ended.code == 0
    result = ended.json()
    assert result["schema_version"] == "agent-score-response-v1"
    assert result["evaluation"]["metrics"]["utility"]["verdict"] == "pass"
    assert result["evaluation"]["metrics"]["official_benchmark"] is False


async def test_score_fails_on_what_it_is_told_to() -> None:
    stdin = spelled(score_json(final_response="Sorry."))
    assert (await agentbeat("score", "--fail-on=utility", stdin=stdin)).code == 1
    assert (await agentbeat("score", "--fail-on=security", stdin=stdin)).code == 0


@pytest.mark.parametrize(
    ("value", "code"),
    [
        (score_json(case=case("L2")), "case_tier_mismatch"),
        (deep(score_json(), {"scoring_profile.llm_judge_weight": 0.5}), "weights_unsound"),
        (score_json("L3", state={"verify": {}}), "invalid_request_schema"),
        (score_json(more=1), "invalid_request_schema"),
    ],
    ids=["tiers", "weights", "state", "unknown-member"],
)
async def test_what_cannot_be_scored_is_exit_2(value: Object, code: str) -> None:
    ended = await agentbeat("score", stdin=spelled(value))
    assert (ended.code, ended.json()["error"]["code"]) == (2, code)
    assert ended.err


# --- schema, help and faults ----------------------------------------------------------------------------


async def test_schema_prints_the_shipped_schema() -> None:
    ended = await agentbeat("schema", "target-evidence-v1")
    assert (ended.code, ended.out.decode(), ended.err) == (0, schema_text("target-evidence-v1"), "")


async def test_schema_lists_the_names() -> None:
    ended = await agentbeat("schema")
    assert ended.out.decode().split() == sorted([*schema_names(), "eval-batch-plan-v1"])


async def test_a_schema_that_is_not_there_is_exit_2_with_a_hint() -> None:
    ended = await agentbeat("schema", "target-evidence")
    assert (ended.code, ended.out) == (2, b"")
    assert "did you mean target-evidence-v1?" in ended.err


async def test_help_names_every_command_and_the_environment() -> None:
    ended = await agentbeat("--help")
    assert ended.code == 0
    for word in ("eval-run", "preflight", "score", "schema", "judge", "AIBEAT_AGENT_TARGET_REGISTRY"):
        assert word in ended.out.decode()


@pytest.mark.parametrize("command", ["eval-run", "preflight", "score", "schema", "judge"])
async def test_each_command_explains_itself(command: str) -> None:
    ended = await agentbeat(command, "--help")
    assert ended.code == 0
    assert ended.out.decode().startswith(f"usage: agentbeat {command}")


async def test_the_version_is_the_distributions() -> None:
    assert (await agentbeat("--version")).out.decode() == f"agentbeat {version('agentbeat-kit')}\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["evalrun"], "did you mean eval-run?"),
        (["nonsense"], "the commands are"),
        (["eval-run", "--fail-on=speed"], "expected some of utility, security, asr, overall"),
        (["eval-run", "extra"], "unrecognized arguments"),
        (["judge"], "required: COMMAND"),
        (["judge", "serve", "--port=99999"], "expected a port"),
    ],
    ids=["near-miss", "unknown", "dimension", "argument", "sub-command", "port"],
)
async def test_a_wrong_command_line_is_exit_2_with_a_message(arguments: list[str], message: str) -> None:
    ended = await agentbeat(*arguments)
    assert (ended.code, ended.out) == (2, b"")
    assert message in ended.err


async def test_the_judges_port_that_is_taken_is_named() -> None:
    async with FakeJudge() as other:
        ended = await agentbeat("judge", "serve", f"--port={other.port}")
    assert ended.code == 2
    assert f"port {other.port}" in ended.err


async def test_the_judges_key_variable_must_be_set() -> None:
    ended = await agentbeat("judge", "serve", "--api-key-env=NO_SUCH_VARIABLE")
    assert (ended.code, "NO_SUCH_VARIABLE is not set" in ended.err) == (2, True)


def _entry(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, source: str) -> None:
    """One command `probe`, whose module is `source`."""
    (tmp_path / "probe_command.py").write_text(source)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "probe_command", raising=False)
    entry = EntryPoint("probe", "probe_command", cli.GROUP)
    monkeypatch.setattr(cli, "entry_points", lambda group: [entry])


PROBE = """
HELP = "probe"
EXTRA = "controller"
def configure(parser): pass
def run(args): {run}
"""


def test_a_missing_extra_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _entry(monkeypatch, tmp_path, PROBE.format(run="import no_such_module_at_all"))
    assert cli.main(["probe"]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err == (
        'agentbeat probe needs the extra "controller" (there is no module no_such_module_at_all): '
        "pip install 'agentbeat-kit[controller]'\n"
    )


def test_a_room_that_is_not_installed_is_no_matter_of_an_extra(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _entry(monkeypatch, tmp_path, "import agentbeat_no_such_room\n")
    assert cli.main(["probe"]) == 2
    assert "agentbeat_no_such_room is not part of this installation" in capsys.readouterr().err
    assert cli.main(["--help"]) == 0
    assert "(not installed: no module agentbeat_no_such_room)" in capsys.readouterr().out


def test_a_fault_of_the_kit_is_exit_4(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _entry(monkeypatch, tmp_path, PROBE.format(run="return 1 / 0"))
    assert cli.main(["probe"]) == 4
    assert "ZeroDivisionError" in capsys.readouterr().err


def test_an_interrupted_command_is_exit_130(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    _entry(monkeypatch, tmp_path, PROBE.format(run="raise KeyboardInterrupt"))
    assert cli.main(["probe"]) == 130


def test_a_command_loads_no_other_room_and_nothing_heavy(tmp_path: Path) -> None:
    """`agentbeat schema` works with the base install alone."""
    probe = (
        "import sys; from agentbeat_core.cli import main; main(['schema']); main(['--help']);"
        "heavy = {'httpx', 'cryptography', 'sqlalchemy', 'rich'} & set(sys.modules); sys.exit(bool(heavy))"
    )
    ended = subprocess.run([sys.executable, "-c", probe], capture_output=True, cwd=tmp_path, check=False)
    assert ended.returncode == 0, ended.stderr


def test_a_reader_that_leaves_early_is_no_fault(tmp_path: Path) -> None:
    command = f"{sys.executable} -m agentbeat_core schema eval-run-response-v1 | head -c 10"
    ended = subprocess.run(command, shell=True, capture_output=True, cwd=tmp_path, check=False)
    assert len(ended.stdout) == 10
    assert b"Traceback" not in ended.stderr


def test_every_public_name_of_core_can_be_had() -> None:
    import agentbeat_core

    for name in agentbeat_core.__all__:
        assert getattr(agentbeat_core, name) is not None
    assert set(agentbeat_core.__all__) <= set(dir(agentbeat_core))
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        agentbeat_core.Nothing  # noqa: B018


@pytest.mark.parametrize("codes", ["REFUSALS", "FAILURES", "RECEIPT_CODES"])
def test_the_documentation_names_every_code(codes: str) -> None:
    import agentbeat_core

    text = (Path(__file__).parents[2] / "docs" / "core.md").read_text(encoding="utf-8")
    assert [code for code in getattr(agentbeat_core, codes) if f"`{code}`" not in text] == []
