"""Results that cannot be written: one clear line and an exit code, whichever command prints them."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from pathlib import Path

import pytest

from agentbeat_core import cli
from agentbeat_core.output import OutputError, results_written

FULL = "the result cannot be written to standard output: No space left on device\n"
COMMANDS = {
    "--help": (4, FULL),
    "--version": (4, FULL),
    "score --help": (4, FULL),
    "schema": (4, FULL),
    "schema eval-run-response-v1": (4, FULL),
    "controller profiles": (4, FULL),
    "controller oracles": (4, FULL),
    "conformance list": (5, "agentbeat conformance: standard output: No space left on device\n"),
    "conformance explain INV-1": (5, "agentbeat conformance: standard output: No space left on device\n"),
    "claims schema": (2, "agentbeat claims schema: standard output: No space left on device\n"),
}
needs_full = pytest.mark.skipif(not Path("/dev/full").exists(), reason="a device that is always full")


def ended(command: str, output: str) -> tuple[int, str]:
    """The exit code and the messages of a process."""
    line = f"exec {sys.executable} -m agentbeat_core {command} {output}"
    done = subprocess.run(["sh", "-c", line], capture_output=True, timeout=60, text=True)
    assert done.stdout == ""
    return done.returncode, done.stderr


@needs_full
@pytest.mark.parametrize(("command", "told"), COMMANDS.items(), ids=COMMANDS)
def test_a_full_disk_is_told_in_one_line(command: str, told: tuple[int, str]) -> None:
    assert ended(command, ">/dev/full") == told


@pytest.mark.parametrize("command", ["schema", "controller profiles", "conformance list", "--version"])
def test_a_closed_output_is_told_in_one_line(command: str) -> None:
    code, said = ended(command, ">&-")
    assert (code, said.count("\n")) == (COMMANDS[command][0], 1)
    assert said.endswith("standard output: it is closed\n")


def test_a_reader_who_has_left_is_told_nothing() -> None:
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(
        [sys.executable, "-m", "agentbeat_core", "controller", "profiles"],
        stdout=write, stderr=subprocess.PIPE, timeout=60,
    )  # fmt: skip
    os.close(write)
    assert (done.returncode, done.stderr) == (141, b"")


@needs_full
@pytest.mark.parametrize("size", [1, 100_000])
def test_what_is_printed_is_an_error_at_the_latest_when_the_block_ends(
    size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And then no other: Python has nothing left to complain of."""
    with open("/dev/full", "w") as full:  # noqa: PTH123 - a stream like the one that it stands for
        monkeypatch.setattr(sys, "stdout", full)
        with pytest.raises(OutputError, match="No space left on device"), results_written():
            print("x" * size)
        assert sys.stdout is full


def test_an_ordinary_result_is_written_as_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "out.txt"
    with path.open("w", encoding="latin-1", errors="backslashreplace") as stream:
        monkeypatch.setattr(sys, "stdout", stream)
        print("before")
        with results_written():
            print("é, ☃", flush=True)
            sys.stdout.buffer.write(b"bytes\n")
            assert sys.stdout.fileno() == stream.fileno()
            assert not sys.stdout.isatty()
        print("after")
    assert path.read_bytes() == "before\né, \\u2603\nbytes\nafter\n".encode("latin-1")


def test_a_stream_that_is_no_file_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stdout", stream)
    assert cli.main(["--version"]) == 0
    assert stream.getvalue().startswith("agentbeat ")
