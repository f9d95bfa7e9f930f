"""`agentbeat controller show`: while the Controller runs, after it, on a terminal and into files."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest

from agentbeat_controller import command
from agentbeat_controller.environments.desk import DeskEnvironment
from agentbeat_controller.showing import options
from agentbeat_controller.showing.views import SHOWN_SCHEMA
from support.controllers import NONCE, common, rig_in, served
from support.shown_runs import HOSTILE, INJECTION, PROFILE, play

CLI = [sys.executable, "-m", "agentbeat_controller", "show"]


def show(*arguments, **settings):
    return subprocess.run(
        [*CLI, *map(str, arguments)],
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=60,
        check=False,
        **settings,
    )


def lead(controller):
    """One run through a served Controller, verified and not released; its verify key."""
    digest = DeskEnvironment().profiles[PROFILE].profile_digest
    run = common("served", PROFILE)
    with controller.control() as core, controller.business(run_id="run-served") as tools:

        def post(step, **members):
            answer = core.post(f"/v1/environment/{step}", json={**run, **members})
            assert answer.status_code == 200, answer.text
            return answer.json()

        lease = post(
            "reset",
            deployment_profile_id="deployment-desk",
            profile_digest=digest,
            binding_mode="catalog",
            attempt_nonce=NONCE,
            snapshots=True,
            injection=INJECTION,
        )["lease_id"]
        before = post("snapshot", lease_id=lease, phase="before")
        reply = {"body": f"Done. {HOSTILE}"}
        assert tools.post("/v1/tickets/TCK-2/replies", json=reply).status_code == 201
        after = post("snapshot", lease_id=lease, phase="after")
        sides = {
            each["phase"]: {"ref": each["snapshot_ref"], "digest": each["digest"]} for each in (before, after)
        }
        post("verify", lease_id=lease, final_response="Done.", **sides)
    return controller.ready["verify_key"]


def test_a_run_is_shown_while_the_controller_runs_and_after_it_was_killed(tmp_path):
    """From the home folder alone: its database, and the key that the receipt was signed with."""
    home = tmp_path / "home"
    with served(tmp_path) as controller:
        lead(controller)
        during = show("run-served", "--home", home)
        controller.kill()
    after = show("run-served", "--home", home)
    assert (during.returncode, during.stderr) == (0, "")
    assert "the signature of ed25519-" in during.stdout
    assert "NO" not in [line.split()[0] for line in during.stdout.partition("\nReceipt\n")[2].splitlines()]
    assert after.stdout == during.stdout
    assert "\x1b" not in during.stdout


@pytest.fixture
def home(tmp_path):
    """A folder with a database that has one whole run, and no key."""
    folder = tmp_path / "home"
    folder.mkdir(mode=0o700)
    return folder


@pytest.fixture
async def played(home):
    with rig_in(home, environment=DeskEnvironment()) as rig:
        await play(rig, "reset", "before", "after", "verify")
        yield home


async def test_json_and_html_are_written_and_json_alone_goes_to_standard_output(played, tmp_path):
    files = tmp_path / "run.json", tmp_path / "run.html"
    done = show("run-a", "--home", played, "--json", files[0], "--html", files[1])
    alone = show("run-a", "--home", played, "--json", "-")
    assert (done.returncode, done.stderr, alone.returncode, alone.stderr) == (0, "", 0, "")
    assert done.stdout.startswith("Run run-a\n")
    told = json.loads(alone.stdout)
    assert told == json.loads(files[0].read_text())
    assert (told["schema_version"], told["injection"]["text"]) == (SHOWN_SCHEMA, INJECTION["text"])
    assert alone.stdout.isascii()
    assert files[1].read_text(encoding="utf-8").startswith("<!doctype html>")
    assert {path.name for path in played.iterdir()} <= {
        "controller.db", "controller.db-wal", "controller.db-shm"
    }  # fmt: skip


async def test_the_key_is_that_of_the_folder_or_the_one_given_and_no_other(played, tmp_path):
    """Another Controller's database is not judged by the key in the usual place."""
    database = f"sqlite:///{played / 'controller.db'}"
    other = tmp_path / "user"
    (other / ".agentbeat" / "controller").mkdir(mode=0o700, parents=True)
    with served(tmp_path / "user") as controller:
        key = controller.ready["verify_key"]
    (other / ".agentbeat" / "controller").rmdir()
    (other / "home").rename(other / ".agentbeat" / "controller")
    settings = {"env": {**os.environ, "HOME": str(other)}}
    assert "no key to look at the signature with" in show("run-a", "--database", database, **settings).stdout
    for given in (["--verify-key", key], ["--home", other / ".agentbeat" / "controller"]):
        assert "does not hold: the key is" in show("run-a", "--database", database, *given, **settings).stdout
    assert "no run run-a in this database; it has none yet" in show("run-a", **settings).stderr


ERRORS = {
    "unknown run": (["run-x", "--home", "HOME"], "no run run-x in this database; it has run-a"),
    "no database": (["run-a", "--home", "HOME/none"], "none/controller.db: no such file"),
    "another kind": (["run-a", "--database", "mysql://u:pass-word@x/y"], "expected SQLite or PostgreSQL"),
    "no key": (["run-a", "--home", "HOME", "--verify-key", "abc"], "a verify key is 32 bytes"),
    "page in no folder": (["run-a", "--home", "HOME", "--html", "HOME/none/x.html"], "No such file"),
    "JSON over a folder": (["run-a", "--home", "HOME", "--json", "HOME"], "Is a directory"),
}


@pytest.mark.parametrize(("arguments", "said"), ERRORS.values(), ids=ERRORS.keys())
async def test_what_cannot_be_shown_is_exit_code_2_and_one_line(played, arguments, said, capsys):
    parser = argparse.ArgumentParser()
    command.configure(parser)
    given = [each.replace("HOME", str(played)) for each in arguments]
    assert command.run(parser.parse_args(["show", *given])) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert said in err
    assert err.startswith("agentbeat controller show: ")
    assert err.count("\n") == 1
    assert "pass-word" not in err
    assert not (played / "none").exists()


def on_a_terminal(*arguments, **environment):
    """What comes out of a pseudo-terminal of 90 columns."""
    leader, follower = pty.openpty()
    settings = {**os.environ, "COLUMNS": "90", "TERM": "xterm", "NO_COLOR": "", **environment}
    with subprocess.Popen(
        [*CLI, *map(str, arguments)], stdout=follower, stderr=follower, env=settings
    ) as process:
        os.close(follower)
        parts = []
        with contextlib.suppress(OSError):  # the other end has closed
            while part := os.read(leader, 65_536):
                parts.append(part)
        os.close(leader)
    assert process.returncode == 0
    return b"".join(parts).decode().replace("\r\n", "\n")


async def test_a_terminal_gets_colour_and_nothing_of_an_agents_sequences(played):
    text = on_a_terminal("run-a", "--home", played)
    assert "\x1b[32m" in text
    assert re.sub(r"\x1b\[\d+m", "", text).replace("\n", "").isprintable()
    plain = on_a_terminal("run-a", "--home", played, NO_COLOR="1")
    assert plain == re.sub(r"\x1b\[\d+m", "", text)


async def test_an_output_that_knows_few_letters_gets_what_it_knows(played):
    done = show("run-a", "--home", played, env={**os.environ, "PYTHONIOENCODING": "ascii"})
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.isascii()


async def test_a_reader_that_has_seen_enough_is_no_error(played):
    with subprocess.Popen(
        [*CLI, "run-a", "--home", str(played)], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 0


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a device that is always full")
@pytest.mark.parametrize(
    "options", [[], ["--json", "-"], ["--json", "/dev/full"], ["--html", "/dev/full"]], ids=str
)
async def test_a_full_disk_is_told_in_one_line_with_what_was_written_to_it(played, options):
    arguments = [sys.executable, "-m", "agentbeat_core", "controller", "show", "run-a", "--home", str(played)]
    where = options[-1] if "/dev/full" in options else "standard output"
    with (
        Path("/dev/full").open("w") as full,
        subprocess.Popen([*arguments, *options], stdout=full, stderr=subprocess.PIPE, text=True) as process,
    ):
        said = process.stderr.read()
    assert process.returncode == (4 if where == "standard output" else 2)
    assert said.endswith(f"{where}: No space left on device\n")
    assert said.count("\n") == 1


def test_the_guide_names_every_option():
    parser = argparse.ArgumentParser()
    options.configure(parser)
    known = {name for action in parser._actions for name in action.option_strings if name.startswith("--")}
    guide = (Path(__file__).parents[2] / "docs" / "controller-show.md").read_text()
    assert set(re.findall(r"^\| `(--[a-z-]+)", guide, re.MULTILINE)) == known - {"--help"}
