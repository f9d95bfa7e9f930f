"""A reproduction as JSON: every table with its rows and marks.

{"format": "agentbeat-claim-reproduction", "version": 1, "seed": …, "origin": …, "source": …,
 "predictions": "sha256:…", "outcome": "as predicted" | "differs",
 "tables": [{"table": …, "title": …, "note": …,
             "rows": [{"name": …, "paper": … | null, "ours": …, "expected": … | null, "mark": …}]}]}
"""

from __future__ import annotations

import json
from typing import Any

from agentbeat_receipts.corpus.origins import OURS_AT_LENGTH
from agentbeat_receipts.reproduction.paper import SOURCE
from agentbeat_receipts.reproduction.running import Reproduction
from agentbeat_receipts.reproduction.tables import Mark, Row, Table

__all__ = ["to_json"]


def to_json(result: Reproduction) -> str:
    """The JSON of a reproduction, with a line feed at its end."""
    outcome = Mark.AS_PREDICTED if result.as_predicted else Mark.DIFFERS
    document = {
        "format": "agentbeat-claim-reproduction",
        "version": 1,
        "seed": result.seed,
        "origin": OURS_AT_LENGTH,
        "source": SOURCE,
        "predictions": result.predictions,
        "outcome": str(outcome),
        "tables": [_table(table) for table in result.tables],
    }
    return json.dumps(document, ensure_ascii=False, indent=1) + "\n"


def _table(table: Table) -> dict[str, Any]:
    return {
        "table": table.key,
        "title": table.title,
        "note": table.note,
        "rows": [_row(row) for row in table.rows],
    }


def _row(row: Row) -> dict[str, Any]:
    return {
        "name": row.name,
        "paper": row.paper,
        "ours": row.ours,
        "expected": row.expected,
        "mark": str(row.mark),
    }
