"""Each fault of layers 1 and 3: its layer, its time relative to commitment, its verdicts and its reasons.

`pre_commitment` faults are signed as they are: whoever holds the keys made them. `post_commitment` faults are
changes to what was signed, by anybody.
"""

from __future__ import annotations

import base64
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal

import pytest

from agentbeat_receipts.bundles import Delivery
from agentbeat_receipts.envelopes import Binding, envelope_digest, seal
from agentbeat_receipts.keys import KeyRefused, Keyring, Role
from agentbeat_receipts.objects import (
    Assignment,
    Body,
    Checkpoint,
    ClosingRecord,
    Document,
    Envelope,
    Receipt,
    Ticket,
    sign,
    write_document,
)
from agentbeat_receipts.verification import RULES, Level, Reason, Scope, Verdict, verify_chain
from support.receipt_batches import (
    ANCHOR,
    Parts,
    attempt,
    changed,
    deliveries,
    honest,
    keyring,
    manifest,
    verified,
)

LAST = "p-2.both"
Change = Callable[[], Parts]


def signed(body: Body) -> Document:
    return sign(body, keyring())


def receipt(parts: Parts, assignment: str) -> Receipt:
    body = parts.receipts[assignment].body
    assert isinstance(body, Receipt)
    return body


def with_last(parts: Parts, **members: Any) -> Parts:
    """The last receipt with other members, and a closing record that fits it; signed by who should."""
    made = changed(receipt(parts, LAST), **members)
    assert parts.closing is not None
    closing = signed(changed(parts.closing.body, head=made.digest()))
    return replace(parts, receipts={**parts.receipts, LAST: signed(made)}, closing=closing)


def unsigned_change(kind: str, **members: Any) -> Parts:
    """A body that was changed after it was signed."""
    parts = honest()
    held = getattr(parts, kind)
    if isinstance(held, Document):
        return replace(parts, **{kind: replace(held, body=changed(held.body, **members))})
    altered = replace(held[LAST], body=changed(held[LAST].body, **members))
    return replace(parts, **{kind: {**held, LAST: altered}})


def wrong_role(kind: str) -> Parts:
    """An object signed by the other signing role."""
    parts = honest()
    held = getattr(parts, kind)
    document = held if isinstance(held, Document) else held[LAST]
    role = Role.INGRESS_AUTHORITY if kind == "manifest" else Role.MANIFEST_AUTHORITY
    forged = replace(document, signature=keyring().sign(role, document.body.signed_bytes()), key_id=None)
    return replace(parts, **{kind: forged if isinstance(held, Document) else {**held, LAST: forged}})


def resealed(content: bytes) -> Parts:
    """The last receipt's envelope holds other bytes, and its digest says so."""
    parts = honest()
    body = receipt(parts, LAST)
    binding = Binding(manifest=body.manifest, assignment=LAST, ticket=body.ticket, commitment=body.commitment)
    return with_envelope(parts, seal(content, keyring().public, binding))


def with_envelope(parts: Parts, raw: bytes) -> Parts:
    made = Envelope(
        manifest=parts.manifest.body.digest(), assignment=LAST, envelope=base64.b64encode(raw).decode()
    )
    delivered = replace(parts, envelopes={**parts.envelopes, LAST: Document(body=made)})
    return with_last(delivered, envelope=envelope_digest(raw))


def plain(**members: Any) -> Parts:
    """An opening in the clear that is not the one committed to."""
    parts = honest(encrypted=False)
    other = changed(parts.openings[LAST].body, **members)
    return replace(parts, openings={**parts.openings, LAST: Document(body=other)})


def attempts(*made: Any) -> Parts:
    """A whole batch, signed as it is, whose last run took these attempts."""
    return honest(openings={LAST: {"attempts": made}})


def fork() -> Parts:
    parts = honest()
    third = receipt(parts, "p-2.none")
    rival = changed(receipt(parts, LAST), previous=third.previous, sequence=3)
    return replace(parts, receipts={**parts.receipts, LAST: signed(rival)})


def reorder() -> Parts:
    parts = honest()
    third, fourth = receipt(parts, "p-2.none"), receipt(parts, LAST)
    swapped = {"p-2.none": signed(changed(third, sequence=4)), LAST: signed(changed(fourth, sequence=3))}
    return replace(parts, receipts={**parts.receipts, **swapped}, closing=None)


def rival_terminal() -> Parts:
    parts = honest()
    rival = changed(receipt(parts, LAST), status="rejected")
    return parts.beside_also(signed(rival))


def other_manifest() -> Parts:
    parts = honest()
    return replace(parts, manifest=signed(changed(parts.manifest.body, title="another")))


def late_ticket() -> Parts:
    """A receipt whose ticket was made after the checkpoint."""
    parts = honest()
    ticket = Ticket(manifest=parts.manifest.body.digest(), assignment=LAST, anchor=None)
    return with_last(parts, ticket=ticket.digest())


def elsewhere(member: str) -> Parts:
    """A receipt of another epoch, signed for it, that cites what one of ours cites."""
    parts = honest()
    other = honest(manifest(title="another epoch"))
    cited = {member: getattr(receipt(parts, LAST), member)}
    return parts.beside_also(signed(changed(receipt(other, LAST), **cited)))


def surplus_ticket() -> Parts:
    parts = honest()
    digest = parts.manifest.body.digest()
    extra = Ticket(manifest=digest, assignment="p-9.none", anchor=ANCHOR)
    return parts.beside_also(signed(extra))


def swapped_tickets() -> Parts:
    """Each of the two last receipts cites the other's ticket."""
    parts = honest()
    third, fourth = receipt(parts, "p-2.none"), receipt(parts, LAST)
    new_third = changed(third, ticket=fourth.ticket)
    new = replace(parts, receipts={**parts.receipts, "p-2.none": signed(new_third)})
    return with_last(new, ticket=third.ticket, previous=new_third.digest())


def reframed(*, tickets: int = 4, anchors: tuple[str | None, ...] = (), extra: bool = False) -> Parts:
    """A checkpoint over other tickets, before any receipt."""
    parts = honest()
    made = [body for body in (d.body for d in parts.tickets.values()) if isinstance(body, Ticket)][:tickets]
    made[: len(anchors)] = [t.model_copy(update={"anchor": a}) for t, a in zip(made, anchors, strict=False)]
    if extra:
        made.append(made[0].model_copy(update={"anchor": None}))
    digest = parts.manifest.body.digest()
    checkpoint = Checkpoint(manifest=digest, anchor=ANCHOR, tickets=tuple(t.digest() for t in made))
    return replace(
        parts,
        tickets={str(place): signed(ticket) for place, ticket in enumerate(made)},
        checkpoint=signed(checkpoint),
        receipts={},
        envelopes={},
        openings={},
        closing=signed(ClosingRecord(manifest=digest, count=0, head=checkpoint.digest())),
    )


def closing(**members: Any) -> Parts:
    parts = honest()
    assert parts.closing is not None
    return replace(parts, closing=signed(changed(parts.closing.body, **members)))


def beside(kind: str, **members: Any) -> Parts:
    """A second, different object of a kind that there is one of."""
    parts = honest()
    return parts.beside_also(signed(changed(getattr(parts, kind).body, **members)))


def one_place_more() -> Parts:
    """An assignment that the manifest does not list, at the end of the chain."""
    parts = honest()
    return with_last(parts, assignment="p-9.none")


def retrospective(**members: Any) -> Parts:
    return with_last(honest(manifest(mode="retrospective")), **members)


def first_after(previous: str) -> Parts:
    """One run, whose receipt does not begin at the checkpoint."""
    of = manifest(
        assignments=(Assignment(assignment=LAST, profile="p-2", arm="both", replicate=1),),
    )
    return with_last(honest(of), previous=previous)


def nonce(raw: bytes) -> str:
    return base64.b64encode(raw).decode()


def failed(number: int, failure: str = "timeout", **members: Any) -> Any:
    return attempt(number, **{"status": "failed", "failure": failure, **members})


R, V = Reason, Verdict
OK, BAD, OPEN, THIN = V.PASS, V.INVALID, V.INCONCLUSIVE_COVERAGE, V.INCONCLUSIVE
Timing = Literal["pre_commitment", "post_commitment"]
PRE: Timing = "pre_commitment"
POST: Timing = "post_commitment"


@dataclass(frozen=True)
class Fault:
    """What is done, and what must come of it."""

    layer: str
    timing: Timing
    make: Change
    reasons: set[Reason]
    integrity: Verdict
    coverage: Verdict
    openings: Verdict = OK
    retries: Verdict = OK


def bad(layer: str, timing: Timing, make: Change, *reasons: Reason) -> Fault:
    return Fault(layer, timing, make, set(reasons), BAD, BAD, BAD, BAD)


def uncovered(timing: Timing, make: Change, *reasons: Reason, openings: Verdict = OK) -> Fault:
    return Fault("L3", timing, make, set(reasons), OK, OPEN, openings, openings)


def unopened(make: Change, *reasons: Reason, timing: Timing = POST) -> Fault:
    return Fault("L1", timing, make, set(reasons), OK, OK, THIN, THIN)


def shadowed(make: Change, *reasons: Reason) -> Fault:
    return Fault("L3", PRE, make, set(reasons), OK, OK, OK, BAD)


NOTHING_OF_OURS = (R.CHECKPOINT_MISSING, R.TICKET_MISSING, R.TERMINAL_MISSING, R.CLOSING_MISSING)
FAULTS: dict[str, Fault] = {
    "terminal-withheld": uncovered(
        POST, lambda: honest().without("receipts", "p-1.both"), R.TERMINAL_MISSING, R.CHAIN_GAP
    ),
    "last-terminal-withheld": uncovered(POST, lambda: honest().without("receipts", LAST), R.TERMINAL_MISSING),
    "first-terminal-withheld": uncovered(
        POST, lambda: honest().without("receipts", "p-1.none"), R.TERMINAL_MISSING, R.CHAIN_GAP
    ),
    "all-openings-withheld": unopened(
        lambda: replace(honest(), envelopes={}, openings={}), R.OPENING_MISSING
    ),
    "one-opening-missing": unopened(
        lambda: replace(honest().without("envelopes", LAST), openings={}), R.OPENING_MISSING
    ),
    "envelope-undecryptable": unopened(
        lambda: with_envelope(honest(), bytes(200)), R.OPENING_UNDECRYPTABLE, timing=PRE
    ),
    "envelope-digest-wrong": bad(
        "L1",
        POST,
        lambda: with_last(honest(), envelope="sha256:" + "0" * 64),
        R.ENVELOPE_DIGEST_MISMATCH,
        R.OPENING_MISSING,
    ),
    "envelope-holds-a-duplicate-key": bad(
        "L1", PRE, lambda: resealed(b'{"a":1,"a":1}'), R.OPENING_UNREADABLE, R.OPENING_MISSING
    ),
    "envelope-holds-a-fraction": bad(
        "L1", PRE, lambda: resealed(b'{"a":0.5}'), R.OPENING_UNREADABLE, R.OPENING_MISSING
    ),
    "profile-contradicts-commitment": bad(
        "L1", POST, lambda: plain(profile={}), R.OPENING_CONTRADICTS_COMMITMENT
    ),
    "trace-contradicts-commitment": bad(
        "L1", POST, lambda: plain(attempts=(attempt(events=()),)), R.OPENING_CONTRADICTS_COMMITMENT
    ),
    "trace-digest-of-another-trace": bad(
        "L1",
        PRE,
        lambda: with_last(honest(), trace="hmac-sha256:" + "0" * 64),
        R.OPENING_CONTRADICTS_COMMITMENT,
    ),
    "opening-of-another-ticket": bad(
        "L1",
        POST,
        lambda: plain(ticket=None),
        R.OPENING_CONTRADICTS_COMMITMENT,
        R.OPENING_CONTRADICTS_RECEIPT,
    ),
    "attempts-miscounted": bad(
        "L1", PRE, lambda: with_last(honest(), attempts=2), R.OPENING_CONTRADICTS_RECEIPT
    ),
    "status-misstated": bad(
        "L1", PRE, lambda: with_last(honest(), status="rejected"), R.OPENING_CONTRADICTS_RECEIPT
    ),
    "nonce-of-wrong-length": bad("L1", PRE, lambda: plain(nonce=nonce(bytes(31))), R.NONCE_LENGTH),
    "nonce-reused": bad(
        "L1",
        PRE,
        lambda: honest(openings={a: {"nonce": nonce(bytes(32))} for a in ("p-1.none", LAST)}),
        R.NONCE_REUSED,
    ),
    "retry-gap": shadowed(lambda: attempts(failed(1), attempt(3, cause="timeout")), R.RETRY_GAP),
    "retry-limit": shadowed(lambda: attempts(failed(1), failed(2), attempt(3)), R.RETRY_LIMIT),
    "retry-undeclared-cause": shadowed(
        lambda: attempts(failed(1, "crash"), attempt(2, cause="crash")), R.RETRY_CAUSE, R.RETRY_SHADOWING
    ),
    "retry-cause-that-did-not-happen": shadowed(
        lambda: attempts(attempt(1, status="rejected"), attempt(2)), R.RETRY_CAUSE, R.RETRY_SHADOWING
    ),
    "retry-first-cause": shadowed(lambda: attempts(attempt(1, cause="timeout")), R.RETRY_CAUSE),
    "retry-stopped-early": shadowed(lambda: attempts(failed(1)), R.RETRY_SHADOWING),
    "flipped-byte-in-manifest": bad(
        "L1",
        POST,
        lambda: unsigned_change("manifest", title="b"),
        R.SIGNATURE_INVALID,
        R.NOTHING_SOUND,
        R.MANIFEST_MISSING,
    ),
    "flipped-byte-in-ticket": bad(
        "L1", POST, lambda: unsigned_change("tickets", anchor=None), R.SIGNATURE_INVALID, R.TICKET_MISSING
    ),
    "flipped-manifest-digest-in-ticket": bad(
        "L1",
        POST,
        lambda: unsigned_change("tickets", manifest="sha256:" + "0" * 64),
        R.SIGNATURE_INVALID,
        R.TICKET_MISSING,
    ),
    "flipped-byte-in-checkpoint": bad(
        "L1",
        POST,
        lambda: unsigned_change("checkpoint", anchor=None),
        R.SIGNATURE_INVALID,
        R.CHECKPOINT_MISSING,
    ),
    "flipped-byte-in-receipt": bad(
        "L1",
        POST,
        lambda: unsigned_change("receipts", status="rejected"),
        R.SIGNATURE_INVALID,
        R.TERMINAL_MISSING,
    ),
    "flipped-byte-in-closing": bad(
        "L1", POST, lambda: unsigned_change("closing", count=3), R.SIGNATURE_INVALID, R.CLOSING_MISSING
    ),
    "wrong-role-manifest": bad(
        "L1", PRE, lambda: wrong_role("manifest"), R.WRONG_ROLE_KEY, R.MANIFEST_MISSING
    ),
    "wrong-role-ticket": bad("L1", PRE, lambda: wrong_role("tickets"), R.WRONG_ROLE_KEY, R.TICKET_MISSING),
    "wrong-role-receipt": bad(
        "L1", PRE, lambda: wrong_role("receipts"), R.WRONG_ROLE_KEY, R.TERMINAL_MISSING
    ),
    "wrong-key-hint": bad(
        "L1",
        POST,
        lambda: replace(honest(), manifest=replace(honest().manifest, key_id="sha256:" + "0" * 64)),
        R.KEY_HINT_MISMATCH,
    ),
    "chain-fork": bad("L1", PRE, fork, R.CHAIN_FORK),
    "chain-reorder": bad("L1", PRE, reorder, R.CHAIN_REORDER, R.CLOSING_MISSING),
    "chain-head": bad("L1", PRE, lambda: first_after("sha256:" + "0" * 64), R.CHAIN_HEAD),
    "manifest-other-than-ticketed": bad("L1", PRE, other_manifest, R.MANIFEST_NOT_CITED, *NOTHING_OF_OURS),
    "rival-terminals": bad("L3", PRE, rival_terminal, R.RIVAL_TERMINALS, R.CHAIN_FORK),
    "receipt-ticket-not-in-checkpoint": bad(
        "L3", PRE, late_ticket, R.RECEIPT_TICKET_NOT_IN_CHECKPOINT, R.OPENING_UNDECRYPTABLE
    ),
    "receipt-cites-anothers-ticket": bad(
        "L3", PRE, swapped_tickets, R.RECEIPT_TICKET_MISMATCH, R.OPENING_UNDECRYPTABLE
    ),
    "receipt-unticketed": bad(
        "L3", PRE, lambda: with_last(honest(), ticket=None), R.RECEIPT_UNTICKETED, R.OPENING_UNDECRYPTABLE
    ),
    "receipt-of-no-assignment": bad(
        "L3",
        PRE,
        one_place_more,
        R.RECEIPT_UNKNOWN_ASSIGNMENT,
        R.RECEIPT_TICKET_MISMATCH,
        R.TERMINAL_MISSING,
        R.OPENING_MISSING,
    ),
    "other-epoch-cites-our-ticket": bad("L1", PRE, lambda: elsewhere("ticket"), R.FOREIGN_CITES_OURS),
    "other-epoch-cites-our-chain": bad("L1", PRE, lambda: elsewhere("previous"), R.FOREIGN_CITES_OURS),
    "closing-counts-too-few": bad("L3", PRE, lambda: closing(count=3), R.CLOSING_CONTRADICTS),
    "closing-counts-too-many": bad("L3", PRE, lambda: closing(count=5), R.CLOSING_CONTRADICTS),
    "closing-with-another-head": bad(
        "L3", PRE, lambda: closing(head="sha256:" + "0" * 64), R.CLOSING_CONTRADICTS
    ),
    "two-closing-records": bad(
        "L3", PRE, lambda: beside("closing", count=0), R.CLOSING_RIVAL, R.CLOSING_CONTRADICTS
    ),
    "closing-missing": uncovered(POST, lambda: replace(honest(), closing=None), R.CLOSING_MISSING),
    "ticket-missing": uncovered(POST, lambda: honest().without("tickets", LAST), R.TICKET_MISSING),
    "all-tickets-missing": uncovered(POST, lambda: replace(honest(), tickets={}), R.TICKET_MISSING),
    "checkpoint-missing": uncovered(POST, lambda: replace(honest(), checkpoint=None), R.CHECKPOINT_MISSING),
    "checkpoint-and-tickets-missing": uncovered(
        POST, lambda: replace(honest(), checkpoint=None, tickets={}), R.CHECKPOINT_MISSING, R.TICKET_MISSING
    ),
    "two-checkpoints": bad(
        "L3", PRE, lambda: beside("checkpoint", anchor=None), R.CHECKPOINT_RIVAL, R.TICKET_ANCHOR_MISMATCH
    ),
    "two-tickets-for-one-assignment": bad(
        "L3",
        PRE,
        lambda: reframed(tickets=3, extra=True),
        R.TICKET_RIVAL,
        R.TICKET_ANCHOR_MISMATCH,
        R.TERMINAL_MISSING,
    ),
    "tickets-cite-two-anchors": bad(
        "L3",
        PRE,
        lambda: reframed(anchors=("sha256:" + "b" * 64,)),
        R.TICKET_ANCHOR_MISMATCH,
        R.TERMINAL_MISSING,
    ),
    "more-tickets-than-assignments": bad(
        "L3",
        PRE,
        lambda: reframed(extra=True),
        R.CHECKPOINT_SURPLUS,
        R.TICKET_RIVAL,
        R.TICKET_ANCHOR_MISMATCH,
        R.TERMINAL_MISSING,
    ),
    "assignment-never-ticketed": uncovered(
        PRE, lambda: reframed(tickets=3), R.CHECKPOINT_SHORT, R.TERMINAL_MISSING, openings=THIN
    ),
    "ticket-for-no-assignment": bad(
        "L3", PRE, surplus_ticket, R.TICKET_UNKNOWN_ASSIGNMENT, R.TICKET_NOT_IN_CHECKPOINT
    ),
    "tickets-in-a-retrospective-batch": bad(
        "L3",
        PRE,
        lambda: retrospective(ticket="sha256:" + "0" * 64),
        R.TICKET_UNEXPECTED,
        R.OPENING_UNDECRYPTABLE,
    ),
    "two-reports": bad("L1", PRE, lambda: beside("report", complete=False), R.REPORT_RIVAL),
    "no-anchor-cited": uncovered(PRE, lambda: honest(anchor=None), R.ANCHOR_LATE),
    "manifest-withheld": uncovered(
        POST, lambda: replace(honest(), manifest=honest().report), R.MANIFEST_MISSING
    ),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_has_its_layer_verdicts_and_reasons(name: str) -> None:
    fault = FAULTS[name]
    report = verified(fault.make())
    found = {reason for reason in report.reasons if RULES[reason].scope is not Scope.NOTE}
    assert found == fault.reasons
    verdicts = (report.integrity, report.coverage, report.openings, report.retries)
    assert verdicts == (fault.integrity, fault.coverage, fault.openings, fault.retries)
    assert fault.layer in {RULES[reason].layer for reason in found}


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


def test_every_reason_has_a_fault() -> None:
    elsewhere_tested = {
        R.OBJECT_UNREADABLE,
        R.ANCHOR_MISSING,
        R.OPENING_SEALED,
        R.MANIFEST_AMBIGUOUS,
        R.SET_ASIDE,
    }
    assert set().union(elsewhere_tested, *(fault.reasons for fault in FAULTS.values())) == set(Reason)
    assert RULES.keys() == set(Reason)
    assert {fault.timing for fault in FAULTS.values()} == {PRE, POST}
