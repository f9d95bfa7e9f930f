"""What is fast gives the answers of what is plain to see, on honest and on hostile bytes."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentbeat_protocol import CanonicalError, ProtocolError
from agentbeat_protocol.strict_json import MAX_DEPTH
from agentbeat_receipts.canonical import (
    canonical_bytes,
    is_normal,
    nfc,
)
from agentbeat_receipts.commitments import Tag
from agentbeat_receipts.envelopes import Binding, unseal
from agentbeat_receipts.objects import Body, Document, Opening, Receipt, read_document, write_document
from agentbeat_receipts.objects import documents as reading
from support.json_values import exact_values
from support.receipt_batches import attempt, honest, keyring, manifest, opening

#: Spellings that the exact reader takes apart with care, each as a value of JSON.
ODDITIES = {
    "fraction": b"1.5",
    "integral-fraction": b"1.0",
    "exponent": b"1e3",
    "minus-zero": b"-0",
    "minus-zero-fraction": b"-0.0",
    "last-in-range": b"9007199254740991",
    "first-out-of-range": b"9007199254740992",
    "negative-out-of-range": b"-9007199254740992",
    "sixteen-digits-in-range": b"1000000000000000",
    "long-token": b"1" * 40,
    "huge-exponent": b"1e400",
    "nan": b"NaN",
    "infinity": b"-Infinity",
    "repeated-name": b'{"a":1,"a":1}',
    "repeated-name-by-escape": b'{"a":1,"\\u0061":1}',
    "unsorted": b'{"b":1,"a":1}',
    "unsorted-beyond-16-bits": '{"\U0001f600":1,"\ufe0f":1}'.encode(),
    "sorted-beyond-16-bits": '{"\ufe0f":1,"\U0001f600":1}'.encode(),
    "white-space": b'{"a": 1}',
    "escape": b'"\\u0061"',
    "short-escape-in-long": b'"\\u000a"',
    "escaped-solidus": b'"\\/"',
    "escaped-backslash-u": b'"\\\\ud800"',
    "lone-surrogate": b'"\\ud800"',
    "lone-surrogate-as-name": b'{"\\udc00":1}',
    "paired-surrogates": b'"\\ud83d\\ude00"',
    "delete": b'"\x7f"',
    "control": b'"\x01"',
    "no-utf-8": b'"\xff"',
    "not-in-normal-form": '"e\u0301"'.encode(),
    "names-of-one-normal-form": '{"e\u0301":1,"\u00e9":1}'.encode(),
    "normal-form-by-escape": b'"e\\u0301"',
    "mark-after-a-quote": '"\\"\u0338"'.encode(),
    "mark-after-an-escaped-line-feed": '"\\n\u0303"'.encode(),
    "mark-after-a-control-character": '"\\u001a\u030a"'.encode(),
    "mark-at-the-beginning": '"\u0301"'.encode(),
    "as-deep-as-may-be": b"[" * (MAX_DEPTH - 3) + b"]" * (MAX_DEPTH - 3),
    "one-level-too-deep": b"[" * (MAX_DEPTH - 2) + b"]" * (MAX_DEPTH - 2),
    "far-too-deep": b"[" * 100_000 + b"]" * 100_000,
    "brackets-in-a-text": b'"' + b"]" * 300 + b'"',
    "true": b"true",
    "cut-off": b'{"a":',
    "empty": b"",
}

PARTS = honest()
SPELLED = {
    type(document.body).__name__: write_document(document)
    for document in (*PARTS.documents(), *PARTS.openings.values())
}
OPENING = SPELLED["Opening"]


def slowly(raw: bytes) -> tuple[object, ...]:
    """The exact reading: a document and the canonical bytes of its body, or what is wrong."""
    try:
        document = reading._read_exactly(raw)
        return document, canonical_bytes(document.body.model_dump(mode="json"))
    except ProtocolError as error:
        return type(error), error.rule, error.path, str(error)


def quickly(raw: bytes) -> tuple[object, ...]:
    try:
        found = reading.read_whole(raw)
    except ProtocolError as error:
        return type(error), error.rule, error.path, str(error)
    body = found.document.body
    if found.contents is not None:
        assert isinstance(body, Opening)
        assert found.contents == body.contents()
    assert read_document(raw) == found.document
    return found.document, found.canonical


@pytest.mark.parametrize("kind", sorted(SPELLED))
def test_a_document_as_it_is_written_is_read_the_fast_way(kind: str) -> None:
    for raw in (SPELLED[kind], SPELLED[kind] + b"\n"):
        assert reading._as_written(raw) is not None
        assert quickly(raw) == slowly(raw)


@pytest.mark.parametrize("oddity", ODDITIES.values(), ids=ODDITIES)
@pytest.mark.parametrize(
    "place",
    [
        pytest.param((b'"outside_option":300', b'"outside_option":%b'), id="in-a-profile"),
        pytest.param((b'"materials":{}', b'"materials":{"made":%b}'), id="in-a-material"),
        pytest.param((b'"number":1', b'"number":%b'), id="as-a-number-of-the-schema"),
        pytest.param((b'"surplus":40', b'"surplus":%b'), id="as-a-value"),
        pytest.param((b'"domain":"market"', b'"domain":%b'), id="as-a-text-of-the-schema"),
        pytest.param((b'{"body"', b'{"anew":%b,"body"'), id="as-a-member-of-the-document"),
    ],
)
def test_an_odd_spelling_is_read_or_refused_the_same_way(place: tuple[bytes, bytes], oddity: bytes) -> None:
    found, put = place
    assert found in OPENING
    raw = OPENING.replace(found, put.replace(b"%b", oddity))
    assert quickly(raw) == slowly(raw)


@pytest.mark.parametrize("kind", sorted(SPELLED))
@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda wire: wire.pop("type"), id="no-type"),
        pytest.param(lambda wire: wire.update(type="another"), id="unknown-type"),
        pytest.param(lambda wire: wire.update(type=["opening"]), id="type-of-another-type"),
        pytest.param(lambda wire: wire.update(type=SPELLED["Ticket"].decode()[-60:-2]), id="other-type"),
        pytest.param(lambda wire: wire.update(body=None), id="no-body"),
        pytest.param(lambda wire: wire.update(body=[]), id="body-of-another-type"),
        pytest.param(lambda wire: wire.pop("signature", None), id="no-signature"),
        pytest.param(lambda wire: wire.update(signature="AAA="), id="a-signature"),
        pytest.param(lambda wire: wire.update(signature="AAB="), id="signature-with-spare-bits"),
        pytest.param(lambda wire: wire.update(signature="A A="), id="signature-with-space"),
        pytest.param(lambda wire: wire.update(signature=None), id="signature-null"),
        pytest.param(lambda wire: wire.update(signature=1), id="signature-of-another-type"),
        pytest.param(lambda wire: wire.update(signature=""), id="empty-signature"),
        pytest.param(lambda wire: wire.update(key_id="sha256:" + "0" * 64), id="a-key-id"),
        pytest.param(lambda wire: wire.update(key_id="sha256:0"), id="short-key-id"),
        pytest.param(lambda wire: wire.update(key_id='sha256:","'), id="key-id-that-breaks-out"),
        pytest.param(lambda wire: wire.update(key_id=None), id="key-id-null"),
        pytest.param(lambda wire: wire.update(transport={}), id="transport"),
        pytest.param(lambda wire: wire.update(transport={"sent_at": "2026-01-01T00:00:00Z"}), id="times"),
        pytest.param(lambda wire: wire.update(other=1), id="another-member"),
        pytest.param(lambda wire: wire["body"].pop("manifest", None), id="a-member-less"),
        pytest.param(lambda wire: wire["body"].update(other=1), id="a-member-more"),
    ],
)
def test_another_shape_is_read_or_refused_the_same_way(kind: str, change: Any) -> None:
    wire = json.loads(SPELLED[kind])
    change(wire)
    raw = json.dumps(wire, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()
    assert quickly(raw) == slowly(raw)


@pytest.mark.parametrize("raw", [b"", b"null", b"1", b'"x"', b"[]", b"{}", b'{"type":{}}', b"\xef\xbb\xbf{}"])
def test_what_is_no_document_is_refused_the_same_way(raw: bytes) -> None:
    assert quickly(raw) == slowly(raw)
    assert isinstance(quickly(raw)[0], type)


def test_a_declared_set_in_another_order_is_put_right_by_the_slow_way() -> None:
    wire = json.loads(SPELLED["Checkpoint"])
    wire["body"]["tickets"].reverse()
    raw = json.dumps(wire, sort_keys=True, separators=(",", ":")).encode()
    assert reading._as_written(raw) is None
    assert quickly(raw) == slowly(raw) == quickly(SPELLED["Checkpoint"])


@given(
    kind=st.sampled_from(sorted(SPELLED)),
    at=st.integers(min_value=0),
    cut=st.integers(min_value=0, max_value=3),
    put=st.binary(max_size=3)
    | st.sampled_from([b"\\", b'"', b"0", b"9", b".", b"e", b" ", b"{", b"]", b"-"]),
)
def test_changed_bytes_are_read_or_refused_the_same_way(kind: str, at: int, cut: int, put: bytes) -> None:
    whole = SPELLED[kind]
    at %= len(whole) + 1
    raw = whole[:at] + put + whole[at + cut :]
    assert quickly(raw) == slowly(raw)


@given(profile=exact_values, event=exact_values, output=exact_values, attempts=st.integers(1, 3))
def test_an_opening_of_any_content_is_read_the_same_way(
    profile: Any, event: Any, output: Any, attempts: int
) -> None:
    try:
        made = _opening(nfc(profile), nfc(event), nfc(output), attempts)
    except CanonicalError:  # names that collide in normal form
        return
    raw = write_document(Document(body=made))
    assert quickly(raw) == slowly(raw)
    assert reading._as_written(raw) is not None


#: What combines, what is combined with, and what escapes end with.
combining = st.text(
    st.sampled_from('an=<1fFb\u0303\u0338\u030a\u0323\u0301\u00e9\u1100\u1161\n\t\x1f\x1a"\\'), max_size=8
)


@given(combining, combining, st.dictionaries(combining, combining, max_size=3))
def test_text_in_any_form_is_read_the_same_way(text: str, other: str, members: dict[str, str]) -> None:
    wire = json.loads(OPENING)
    wire["body"]["profile"] = {"a": text, "b": [other, members]}
    raw = json.dumps(wire, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()
    assert quickly(raw) == slowly(raw)
    if is_normal(raw):
        assert nfc(wire) == wire


def _opening(profile: Any, event: Any, output: Any, attempts: int = 1) -> Opening:
    one = attempt().model_dump(mode="json")
    one["events"][0]["data"], one["choice"]["output"] = event, output
    made = [
        {**one, "number": number, "choice": one["choice"] if number % 2 else None}
        for number in range(attempts)
    ]
    base = opening(manifest(), "p-1.none", None).model_dump(mode="json")
    numbered = [{**each, "number": place} for place, each in enumerate(made, 1)]
    return Opening.model_validate({**base, "profile": profile, "attempts": numbered})


@given(profile=exact_values, event=exact_values, output=exact_values, attempts=st.integers(1, 3))
def test_contents_put_together_are_the_canonical_bytes_of_their_values(
    profile: Any, event: Any, output: Any, attempts: int
) -> None:
    try:
        made = _opening(nfc(profile), nfc(event), nfc(output), attempts)
    except CanonicalError:
        return
    whole = made.model_dump(mode="json")
    every, last = whole["attempts"], whole["attempts"][-1]
    outcome = {name: last[name] for name in ("choice", "failure", "status")}
    contents = made.contents()
    assert contents.body == canonical_bytes(whole) == made.canonical()
    assert contents.under(Tag.OPENING) == canonical_bytes({k: v for k, v in whole.items() if k != "nonce"})
    assert contents.under(Tag.TRACE) == canonical_bytes([[a["events"], a["treatments"]] for a in every])
    assert contents.under(Tag.OFFERS) == canonical_bytes([a["offers"] for a in every])
    assert contents.under(Tag.OUTCOME) == canonical_bytes({**outcome, "reported": whole["reported"]})


@pytest.mark.parametrize("value", [0.5, 1.0, 2**53, [float("nan")]], ids=repr)
def test_an_opening_made_in_python_of_inexact_values_is_written_nowhere(value: object) -> None:
    made = opening(manifest(), "p-1.none", None).model_copy(update={"profile": {"x": value}})
    for attempted in (made.contents, lambda: write_document(Document(body=made)), made.canonical):
        with pytest.raises(CanonicalError):
            attempted()


def test_an_envelope_holds_the_very_bytes_of_its_openings_document() -> None:
    for name, document in PARTS.envelopes.items():
        receipt: Body = PARTS.receipts[name].body
        assert isinstance(receipt, Receipt)
        binding = Binding(
            manifest=receipt.manifest,
            assignment=name,
            ticket=receipt.ticket,
            commitment=receipt.commitment,
        )
        raw = document.body.envelope_bytes()  # type: ignore[attr-defined]
        assert unseal(raw, keyring().auditor, binding) == write_document(PARTS.openings[name])
