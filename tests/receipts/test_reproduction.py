"""The whole corpus, verified: the paper's tables come out, and for the reasons that were predicted."""

from __future__ import annotations

import io
import json

import pytest
from jsonschema import Draft202012Validator
from rich.console import Console

from agentbeat_receipts.reproduction import (
    Mark,
    Predictions,
    print_reproduction,
    published_predictions,
    reproduce,
    running,
    to_json,
)
from agentbeat_receipts.reproduction.faults import fault_rows
from agentbeat_receipts.reproduction.paper import _FIGURES
from agentbeat_receipts.schemas import schema_text
from agentbeat_receipts.tampering import BENIGN, FAULTS, run_catalogue

#: Spec 4, "What must come out", said once more and apart from the file of predictions.
GRID = {
    "E1": "I_C X I_C P",
    "E2": "I_C P I_C P",
    "E3": "I_C P I_E P",
    "E4": "I_E P I_C P",
    "E5": "I_C P I_C P",
    "E6": "I_C P I_C P",
    "E7": "I_C P I_C P, coverage P",
}


#: Of the catalogue, which has tests of its own, a few cases only.
FEW_FAULTS, FEW_CHANGES = FAULTS[:3], BENIGN[:2]


def _few_predicted() -> Predictions:
    published = published_predictions()
    found = dict(fault_rows(run_catalogue((), ())))
    found["faults"] = f"{len(FEW_FAULTS)}/{len(FEW_FAULTS)} as expected"
    found |= {f"faults of {fault.layer}": "all as expected" for fault in FEW_FAULTS}
    found["benign changes"] = f"0/{len(FEW_CHANGES)} false alarms"
    return Predictions({**published.tables, "faults": found}, published.digest)


@pytest.mark.long
def test_every_judged_row_comes_out_as_predicted_and_as_the_paper_has_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(running, "run_catalogue", lambda: run_catalogue(FEW_FAULTS, FEW_CHANGES))
    steps: list[str] = []
    places: list[str] = []
    result = reproduce(
        1,
        predictions=_few_predicted(),
        on_step=lambda text, _: steps.append(text),
        on_verified=lambda verified: places.append(verified.place),
    )
    differing = {
        (table.key, row.name): (row.ours, row.expected)
        for table in result.tables
        for row in table.rows
        if row.mark is Mark.DIFFERS
    }
    assert differing == {}
    assert result.as_predicted

    tables = {table.key: {row.name: row.ours for row in table.rows} for table in result.tables}
    assert tables["grid"] == GRID
    for key in ("corpus", "grid", "replay", "abstractions"):
        assert {name: tables[key][name] for name in _FIGURES[key]} == _FIGURES[key]
    assert tables["controls"]["C1"] == "P, +38.50, lower bound 37.25"
    assert tables["controls"]["C3"] == "P, +28.50 in [27.00, 30.10]"

    # Nothing that is predicted, and no figure of the paper, is left without its row.
    assert tables.keys() == published_predictions().tables.keys() | {"cost"}
    assert {name for rows in _FIGURES.values() for name in rows} <= {
        name for rows in tables.values() for name in rows
    }
    # What is only measured is not judged.
    cost = next(table for table in result.tables if table.key == "cost")
    assert {row.mark for row in cost.rows} == {Mark.MEASURED}

    assert len(places) == 13
    assert len(steps) == len(places) + 6

    schema = json.loads(schema_text("claims-reproduction-v1"))
    Draft202012Validator(schema).validate(json.loads(to_json(result)))

    printed = io.StringIO()
    print_reproduction(result, Console(file=printed, width=110))
    text = " ".join(printed.getvalue().split())
    assert "not the authors' data" in text
    assert result.predictions in text
    assert "DIFFERS" not in text
