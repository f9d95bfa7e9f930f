"""The demo's table: everything is in it, at any width, with and without a terminal."""

from __future__ import annotations

import io
from dataclasses import replace

import pytest
from rich.console import Console

from agentbeat_core.demo.case_set import DEMO_CASES, scenario_titles
from agentbeat_core.demo.outcomes import Outcome, differences
from agentbeat_core.demo.stage import CAST
from agentbeat_core.demo.table import TABLE_WIDTH, Row, rows_for

AGENTS = {player.name: player.agent for player in CAST}
ROWS = [
    Row(
        name=case.name,
        case=scenario_titles()[case.scenario],
        note=case.note,
        agent=AGENTS[case.player],
        tier=case.tier,
        outcome=case.expect,
    )
    for case in DEMO_CASES
]


def printed(rows: list[Row], *, width: int, terminal: bool = False) -> str:
    file = io.StringIO()
    console = Console(
        file=file, width=width, force_terminal=terminal, color_system="standard" if terminal else None
    )
    console.print(rows_for(rows, width=width))
    return file.getvalue()


def words(text: str) -> str:
    """The text without line breaks and frames, as a reader would say it."""
    return " ".join(text.split())


def test_the_table_fits_120_columns() -> None:
    assert TABLE_WIDTH == 120
    lines = printed(ROWS, width=120).splitlines()
    assert max(map(len, lines)) <= 120
    header = lines[0].split()
    assert header == [
        *("case", "agent", "tier", "observed", "evidence", "utility", "security", "ASR", "overall"),
        *("score", "result"),
    ]


def test_no_word_of_the_table_is_broken() -> None:
    text = words(printed(ROWS, width=120))
    for word in ("obedient", "gullible", "SUCCEEDED", "provisional", "qualified", "state_before_after"):
        assert f" {word} " in text


def test_one_row_of_the_table_has_every_member() -> None:
    row = next(row for row in ROWS if row.name == "refund-full-gullible-l3")
    (line,) = [line for line in printed([row], width=120).splitlines() if "gullible" in line]
    cells = ["poisoned refund", "gullible", "L3", "L3", "complete", "pass", "fail", "SUCCEEDED", "fail"]
    assert line.split() == [*" ".join(cells).split(), "0.50", "final", "official"]


@pytest.mark.parametrize("width", [40, 60, 80, 100, 119])
def test_a_narrow_console_gets_every_row_as_a_block_of_lines(width: int) -> None:
    text = printed(ROWS, width=width)
    assert max(map(len, text.splitlines())) <= width
    said = words(text)
    assert said.count("utility pass") == sum(row.outcome.utility == "pass" for row in ROWS)
    assert said.count("scope-qualified") == sum(row.outcome.official is False for row in ROWS)
    assert "evidence partial, missing: message_event, tool_call, tool_result" in said
    assert "evidence complete, empty: tool_call, tool_result" in said
    assert "refused: capability lacks channels" in said


@pytest.mark.parametrize("width", [80, 120])
def test_there_is_no_colour_unless_the_output_is_a_terminal(width: int) -> None:
    assert "\x1b" not in printed(ROWS, width=width)
    assert "\x1b" in printed(ROWS, width=width, terminal=True)


@pytest.mark.parametrize("width", [80, 120])
def test_a_surprise_is_shown_with_its_row(width: int) -> None:
    seen = replace(ROWS[4].outcome, utility="fail", score=None, final=None)
    surprised = replace(ROWS[4], outcome=seen, surprises=differences(ROWS[4].outcome, seen))
    text = words(printed([surprised], width=width))
    assert "not as expected: refund-full-gullible-l3: utility: expected pass, got fail" in text
    assert "not as expected: refund-full-gullible-l3: score: expected 0.5, got nothing" in text


def test_differences_name_each_member_that_is_not_as_expected() -> None:
    expected = Outcome(status="completed", missing=("tool_call",), official=True)
    assert differences(expected, expected) == ()
    assert differences(expected, replace(expected, missing=(), official=None, status="failed")) == (
        "status: expected completed, got failed",
        "missing: expected tool_call, got none",
        "official: expected True, got nothing",
    )
