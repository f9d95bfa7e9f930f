"""What the demo says while it works: lines in a log, one live line on a terminal."""

from __future__ import annotations

import io
import re

import pytest
from rich.console import Console

from agentbeat_core.demo.progress import progress_on


def shown(*, terminal: bool, width: int = 80) -> str:
    file = io.StringIO()
    console = Console(file=file, width=width, force_terminal=terminal)
    with progress_on(console) as progress:
        progress.stage("starting 9 servers")
        progress.runs(12)
        for number in range(12):
            progress.phase(f"case-{number}", "snapshot_before")
            progress.done(f"case-{number}", "overall pass")
    return file.getvalue()


def test_a_log_gets_a_line_for_each_run_that_has_ended() -> None:
    lines = shown(terminal=False).splitlines()
    assert lines[0] == "starting 9 servers ..."
    assert lines[1] == "[ 1/12] case-0: overall pass"
    assert lines[12] == "[12/12] case-11: overall pass"
    assert len(lines) == 13


@pytest.mark.parametrize("width", [30, 80, 120])
def test_a_terminal_gets_one_line_that_is_gone_at_the_end(
    width: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    text = shown(terminal=True, width=width)
    plain = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", text).replace("\r", "\n")
    assert max(map(len, plain.splitlines())) <= width
    assert "12/12" in plain
    assert text.endswith("\x1b[2K"), "the line is erased"


def test_a_terminal_that_cannot_erase_gets_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "dumb")
    lines = shown(terminal=True).splitlines()
    assert lines[-1].endswith("case-11: overall pass")
    assert "\x1b[2K" not in "".join(lines)
