"""Rows, predictions and what is printed of them; a row that differs is marked and decides the exit code."""

from __future__ import annotations

import hashlib
import io
import json
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from rich.console import Console

from agentbeat_receipts.claims import GROUPS
from agentbeat_receipts.deliveries import Delivery
from agentbeat_receipts.domains.market import DOMAIN
from agentbeat_receipts.reproduction import (
    Mark,
    Predictions,
    Reproduction,
    Row,
    Table,
    print_reproduction,
    published_predictions,
    to_json,
)
from agentbeat_receipts.reproduction.ablations import ABSTRACTIONS, SHORT
from agentbeat_receipts.reproduction.faults import fault_rows
from agentbeat_receipts.reproduction.tables import table_of
from agentbeat_receipts.reproduction.variants import without
from agentbeat_receipts.schemas import schema_text
from agentbeat_receipts.tampering import BENIGN, FAULTS, CatalogueResults, trial
from support.claim_commands import claims

EXPECTED = Predictions.read(b'{"grid": {"E1": "I_C X I_C P", "E2": "I_C P I_C P"}}')


def _result(*rows: Row) -> Reproduction:
    return Reproduction(1, EXPECTED.digest, (Table("grid", "Verdicts", rows),))


SAME = Row("E1", "I_C X I_C P", "I_C X I_C P", "I_C X I_C P")
OTHER = Row("E2", "I_C P I_C P", "I_C X I_C P", "I_C P I_C P")
ONLY_MEASURED = Row("public check", "297 µs", "300 µs", None)


def test_a_row_is_held_against_its_prediction_and_not_against_the_paper() -> None:
    table = table_of("grid", "Verdicts", [("E1", "I_C X I_C P"), ("E2", "I_C X I_C P")], EXPECTED)
    assert [row.mark for row in table.rows] == [Mark.AS_PREDICTED, Mark.DIFFERS]
    assert [row.paper for row in table.rows] == ["I_C X I_C P", "I_C P I_C P"]
    assert table.differs


def test_a_prediction_for_which_nothing_came_out_is_a_row_that_differs() -> None:
    table = table_of("grid", "Verdicts", [("E1", "I_C X I_C P")], EXPECTED)
    assert [(row.name, row.mark) for row in table.rows] == [
        ("E1", Mark.AS_PREDICTED),
        ("E2", Mark.DIFFERS),
    ]


def test_a_row_without_a_prediction_is_refused_where_rows_are_judged() -> None:
    with pytest.raises(KeyError):
        table_of("grid", "Verdicts", [("E9", "I_C P I_C P")], EXPECTED)


def test_what_is_only_measured_judges_nothing() -> None:
    assert ONLY_MEASURED.mark is Mark.MEASURED
    assert _result(SAME, ONLY_MEASURED).as_predicted
    assert not _result(SAME, OTHER).as_predicted


def test_the_digest_of_the_predictions_is_that_of_the_files_bytes() -> None:
    raw = (files("agentbeat_receipts.reproduction") / "predictions.json").read_bytes()
    assert published_predictions().digest == "sha256:" + hashlib.sha256(raw).hexdigest()


@pytest.mark.parametrize("raw", [b"[]", b'{"grid": []}', b'{"grid": {"E1": 1}}', b'{"grid": "P"}'])
def test_predictions_of_another_shape_are_refused(raw: bytes) -> None:
    with pytest.raises(ValueError, match="expected"):
        Predictions.read(raw)


def test_the_predicted_matrix_is_what_the_domain_declares() -> None:
    rows = published_predictions().of("matrix")
    claims_in_order = (*DOMAIN.claims, "C1", "C2", "C3", "C4")
    dots = 0
    for group in GROUPS:
        needing = [claim for claim in claims_in_order if group in DOMAIN.needs[claim]]
        assert rows[f"{group} {group.label}"] == " ".join(SHORT.get(claim, claim) for claim in needing)
        dots += len(needing)
    assert rows["dots"] == str(dots) == "66"


def test_the_predictions_count_every_fault_and_benign_change_of_the_catalogue() -> None:
    rows = published_predictions().of("faults")
    assert rows["faults"] == f"{len(FAULTS)}/{len(FAULTS)} as expected"
    layers = {f"faults of {fault.layer}" for fault in FAULTS}
    assert layers == rows.keys() - {"faults", "benign changes"}
    assert rows["benign changes"] == f"0/{len(BENIGN)} false alarms"


def test_a_fault_that_is_not_found_and_a_false_alarm_are_named() -> None:
    honest, fault, change = trial(), FAULTS[0], BENIGN[0]
    missed = replace(honest, fault=fault)
    alarmed = replace(trial(fault), fault=None, benign=change)
    rows = dict(fault_rows(CatalogueResults(faults=(missed,), benign=(alarmed,))))
    assert rows["faults"] == "0/1 as expected"
    assert rows[f"faults of {fault.layer}"] == f"not as expected: {fault.name}"
    assert rows["benign changes"] == f"1/1 false alarms: {change.name}"


def test_each_kind_of_record_keeps_more_than_the_one_it_is_part_of() -> None:
    kept = list(ABSTRACTIONS.values())
    assert kept[0] < kept[1] < kept[2]
    assert kept[3] < kept[4] == frozenset(GROUPS)


def test_a_row_that_differs_is_printed_with_what_was_expected() -> None:
    printed = io.StringIO()
    print_reproduction(_result(SAME, OTHER), Console(file=printed, width=100))
    text = " ".join(printed.getvalue().split())
    assert "DIFFERS" in text
    assert "expected: I_C P I_C P" in text
    assert "1 of 2 judged rows came out as predicted" in text


def test_the_json_has_every_row_and_its_mark() -> None:
    document = json.loads(to_json(_result(SAME, OTHER, ONLY_MEASURED)))
    assert document["outcome"] == "differs"
    assert "not the authors' data" in document["origin"]
    assert [row["mark"] for row in document["tables"][0]["rows"]] == ["as predicted", "differs", "measured"]
    check = Draft202012Validator(json.loads(schema_text(document["schema_version"])))
    check.validate(document)
    assert not check.is_valid({**document, "outcome": "measured"})
    assert not check.is_valid({**document, "format": "agentbeat-claim-reproduction"})
    assert not check.is_valid({name: said for name, said in document.items() if name != "predictions"})


def test_one_run_is_kept_back_with_its_receipt_and_its_envelope() -> None:
    names = ["envelopes/p-1.json", "receipts/p-1.json", "receipts/p-10.json", "tickets/p-1.json"]
    left = without([Delivery(name, b"{}") for name in names], "p-1")
    assert [delivery.path for delivery in left] == ["receipts/p-10.json", "tickets/p-1.json"]


@pytest.mark.parametrize(("row", "code"), [(SAME, 0), (OTHER, 1)])
def test_the_exit_code_is_1_when_a_row_differs(
    row: Row, code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []

    def stub(seed: int, **_: Any) -> Reproduction:
        asked.append(seed)
        return _result(row)

    monkeypatch.setattr("agentbeat_receipts.reproduction.reproduce", stub)
    ran = claims("reproduce", "--seed", "4", "--json", tmp_path / "found.json")
    assert (ran.code, asked) == (code, [4])
    assert ran.err.splitlines()[:2][-1] == f"predictions: {published_predictions().digest}"
    assert json.loads((tmp_path / "found.json").read_bytes())["tables"][0]["rows"][0]["ours"] == row.ours


def test_nothing_is_made_where_the_json_is_there_already(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stub(seed: int, **_: Any) -> Reproduction:
        raise AssertionError(seed)

    monkeypatch.setattr("agentbeat_receipts.reproduction.reproduce", stub)
    (tmp_path / "found.json").write_text("mine")
    ran = claims("reproduce", "--json", tmp_path / "found.json", "--out", tmp_path / "corpus")
    assert ran.code == 2
    assert "there already" in ran.err
    assert not (tmp_path / "corpus").exists()
    assert (tmp_path / "found.json").read_text() == "mine"
