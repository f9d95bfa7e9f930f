"""The objects: strict shapes, one canonical body each, signatures by role."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from agentbeat_protocol import CanonicalError, ProtocolError
from agentbeat_receipts import objects
from agentbeat_receipts.canonical import canonical_bytes
from agentbeat_receipts.commitments import Tag
from agentbeat_receipts.keys import Keyring, Role
from agentbeat_receipts.objects import (
    SIGNER,
    Body,
    Checkpoint,
    Document,
    Manifest,
    Opening,
    Receipt,
    SignatureFault,
    Ticket,
    TimeAnchor,
    read_document,
    sign,
    signature_fault,
    write_document,
)
from support.receipt_batches import Parts, attempt, honest, keyring, manifest, opening

Wire = dict[str, Any]


@pytest.fixture(scope="module")
def parts() -> Parts:
    return honest()


def _each_kind(parts: Parts) -> list[Document]:
    kinds = {type(document.body): document for document in parts.documents()}
    token = base64.b64encode(b"a token").decode()
    anchor = TimeAnchor(manifest=manifest().digest(), form="rfc3161", token=token)
    return [*kinds.values(), next(iter(parts.openings.values())), Document(body=anchor)]


def _wire(document: Document) -> Wire:
    wire: Wire = json.loads(write_document(document))
    return wire


def _read(wire: object, **spelling: Any) -> Document:
    return read_document(json.dumps(wire, **spelling).encode())


def test_every_kind_is_written_and_read_back(parts: Parts) -> None:
    documents = _each_kind(parts)
    assert {type(document.body) for document in documents} == set(SIGNER)
    for document in documents:
        assert read_document(write_document(document)) == document
        assert signature_fault(document, keyring().public) is None


@pytest.mark.parametrize(
    "spelling",
    [
        pytest.param({"indent": 2}, id="white-space"),
        pytest.param({"ensure_ascii": False}, id="unescaped"),
        pytest.param({"sort_keys": False, "separators": (" ,\t", "\n: ")}, id="other-separators"),
    ],
)
def test_spelling_changes_neither_digest_nor_signature(parts: Parts, spelling: dict[str, Any]) -> None:
    for document in _each_kind(parts):
        again = _read(_reversed(_wire(document)), **spelling)
        assert again == document
        assert again.body.digest() == document.body.digest()


def _reversed(value: Any) -> Any:
    """The same JSON value with the members of every object in reverse order."""
    if isinstance(value, dict):
        return {name: _reversed(member) for name, member in reversed(value.items())}
    return [_reversed(item) for item in value] if isinstance(value, list) else value


def test_integral_spellings_and_escapes_change_nothing(parts: Parts) -> None:
    raw = write_document(parts.receipts["p-1.none"])
    other = raw.replace(b'"sequence":1,', b'"sequence":10.0e-1,').replace(b'"attempts"', b'"\\u0061ttempts"')
    assert other != raw
    assert read_document(other) == parts.receipts["p-1.none"]


def test_declared_text_is_brought_to_normal_form_c(parts: Parts) -> None:
    wire = _wire(parts.manifest)
    wire["body"]["title"] = "Rooms, cafe\u0301 and sauna"
    assert _read(wire) == parts.manifest
    opened = _wire(parts.openings["p-1.none"])
    opened["body"]["profile"]["name"] = "cafe\u0301"
    assert _read(opened) == parts.openings["p-1.none"]


def test_a_declared_set_has_no_order_and_a_sequence_has(parts: Parts) -> None:
    assert parts.checkpoint is not None
    wire = _wire(parts.checkpoint)
    wire["body"]["tickets"].reverse()
    assert _read(wire) == parts.checkpoint
    ordered = _wire(parts.manifest)
    ordered["body"]["profiles"].reverse()
    assert _read(ordered).body.digest() != parts.manifest.body.digest()


def test_transport_is_no_part_of_the_object(parts: Parts) -> None:
    wire = _wire(parts.receipts["p-1.none"])
    wire["transport"] = {"sent_at": "2026-03-01T10:00:00Z", "received_at": "2026-03-01T10:00:01.5+01:00"}
    assert _read(wire) == parts.receipts["p-1.none"]


def _set(path: str, value: object) -> Callable[[Wire], None]:
    def change(wire: Wire) -> None:
        *way, last = path.split("/")
        place: Any = wire
        for part in way:
            place = place[int(part) if part.isdigit() else part]
        place[last] = value

    return change


def _drop(path: str) -> Callable[[Wire], None]:
    def change(wire: Wire) -> None:
        *way, last = path.split("/")
        place: Any = wire
        for part in way:
            place = place[part]
        del place[last]

    return change


CELL = {"profile": "p-1", "arm": "none", "value": "surplus", "sum": 1, "count": 1, "nulls": {}}
ANALYSIS = {
    "contract": "up",
    "subjects": 2,
    "seed": None,
    "draws": None,
    "input_order": "manifest",
    "estimate": None,
    "lower": None,
    "upper": None,
}
SHAPES = [
    pytest.param("receipt", _set("type", "application/json"), "S-ENUM", id="another-type"),
    pytest.param("receipt", _drop("type"), "S-REQUIRED", id="no-type"),
    pytest.param("receipt", _set("more", 1), "S-ADDPROP", id="member-outside"),
    pytest.param("receipt", _set("body/more", 1), "S-ADDPROP", id="member-inside"),
    pytest.param("receipt", _drop("body/ticket"), "S-REQUIRED", id="null-is-written-out"),
    pytest.param("receipt", _drop("signature"), "S-REQUIRED", id="no-signature"),
    pytest.param("receipt", _set("signature", None), "S-TYPE", id="null-signature"),
    pytest.param("receipt", _set("signature", "AB=="), "S-PATTERN", id="second-spelling-of-base64"),
    pytest.param("receipt", _set("signature", "A B="), "S-PATTERN", id="no-base64"),
    pytest.param("opening", _set("signature", "AA=="), "S-REQUIRED", id="signature-where-none-belongs"),
    pytest.param("opening", _set("key_id", "sha256:" + "0" * 64), "S-ADDPROP", id="hint-where-none-belongs"),
    pytest.param("receipt", _set("transport", {"received_at": "noon"}), "S-DATETIME", id="transport-time"),
    pytest.param("receipt", _set("body/sequence", 0), "S-RANGE", id="sequence-zero"),
    pytest.param("receipt", _set("body/sequence", "1"), "S-TYPE", id="sequence-as-text"),
    pytest.param("receipt", _set("body/sequence", True), "S-TYPE", id="sequence-as-boolean"),
    pytest.param("receipt", _set("body/assignment", "../x"), "S-PATTERN", id="id-that-leads-away"),
    pytest.param("receipt", _set("body/status", "won"), "S-ENUM", id="status"),
    pytest.param("receipt", _set("body/trace", "sha256:" + "0" * 64), "S-PATTERN", id="bare-hash"),
    pytest.param("receipt", _drop("body/components/scorer"), "S-COUNT", id="component-left-out"),
    pytest.param("receipt", _set("body/components/oracle", None), "S-ENUM", id="component-unknown"),
    pytest.param("receipt", _set("body/values/surplus", 0.5), "N-FRACTION", id="fraction"),
    pytest.param("receipt", _set("body/values/surplus", 2**53), "N-RANGE", id="oversized-number"),
    pytest.param("opening", _set("body/profile/cafe\u0301", 1), None, id="nfc-alone-is-fine"),
    pytest.param("opening", _set("body/profile", {"é": 1, "e\u0301": 2}), "N-NFC", id="nfc-collision"),
    pytest.param("opening", _set("body/attempts", []), "S-COUNT", id="no-attempt"),
    pytest.param("manifest", _set("body/profiles", ["p-1", "p-1"]), "X-MANIFEST", id="profile-twice"),
    pytest.param("manifest", _set("body/profiles", ["p-1"]), "X-MANIFEST", id="undeclared-profile"),
    pytest.param("manifest", _set("body/replicates", 2), "X-MANIFEST", id="cell-without-its-replicates"),
    pytest.param("manifest", _set("body/arms/0/treatments", ["x"]), "X-MANIFEST", id="undeclared-flag"),
    pytest.param("manifest", _set("body/assignments/0/arm", "x"), "X-MANIFEST", id="undeclared-arm"),
    pytest.param("manifest", _set("body/assignments/0/replicate", 2), "X-MANIFEST", id="wrong-replicate"),
    pytest.param("manifest", _set("body/comparison_groups/0/arms", ["x"]), "X-MANIFEST", id="group-arm"),
    pytest.param("manifest", _set("body/disclosed", ["a", "a"]), "N-SET", id="set-with-an-element-twice"),
    pytest.param("opening", _set("body/attempts/0/failure", "crash"), "X-ATTEMPT", id="failed-and-accepted"),
    pytest.param("opening", _set("body/attempts/0/status", "failed"), "X-ATTEMPT", id="failed-without-why"),
    pytest.param("report", _set("body/cells", [CELL, CELL]), "X-REPORT", id="cell-twice"),
    pytest.param("report", _set("body/analyses", [ANALYSIS] * 2), "X-REPORT", id="contract-twice"),
    pytest.param("report", _set("body/cells/0/count", -1), "S-RANGE", id="negative-count"),
]


@pytest.mark.parametrize(("kind", "change", "rule"), SHAPES)
def test_another_shape_is_refused_with_its_rule(
    parts: Parts, kind: str, change: Callable[[Wire], None], rule: str | None
) -> None:
    several = {"receipt": parts.receipts["p-1.none"], "opening": parts.openings["p-1.none"]}
    wire = _wire({**several, "manifest": parts.manifest, "report": parts.report}[kind])
    change(wire)
    if rule is None:
        assert _read(wire)
        return
    with pytest.raises(ProtocolError) as refusal:
        _read(wire)
    assert refusal.value.rule == rule


C1: Wire = {
    "contract": "up",
    "claim": "C1",
    "outcome": "surplus",
    "estimand": "strongest_minus_weakest",
    "nesting": "replicates_in_cells_in_profiles",
    "pairing": "within_profile",
    "estimator": "mc",
    "seed": "c2VlZA==",
    "draws": 2000,
    "input_order": "manifest",
    "interval": "ceil_rank",
    "levels": ["none", "both"],
    "direction": "increasing",
    "threshold": 0,
}
C3: Wire = {
    **{name: C1[name] for name in ("outcome", "nesting", "pairing", "input_order", "interval")},
    "contract": "steady",
    "claim": "C3",
    "estimand": "mean_contrast",
    "estimator": "exact",
    "seed": None,
    "draws": None,
    "contrast": {"minuend": "both", "subtrahend": "none"},
    "boundary": {"kind": "sign", "at": 0},
    "max_variance": {"numerator": 5, "denominator": 2},
}


@pytest.mark.parametrize("contract", [C1, C3, {**C3, "boundary": {"kind": "equivalence", "delta": 5}}])
def test_contracts_are_part_of_what_is_signed(parts: Parts, contract: Wire) -> None:
    wire = _wire(parts.manifest)
    wire["body"]["contracts"] = [contract]
    read = _read(wire)
    assert json.loads(read.body.canonical())["contracts"] == [contract]
    assert signature_fault(read, keyring().public) is SignatureFault.INVALID


@pytest.mark.parametrize(
    ("contract", "rule"),
    [
        pytest.param({**C1, "seed": None}, "X-CONTRACT", id="resampling-without-a-seed"),
        pytest.param({**C3, "draws": 10}, "X-CONTRACT", id="draws-of-an-exact-one"),
        pytest.param({**C1, "levels": ["none", "x"]}, "X-MANIFEST", id="undeclared-level"),
        pytest.param({**C1, "levels": ["none"]}, "S-COUNT", id="one-level"),
        pytest.param({**C1, "levels": ["none", "both", "none"]}, "X-MANIFEST", id="a-level-twice"),
        pytest.param({**C1, "outcome": "secret"}, "X-MANIFEST", id="outcome-not-disclosed"),
        pytest.param({**C1, "claim": "C2"}, "S-ENUM", id="claim-without-contracts"),
        pytest.param({**C1, "pairing": "none"}, "S-ENUM", id="other-pairing"),
        pytest.param(
            {**C3, "contrast": {"minuend": "x", "subtrahend": "none"}}, "X-MANIFEST", id="contrast-arm"
        ),
    ],
)
def test_a_contract_that_leaves_something_open_is_refused(parts: Parts, contract: Wire, rule: str) -> None:
    wire = _wire(parts.manifest)
    wire["body"]["contracts"] = [contract]
    with pytest.raises(ProtocolError) as refusal:
        _read(wire)
    assert refusal.value.rule == rule


def test_more_contracts_than_a_verifier_would_analyse_are_refused(parts: Parts) -> None:
    wire = _wire(parts.manifest)
    wire["body"]["contracts"] = [{**C3, "contract": f"steady-{place}"} for place in range(65)]
    with pytest.raises(ProtocolError) as refusal:
        _read(wire)
    assert refusal.value.rule == "S-COUNT"
    wire["body"]["contracts"].pop()
    assert _read(wire)


@pytest.mark.parametrize(
    ("value", "accepted"),
    [
        (0, True),
        (-(2**53) + 1, True),
        ("0.50", True),
        ("-0.5", True),
        ("9007199254740993", True),
        ("-0", False),
        ("01", False),
        ("1e3", False),
        (".5", False),
        ({"pair": [7, 9]}, True),
        ({"pair": [7, "9007199254740992"]}, True),
        ({"pair": [7, "9"]}, False),
        ({"pair": [7]}, False),
        ({"null": "first_best_zero"}, True),
        ({"null": None}, False),
        (None, False),
        (True, False),
        ([], False),
    ],
)
def test_a_value_is_exact_or_typed_null(parts: Parts, value: object, accepted: bool) -> None:
    wire = _wire(parts.receipts["p-1.none"])
    wire["body"]["values"]["surplus"] = value
    if accepted:
        assert json.loads(_read(wire).body.canonical())["values"]["surplus"] == value
    else:
        with pytest.raises(ProtocolError):
            _read(wire)


def test_a_double_that_comes_in_from_python_is_not_signed() -> None:
    made = opening(manifest(), "p-1.none", None, profile={"outside_option": 0.5})
    with pytest.raises(CanonicalError, match="N-TYPE"):
        made.digest()


def test_only_the_role_of_its_type_signs_an_object(parts: Parts) -> None:
    keys = keyring()
    for document in _each_kind(parts):
        role = SIGNER[type(document.body)]
        if role is None:
            continue
        other = next(r for r in (Role.MANIFEST_AUTHORITY, Role.INGRESS_AUTHORITY) if r is not role)
        message = document.body.signed_bytes()
        wrong = replace(document, signature=keys.sign(other, message))
        assert signature_fault(wrong, keys.public) is SignatureFault.WRONG_ROLE
        stranger = sign(document.body, Keyring.generate())
        assert signature_fault(stranger, keys.public) is SignatureFault.INVALID


def test_a_hint_may_be_absent_but_not_wrong(parts: Parts) -> None:
    receipt = parts.receipts["p-1.none"]
    public = keyring().public
    assert signature_fault(replace(receipt, key_id=None), public) is None
    wrong = replace(receipt, key_id=public.key_id(Role.MANIFEST_AUTHORITY))
    assert signature_fault(wrong, public) is SignatureFault.HINT


def test_a_signature_counts_for_its_type(parts: Parts) -> None:
    """Ticket and checkpoint share members; the type is part of what is signed."""
    ticket = parts.tickets["p-1.none"].body
    assert isinstance(ticket, Ticket)
    assert ticket.signed_bytes() != canonical_bytes(ticket.model_dump(mode="json"))
    types = {kind.TYPE for kind in SIGNER}
    assert len(types) == len(SIGNER)
    assert all(kind in ticket.signed_bytes().decode() for kind in [Ticket.TYPE])
    assert Checkpoint.TYPE not in ticket.signed_bytes().decode()


def test_commitments_are_over_what_they_say() -> None:
    base = opening(manifest(), "p-1.none", None)

    def moved(**changes: Any) -> set[Tag]:
        other = opening(manifest(), "p-1.none", None, **changes)
        tags = [tag for tag in Tag if tag is not Tag.DERIVED_NONCE]
        return {tag for tag in tags if base.content(tag) != other.content(tag)}

    assert moved(profile={}) == {Tag.OPENING}
    assert moved(attempts=(attempt(events=()),)) == {Tag.OPENING, Tag.TRACE}
    assert moved(attempts=(attempt(offers=()),)) == {Tag.OPENING, Tag.OFFERS}
    assert moved(attempts=(attempt(choice=None),)) == {Tag.OPENING, Tag.OUTCOME}
    assert moved(reported={}) == {Tag.OPENING, Tag.OUTCOME}
    assert moved(nonce=base64.b64encode(bytes(32)).decode()) == set()
    with pytest.raises(ValueError, match="no commitment of a receipt"):
        base.content(Tag.DERIVED_NONCE)


def test_the_public_members_are_what_is_exported() -> None:
    assert len(set(objects.__all__)) == len(objects.__all__)
    assert all(hasattr(objects, name) for name in objects.__all__)
    kinds = {kind for kind in vars(objects).values() if isinstance(kind, type) and issubclass(kind, Body)}
    assert kinds - {Body} == set(SIGNER)


def test_bodies_are_frozen_records() -> None:
    for kind in (Manifest, Receipt, Opening):
        assert kind.model_config["frozen"]
        assert kind.model_config["extra"] == "forbid"
