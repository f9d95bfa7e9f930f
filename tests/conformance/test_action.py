"""The GitHub Action: its description holds together, and its script does what it says."""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from agentbeat_conformance import command
from agentbeat_conformance.mutants.base_target import SECRET, TASKS, BaseTarget
from support.threads import served

FOLDER = Path(__file__).parents[2] / "conformance"
ACTION = yaml.safe_load((FOLDER / "action.yml").read_text(encoding="utf-8"))
SCRIPT = (FOLDER / "action.sh").read_text(encoding="utf-8")
STEPS = ACTION["runs"]["steps"]
REPORTS = {
    "json": "report.json",
    "junit": "report.xml",
    "html": "report.html",
    "transcript": "transcript.jsonl",
    "badge": "badge.json",
}


# --- Its description


def test_it_is_a_composite_action_with_a_shell_for_each_step():
    assert ACTION["name"]
    assert ACTION["description"]
    assert ACTION["runs"]["using"] == "composite"
    assert all(step["shell"] == "bash" and step["name"] for step in STEPS)
    assert not [step for step in STEPS if "uses" in step], "it depends on nobody else's action"


def test_every_input_is_described_and_used_and_no_other_is():
    assert all(entry["description"] for entry in ACTION["inputs"].values())
    assert [name for name, entry in ACTION["inputs"].items() if entry.get("required")] == ["url"]
    assert all("default" in entry for name, entry in ACTION["inputs"].items() if name != "url")
    used = {
        name
        for step in STEPS
        for value in step["env"].values()
        for name in re.findall(r"inputs\.([\w-]+)", value)
    }
    assert used == set(ACTION["inputs"])


def test_no_input_is_pasted_into_a_script():
    for step in STEPS:
        assert "${{" not in step["run"]


def test_every_output_comes_from_a_step_that_there_is():
    ids = {step["id"] for step in STEPS}
    for name, output in ACTION["outputs"].items():
        assert output["description"]
        found = re.fullmatch(r"\$\{\{ steps\.(\w+)\.outputs\.([\w-]+) \}\}", output["value"])
        assert found[1] in ids
        assert found[2] == name


def test_every_variable_of_the_script_is_given_by_its_step_and_the_other_way_round():
    (judge,) = [step for step in STEPS if step["id"] == "judge"]
    assert set(re.findall(r"\bSUITE_[A-Z_]+", SCRIPT)) == set(judge["env"])


def test_every_option_of_the_script_is_one_of_the_command():
    parser = argparse.ArgumentParser()
    command.configure(parser)
    (commands,) = [action for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
    known = {
        option
        for name in ("target", "controller")
        for option in commands.choices[name]._option_string_actions
    }
    assert set(re.findall(r"option (--[a-z-]+)", SCRIPT)) | {f"--{kind}" for kind in REPORTS} <= known


# --- Its script


@pytest.fixture
def step(tmp_path):
    """Runs the script as the step does, in a folder of its own."""

    def run(**inputs):
        given = {name: entry.get("default", "") for name, entry in ACTION["inputs"].items()}
        given |= {name.replace("_", "-"): value for name, value in inputs.items()}
        del given["python"]
        environment = {f"SUITE_{name.upper().replace('-', '_')}": value for name, value in given.items()}
        done = subprocess.run(
            ["bash", str(FOLDER / "action.sh")],
            cwd=tmp_path,
            env={
                "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
                "GITHUB_OUTPUT": str(tmp_path / "outputs"),
                "GITHUB_STEP_SUMMARY": str(tmp_path / "summary"),
                **environment,
            },
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        lines = (tmp_path / "outputs").read_text().splitlines() if (tmp_path / "outputs").exists() else []
        return done, dict(line.split("=", 1) for line in lines)

    return run


def test_a_conformant_target_is_green_with_all_reports(step, tmp_path):
    with served(BaseTarget().stream) as url:
        done, outputs = step(url=url, tier="L2", token=SECRET, tasks="\r\n".join([TASKS[0], "", TASKS[1]]))
    assert done.returncode == 0, done.stderr
    assert outputs == {
        "verdict": "conformant",
        "exit-code": "0",
        **{kind: f"agentbeat-conformance/{name}" for kind, name in REPORTS.items()},
    }
    report = json.loads((tmp_path / outputs["json"]).read_text())
    assert report["endpoint"] == {"url": url, "tier": "target-L2"}
    assert all((tmp_path / outputs[kind]).stat().st_size for kind in REPORTS)
    assert (tmp_path / "summary").read_text().startswith("### AgentBeat conformance: conformant\n")
    everything = (
        done.stdout + done.stderr + "".join((tmp_path / outputs[kind]).read_text() for kind in REPORTS)
    )
    assert SECRET not in everything


class ServesAnybody(BaseTarget):
    """Breaks a MUST."""

    def authorise(self, asked):
        pass


def test_a_target_that_is_not_conformant_fails_the_step_and_still_has_its_outputs(step):
    with served(ServesAnybody().stream) as url:
        done, outputs = step(url=url, token=SECRET, only="INV-2.a")
    assert done.returncode == 1
    assert outputs["verdict"] == "not_conformant"
    assert outputs["exit-code"] == "1"
    assert "INV-2.a FAIL" in done.stdout


def test_an_incomplete_run_fails_unless_it_may_be_incomplete(step):
    with served(BaseTarget().stream) as url:
        done, outputs = step(url=url, token=SECRET, only="HLT")
        assert (done.returncode, outputs["verdict"]) == (3, "incomplete")
        done, outputs = step(url=url, token=SECRET, only="HLT", allow_incomplete="true")
    assert (done.returncode, outputs["exit-code"]) == (0, "3")


def test_a_wrong_input_leaves_no_verdict_of_an_earlier_run(step, tmp_path):
    folder = tmp_path / "agentbeat-conformance"
    folder.mkdir()
    (folder / "report.json").write_text('{"verdict": "conformant"}')
    done, outputs = step(url="http://127.0.0.1:9", only="INV-99")
    assert done.returncode == 2
    assert outputs == {"verdict": "", "exit-code": "2"}


def test_another_kind_is_refused(step):
    done, outputs = step(url="http://127.0.0.1:9", kind="--help")
    assert done.returncode == 2
    assert "expected target or controller" in done.stdout
    assert outputs == {}


def test_what_looks_like_shell_is_text(step, tmp_path):
    done, _ = step(url="http://127.0.0.1:9", only='$(touch bad);"`touch bad`')
    assert done.returncode == 2
    assert not (tmp_path / "bad").exists()
