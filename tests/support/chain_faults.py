"""Faults of layers 1 and 3: each with its layer, its time, its verdicts and its reasons.

`pre_commitment` faults are signed as they are: whoever holds the keys made them. `post_commitment` faults are
changes to what was signed, by anybody.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

from agentbeat_receipts.verification import Reason, Verdict
from support.receipt_batches import Parts, attempt, honest
from support.receipt_tampering import (
    LAST,
    attempts,
    beside,
    closing,
    elsewhere,
    failed,
    first_after,
    fork,
    late_ticket,
    nonce,
    one_place_more,
    one_ticket,
    other_manifest,
    plain,
    receipt,
    reframed,
    reorder,
    resealed,
    retrospective,
    rival_terminal,
    surplus_ticket,
    swapped_tickets,
    unsigned_change,
    with_envelope,
    with_last,
    wrong_role,
)

__all__ = ["FAULTS", "Fault"]

Change = Callable[[], Parts]
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
        "L1",
        POST,
        lambda: plain(attempts=(attempt(events=()),)),
        R.OPENING_CONTRADICTS_COMMITMENT,
        R.OPENING_CONTRADICTS_RECEIPT,
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
    "events-miscounted": bad(
        "L1",
        PRE,
        lambda: with_last(honest(), evidence={**honest().receipts[LAST].body.evidence, "events": 0}),
        R.OPENING_CONTRADICTS_RECEIPT,
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
    "chain-skips-a-place": bad(
        "L3",
        PRE,
        lambda: replace(with_last(honest(), sequence=5, previous="sha256:" + "0" * 64), closing=None),
        R.CHAIN_SURPLUS,
        R.CHAIN_GAP,
        R.CLOSING_MISSING,
    ),
    "manifest-other-than-ticketed": bad("L1", PRE, other_manifest, R.MANIFEST_NOT_CITED, *NOTHING_OF_OURS),
    "rival-terminals": bad("L3", PRE, rival_terminal, R.RIVAL_TERMINALS, R.CHAIN_FORK),
    "receipt-ticket-not-in-checkpoint": bad(
        "L3",
        PRE,
        late_ticket,
        R.RECEIPT_TICKET_NOT_IN_CHECKPOINT,
        R.RECEIPT_TICKET_MISMATCH,
        R.OPENING_UNDECRYPTABLE,
    ),
    "receipt-cites-anothers-ticket": bad(
        "L3", PRE, swapped_tickets, R.RECEIPT_TICKET_MISMATCH, R.OPENING_UNDECRYPTABLE
    ),
    "own-ticket-held-and-not-cited": bad(
        "L3",
        PRE,
        lambda: replace(late_ticket(), checkpoint=None),
        R.RECEIPT_TICKET_MISMATCH,
        R.CHECKPOINT_MISSING,
        R.OPENING_UNDECRYPTABLE,
    ),
    "two-receipts-cite-one-ticket": bad(
        "L3",
        PRE,
        lambda: one_ticket().without("tickets", "p-2.none").without("tickets", LAST),
        R.TICKET_REUSED,
        R.TICKET_MISSING,
        R.OPENING_UNDECRYPTABLE,
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
    "other-epoch-cites-our-ticket-that-is-withheld": bad(
        "L1",
        PRE,
        lambda: replace(elsewhere("ticket"), tickets={}, checkpoint=None),
        R.FOREIGN_CITES_OURS,
        R.TICKET_MISSING,
        R.CHECKPOINT_MISSING,
    ),
    "other-epoch-cites-our-receipt-that-is-withheld": bad(
        "L1",
        PRE,
        lambda: elsewhere("previous").without("receipts", "p-2.none"),
        R.FOREIGN_CITES_OURS,
        R.TERMINAL_MISSING,
        R.CHAIN_GAP,
    ),
    "closing-counts-too-few": bad("L3", PRE, lambda: closing(count=3), R.CLOSING_CONTRADICTS),
    "closing-counts-too-many": bad("L3", PRE, lambda: closing(count=5), R.CLOSING_CONTRADICTS),
    "closing-with-another-head": bad(
        "L3", PRE, lambda: closing(head="sha256:" + "0" * 64), R.CLOSING_CONTRADICTS
    ),
    "two-closing-records": bad(
        "L3", PRE, lambda: beside("closing", count=0), R.CLOSING_RIVAL, R.CLOSING_CONTRADICTS
    ),
    "closing-head-that-is-followed": bad(
        "L3",
        PRE,
        lambda: closing(head=receipt(honest(), "p-2.none").digest()).without("receipts", "p-2.none"),
        R.CLOSING_CONTRADICTS,
        R.TERMINAL_MISSING,
        R.CHAIN_GAP,
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
