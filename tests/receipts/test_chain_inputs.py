"""What is given to the verifier beside the batch: strange deliveries, anchors, keys, several manifests."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentbeat_receipts.deliveries import Delivery
from agentbeat_receipts.keys import KeyRefused, Keyring
from agentbeat_receipts.objects import write_document
from agentbeat_receipts.verification import Level, Reason, Verdict, verify_chain
from support.json_values import json_values
from support.receipt_batches import deliveries, honest, keyring, manifest, verified
from support.receipt_tampering import LAST

R = Reason
OK, BAD, OPEN, THIN = Verdict.PASS, Verdict.INVALID, Verdict.INCONCLUSIVE_COVERAGE, Verdict.INCONCLUSIVE

UNREADABLE = {
    "no-json": b"{",
    "duplicate-key": b'{"type":"a","type":"a"}',
    "fraction": b'{"type":0.5}',
    "oversized-number": b'{"type":9007199254740993}',
    "unknown-type": b'{"type":"text/plain","body":{}}',
    "byte-order-mark": b"\xef\xbb\xbf{}",
}


@pytest.mark.parametrize("name", UNREADABLE)
def test_a_delivery_that_is_no_object_is_invalid(name: str) -> None:
    """L1, post_commitment. Nobody can say what it was, so nobody can say that it does not matter."""
    report = verified([*deliveries(honest().documents()), Delivery("receipts/x.json", UNREADABLE[name])])
    assert (report.integrity, report.coverage) == (BAD, BAD)
    assert [finding.subject for finding in report.findings] == ["receipts/x.json"]
    assert report.reasons == {R.OBJECT_UNREADABLE}


def test_colliding_names_in_a_delivered_opening_are_invalid() -> None:
    parts = honest(encrypted=False)
    opening = write_document(parts.openings[LAST])
    raw = opening.replace(b'"outside_option":300', b'"cafe\xcc\x81":1,"caf\xc3\xa9":2')
    assert raw != opening
    others = [d for d in deliveries(parts.documents()) if d.content != opening]
    report = verified([*others, Delivery("openings/x.json", raw)])
    assert report.integrity is BAD
    assert R.OBJECT_UNREADABLE in report.reasons


def test_no_anchor_and_a_late_one_leave_cr_2_without_coverage() -> None:
    assert verified(honest(), anchored=False).reasons == {R.ANCHOR_MISSING}
    for report in (verified(honest(), anchored=False), verified(honest(anchor=None))):
        assert (report.level, report.integrity, report.coverage) == (Level.CR_2, OK, OPEN)
        assert report.anchored_at is None


def test_without_the_auditors_key_coverage_stands_and_openings_are_sealed() -> None:
    report = verified(honest(), opened=False)
    assert report.reasons == {R.OPENING_SEALED}
    assert (report.level, report.integrity, report.coverage) == (Level.CR_3, OK, OK)
    assert (report.openings, report.retries, report.opened) == (THIN, THIN, {})


def test_several_manifests_need_the_callers_word() -> None:
    ours, other = honest(), honest(manifest(title="another epoch"))
    both = [*ours.documents(), *other.documents()]
    report = verified(deliveries(both))
    assert report.reasons == {R.MANIFEST_AMBIGUOUS}
    assert (report.level, report.integrity, report.coverage) == (None, THIN, OPEN)
    for parts in (ours, other):
        meant = verified(deliveries(both), manifest=parts.manifest.body.digest())
        assert (meant.level, meant.integrity, meant.coverage) == (Level.CR_3, OK, OK)
        assert meant.reasons == {R.SET_ASIDE}


def test_nothing_delivered_is_no_pass() -> None:
    report = verified([])
    assert (report.level, report.integrity, report.coverage) == (None, THIN, OPEN)
    assert R.NOTHING_SOUND in report.reasons


def test_a_bundle_of_strangers_is_invalid() -> None:
    """Everything is signed well, but not by the keys that the caller trusts."""
    report = verified(honest(keys=Keyring.generate()))
    assert (report.integrity, report.coverage) == (BAD, BAD)
    assert R.SIGNATURE_INVALID in report.reasons


def test_another_auditors_key_is_refused_before_anything_is_judged() -> None:
    found = deliveries(honest().documents())
    with pytest.raises(KeyRefused, match="auditor"):
        verify_chain(found, keyring().public, auditor=Keyring.generate().auditor)


def _places(value: Any, way: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """Every place of a JSON value, from the whole to its leaves."""
    yield way
    if isinstance(value, dict):
        for name, member in value.items():
            yield from _places(member, (*way, name))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _places(item, (*way, index))


def _put(value: Any, way: tuple[str | int, ...], new: object) -> Any:
    if not way:
        return new
    copy = value.copy()
    copy[way[0]] = _put(value[way[0]], way[1:], new)
    return copy


DELIVERED = deliveries(honest(encrypted=False).documents())


@given(st.data())
@settings(max_examples=150, deadline=None)
def test_no_delivery_makes_the_verifier_fail(data: st.DataObject) -> None:
    """Any JSON value in any place of any document is judged; a signed one that differs is no Pass."""
    place = data.draw(st.integers(0, len(DELIVERED) - 1))
    wire = json.loads(DELIVERED[place].content)
    way = data.draw(st.sampled_from([*_places(wire)]))
    changed = json.dumps(_put(wire, way, data.draw(json_values))).encode()
    report = verified([*DELIVERED[:place], Delivery("x.json", changed), *DELIVERED[place + 1 :]])
    signed = "signature" in wire and way[:1] in ((), ("body",), ("signature",), ("type",))
    if signed and json.loads(changed) != wire:
        assert report.integrity is BAD


@given(st.binary(max_size=200))
@settings(max_examples=50, deadline=None)
def test_any_bytes_beside_a_batch_are_invalid(raw: bytes) -> None:
    assert verified([*DELIVERED, Delivery("x.json", raw)]).integrity is BAD
