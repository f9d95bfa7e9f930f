"""`agentbeat conformance` as a user meets it: what it prints, what it writes, what it returns."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from agentbeat_conformance import command
from agentbeat_conformance.catalogues import load_catalogue
from agentbeat_conformance.mutants.base_target import SECRET, TASKS, BaseTarget
from agentbeat_conformance.mutants.streams import Connections, listening
from agentbeat_conformance.outcomes import ExitCode
from agentbeat_conformance.plans import of_tier

TOKEN_ENV = "CONFORMANCE_TEST_TOKEN"


@contextmanager
def served(make: Callable[[], BaseTarget] = BaseTarget) -> Iterator[str]:
    """A Target on a port of its own, in a thread with a loop of its own; its URL."""
    ready: list[str] = []
    listens, done = threading.Event(), []

    async def serve() -> None:
        ended = asyncio.Event()
        done.append((asyncio.get_running_loop(), ended))
        async with listening(Connections(app=make().serve)) as port:
            ready.append(f"http://127.0.0.1:{port}")
            listens.set()
            await ended.wait()

    thread = threading.Thread(target=lambda: asyncio.run(serve()))
    thread.start()
    try:
        assert listens.wait(10)
        yield ready[0]
    finally:
        loop, ended = done[0]
        loop.call_soon_threadsafe(ended.set)
        thread.join(10)


@pytest.fixture(autouse=True)
def token(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(TOKEN_ENV, SECRET)
    monkeypatch.setenv("COLUMNS", "100")


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with served() as url:
        yield url


def run(*arguments: str | Path) -> int:
    """The exit code of the command."""
    parser = argparse.ArgumentParser(prog="agentbeat conformance")
    command.configure(parser)
    return command.run(parser.parse_args([str(argument) for argument in arguments]))


def target(url: str, *arguments: str | Path) -> int:
    return run("target", url, "--token-env", TOKEN_ENV, *arguments)


# --- A Target


def test_a_correct_target_is_conformant_and_the_plan_comes_first(
    url: str, capfd: pytest.CaptureFixture[str]
) -> None:
    assert target(url) == ExitCode.CONFORMANT
    out, err = capfd.readouterr()
    lines = err.splitlines()
    assert lines[0] == f"endpoint   {url}"
    assert lines[1].startswith("catalogue  1.0, sha256:")
    count = len(of_tier(load_catalogue(), "target-L1"))
    assert lines[2] == f"plan       {count} requirements of target-L1"
    assert lines[3].startswith("           invocations of the Agent: at most ")
    assert "INV-4.a" in out
    assert "CONFORMANT" in out
    assert SECRET not in out + err


def test_l2_asks_for_evidence_and_needs_a_task(url: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert target(url, "--tier", "L2", "--task", TASKS[0]) == ExitCode.CONFORMANT
    assert "EVD-7" in capfd.readouterr().out
    assert target(url, "--tier", "L2") == ExitCode.USAGE
    assert "--task" in capfd.readouterr().err


class Forgetful(BaseTarget):
    """Takes a run id as often as it comes."""

    def is_claimed(self, run_id: str) -> bool:
        return False


def test_a_broken_target_is_not_and_the_failure_is_shown(capfd: pytest.CaptureFixture[str]) -> None:
    with served(Forgetful) as url:
        assert target(url, "--only", "INV-4") == ExitCode.NOT_CONFORMANT
    out = capfd.readouterr().out
    assert "INV-4.a" in out
    assert "curl" in out
    assert "NOT CONFORMANT" in out


def test_a_wrong_secret_shows_nothing_about_refusals(
    url: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(TOKEN_ENV, "not-the-secret-at-all")
    assert target(url, "--only", "INV-2") == ExitCode.NOTHING_TESTED
    assert "the positive control was answered 401" in " ".join(capfd.readouterr().out.split())


def test_an_endpoint_out_of_reach_has_its_own_exit_code_and_a_clear_message(
    capfd: pytest.CaptureFixture[str],
) -> None:
    assert target("http://127.0.0.1:1") == ExitCode.NOTHING_TESTED
    out, err = capfd.readouterr()
    assert out == ""
    assert "nothing was tested: http://127.0.0.1:1 gave no answer" in err


def test_a_part_and_a_safe_run_are_at_best_incomplete(url: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert target(url, "--only", "HLT") == ExitCode.INCOMPLETE
    assert target(url, "--safe") == ExitCode.INCOMPLETE
    assert "none with --safe" in capfd.readouterr().err
    assert target(url, "--budget", "1") == ExitCode.INCOMPLETE
    assert "invocations of the Agent: at most 1\n" in capfd.readouterr().err


# --- Reports


def test_every_report_is_written_whole_and_none_holds_the_secret(url: str, tmp_path: Path) -> None:
    names = ("json", "junit", "html", "badge", "transcript")
    files = {name: tmp_path / f"report.{name}" for name in names}
    options = [part for name, path in files.items() for part in (f"--{name}", path)]
    assert target(url, "--only", "HLT", *options) == ExitCode.INCOMPLETE
    texts = {name: path.read_text() for name, path in files.items()}
    assert json.loads(texts["json"])["verdict"] == "incomplete"
    assert texts["junit"].startswith("<?xml")
    assert texts["html"].lower().startswith("<!doctype html>")
    assert json.loads(texts["badge"])["schemaVersion"] == 1
    assert json.loads(texts["transcript"].splitlines()[0])["tier"] == "target-L1"
    assert not any(SECRET in text for text in texts.values())
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(path.name for path in files.values())


def test_a_report_on_standard_output_stands_there_alone(url: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert target(url, "--only", "HLT", "--json", "-") == ExitCode.INCOMPLETE
    assert json.loads(capfd.readouterr().out)["verdict"] == "incomplete"


def test_a_transcript_is_judged_again_to_the_same_report_with_no_server(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    transcript, first, second = (tmp_path / name for name in ("t.jsonl", "first.json", "second.json"))
    with served(Forgetful) as url:
        assert target(url, "--transcript", transcript, "--json", first) == ExitCode.NOT_CONFORMANT
    assert run("judge", transcript, "--token-env", TOKEN_ENV, "--json", second) == ExitCode.NOT_CONFORMANT
    assert json.loads(second.read_text()) == json.loads(first.read_text())
    assert "INV-4.a" in capfd.readouterr().out


def test_a_file_that_is_no_transcript_is_a_wrong_command_line(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "t.jsonl"
    assert run("judge", path) == ExitCode.USAGE
    path.write_text("tea\n")
    assert run("judge", path) == ExitCode.USAGE
    assert "line 1: J-SYNTAX" in capfd.readouterr().err


# --- Expected failures


def expectations(path: Path, id: str, expires: str = "2999-01-01") -> Path:
    path.write_text(f'[[expected]]\nid = "{id}"\nreason = "Known."\nexpires = {expires}\n')
    return path


def test_failures_that_are_expected_leave_the_exit_code_and_the_verdict_says_what_is(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    class Odd(BaseTarget):
        def identity(self) -> dict[str, Any]:
            return {**super().identity(), "status": SECRET}

    with served(Odd) as url:
        assert target(url) == ExitCode.NOT_CONFORMANT
        capfd.readouterr()
        file = expectations(tmp_path / "known.toml", "HLT-1.b")
        assert target(url, "--expected-failures", file) == ExitCode.CONFORMANT
    out, err = capfd.readouterr()
    assert "NOT CONFORMANT" in out
    assert "HLT-1.b fails as expected until 2999-01-01: Known." in err
    assert "the verdict remains not_conformant" in err


@pytest.mark.parametrize(
    ("id", "expires", "message"),
    [("HLT-1.b", "2999-01-01", "it holds"), ("HLT-9", "2999-01-01", "no such requirement")],
)
def test_an_untrue_entry_fails_the_run(
    url: str, tmp_path: Path, capfd: pytest.CaptureFixture[str], id: str, expires: str, message: str
) -> None:
    file = expectations(tmp_path / "known.toml", id, expires)
    assert target(url, "--expected-failures", file) == ExitCode.NOT_CONFORMANT
    assert message in capfd.readouterr().err


# --- Wrong command lines


WRONG: dict[str, tuple[tuple[str, ...], str]] = {
    "no URL": (("target", "127.0.0.1:80"), "URL"),
    "a password in the URL": (("target", "http://user:password@127.0.0.1"), "userinfo"),
    "a variable that is not set": (
        ("target", "http://127.0.0.1:1", "--token-env", "NOT_SET_AT_ALL"),
        "NOT_SET",
    ),
    "an unknown id": (("target", "http://127.0.0.1:1", "--only", "INV-99"), "INV-99"),
    "an unknown version": (("target", "http://127.0.0.1:1", "--catalogue", "0.1"), "0.1"),
    "an empty task": (("target", "http://127.0.0.1:1", "--task", " "), "empty task"),
    "no file of expectations": (
        ("target", "http://127.0.0.1:1", "--expected-failures", "/no/such"),
        "/no/such",
    ),
    "no folder for a report": (("target", "http://127.0.0.1:1", "--json", "/no/such/file"), "/no/such/file"),
    "two reports at once": (
        ("target", "http://127.0.0.1:1", "--json", "-", "--html", "-"),
        "standard output",
    ),
    "no certificates": (("target", "https://127.0.0.1:1", "--ca-file", "/no/such"), "--ca-file"),
    "a key that is none": (
        ("controller", "http://127.0.0.1:1", "--deployment", "d", "--verify-key", "tea"),
        "verify_key",
    ),
    "nothing to explain": (("explain", "TEA-1"), "TEA-1"),
    "no such mutant": (("self-test", "--only", "no-such-mutant"), "no-such-mutant"),
    "a page without markers": (("self-test", "--check-docs", "/no/such"), "/no/such"),
}


@pytest.mark.parametrize(("arguments", "message"), WRONG.values(), ids=WRONG.keys())
def test_a_wrong_command_line_is_told_before_anything_is_sent(
    arguments: tuple[str, ...], message: str, capfd: pytest.CaptureFixture[str]
) -> None:
    assert run(*arguments) == ExitCode.USAGE
    out, err = capfd.readouterr()
    assert out == ""
    assert message in err
    assert "password" not in err


def test_a_secret_on_the_command_line_is_refused_and_not_repeated(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        run("target", "http://127.0.0.1:1", "--token-env", "sk-live-1234/5678")
    assert ended.value.code == ExitCode.USAGE
    assert "sk-live" not in capfd.readouterr().err


def test_a_short_secret_is_refused_and_not_repeated(
    url: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(TOKEN_ENV, "tiny42")
    assert target(url) == ExitCode.USAGE
    out, err = capfd.readouterr()
    assert "expected at least 8" in err
    assert "tiny42" not in out + err


def test_a_fault_of_our_own_has_its_own_exit_code(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def broken() -> None:
        raise LookupError("tea")

    monkeypatch.setattr("agentbeat_conformance.catalogues.load_catalogue", broken)
    assert run("list") == ExitCode.ERROR
    assert "a fault of the suite itself" in capfd.readouterr().err


# --- The catalogue


def test_list_prints_every_requirement_of_a_tier_once(capfd: pytest.CaptureFixture[str]) -> None:
    assert run("list", "--tier", "target-L1") == 0
    lines = capfd.readouterr().out.splitlines()
    wanted = [made.id for made in of_tier(load_catalogue(), "target-L1")]
    assert [line.split()[0] for line in lines] == wanted


def test_list_as_json_names_the_catalogue_and_every_part(capfd: pytest.CaptureFixture[str]) -> None:
    assert run("list", "--json") == 0
    document = json.loads(capfd.readouterr().out)
    assert document["catalogue_digest"].startswith("sha256:")
    assert [made["id"] for made in document["requirements"]] == list(load_catalogue())


def test_explain_tells_of_a_rule_with_all_its_parts_and_what_they_catch(
    capfd: pytest.CaptureFixture[str],
) -> None:
    assert run("explain", "EVD-7", "INV-2.a") == 0
    out = capfd.readouterr().out
    catalogue = load_catalogue()
    for id, made in catalogue.items():
        assert (made.text in out) == (made.rule == "EVD-7" or id == "INV-2.a")
    assert "permitted outcomes  401" in out
    assert "result-without-call" in out


# --- Ctrl-C


def test_ctrl_c_leads_to_a_report_of_what_was_shown(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    class Interrupting(BaseTarget):
        """Presses Ctrl-C on the fifth invocation, and does not answer it."""

        asked = 0

        async def invoke(self, asked: Any) -> Any:
            self.asked += 1
            if self.asked == 5:
                os.kill(os.getpid(), signal.SIGINT)
                await asyncio.sleep(60)
            return await super().invoke(asked)

    before = signal.getsignal(signal.SIGINT)
    transcript = tmp_path / "t.jsonl"
    with served(Interrupting) as url:
        assert target(url, "--transcript", transcript) == ExitCode.INCOMPLETE
    assert signal.getsignal(signal.SIGINT) is before
    out, err = capfd.readouterr()
    assert "Ctrl-C again ends at once" in err
    assert "the run was interrupted" in out
    assert run("judge", transcript) == ExitCode.INCOMPLETE
