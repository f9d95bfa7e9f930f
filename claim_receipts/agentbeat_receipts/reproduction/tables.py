"""Tables of a reproduction: what the paper has, what came out here, and whether that was predicted.

A row's text is compared as a whole with the prediction of its table and name. A row without a prediction,
such as a duration, is shown and never judged.

>>> row = Row("E5", "I_C P I_C P", "I_C P I_C X", "I_C P I_C P")
>>> row.mark
<Mark.DIFFERS: 'differs'>
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum, unique

from agentbeat_receipts.reproduction.paper import paper_figure
from agentbeat_receipts.reproduction.predictions import Predictions

__all__ = ["Mark", "Row", "Table", "table_of"]


@unique
class Mark(StrEnum):
    """What is said of a row."""

    AS_PREDICTED = "as predicted"
    DIFFERS = "differs"
    MEASURED = "measured"


@dataclass(frozen=True, slots=True)
class Row:
    """One line.

    Args:
        name: what it is about.
        paper: the paper's figure; None where it has none.
        ours: what came out here.
        expected: what was predicted; None for what is only measured.
    """

    name: str
    paper: str | None
    ours: str
    expected: str | None

    @property
    def mark(self) -> Mark:
        """Whether it came out as predicted."""
        if self.expected is None:
            return Mark.MEASURED
        return Mark.AS_PREDICTED if self.ours == self.expected else Mark.DIFFERS


@dataclass(frozen=True, slots=True)
class Table:
    """Some rows about one thing.

    Args:
        key: its name in the predictions.
        title: for people.
        rows: in order.
        note: how to read it; empty where it needs no word.
    """

    key: str
    title: str
    rows: tuple[Row, ...]
    note: str = ""

    @property
    def differs(self) -> bool:
        """Whether some row is not as predicted."""
        return any(row.mark is Mark.DIFFERS for row in self.rows)


def table_of(
    key: str, title: str, found: Iterable[tuple[str, str]], predictions: Predictions, *, note: str = ""
) -> Table:
    """A judged table of what came out: names and texts.

    A prediction that nothing came out for is a row that differs: nothing that was predicted is left out.

    Raises:
        KeyError: there is no prediction for a row.
    """
    expected = predictions.of(key)
    rows = [Row(name, paper_figure(key, name), ours, expected[name]) for name, ours in found]
    missing = expected.keys() - {row.name for row in rows}
    rows += [
        Row(name, paper_figure(key, name), "nothing came out", expected[name]) for name in sorted(missing)
    ]
    return Table(key, title, tuple(rows), note)
