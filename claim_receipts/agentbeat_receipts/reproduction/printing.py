"""A reproduction in a terminal: each table with a mark on every row, whose data it is, and the outcome."""

from __future__ import annotations

from types import MappingProxyType
from typing import Final

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

from agentbeat_receipts.corpus.origins import OURS, OURS_AT_LENGTH
from agentbeat_receipts.reproduction.paper import SOURCE
from agentbeat_receipts.reproduction.running import Reproduction
from agentbeat_receipts.reproduction.tables import Mark, Row, Table

__all__ = ["print_reproduction"]

_WIDEST: Final = 130
_MARKS: Final = MappingProxyType({Mark.AS_PREDICTED: "ok", Mark.DIFFERS: "DIFFERS", Mark.MEASURED: ""})
_STYLES: Final = MappingProxyType({Mark.AS_PREDICTED: "green", Mark.DIFFERS: "bold red", Mark.MEASURED: ""})


def print_reproduction(result: Reproduction, console: Console) -> None:
    """Print every table."""
    width = min(console.width, _WIDEST)
    heading = Text(f"ClaimReceipt ({SOURCE}), reproduced; seed {result.seed}\n", "bold")
    heading.append(f"{OURS_AT_LENGTH}\npredictions: {result.predictions}", "not bold")
    console.print(heading, width=width)
    for table in result.tables:
        console.print()
        console.print(Text(table.title, "bold"), width=width)
        console.print(_grid(table), width=width)
        if table.note:
            console.print(Text(f"  {table.note}", "dim"), width=width)
    console.print()
    console.print(_outcome(result), width=width)


def _grid(table: Table) -> RichTable:
    grid = RichTable(box=SIMPLE_HEAD, pad_edge=False, padding=(0, 1))
    grid.add_column("", overflow="fold")
    grid.add_column("paper", overflow="fold")
    grid.add_column("ours (generated)", overflow="fold")
    grid.add_column("", no_wrap=True)
    for row in table.rows:
        grid.add_row(Text(row.name), Text(row.paper or "-"), _ours(row), _mark(row.mark))
    return grid


def _ours(row: Row) -> Text:
    if row.mark is not Mark.DIFFERS:
        return Text(row.ours)
    return Text(f"{row.ours}\nexpected: {row.expected}")


def _mark(mark: Mark) -> Text:
    return Text(_MARKS[mark], _STYLES[mark])


def _outcome(result: Reproduction) -> Text:
    rows = [row for table in result.tables for row in table.rows if row.mark is not Mark.MEASURED]
    same = sum(row.mark is Mark.AS_PREDICTED for row in rows)
    text = Text(f"{same} of {len(rows)} judged rows came out as predicted. ", "bold")
    text.append(f"{OURS}.", "not bold")
    return text
