"""The JSON Schemas are those of the models, and real documents fit them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from agentbeat_receipts.bundles import FORMAT_FILE, bundle_files
from agentbeat_receipts.keyring_files import public_keyring_bytes
from agentbeat_receipts.objects import SIGNER, Document, Opening, TimeAnchor, read_document, write_document
from agentbeat_receipts.reports.json_report import to_json
from agentbeat_receipts.schemas import generated_schema, schema_names, schema_text
from agentbeat_receipts.schemas.__main__ import write_all
from support.claim_batches import Making, batch, judged, kiosk_manifest
from support.claim_commands import retrospective
from support.receipt_batches import keyring


def validator(name: str) -> Draft202012Validator:
    return Draft202012Validator(json.loads(schema_text(name)))


def documents() -> list[Document]:
    parts = batch(Making(manifest=kiosk_manifest(contracts=())))
    anchor = TimeAnchor(manifest=parts.manifest.body.digest(), form="rfc3161", token="AAAA")
    return [*parts.documents(), *parts.openings.values(), Document(body=anchor)]


DOCUMENTS = documents()
FIRST = {type(document.body): document for document in reversed(DOCUMENTS)}


def wire(document: Document) -> dict[str, Any]:
    found = json.loads(write_document(document))
    assert isinstance(found, dict)
    return found


@pytest.mark.parametrize("name", schema_names())
def test_a_shipped_schema_is_what_the_models_give_and_is_a_schema(name: str) -> None:
    assert schema_text(name) == generated_schema(name), "run python -m agentbeat_receipts.schemas"
    Draft202012Validator.check_schema(json.loads(schema_text(name)))


def test_no_other_schema_is_shipped_and_writing_them_removes_stale_ones(tmp_path: Path) -> None:
    import agentbeat_receipts.schemas as package

    shipped = {path.stem for path in Path(package.__file__).parent.glob("*.json")}
    assert shipped == set(schema_names())
    (tmp_path / "claims-gone-v1.json").write_text("{}")
    write_all(tmp_path)
    assert {path.stem for path in tmp_path.iterdir()} == shipped


def test_there_is_one_for_every_kind_of_object() -> None:
    assert set(FIRST) == set(SIGNER)
    kinds = {kind.TYPE.split(".claims.")[1].split(".v1")[0] for kind in SIGNER}
    beside = {"document", "bundle", "public-keyring", "verification", "reproduction"}
    assert {f"claims-{kind}-v1" for kind in kinds | beside} == set(schema_names())


@pytest.mark.parametrize("kind", SIGNER, ids=lambda kind: kind.__name__)
def test_a_real_object_fits_its_own_schema_and_no_other(kind: type) -> None:
    fitting = {
        other.__name__
        for other in SIGNER
        if validator(f"claims-{other.TYPE.split('.claims.')[1].split('.v1')[0]}-v1").is_valid(
            wire(FIRST[kind])["body"]
        )
    }
    assert fitting == {kind.__name__}


def test_every_document_of_a_batch_fits_the_documents_schema() -> None:
    check = validator("claims-document-v1")
    for document in DOCUMENTS:
        check.validate(wire(document))


WRONG = {
    "no signature": lambda made: made.pop("signature"),
    "another type": lambda made: made.update(type="text/plain"),
    "the type of another kind": lambda made: made.update(type=Opening.TYPE),
    "a member more": lambda made: made.update(more=1),
    "a member more in the body": lambda made: made["body"].update(more=1),
    "a member less in the body": lambda made: made["body"].pop("assignment"),
    "a float": lambda made: made["body"].update(sequence=1.5),
    "null for an absent hint": lambda made: made.update(key_id=None),
}


@pytest.mark.parametrize("change", WRONG.values(), ids=WRONG)
def test_what_the_reader_refuses_by_its_shape_the_schema_refuses_too(change: Any) -> None:
    from agentbeat_protocol import ProtocolError
    from agentbeat_receipts.objects import Receipt

    made = wire(FIRST[Receipt])
    change(made)
    with pytest.raises(ProtocolError):
        read_document(json.dumps(made).encode())
    assert not validator("claims-document-v1").is_valid(made)


def test_a_checkpoint_over_no_ticket_is_refused_by_reader_and_schema() -> None:
    from agentbeat_protocol import ProtocolError
    from agentbeat_receipts.objects import Checkpoint

    made = wire(FIRST[Checkpoint])
    made["body"]["tickets"] = []
    with pytest.raises(ProtocolError):
        read_document(json.dumps(made).encode())
    assert not validator("claims-document-v1").is_valid(made)


def test_what_nobody_signs_has_no_signature_in_the_schema_either() -> None:
    made = wire(FIRST[Opening])
    assert validator("claims-document-v1").is_valid(made)
    assert not validator("claims-document-v1").is_valid({**made, "signature": "AAAA"})


def test_bundle_json_and_public_json_fit() -> None:
    validator("claims-bundle-v1").validate(json.loads(bundle_files([])[FORMAT_FILE]))
    public = json.loads(public_keyring_bytes(keyring().public))
    validator("claims-public-keyring-v1").validate(public)
    assert not validator("claims-public-keyring-v1").is_valid({**public, "auditor": "AAAA"})


def test_reports_of_sound_incomplete_and_wrong_batches_fit() -> None:
    parts = batch(Making(manifest=retrospective()))
    wrong = batch(Making(manifest=retrospective(), disclosed={"v-1.free.1": {"values": {"sale": 0}}}))
    check = validator("claims-verification-v1")
    for report in (
        judged(parts),
        judged(parts, opened=False),
        judged(parts, domain=None),
        judged(parts.without("receipts", "v-1.free.1")),
        judged(wrong),
    ):
        check.validate(json.loads(to_json(report)))
