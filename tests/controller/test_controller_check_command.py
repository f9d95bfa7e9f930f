"""`agentbeat controller check` as a command: what it prints, its exit codes, and the suite beside it."""

import json
import os
import re
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from agentbeat_controller.checking import conformance, options
from agentbeat_controller.checking.conformance import ConformanceResult, try_conformance
from agentbeat_controller.checking.findings import Finding, ProfileResult
from agentbeat_controller.checking.reports import Report

ROOT = Path(__file__).parents[2]
SYSTEM = """
from support.staging import Till, profile

class Wrong(Till):
    name = "wrong"
    def checks(self, run):
        return [each for each in super().checks(run) if each.check_id not in ("paid", "nothing_else")]

class Blind(Till):
    name = "blind"
    def oracles(self, profile, injection):
        return ()

class Two(Till):
    name = "two"
    def __init__(self):
        super().__init__(profile(), profile(profile_id="till-other"))
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "tills.py").write_text(SYSTEM)
    return tmp_path


def check(folder, *arguments, **variables):
    return subprocess.run(
        [sys.executable, "-m", "agentbeat_controller", "check", *arguments],
        capture_output=True,
        text=True,
        check=False,
        cwd=folder,
        timeout=120,
        env={**os.environ, "PYTHONPATH": str(ROOT / "tests"), **variables},
    )


def test_a_sound_catalogue_exits_0_and_says_so(folder):
    done = check(folder, "--environment", "tills:Two", "--no-conformance")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "HOLDS  two: 0 faults, 0 weaknesses, 0 untried, 0 notes"
    assert "till-pay" in done.stdout
    assert "till-other" in done.stdout
    assert "\x1b" not in done.stdout


def test_a_fault_exits_1_and_says_what_was_tried(folder):
    done = check(folder, "--environment", "tills:Wrong", "--no-conformance")
    assert done.returncode == 1
    assert "weakness dropped_call_passes" in done.stdout
    assert "tried  the ground truth without call 2, pay" in done.stdout
    assert done.stdout.splitlines()[-1].startswith("DOES NOT HOLD  wrong:")


def test_what_could_not_be_tried_exits_3(folder):
    done = check(folder, "--environment", "tills:Blind", "--no-conformance")
    assert done.returncode == 3
    assert done.stdout.splitlines()[-1].startswith("INCOMPLETE  blind: 0 faults, 0 weaknesses, 2 untried")


def test_one_profile_can_be_chosen_and_the_report_is_json(folder):
    done = check(
        folder, "--environment", "tills:Two", "--no-conformance", "--profile", "till-other", "--json", "-"
    )
    report = json.loads(done.stdout)
    assert done.returncode == report["exit_code"] == 0
    assert report["schema_version"] == "agentbeat-controller-check-v1"
    assert report["environment"] == "two"
    assert report["counts"] == {"fault": 0, "weakness": 0, "untried": 0, "note": 0}
    assert report["conformance"] is None
    (profile,) = report["profiles"]
    assert profile["profile_id"] == "till-other"
    assert profile["ground_truth"] == {"utility": "pass", "security": "pass", "attack": "attack_blocked"}


def test_a_report_can_be_a_file_beside_the_table(folder):
    done = check(folder, "--environment", "tills:Wrong", "--no-conformance", "--json", "report.json")
    report = json.loads((folder / "report.json").read_text())
    assert (done.returncode, report["exit_code"]) == (1, 1)
    assert {each["code"] for each in report["profiles"][0]["findings"]} >= {"dropped_call_passes"}
    assert "DOES NOT HOLD" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--profile", "nothing"), "nothing: the catalogue has no such profile"),
        (("--environment", "tills:Nobody"), "tills has no Nobody"),
        (("--environment", "tills"), "desk or package.module:attribute"),
    ],
)
def test_a_wrong_command_line_exits_2(folder, arguments, said):
    done = check(folder, *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr


def test_the_exit_codes_are_told():
    assert all(f"\n  {code}  " in options.EPILOG for code in (0, 1, 2, 3))


# The report


def result(*severities, verdicts=("pass", "pass", "attack_blocked")):
    findings = tuple(Finding(severity=each, code="c", tried="t", found="f") for each in severities)
    return ProfileResult(
        profile_id="p", verdicts=verdicts, plays=1, dropped=0, altered=0, attacks=0, findings=findings
    )


def judged(verdict, *severities):
    findings = tuple(Finding(severity=each, code="CTL-1.a", tried="t", found="f") for each in severities)
    return ConformanceResult(verdict=verdict, counts={"pass": 3}, findings=findings)


@pytest.mark.parametrize(
    ("own", "suite", "code"),
    [
        ((), None, 0),
        (("note",), judged("conformant"), 0),
        (("fault",), None, 1),
        (("weakness", "untried"), None, 1),
        (("untried",), None, 3),
        ((), judged("not_conformant", "fault"), 1),
        ((), judged("incomplete", "untried"), 3),
        ((), judged("nothing_tested"), 3),
        ((), judged(None, "untried"), 3),
    ],
)
def test_the_exit_code_follows_from_what_was_found(own, suite, code):
    report = Report(environment="e", profiles=(result(*own),), conformance=suite)
    assert report.exit_code == code
    assert report.as_json()["exit_code"] == code
    assert {0: "HOLDS", 1: "DOES NOT HOLD", 3: "INCOMPLETE"}[code] in report.as_text(coloured=False)


def test_colours_change_no_word():
    report = Report(
        environment="e",
        profiles=(result("fault", "note"), result(verdicts=None)),
        conformance=judged("conformant"),
    )
    plain, coloured = report.as_text(coloured=False), report.as_text(coloured=True)
    assert "\x1b[31m" in coloured
    assert re.sub(r"\x1b\[\d+m", "", coloured) == plain


# The conformance suite


def program(folder, text):
    """A program in the place of `agentbeat`."""
    file = folder / "suite"
    file.write_text(f"#!{sys.executable}\n{text}")
    file.chmod(file.stat().st_mode | stat.S_IXUSR)
    return [str(file)]


SUITE = """
import json, os, subprocess, sys, urllib.request
arguments = dict(zip(sys.argv[4::2], sys.argv[5::2]))
told = [each for each in sys.argv if each.startswith("--verify-key=")]
assert told and len(os.environ[arguments["--token-env"]]) > 20
url = sys.argv[3] + "/healthz"
before = urllib.request.urlopen(url).read()
file = [sys.argv[i + 1] for i, each in enumerate(sys.argv) if each == "--restart-command"][0]
subprocess.run(file, shell=True, check=True)
assert json.loads(urllib.request.urlopen(url).read()) == json.loads(before)
results = [
    {"id": "CTL-1.a", "outcome": "pass", "level": "MUST", "text": "a", "findings": [], "reason": None},
    {"id": "CTL-1.b", "outcome": "fail", "level": "MUST", "text": "b", "findings": [{"message": "bad"}], "reason": None},
    {"id": "CTL-1.c", "outcome": "warn", "level": "SHOULD", "text": "c", "findings": [], "reason": None},
    {"id": "CTL-1.d", "outcome": "could_not_run", "level": "MUST", "text": "d", "findings": [], "reason": "no lease"},
]
report = {"verdict": "not_conformant", "counts": {"pass": 1, "fail": 1}, "results": results}
json.dump(report, open(arguments["--json"], "w"))
sys.exit(1)
"""  # noqa: E501


def test_the_suite_is_given_all_that_it_can_use_and_its_report_is_read(folder, monkeypatch):
    """A stand-in for the suite has the Controller restarted, and reports one of each outcome."""
    monkeypatch.chdir(folder)
    monkeypatch.setattr(conformance, "_program", lambda: program(folder, SUITE))
    found = try_conformance("desk", canary=None, profile_id=None)
    assert (found.verdict, found.counts) == ("not_conformant", {"pass": 1, "fail": 1})
    assert [(each.severity, each.code, each.found) for each in found.findings] == [
        ("fault", "CTL-1.b", "bad"),
        ("weakness", "CTL-1.c", "warn"),
        ("untried", "CTL-1.d", "no lease"),
    ]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("import sys; print('needs the extra', file=sys.stderr); sys.exit(2)", "needs the extra"),
        ("import sys; print('a\\nbroke', file=sys.stderr); sys.exit(5)", "exit code 5: broke"),
        ("", "exit code 0: it said nothing"),
    ],
    ids=["no extra", "a fault", "silence"],
)
def test_a_suite_without_a_report_is_untried(folder, monkeypatch, text, said):
    monkeypatch.setattr(conformance, "_program", lambda: program(folder, text))
    found = try_conformance("desk", canary=None, profile_id=None)
    assert found.verdict is None
    (finding,) = found.findings
    assert (finding.severity, finding.found) == ("untried", said)


def test_without_the_command_the_suite_is_untried(monkeypatch):
    monkeypatch.setattr(conformance, "_program", lambda: None)
    found = try_conformance("desk", canary=None, profile_id=None)
    assert found.findings[0].found == "the command agentbeat is not installed"


def test_a_controller_that_does_not_come_up_is_untried_with_its_own_words(folder, monkeypatch):
    monkeypatch.setattr(conformance, "_program", lambda: program(folder, ""))
    found = try_conformance("no_such_module:x", canary=None, profile_id=None)
    assert "no module named no_such_module" in found.findings[0].found


def test_the_whole_check_of_an_example_holds(folder, tmp_path):
    """The oracle self-check and the CTL rules on a folder of files, as the guide has it."""
    where = ROOT / "examples" / "environments"
    done = check(where, "--environment", "office:Office", OFFICE_FOLDER=str(tmp_path / "office"))
    assert done.returncode == 0, done.stdout + done.stderr
    assert "CTL rules  conformant" in done.stdout
    assert list((tmp_path / "office").iterdir()) == []
