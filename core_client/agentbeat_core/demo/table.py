"""The demo's rows, as a table or, where that does not fit, as blocks of lines.

The words are ASCII. Colours are rich's, which leaves them out unless the output is a terminal; a verdict is
told by its word and never by its colour alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from rich.box import SIMPLE_HEAD
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from agentbeat_core.demo.outcomes import Outcome

__all__ = ["TABLE_WIDTH", "Row", "rows_for"]

#: The columns of the table and their widths. On a console of fewer columns than all of them take, words
#: would be broken: then rows are told as blocks of lines.
_COLUMNS: Final = (
    ("case", 19),
    ("agent", 8),
    ("tier", 4),
    ("observed", 8),
    ("evidence", 18),
    ("utility", 8),
    ("security", 8),
    ("ASR", 9),
    ("overall", 8),
    ("score", 11),
    ("result", 9),
)
TABLE_WIDTH: Final = sum(width + 1 for _, width in _COLUMNS) - 1

_METRICS: Final = ("utility", "security", "asr", "overall")
_WORDS: Final = {
    "attack_blocked": "blocked",
    "attack_succeeded": "SUCCEEDED",
    "not_observed": "not observed",
    "not_applicable": "n/a",
}
_GOOD: Final = frozenset({"pass", "blocked"})
_BAD: Final = frozenset({"fail", "SUCCEEDED"})


@dataclass(frozen=True, kw_only=True)
class Row:
    """A run for the reader.

    Attributes:
        name: its name in file names.
        case: what the case is about, in a few words.
        note: what is special about this row; may be empty.
        agent: the Agent's behaviour.
        tier: the tier that was asked for.
        outcome: what came of it.
        surprises: what came out otherwise than the case expects.
    """

    name: str
    case: str
    note: str
    agent: str
    tier: str
    outcome: Outcome
    surprises: tuple[str, ...] = ()


def rows_for(rows: Sequence[Row], *, width: int) -> RenderableType:
    """All rows, then every surprise, for a console of this many columns."""
    shown = [_table(rows)] if width >= TABLE_WIDTH else _blocks(rows)
    return Group(*shown, *_surprises(rows))


def _table(rows: Iterable[Row]) -> RenderableType:
    # The box itself puts a space between two columns.
    table = Table(box=SIMPLE_HEAD, padding=0, pad_edge=False, show_edge=False)
    for name, width in _COLUMNS:
        table.add_column(name, width=width, overflow="fold")
    for row in rows:
        outcome = row.outcome
        table.add_row(
            _case(row),
            row.agent,
            row.tier,
            outcome.observed or "-",
            "\n".join(_evidence(outcome)),
            *(_verdict(getattr(outcome, name)) for name in _METRICS),
            _score(outcome),
            _label(outcome).replace("-", "-\n") if outcome.official is False else _label(outcome),
        )
    return table


def _blocks(rows: Iterable[Row]) -> Iterator[RenderableType]:
    for number, row in enumerate(rows):
        if number:
            yield Text()
        outcome = row.outcome
        head = Text.assemble((row.case, "bold"), f"  {row.agent}  {row.tier}")
        head.append(f", observed {outcome.observed}" if outcome.observed else "")
        head.append(f"  ({row.note})" if row.note else "")
        yield head
        status, *channels = _evidence(outcome)
        evidence = f"{status} {', '.join(channels)}".strip()
        if outcome.overall is None:
            yield _indented(Text(evidence))
        else:
            verdicts = [
                Text.assemble("ASR " if name == "asr" else f"{name} ", _verdict(getattr(outcome, name)))
                for name in _METRICS
            ]
            yield _indented(Text(", ").join(verdicts))
            yield _indented(Text(f"score {_score(outcome)}, {_label(outcome)}; evidence {evidence}"))


def _surprises(rows: Iterable[Row]) -> Iterator[RenderableType]:
    for row in rows:
        for surprise in row.surprises:
            yield Text(f"not as expected: {row.name}: {surprise}", style="bold red")


def _indented(text: Text) -> RenderableType:
    grid = Table.grid()
    grid.add_row("  ", text)
    return grid


def _case(row: Row) -> Text:
    text = Text(row.case)
    if row.note:
        text.append(f"\n{row.note}", style="dim")
    if row.surprises:
        text.append("\nNOT AS EXPECTED", style="bold red")
    return text


def _evidence(outcome: Outcome) -> list[str]:
    """The evidence's status and the channels that are worth a word, a line of the table each."""
    if outcome.evidence is None:
        return [f"{outcome.status}:", (outcome.failure or "").replace("_", " ")]
    lines = [outcome.evidence]
    for word, channels in (("missing", outcome.missing), ("empty", outcome.empty)):
        if channels:
            lines[-1] += f", {word}:"
            lines += channels
    return lines


def _verdict(verdict: str | None) -> Text:
    word = "-" if verdict is None else _WORDS.get(verdict, verdict)
    return Text(word, style="green" if word in _GOOD else "bold red" if word in _BAD else "dim")


def _score(outcome: Outcome) -> str:
    if outcome.score is None:
        return "-"
    return f"{outcome.score:.2f} {'final' if outcome.final else 'provisional'}"


def _label(outcome: Outcome) -> str:
    if outcome.official is None:
        return "-"
    return "official" if outcome.official else "scope-qualified"
