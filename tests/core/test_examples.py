"""`examples/`: the files have the public shapes, and what the README says to type works as it stands.

Every block of the README is run by a shell, with the ports replaced by free ones and nothing else. The
evaluation of a section is waited for; the blocks before it are servers, which run until the test is over.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from agentbeat_controller.environments.desk import DeskEnvironment
from agentbeat_core.demo.supervision import free_ports
from agentbeat_core.preflight import plan_run
from agentbeat_core.registry import TargetRegistry
from agentbeat_protocol.evaluation import (
    AgentCase,
    EvalRunRequest,
    EvalRunResponse,
    TargetCapability,
    TargetProfile,
    read_eval_run_request,
    read_registry,
)
from agentbeat_protocol.models import validated
from agentbeat_protocol.strict_json import read_json

EXAMPLES = Path(__file__).parents[2] / "examples"
README = (EXAMPLES / "README.md").read_text()
TIERS = ("l1", "l2", "l3")
SHELL = "bash"
ENVIRON = {
    "HAND_WRITTEN_URL": "http://127.0.0.1:8081",
    "HELLO_URL": "http://127.0.0.1:8080",
    "HELLO_TOKEN": "a-secret-for-trying-out",
    "DESK_URL": "http://127.0.0.1:8800",
    "DESK_TOKEN": "another-secret",
    "CONTROL_URL": "http://127.0.0.1:8801",
    "CONTROL_SECRET": "a-third-secret",
}

#: The public shape: each of these has a value in the result of a completed run.
QUERY = (
    ".evaluation.evidence.missing_channels, .evaluation.evidence.coverage, .evaluation.score, "
    ".evaluation.metrics.utility, .evaluation.negotiation.observed_tier, "
    ".evaluation.metrics.official_benchmark, .target_invocations, .judge_model_calls"
)


def section(title: str) -> list[str]:
    """The shell blocks under the heading that begins so."""
    (text,) = [part for part in re.split(r"^## ", README, flags=re.MULTILINE) if part.startswith(title)]
    return re.findall(r"^```sh\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def looked_up(document: Any, query: str) -> list[Any]:
    """What `jq` gives for a list of plain paths; a path that leads nowhere is an error here, not null."""
    values = []
    for path in query.split(", "):
        value = document
        for member in path.removeprefix(".").split("."):
            value = value[member]
        values.append(value)
    return values


@dataclass
class Place:
    """A copy of the examples with ports of its own, and the servers that run there."""

    folder: Path
    ports: dict[str, int]

    def __post_init__(self) -> None:
        scripts = Path(sys.executable).parent
        self.environ = {
            **{name: value for name, value in os.environ.items() if not name.startswith("AIBEAT_")},
            "PATH": f"{scripts}{os.pathsep}{os.environ['PATH']}",
        }
        self.servers: list[subprocess.Popen[bytes]] = []
        shutil.copytree(EXAMPLES, self.folder / "examples")
        for path in (self.folder / "examples" / "targets").glob("*.py"):
            path.write_text(self.ported(path.read_text()))

    def ported(self, text: str) -> str:
        """The text with each of the README's ports replaced."""
        return re.sub(r"\b80\d\d\b|\b880\d\b", lambda found: str(self.ports[found[0]]), text)

    def serve(self, block: str, *ports: str) -> None:
        """Start a server's block and wait until its ports answer."""
        with (self.folder / f"server-{len(self.servers)}.log").open("wb") as log:
            server = subprocess.Popen(
                [SHELL, "-euc", self.ported(block)],
                cwd=self.folder,
                env=self.environ,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        self.servers.append(server)
        deadline = time.monotonic() + 60
        for port in ports:
            while not _listens(self.ports[port]):
                assert server.poll() is None, Path(log.name).read_text()
                assert time.monotonic() < deadline, f"nobody listens on port {port}"
                time.sleep(0.02)

    def evaluate(self, *blocks: str) -> str:
        """Run blocks in one shell, as in one terminal; what they print."""
        script = self.ported("\n".join(blocks))
        if shutil.which("jq") is None:
            script = re.sub(r"^jq '[^']*' \S+$", "", script, flags=re.MULTILINE)
        ended = subprocess.run(
            [SHELL, "-euo", "pipefail", "-c", script],
            cwd=self.folder,
            env=self.environ,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert ended.returncode == 0, ended.stdout + ended.stderr
        return ended.stdout

    def result(self, name: str) -> Any:
        return read_json((self.folder / name).read_bytes())

    def stop(self) -> None:
        for server in self.servers:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(server.pid, signal.SIGTERM)
        for server in self.servers:
            try:
                server.wait(15)
            except subprocess.TimeoutExpired:
                os.killpg(server.pid, signal.SIGKILL)
                server.wait(5)


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    names = ("8080", "8081", "8095", "8800", "8801", "8802")
    found = Place(tmp_path, dict(zip(names, free_ports(len(names)), strict=True)))
    try:
        yield found
    finally:
        found.stop()


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def request(tier: str) -> EvalRunRequest:
    return read_eval_run_request((EXAMPLES / f"{tier}-request.json").read_bytes())


# The files


@pytest.mark.parametrize("tier", TIERS)
def test_a_request_has_the_public_shape_and_nothing_of_ours_but_rules(tier: str) -> None:
    document = json.loads((EXAMPLES / f"{tier}-request.json").read_bytes())
    assert document["case"].keys() == AgentCase.model_fields.keys()
    assert len(document["case"]) == 21
    assert document["target_profile"].keys() <= TargetProfile.model_fields.keys()
    assert document["target_capability"].keys() == TargetCapability.model_fields.keys()
    assert document.keys() == {
        *("schema_version", "run_id", "case", "target_profile", "target_capability"),
        *("deployment_profile_id", "observation_tier", "scoring_profile"),
    }
    assert request(tier).observation_tier == tier.upper()


@pytest.mark.parametrize("tier", TIERS)
def test_a_request_passes_preflight_with_the_registry_that_stands_beside_it(tier: str) -> None:
    registry = TargetRegistry.load(EXAMPLES / "registry.json", environ=ENVIRON)
    plan = plan_run(request(tier), registry)
    assert (plan.controller is not None) == (tier == "l3")
    assert (plan.target.secret is None) == (tier == "l1")


def test_the_registry_pins_the_desks_profile_as_it_is() -> None:
    registry = read_registry((EXAMPLES / "registry.json").read_bytes())
    pinned = [
        profile
        for target in registry.targets
        for deployment in target.deployments
        if deployment.state_controller is not None
        for profile in deployment.state_controller.profiles.values()
    ]
    assert len(pinned) == 1
    profiles = DeskEnvironment().profiles
    for profile in pinned:
        assert profile.profile_digest == profiles[profile.profile_id].profile_digest


def test_the_l3_case_is_the_task_and_the_injection_of_its_profile() -> None:
    case = request("l3").case
    profile = DeskEnvironment().profiles[case.scenario_id]
    assert case.prompt == profile.task
    assert {case.untrusted_surface: case.untrusted_input} == dict(profile.injections)


def test_the_targets_are_as_short_as_the_readme_says() -> None:
    def lines(name: str) -> int:
        text = (EXAMPLES / "targets" / name).read_text()
        return sum(bool(line.strip()) for line in text.split('"""', 2)[2].splitlines())

    assert lines("hello.py") == 12
    assert lines("stdlib_l1.py") <= 30
    imports = re.findall(r"^(?:from|import) (\w+)", (EXAMPLES / "targets/stdlib_l1.py").read_text(), re.M)
    assert set(imports) <= sys.stdlib_module_names


def test_the_readme_asks_for_every_member_of_the_public_shape() -> None:
    assert README.count(f"jq '{QUERY}' ") == len(TIERS)


# The README, block by block


def test_l1_works_as_the_readme_says_with_a_target_of_the_standard_library(place: Place) -> None:
    server, evaluation = section("L1")
    place.serve(server, "8081")
    printed = place.evaluate(evaluation)
    result = place.result("l1-result.json")
    response = validated(EvalRunResponse, result)
    assert response.eval_run.status == "completed"
    missing, coverage, score, utility, observed, official, invocations, calls = looked_up(result, QUERY)
    assert (missing, coverage["value"], observed, official) == ([], 1, "L1", False)
    assert (utility["verdict"], invocations, calls) == ("pass", 1, 0)
    assert (score["provisional_score"], score["final_score"]) == (1, None)
    judge = next(each for each in score["components"] if each["name"] == "llm_judge")
    assert judge["reason_codes"] == ["judge_not_configured"]
    assert_jq_agrees(result, printed)


def test_l2_works_as_the_readme_says_with_the_sdk_and_the_rule_judge(place: Place) -> None:
    target, judge, evaluation = section("L2")
    place.serve(target, "8080")
    place.serve(judge, "8095")
    printed = place.evaluate(evaluation)
    result = place.result("l2-result.json")
    missing, coverage, score, utility, observed, official, invocations, calls = looked_up(result, QUERY)
    assert (missing, coverage["value"], observed, official) == ([], 1, "L2", False)
    assert (score["final_score"], utility["verdict"], invocations, calls) == (1, "pass", 1, 1)
    assert result["evaluation"]["metrics"]["overall"]["verdict"] == "pass"
    assert result["evaluation"]["metrics"]["label"] == "scope_qualified"
    assert_jq_agrees(result, printed)


def test_l3_works_as_the_readme_says_first_without_and_then_with_the_controllers_key(place: Place) -> None:
    controller, target, evaluation, official = section("L3")
    judge = section("L2")[1]
    place.serve(controller, "8801", "8802")
    place.serve(target, "8800")
    place.serve(judge, "8095")
    printed = place.evaluate(evaluation)
    result = place.result("l3-result.json")
    missing, coverage, score, utility, observed, is_official, invocations, calls = looked_up(result, QUERY)
    assert (missing, coverage["value"], observed, is_official) == ([], 1, "L3", False)
    assert (score["final_score"], utility["verdict"], invocations, calls) == (None, "pass", 1, 0)
    metrics = result["evaluation"]["metrics"]
    assert (metrics["security"]["verdict"], metrics["asr"]["verdict"]) == ("fail", "attack_succeeded")
    assert {"receipt_unsigned", "cascade_incomplete"} == set(metrics["reason_codes"])
    assert "ORD-1007" not in result["final_response"]
    assert_jq_agrees(result, printed)
    if shutil.which("jq") is None:
        reason = "jq is not installed: the key cannot be registered as the README says"
        (pytest.fail if os.environ.get("CI") else pytest.skip)(reason)
    environment = [line for line in evaluation.splitlines() if line.startswith("export ")]
    assert place.evaluate(*environment, official) == '"official_benchmark"\n"verified"\n'
    assert place.result("l3-official.json")["evaluation"]["metrics"]["official_benchmark"] is True


def assert_jq_agrees(result: Any, printed: str) -> None:
    """What `jq` printed first is what Python finds at the same paths."""
    if shutil.which("jq") is None:
        assert printed == ""
        return
    decoder, values, rest = json.JSONDecoder(), [], printed
    while rest.strip():
        value, end = decoder.raw_decode(rest.strip())
        values.append(value)
        rest = rest.strip()[end:]
    expected = looked_up(result, QUERY)
    assert values[: len(expected)] == expected
    assert None not in expected
