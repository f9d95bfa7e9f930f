"""What an honest batch comes out as, what changes nothing, and what can never leave a Pass."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentbeat_receipts.bundles import read_bundle, write_bundle
from agentbeat_receipts.deliveries import Delivery
from agentbeat_receipts.keys import Keyring
from agentbeat_receipts.objects import SIGNER
from agentbeat_receipts.verification import (
    CAVEAT,
    REPLACEMENT_CAVEAT,
    ChainReport,
    Level,
    Reason,
    Verdict,
)
from support.receipt_batches import (
    ANCHORED_AT,
    Parts,
    attempt,
    deliveries,
    honest,
    keyring,
    manifest,
    verified,
)

PARTS = honest()
DELIVERED = deliveries(PARTS.documents())
HONEST = verified(DELIVERED)
PASS = (Verdict.PASS,) * 4


def verdicts(report: ChainReport) -> tuple[Verdict, ...]:
    return (report.integrity, report.coverage, report.openings, report.retries)


def test_an_honest_prospective_batch_passes_at_cr_3() -> None:
    assert (HONEST.level, verdicts(HONEST), HONEST.findings) == (Level.CR_3, PASS, ())
    assert (HONEST.expected, HONEST.arrived) == (4, 4)
    assert HONEST.anchored_at == ANCHORED_AT
    assert HONEST.caveats == (CAVEAT, REPLACEMENT_CAVEAT)
    assert HONEST.opened == {name: document.body for name, document in PARTS.openings.items()}
    assert HONEST.terminals == {name: document.body for name, document in PARTS.receipts.items()}
    assert HONEST.evidence == tuple(sorted(document.body.digest() for document in PARTS.documents()))
    assert HONEST.report == PARTS.report.body


@pytest.mark.parametrize("encrypted", [True, False])
def test_an_honest_retrospective_batch_passes_at_cr_2_and_claims_no_coverage(encrypted: bool) -> None:
    report = verified(honest(manifest(mode="retrospective"), encrypted=encrypted))
    assert (report.level, report.findings) == (Level.CR_2, ())
    assert verdicts(report) == (Verdict.PASS, Verdict.NOT_CLAIMED, Verdict.PASS, Verdict.PASS)
    assert report.caveats == (CAVEAT,)


def test_a_closing_record_is_optional_in_a_retrospective_batch() -> None:
    report = verified(replace(honest(manifest(mode="retrospective")), closing=None))
    assert (report.level, report.findings) == (Level.CR_2, ())


def test_one_receipt_alone_reaches_cr_1() -> None:
    alone = [PARTS.receipts["p-1.none"], PARTS.envelopes["p-1.none"]]
    report = verified(deliveries(alone))
    assert (report.level, report.integrity, report.coverage) == (
        Level.CR_1,
        Verdict.PASS,
        Verdict.INCONCLUSIVE_COVERAGE,
    )
    assert report.opened.keys() == {"p-1.none"}


def test_a_prospective_batch_with_openings_in_the_clear_is_cr_2_and_claims_no_coverage() -> None:
    report = verified(honest(encrypted=False))
    assert (report.level, report.coverage, report.findings) == (Level.CR_2, Verdict.NOT_CLAIMED, ())


def test_a_bundle_on_disk_verifies_as_its_documents_do(tmp_path: Any) -> None:
    for name in ("claim", "claim.tar"):
        write_bundle(tmp_path / name, PARTS.documents())
        assert verified(read_bundle(tmp_path / name)) == HONEST


def test_a_run_that_was_never_ticketed_is_not_seen_and_the_caveat_says_so() -> None:
    """L4: nothing here tells a run that left no trace from one that never was."""
    assert CAVEAT in HONEST.caveats


# Benign changes: the same report, whatever was done to the bytes.


def _each(change: Callable[[dict[str, Any]], object]) -> list[Delivery]:
    """Every delivery with its JSON changed, written with other spelling."""
    made = []
    for delivery in DELIVERED:
        wire = json.loads(delivery.content)
        made.append(Delivery(delivery.path, json.dumps(change(wire)).encode()))
    return made


def _reversed_members(value: Any) -> Any:
    """Members in another order; arrays keep theirs."""
    if isinstance(value, dict):
        return {name: _reversed_members(member) for name, member in reversed(value.items())}
    return [_reversed_members(item) for item in value] if isinstance(value, list) else value


def _without_hint(wire: dict[str, Any]) -> dict[str, Any]:
    return {name: member for name, member in wire.items() if name != "key_id"}


def _with_transport(wire: dict[str, Any]) -> dict[str, Any]:
    return {**wire, "transport": {"sent_at": "2026-03-02T08:00:00Z"}}


def _sets_reversed(wire: dict[str, Any]) -> dict[str, Any]:
    body = wire["body"]
    for name in ("tickets", "disclosed", "treatment_flags"):
        if name in body:
            body[name].reverse()
    for group in body.get("comparison_groups", ()):
        group["arms"].reverse()
    return wire


def _decomposed(wire: dict[str, Any]) -> dict[str, Any]:
    if "title" in wire["body"]:
        wire["body"]["title"] = wire["body"]["title"].replace("\u00e9", "e\u0301")
    return wire


def _bytes(change: Callable[[bytes], bytes]) -> list[Delivery]:
    return [Delivery(delivery.path, change(delivery.content)) for delivery in DELIVERED]


def _escaped(raw: bytes) -> bytes:
    return raw.replace(b'"assignment"', b'"\\u0061ssignment"').replace(b"accepted", b"\\u0061ccepted")


def _integers(raw: bytes) -> bytes:
    return raw.replace(b'"replicate":1,', b'"replicate":1.0,').replace(b'"sequence":1,', b'"sequence":10e-1,')


BENIGN: dict[str, Callable[[], list[Delivery]]] = {
    "key-order": lambda: _each(_reversed_members),
    "white-space": lambda: _bytes(lambda raw: b" \n" + raw.replace(b'":', b'"\t: ') + b"\r\n"),
    "integral-number-spelling": lambda: _bytes(_integers),
    "nfc": lambda: _each(_decomposed),
    "set-order": lambda: _each(_sets_reversed),
    "the-same-delivery-twice": lambda: [*DELIVERED, *DELIVERED],
    "twice-under-other-paths": lambda: [*DELIVERED, *(Delivery("x.json", d.content) for d in DELIVERED)],
    "transport-timestamps": lambda: _each(_with_transport),
    "shuffled": lambda: DELIVERED[::-1],
    "unicode-escapes": lambda: _bytes(_escaped),
    "key-id-hint-absent": lambda: _each(_without_hint),
    "every-spelling-at-once-beside-the-first": lambda: [
        *DELIVERED,
        *_each(_reversed_members),
        *_each(_with_transport),
        *_bytes(_integers),
        *_bytes(_escaped),
    ],
}


@pytest.mark.parametrize("name", BENIGN)
def test_a_benign_change_changes_nothing(name: str) -> None:
    changed = BENIGN[name]()
    assert changed != DELIVERED
    assert verified(changed) == HONEST


def _zero_spelled_minus_zero() -> tuple[list[Delivery], list[Delivery]]:
    parts = honest(manifest(mode="retrospective", money_exponent=0))
    made = deliveries(parts.documents())
    other = [
        Delivery(d.path, d.content.replace(b'"money_exponent":0', b'"money_exponent":-0.0')) for d in made
    ]
    return made, other


def test_minus_zero_is_zero() -> None:
    made, other = _zero_spelled_minus_zero()
    assert made != other
    assert verified(other) == verified(made)


def test_a_retained_declared_retry_passes() -> None:
    retried = (attempt(1, status="failed", failure="timeout"), attempt(2))
    exhausted = (
        attempt(1, status="failed", failure="timeout"),
        attempt(2, status="failed", failure="timeout"),
    )
    report = verified(
        honest(openings={"p-1.none": {"attempts": retried}, "p-2.none": {"attempts": exhausted}})
    )
    assert (verdicts(report), report.findings) == (PASS, ())
    assert report.terminals["p-1.none"].attempts == 2


def test_more_attempts_than_allowed_are_seen_without_the_opening() -> None:
    failed = (attempt(n, status="failed", failure="timeout") for n in (1, 2))
    parts = honest(openings={"p-1.none": {"attempts": (*failed, attempt(3))}})
    unopened = verified(replace(parts, envelopes={}))
    found = [(f.reason, f.subject, f.detail) for f in unopened.findings if f.reason is Reason.RETRY_LIMIT]
    assert found == [(Reason.RETRY_LIMIT, "p-1.none", "got 3, expected at most 2")]
    assert (unopened.integrity, unopened.retries) == (Verdict.PASS, Verdict.INVALID)
    assert [f for f in verified(parts).findings if f.reason is Reason.RETRY_LIMIT] == [
        f for f in unopened.findings if f.reason is Reason.RETRY_LIMIT
    ]


def test_rejected_and_failed_terminals_are_terminals() -> None:
    ended = {
        "p-1.none": {"attempts": (attempt(1, status="rejected"),)},
        "p-1.both": {"attempts": (attempt(1, status="failed", failure="crash"),)},
    }
    report = verified(honest(openings=ended))
    assert (verdicts(report), report.findings) == (PASS, ())


def _stranger(keys: Keyring) -> Parts:
    return honest(manifest(title="another epoch"), keys=keys)


@pytest.mark.parametrize("same_keys", [True, False])
def test_objects_of_another_manifest_beside_ours_are_set_aside(same_keys: bool) -> None:
    other = _stranger(keyring() if same_keys else Keyring.generate())
    beside = deliveries([d for d in other.documents() if d is not other.manifest])
    report = verified([*DELIVERED, *beside])
    assert report.reasons == {Reason.SET_ASIDE}
    assert replace(report, findings=()) == HONEST


# Properties.


@given(st.randoms(use_true_random=False), st.lists(st.integers(0, len(DELIVERED) - 1), max_size=6))
@settings(max_examples=25, deadline=None)
def test_shuffling_and_repeating_deliveries_changes_nothing(random: Any, again: list[int]) -> None:
    made = [*DELIVERED, *(DELIVERED[place] for place in again)]
    random.shuffle(made)
    assert verified(made) == HONEST


SIGNED = [
    place for place, document in enumerate(PARTS.documents()) if SIGNER[type(document.body)] is not None
]


@given(st.sampled_from(SIGNED), st.data())
@settings(max_examples=150, deadline=None)
def test_a_flipped_bit_in_a_signed_object_is_invalid(place: int, data: st.DataObject) -> None:
    raw = bytearray(DELIVERED[place].content)
    bit = data.draw(st.integers(0, len(raw) * 8 - 1), label="bit")
    raw[bit // 8] ^= 1 << bit % 8
    made = [*DELIVERED]
    made[place] = Delivery(DELIVERED[place].path, bytes(raw))
    report = verified(made)
    assert (report.integrity, report.coverage) == (Verdict.INVALID, Verdict.INVALID)


@given(st.sets(st.integers(0, len(DELIVERED) - 1), min_size=1))
@settings(max_examples=60, deadline=None)
def test_deleting_from_an_honest_bundle_is_never_invalid_and_seen_where_it_counts(gone: set[int]) -> None:
    """A withheld object is no forgery. Only the report bundle and openings are not coverage's to miss."""
    report = verified([d for place, d in enumerate(DELIVERED) if place not in gone])
    assert report.integrity is not Verdict.INVALID
    if gone & set(SIGNED):
        assert report.coverage is Verdict.INCONCLUSIVE_COVERAGE
    else:
        assert report.coverage is Verdict.PASS


@given(st.integers(0, 9), st.integers(0, 7))
@settings(max_examples=20, deadline=None)
def test_a_flipped_bit_in_an_envelope_opens_nothing(byte: int, bit: int) -> None:
    place = next(i for i, d in enumerate(DELIVERED) if b"claims.envelope.v1" in d.content)
    raw = bytearray(DELIVERED[place].content)
    raw[raw.index(b'"envelope":"') + 12 + byte] ^= 1 << bit
    made = [*DELIVERED]
    made[place] = Delivery("x.json", bytes(raw))
    report = verified(made)
    assert report.integrity is Verdict.INVALID
