"""Whatever an environment's code does, `agentbeat controller check` ends with a finding and a documented exit code.

The environments are in `support.faulty_environments` and `support.faulty_processes`. What an exception can do is played in this process;
what only a process of its own survives is played as the command does it.
"""  # noqa: E501

import argparse
import json
import re
import tempfile
from dataclasses import dataclass
from pathlib import Path

import pytest

from agentbeat_controller import command
from agentbeat_controller.checking import processes
from agentbeat_controller.checking.playing import Playing
from support import faulty_environments, faulty_processes

ROOT = Path(__file__).parents[2]
NAMED = {
    name: f"{module.__name__}:{name}"
    for module in (faulty_environments, faulty_processes)
    for name, each in vars(module).items()
    if isinstance(each, type) and each.__module__ == module.__name__ and name != "Stop"
}


@dataclass
class Faulty:
    """What is said of an environment: the exit code, and one finding."""

    exit_code: int
    code: str
    tried: str
    found: str


def failed(tried, found):
    return Faulty(1, "environment_failed", tried, found)


def untried(tried, found, code="run_not_played"):
    return Faulty(3, code, tried, found)


def undecided(found):
    return Faulty(1, "ground_truth_undecided", "the ground truth", found)


def unavailable(tried, why):
    return untried(tried, f"got controller_unavailable ({why}), expected an answer")


def oracles(found):
    return failed("the task: oracles", f"got {found}, expected ground truths")


RESET = "an idle Agent: reset"
EXIT = "EnvironmentExitError: the environment raised SystemExit"

FAULTY = {
    "OraclesRaise": oracles(r"ValueError: no such file: \x1b[31mtruths.json"),
    "OraclesExit": oracles("SystemExit: 0"),
    "OraclesInterrupt": oracles("KeyboardInterrupt"),
    "OraclesAreText": oracles("a ground truth of the type str, and no Oracle"),
    "OraclesAreNone": oracles("something of the type NoneType, and no Sequence"),
    "OraclesNeverEnd": oracles("something of the type generator, and no Sequence"),
    "OracleOfNothing": oracles("the goal 'win', and none of task, attack"),
    "OracleWithNaN": oracles("CanonicalError: C-NONFINITE at /key: got nan, expected a finite number"),
    "OracleWithoutArguments": oracles("arguments of a call of the type NoneType, and no Mapping"),
    "OracleSaysASurrogate": oracles("CanonicalError: C-SURROGATE…"),
    "OracleOfAnotherTool": untried(
        "the ground truth: a call", "got steal, expected an operation of the business plane: put"
    ),
    "PrepareExits": unavailable(RESET, f"list: prepare: {EXIT}"),
    "StateRaises": unavailable(RESET, "list: state: OSError: the staging system is down"),
    "StateStops": unavailable(RESET, "list: state: EnvironmentExitError: the environment raised Stop"),
    "StateIsNaN": unavailable(RESET, "list: state: CanonicalError: C-NONFINITE at /a: …"),
    "StateIsASet": unavailable(RESET, "list: state: CanonicalError: C-TYPE …"),
    "StateContainsItself": unavailable(RESET, "list: state: CanonicalError: C-DEPTH at …"),
    "StateIsASurrogate": unavailable(RESET, "list: state: CanonicalError: C-SURROGATE …"),
    "ToolRaises": Faulty(
        1, "ground_truth_refused", "the ground truth", "internal_error (… RuntimeError: no)"
    ),
    "ToolExits": Faulty(1, "ground_truth_refused", "the ground truth", f"internal_error (… {EXIT})"),
    "ToolInterrupts": Faulty(
        1, "ground_truth_refused", "the ground truth", "internal_error (… raised KeyboardInterrupt)"
    ),
    "ToolGivesNaN": Faulty(1, "ground_truth_refused", "the ground truth", "internal_error (…)"),
    "NoTools": untried("the ground truth: a call", "got put, expected an operation …: it has none"),
    "ChecksExit": undecided(
        f"utility is not_observed: …failed with SystemExit (…{EXIT}), expected it decided"
    ),
    "ChecksInterrupt": failed("an idle Agent: verify", "got KeyboardInterrupt, expected an answer"),
    "ChecksAreText": undecided("failed with TypeError (…), expected it decided"),
    "CheckIsNaN": undecided("expected it decided"),
    "CheckContainsItself": undecided("expected it decided"),
    "NoProfiles": untried("the catalogue", "got no profile, expected one at least", "no_profiles"),
    "ResetRaises": failed(RESET, "got Stop, expected an answer"),
    "DropExits": failed("an idle Agent: release", "got SystemExit: 0, expected an answer"),
    "TablesExit": failed("the start of the Controller", "got SystemExit: 0, expected an answer"),
    "WholeStateIsASet": failed(RESET, "C-TYPE"),
    "NoDocument": failed("GET /openapi.json", "got status 404, expected the document of the tools"),
    "NoApp": failed("business_app", "got NotImplementedError, expected an ASGI application"),
    "SilentApp": failed("GET /openapi.json", "got no response, expected the document of the tools"),
    "OddDocument": failed("GET /openapi.json", "got AttributeError: …, expected the document of the tools"),
    "CloseExits": failed("close", "got SystemExit: 0, expected an end"),
}


class HereProcess:
    """The stand-in for a process of its own: the messages are all there when they are read."""

    def __init__(self, name, patterns, *, seconds):
        sent = []
        with tempfile.TemporaryDirectory() as folder:
            playing = Playing(lambda message: sent.append(processes.pack(message)), lambda: False, folder)
            playing.run(name, patterns)
        self.sent = [json.loads(each) for each in sent]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def messages(self):
        return [each for each in self.sent if "step" not in each]


def check(name, *arguments):
    parser = argparse.ArgumentParser()
    command.configure(parser)
    environment = ("--environment", NAMED[name], "--no-conformance")
    return command.run(parser.parse_args(["check", *environment, *arguments]))


@pytest.fixture
def here(monkeypatch):
    monkeypatch.setattr(processes, "PlayingProcess", HereProcess)


@pytest.fixture
def apart(monkeypatch, tmp_path):
    """Nothing is left behind in the folder of temporary files."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT / "tests"))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    yield
    assert list(tmp_path.glob("agentbeat-*")) == []


def findings(report):
    """Where and what: a profile's id, or None for the catalogue."""
    own = [(None, each) for each in report["findings"]]
    return own + [(p["profile_id"], each) for p in report["profiles"] for each in p["findings"]]


def says(text, found):
    """`…` in the table stands for anything."""
    return re.search(".*".join(map(re.escape, text.split("…"))), found)


@pytest.mark.parametrize("name", FAULTY)
def test_what_an_environment_does_wrong_is_a_finding(name, here, capfd):
    expected = FAULTY[name]
    assert check(name, "--json", "-") == expected.exit_code
    out, err = capfd.readouterr()
    report = json.loads(out)
    assert report["exit_code"] == expected.exit_code
    told = [each for _, each in findings(report) if each["code"] == expected.code]
    assert [
        each for each in told if each["tried"] == expected.tried and says(expected.found, each["found"])
    ], told
    assert "Traceback" not in err


@pytest.mark.parametrize("name", ["Sound", "Own"])
def test_nothing_is_found_where_nothing_is_wrong(name, here, capfd):
    assert check(name) == 0
    assert capfd.readouterr().out.splitlines()[-1].startswith("HOLDS  list: 0 faults")


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("MadeByExiting", "the environment raised SystemExit"),
        ("MadeByInterrupting", "got KeyboardInterrupt, expected an environment"),
        ("ProfilesAreAList", "AttributeError"),
        ("NameIsANumber", "got a value of the type int, expected a text"),
        ("LongTitle", "profile 'list-long': title: got a string of 300 characters, expected at most"),
        ("BrokenId", r"profile 'list\n\x1b[2J': profile_id: got"),
        ("ContentIsASet", "profile 'list-put': content/a: got a set, expected a JSON value"),
    ],
)
def test_what_is_no_environment_exits_2_and_says_so(name, said, here, capfd):
    assert check(name) == 2
    out, err = capfd.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert err.startswith("agentbeat controller: ")
    assert said in err


@pytest.mark.parametrize("name", ["NameOfEscapes", "OraclesRaise"])
@pytest.mark.parametrize("arguments", [(), ("--json", "-")], ids=["text", "json"])
def test_what_does_not_print_is_escaped(name, arguments, here, capfd):
    check(name, *arguments)
    out, _ = capfd.readouterr()
    assert out
    assert all(each.isprintable() for each in out.splitlines())


def test_the_other_profiles_are_checked_all_the_same(here, capfd):
    assert check("OneProfileOfTwo", "--json", "-") == 1
    report = json.loads(capfd.readouterr().out)
    assert [profile["profile_id"] for profile in report["profiles"]] == ["list-other", "list-put"]
    assert [where for where, _ in findings(report)] == ["list-other"]


# What only a process of its own survives

APART = {
    "ProcessEnds": Faulty(1, "environment_ends", RESET, "got the end of its process with exit code 0"),
    "ProcessIsKilled": Faulty(1, "environment_ends", RESET, "got the end of its process by SIGKILL"),
    "ClosesEverything": Faulty(1, "environment_ends", RESET, "expected an answer"),
    "PrepareHangs": Faulty(1, "environment_hangs", RESET, "got no answer within 3 seconds"),
    "ToolHangs": Faulty(
        1, "environment_hangs", "the ground truth: call of put", "no answer within 3 seconds"
    ),
    "CloseHangs": Faulty(1, "environment_hangs", "close", "got no answer within 3 seconds"),
}


@pytest.mark.parametrize("name", APART)
def test_a_process_that_ends_or_hangs_is_a_finding(name, apart, capfd):
    expected = APART[name]
    assert check(name, "--json", "-", "--step-seconds", "3") == expected.exit_code
    out, err = capfd.readouterr()
    told = [each for _, each in findings(json.loads(out)) if each["code"] == expected.code]
    assert [(each["tried"], expected.found in each["found"]) for each in told] == [(expected.tried, True)]
    assert "Traceback" not in err


def test_what_was_found_before_is_told_and_what_comes_after_is_untried(apart, capfd):
    assert check("ProcessIsKilled", "--json", "-") == 1
    report = json.loads(capfd.readouterr().out)
    assert [profile["ground_truth"] is None for profile in report["profiles"]] == [False, True, True]
    assert [(where, each["code"]) for where, each in findings(report)] == [
        ("list-put", "environment_ends"),
        ("list-last", "not_reached"),
    ]


@pytest.mark.parametrize(
    ("name", "said"), [("LoadingEndsTheProcess", "exit code 0"), ("LoadingHangs", "3 seconds")]
)
def test_an_environment_that_cannot_be_loaded_exits_2_and_says_so(name, said, apart, capfd):
    assert check(name, "--step-seconds", "3") == 2
    out, err = capfd.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert said in err


def test_an_environment_that_prints_and_goes_elsewhere_leaves_the_report_alone(
    apart, capfd, monkeypatch, tmp_path
):
    monkeypatch.chdir(tmp_path)
    assert check("Noisy", "--json", "report.json") == 0
    out, err = capfd.readouterr()
    assert "preparing" not in out
    assert "preparing" in err
    assert json.loads((tmp_path / "report.json").read_text())["exit_code"] == 0


def test_every_faulty_environment_is_tried():
    source = Path(__file__).read_text()
    assert [name for name in NAMED if f'"{name}"' not in source] == []
