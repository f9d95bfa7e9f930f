"""`agentbeat controller check` as a command: what it prints, its exit codes, and the suite beside it."""

import json
import os
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from agentbeat_controller.checking import conformance, options
from agentbeat_controller.checking.conformance import try_conformance

ROOT = Path(__file__).parents[2]
SYSTEM = """
import time
from pathlib import Path

from agentbeat_controller.environments.base import KnownWeakness
from agentbeat_controller.environments.custom import Added, Changed, done, nothing_else
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

class Aware(Till):
    name = "aware"
    def __init__(self):
        known = KnownWeakness(code="altered_call_passes", about="pay.to", reason="no check looks at the name")
        super().__init__(profile(weaknesses=(known,)))
    def checks(self, run):
        own = [each for each in super().checks(run) if each.check_id not in ("paid", "nothing_else")]
        payment = Added(("paid",), {"amount": 10})
        return [*own, done("paid", run, payment), nothing_else("nothing_else", run, payment, Changed(("cash",), to=90))]

class Slow(Two):
    name = "slow"
    def prepare(self, place, profile, injection):
        if profile.profile_id == "till-other":
            Path("begun").touch()
            time.sleep(60)
        super().prepare(place, profile, injection)
"""  # noqa: E501


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
    assert done.stdout.splitlines()[-1] == "HOLDS  two: 0 faults, 0 weaknesses, 0 untried, 0 known, 0 notes"
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


@pytest.mark.parametrize("pattern", ["till-other", "*-oth??"])
def test_profiles_can_be_chosen_and_the_report_is_json(folder, pattern):
    done = check(
        folder, "--environment", "tills:Two", "--no-conformance", "--profile", pattern, "--json", "-"
    )
    report = json.loads(done.stdout)
    assert done.returncode == report["exit_code"] == 0
    assert report["schema_version"] == "agentbeat-controller-check-v1"
    assert report["environment"] == "two"
    assert report["counts"] == dict.fromkeys(("fault", "weakness", "untried", "known", "note"), 0)
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
        (("--profile", "till-*"), "till-*: the catalogue has no such profile"),
        (("--json", "nowhere/report.json"), "nowhere/report.json: No such file or directory"),
        (("--environment", "tills:Nobody"), "tills has no Nobody"),
        (("--environment", "tills"), "desk or package.module:attribute"),
    ],
)
def test_a_wrong_command_line_exits_2(folder, arguments, said):
    done = check(folder, *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr


def test_the_exit_codes_are_told():
    assert all(f"\n  {code}  " in options.EPILOG for code in (0, 1, 2, 3, 130))


def test_what_the_catalogue_knows_of_is_listed_and_exits_0(folder):
    done = check(folder, "--environment", "tills:Aware", "--no-conformance")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "known altered_call_passes  till-pay" in done.stdout
    assert "(known: no check looks at the name)" in done.stdout
    assert done.stdout.splitlines()[-1] == "HOLDS  aware: 0 faults, 0 weaknesses, 0 untried, 1 known, 0 notes"


def test_ctrl_c_ends_it_with_what_was_found_until_then(folder):
    """As from a terminal. The system sleeps in its second profile."""
    command = [sys.executable, "-m", "agentbeat_controller", "check", "--environment", "tills:Slow"]
    with subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT / "tests")},
        start_new_session=True,
    ) as process:
        try:
            while not (folder / "begun").exists() and process.poll() is None:
                time.sleep(0.02)
            os.killpg(process.pid, signal.SIGINT)
            out, err = process.communicate(timeout=60)
        finally:
            process.kill()
    assert (process.returncode, err) == (130, "")
    assert "till-pay" in out
    assert "till-other" not in out
    assert out.splitlines()[-1].startswith("INTERRUPTED  slow: 0 faults")


def test_a_check_that_is_killed_leaves_no_process_behind(folder):
    """Its process holds standard error open, and would for a minute."""
    command = [sys.executable, "-m", "agentbeat_controller", "check", "--environment", "tills:Slow"]
    with subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT / "tests"), "TMPDIR": str(folder)},
    ) as process:
        while not (folder / "begun").exists() and process.poll() is None:
            time.sleep(0.02)
        process.kill()
        assert process.communicate(timeout=40) == (b"", b"")


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


@pytest.mark.long
def test_the_whole_check_of_an_example_holds(folder, tmp_path):
    """The oracle self-check and the CTL rules on a folder of files, as the guide has it."""
    where = ROOT / "examples" / "environments"
    done = check(where, "--environment", "office:Office", OFFICE_FOLDER=str(tmp_path / "office"))
    assert done.returncode == 0, done.stdout + done.stderr
    assert "CTL rules  conformant" in done.stdout
    assert list((tmp_path / "office").iterdir()) == []
