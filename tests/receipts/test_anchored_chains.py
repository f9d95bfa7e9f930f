"""Batches with their time anchors: the verifier proves the cited token, or says why it cannot."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentbeat_receipts.anchors import AnchorFault, AnchorTrust, ProvenAnchor, prove
from agentbeat_receipts.bundles import read_bundle, write_bundle
from agentbeat_receipts.objects import Document, TimeAnchor
from agentbeat_receipts.verification import RULES, Level, Reason, Scope, Verdict, verify_chain
from support.anchored_batches import (
    DIGEST,
    HEADER,
    MANIFEST,
    OTHER,
    anchored,
    batch,
    flipped,
    judged,
    ots,
    passes,
    pending_proof,
    token,
    trust,
)
from support.block_proofs import complete
from support.receipt_batches import deliveries, honest, keyring, manifest
from support.time_stamping import Authority, authority, issue, openssl

R, V = Reason, Verdict


def _nothing() -> None:
    return None


# What counts.


def test_a_delivered_token_that_tickets_cite_anchors_the_batch() -> None:
    report = judged([token()])
    outcome = prove(token(), trust())
    assert isinstance(outcome, ProvenAnchor)
    assert passes(report)
    assert (report.findings, report.anchored_at) == ((), outcome.at)
    assert token().digest() in report.evidence


def test_a_complete_proof_that_tickets_cite_anchors_the_batch() -> None:
    report = judged([ots()], cited=ots())
    assert passes(report)
    assert (report.findings, str(report.anchored_at)) == ((), "2026-03-01T12:00:00Z")


def test_what_was_proven_before_needs_no_token_and_no_trust() -> None:
    outcome = prove(token(), trust())
    assert isinstance(outcome, ProvenAnchor)
    expected = judged([token()])
    for anchors, against in (((), _nothing), ((), trust), ((token(),), _nothing), ((token(),), AnchorTrust)):
        report = judged(anchors, against=against, proven=[outcome])
        assert passes(report)
        assert (report.findings, report.anchored_at) == ((), expected.anchored_at)


def test_a_bundle_on_disk_carries_its_anchor(tmp_path: Path) -> None:
    folder = tmp_path / "claim"
    documents = [*batch(token().token_digest()).documents(), Document(body=token())]
    write_bundle(folder, documents)
    assert len(list((folder / "anchors").iterdir())) == 1
    report = verify_chain(read_bundle(folder), keyring().public, trust=trust(), auditor=keyring().auditor)
    assert report == judged([token()])


def test_a_token_that_openssl_alone_asked_for_counts_too() -> None:
    query = openssl("ts", "-query", "-digest", DIGEST.hex(), "-sha256", "-cert")
    by_hand = anchored(authority().answer(query))
    assert passes(judged([by_hand], cited=by_hand))


# What does not: each leaves the batch whole but for its time.


@dataclass(frozen=True)
class Fault:
    """What is delivered beside a batch that cites the first of it."""

    anchors: Callable[[], list[TimeAnchor]]
    reasons: set[Reason]
    against: Callable[[], AnchorTrust | None] = trust
    cited: Callable[[], TimeAnchor] | None = None


def _expired() -> TimeAnchor:
    return anchored(Authority.under(authority().root, days=(-20, -10)).stamp(MANIFEST))


def _by_sha512() -> TimeAnchor:
    query = openssl("ts", "-query", "-digest", DIGEST.hex() * 2, "-sha512", "-cert")
    return anchored(authority().answer(query))


def _other_root() -> AnchorTrust:
    return trust(roots=(issue("Local root", ca=True).certificate,))


def _without_roots() -> AnchorTrust:
    return AnchorTrust(headers={100: HEADER})


FAULTS: dict[str, Fault] = {
    "token-not-delivered": Fault(list, {R.ANCHOR_MISSING}),
    "token-without-trust": Fault(lambda: [token()], {R.ANCHOR_UNCHECKED}, against=_nothing),
    "token-without-roots": Fault(lambda: [token()], {R.ANCHOR_UNCHECKED}, against=_without_roots),
    "proof-without-its-header": Fault(
        lambda: [ots()], {R.ANCHOR_UNCHECKED}, against=lambda: trust(headers={}), cited=ots
    ),
    "token-of-another-root": Fault(lambda: [token()], {R.ANCHOR_UNTRUSTED}, against=_other_root),
    "token-under-another-policy": Fault(
        lambda: [token()], {R.ANCHOR_UNTRUSTED}, against=lambda: trust(policies=frozenset({"1.2.3"}))
    ),
    "expired-certificate": Fault(lambda: [_expired()], {R.ANCHOR_UNTRUSTED}),
    "proof-of-a-block-with-little-work": Fault(
        lambda: [ots()],
        {R.ANCHOR_UNTRUSTED},
        against=lambda: AnchorTrust(headers={100: HEADER}),
        cited=ots,
    ),
    "proof-of-another-block": Fault(
        lambda: [ots()],
        {R.ANCHOR_UNTRUSTED},
        against=lambda: trust(headers={100: complete(bytes(32))[1]}),
        cited=ots,
    ),
    "token-over-another-manifest": Fault(
        lambda: [anchored(authority().stamp(OTHER))], {R.ANCHOR_OTHER_CONTENT}
    ),
    "proof-over-another-digest": Fault(
        lambda: [anchored(complete(bytes(32))[0], form="opentimestamps")], {R.ANCHOR_OTHER_CONTENT}
    ),
    "token-with-another-hash": Fault(lambda: [_by_sha512()], {R.ANCHOR_OTHER_CONTENT}),
    "token-that-is-none": Fault(lambda: [anchored(b"nothing")], {R.ANCHOR_UNREADABLE}),
    "token-of-the-other-form": Fault(
        lambda: [anchored(token().token_bytes(), form="opentimestamps")], {R.ANCHOR_UNREADABLE}
    ),
    "pending-proof": Fault(lambda: [pending_proof()], {R.ANCHOR_PENDING}),
    "token-with-its-last-byte-changed": Fault(lambda: [flipped(-1)], {R.ANCHOR_UNTRUSTED}),
    "token-changed-after-tickets-cited-it": Fault(
        lambda: [flipped(-1)], {R.ANCHOR_MISSING, R.ANCHOR_UNUSED}, cited=token
    ),
    "late-token": Fault(
        lambda: [anchored(authority().stamp(MANIFEST))], {R.ANCHOR_LATE, R.ANCHOR_UNUSED}, cited=token
    ),
    "pending-proof-cited-upgraded-one-delivered": Fault(
        lambda: [ots()], {R.ANCHOR_LATE, R.ANCHOR_UNUSED}, cited=pending_proof
    ),
    "pending-proof-cited-both-delivered": Fault(
        lambda: [pending_proof(), ots()], {R.ANCHOR_PENDING, R.ANCHOR_UNUSED}
    ),
    "token-of-another-manifest": Fault(
        lambda: [anchored(token().token_bytes(), of=OTHER)], {R.ANCHOR_MISSING, R.SET_ASIDE}
    ),
}


@pytest.mark.parametrize("name", FAULTS)
def test_an_anchor_that_fails_leaves_coverage_inconclusive_and_says_why(name: str) -> None:
    fault = FAULTS[name]
    anchors = fault.anchors()
    cited = fault.cited() if fault.cited else (anchors or [token()])[0]
    report = judged(anchors, cited=cited, against=fault.against)
    assert report.reasons == fault.reasons
    assert (report.level, report.integrity, report.coverage) == (
        Level.CR_2,
        V.PASS,
        V.INCONCLUSIVE_COVERAGE,
    )
    assert (report.openings, report.retries, report.anchored_at) == (V.PASS, V.PASS, None)
    assert any(RULES[reason].scope is Scope.COVERAGE for reason in report.reasons)


def test_every_reason_of_an_anchor_has_a_fault() -> None:
    of_anchors = {reason for reason in R if reason.startswith("anchor_")}
    assert of_anchors <= set().union(*(fault.reasons for fault in FAULTS.values()))


def test_tickets_without_an_anchor_are_not_anchored_by_a_token_beside_them() -> None:
    report = judged([token()], parts=honest(anchor=None))
    assert report.reasons == {R.ANCHOR_LATE, R.ANCHOR_UNUSED}
    assert report.coverage is V.INCONCLUSIVE_COVERAGE


def test_without_a_checkpoint_a_failing_token_is_still_told() -> None:
    parts = replace(batch(token().token_digest()), checkpoint=None)
    report = judged([token()], parts=parts, against=_other_root)
    assert {R.ANCHOR_UNTRUSTED, R.CHECKPOINT_MISSING} <= report.reasons


def test_a_retrospective_batch_has_no_use_for_an_anchor() -> None:
    of = manifest(mode="retrospective")
    report = judged([anchored(b"nothing", of=of.digest())], parts=honest(of))
    assert (report.level, report.coverage) == (Level.CR_2, V.NOT_CLAIMED)
    assert report.reasons == {R.ANCHOR_UNUSED}


# What changes nothing.


BESIDE: dict[str, Callable[[], list[TimeAnchor]]] = {
    "nothing": list,
    "the-same-again": lambda: [token()],
    "junk": lambda: [anchored(b"nothing")],
    "a-pending-proof": lambda: [pending_proof()],
    "an-upgraded-proof": lambda: [ots()],
    "a-proof-before-and-after-its-upgrade": lambda: [pending_proof(), ots()],
    "a-later-token": lambda: [anchored(authority().stamp(MANIFEST))],
    "the-token-with-a-byte-changed": lambda: [flipped(-1)],
    "the-same-bytes-as-another-form": lambda: [anchored(token().token_bytes(), form="opentimestamps")],
    "a-token-of-another-manifest": lambda: [anchored(authority().stamp(OTHER), of=OTHER)],
    "our-token-for-another-manifest": lambda: [anchored(token().token_bytes(), of=OTHER)],
}


@pytest.mark.parametrize("name", BESIDE)
def test_nothing_beside_the_cited_token_changes_a_verdict(name: str) -> None:
    report = judged([token(), *BESIDE[name]()])
    noted = {R.ANCHOR_UNUSED, R.SET_ASIDE}
    assert passes(report)
    assert report.reasons <= noted
    expected = judged([token()])
    assert replace(report, findings=(), held={}) == replace(expected, held={})


def test_a_pending_proof_upgraded_is_benign() -> None:
    """The same verdicts, reasons and time, before and after: only the digest of the proof differs."""
    before, after = judged([token(), pending_proof()]), judged([token(), ots()])
    assert passes(before)
    assert before.reasons == after.reasons == {R.ANCHOR_UNUSED}
    plain = [replace(report, findings=(), held={}) for report in (before, after)]
    assert plain[0] == plain[1]


def test_order_and_repetition_of_deliveries_change_nothing() -> None:
    documents = [*batch(token().token_digest()).documents(), Document(body=token()), Document(body=ots())]
    found = deliveries(documents)
    options = {"trust": trust(), "auditor": keyring().auditor}
    first = verify_chain(found, keyring().public, **options)
    assert verify_chain([*found, *found][::-1], keyring().public, **options) == first


# Properties.


@given(st.data())
@settings(max_examples=60)
def test_aflipped_byte_of_the_cited_token_is_never_a_pass(data: st.DataObject) -> None:
    """Tickets cite its digest, so even a byte that nobody signed counts."""
    raw = bytearray(token().token_bytes())
    raw[data.draw(st.integers(0, len(raw) - 1))] ^= data.draw(st.integers(1, 255))
    report = judged([anchored(bytes(raw))])
    assert (report.level, report.coverage) == (Level.CR_2, V.INCONCLUSIVE_COVERAGE)
    # Beside the honest one it is nothing but a note.
    assert passes(judged([anchored(bytes(raw)), token()]))


@given(st.binary(max_size=100), st.sampled_from(["rfc3161", "opentimestamps"]))
@settings(max_examples=40)
def test_any_token_beside_a_batch_is_a_note_and_cited_it_is_no_anchor(raw: bytes, form: str) -> None:
    junk = anchored(raw, form=form)
    assert isinstance(prove(junk, trust()), AnchorFault)
    assert passes(judged([token(), junk]))
    assert judged([junk], cited=junk).coverage is V.INCONCLUSIVE_COVERAGE
