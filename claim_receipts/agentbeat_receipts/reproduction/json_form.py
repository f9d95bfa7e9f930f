"""A reproduction as JSON, `claims-reproduction-v1`: every table with its rows and marks. The package ships
its schema.

{"schema_version": "claims-reproduction-v1", "seed": …, "origin": …, "source": …, "predictions": "sha256:…",
 "outcome": "as predicted" | "differs",
 "tables": [{"table": …, "title": …, "note": …,
             "rows": [{"name": …, "paper": … | null, "ours": …, "expected": … | null, "mark": …}]}]}
"""

from __future__ import annotations

import json
from typing import Annotated, Final, Literal

from pydantic import BaseModel, ConfigDict, Field

from agentbeat_receipts.corpus.origins import OURS_AT_LENGTH
from agentbeat_receipts.reproduction.paper import SOURCE
from agentbeat_receipts.reproduction.running import Reproduction
from agentbeat_receipts.reproduction.tables import Mark, Row, Table

__all__ = ["SCHEMA_NAME", "ReproductionReport", "to_json"]

SCHEMA_NAME: Final = "claims-reproduction-v1"


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class RowPart(_Part):
    """One line of a table."""

    name: str
    paper: str | None = Field(description="The paper's figure; null where it has none.")
    ours: str = Field(description="What came out here.")
    expected: str | None = Field(description="What was predicted; null for what is only measured.")
    mark: Mark


class TablePart(_Part):
    """Some rows about one thing."""

    table: str = Field(description="Its name in the predictions.")
    title: str
    note: str = Field(description="How to read it; empty where it needs no word.")
    rows: tuple[RowPart, ...]


class ReproductionReport(_Part):
    """What `agentbeat claims reproduce` says."""

    schema_version: Literal["claims-reproduction-v1"]
    seed: Annotated[int, Field(ge=0, description="The corpus' number.")]
    origin: str = Field(description="Whose data the corpus is.")
    source: str = Field(description="The paper.")
    predictions: Annotated[
        str, Field(pattern=r"^sha256:[0-9a-f]{64}$", description="Digest of what was predicted.")
    ]
    outcome: Literal[Mark.AS_PREDICTED, Mark.DIFFERS] = Field(
        description="Whether each row that is judged came out as predicted."
    )
    tables: tuple[TablePart, ...]


def to_json(result: Reproduction) -> str:
    """The JSON of a reproduction, with a line feed at its end."""
    report = ReproductionReport(
        schema_version=SCHEMA_NAME,
        seed=result.seed,
        origin=OURS_AT_LENGTH,
        source=SOURCE,
        predictions=result.predictions,
        outcome=Mark.AS_PREDICTED if result.as_predicted else Mark.DIFFERS,
        tables=tuple(_table(table) for table in result.tables),
    )
    return json.dumps(report.model_dump(mode="json"), ensure_ascii=False, indent=1) + "\n"


def _table(table: Table) -> TablePart:
    return TablePart(
        table=table.key, title=table.title, note=table.note, rows=tuple(_row(row) for row in table.rows)
    )


def _row(row: Row) -> RowPart:
    return RowPart(name=row.name, paper=row.paper, ours=row.ours, expected=row.expected, mark=row.mark)
