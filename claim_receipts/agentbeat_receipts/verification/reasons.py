"""Why a verdict is what it is: each reason with its layer, what it concerns, its verdict and its rule.

L1 is bytes: digests, chain, signatures, openings against commitments. L3 is coverage: the expected set
against what arrived, and the order of retries. Meaning (L2) is the domains'; outside truth (L4) no receipt
can show.

>>> RULES[Reason.CHAIN_FORK].verdict
<Verdict.INVALID: 'Invalid'>
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum, unique
from types import MappingProxyType
from typing import Final, Literal

__all__ = ["RULES", "Reason", "Rule", "Scope", "Verdict"]


@unique
class Verdict(StrEnum):
    """What is said of one question."""

    PASS = "Pass"  # noqa: S105 - no password
    INVALID = "Invalid"
    INCONCLUSIVE_COVERAGE = "INCONCLUSIVE_COVERAGE"
    INCONCLUSIVE = "Inconclusive"
    NOT_CLAIMED = "not_claimed"
    #: No contract for this claim: it was never asserted.
    NO_CONTRACT = "I_C"
    #: The evidence does not cross the claim's boundary.
    NO_EVIDENCE = "I_E"

    @property
    def word(self) -> str:
        """Pass, Invalid or Inconclusive: a claim's verdict without why there is none."""
        return str(self) if self in (Verdict.PASS, Verdict.INVALID) else "Inconclusive"


@unique
class Scope(StrEnum):
    """What a reason concerns."""

    INTEGRITY = "integrity"
    COVERAGE = "coverage"
    OPENINGS = "openings"
    RETRIES = "retries"
    NOTE = "note"


@unique
class Reason(StrEnum):
    """A code that stays the same from version to version."""

    OBJECT_UNREADABLE = "object_unreadable"
    SIGNATURE_INVALID = "signature_invalid"
    WRONG_ROLE_KEY = "wrong_role_key"
    KEY_HINT_MISMATCH = "key_hint_mismatch"
    NOTHING_SOUND = "nothing_sound"
    MANIFEST_NOT_CITED = "manifest_not_cited"
    MANIFEST_MISSING = "manifest_missing"
    MANIFEST_AMBIGUOUS = "manifest_ambiguous"
    FOREIGN_CITES_OURS = "foreign_cites_ours"
    SET_ASIDE = "set_aside"
    ANCHOR_MISSING = "anchor_missing"
    ANCHOR_LATE = "anchor_late"
    ANCHOR_UNCHECKED = "anchor_unchecked"
    ANCHOR_UNREADABLE = "anchor_unreadable"
    ANCHOR_OTHER_CONTENT = "anchor_other_content"
    ANCHOR_UNTRUSTED = "anchor_untrusted"
    ANCHOR_PENDING = "anchor_pending"
    ANCHOR_UNUSED = "anchor_unused"
    TICKET_RIVAL = "ticket_rival"
    TICKET_UNKNOWN_ASSIGNMENT = "ticket_unknown_assignment"
    TICKET_NOT_IN_CHECKPOINT = "ticket_not_in_checkpoint"
    TICKET_ANCHOR_MISMATCH = "ticket_anchor_mismatch"
    TICKET_UNEXPECTED = "ticket_unexpected"
    TICKET_MISSING = "ticket_missing"
    CHECKPOINT_RIVAL = "checkpoint_rival"
    CHECKPOINT_SURPLUS = "checkpoint_surplus"
    CHECKPOINT_SHORT = "checkpoint_short"
    CHECKPOINT_MISSING = "checkpoint_missing"
    RECEIPT_UNKNOWN_ASSIGNMENT = "receipt_unknown_assignment"
    RECEIPT_UNTICKETED = "receipt_unticketed"
    RECEIPT_TICKET_NOT_IN_CHECKPOINT = "receipt_ticket_not_in_checkpoint"
    RECEIPT_TICKET_MISMATCH = "receipt_ticket_mismatch"
    TICKET_REUSED = "ticket_reused"
    RIVAL_TERMINALS = "rival_terminals"
    TERMINAL_MISSING = "terminal_missing"
    CHAIN_HEAD = "chain_head"
    CHAIN_FORK = "chain_fork"
    CHAIN_REORDER = "chain_reorder"
    CHAIN_GAP = "chain_gap"
    CHAIN_SURPLUS = "chain_surplus"
    CLOSING_RIVAL = "closing_rival"
    CLOSING_CONTRADICTS = "closing_contradicts"
    CLOSING_MISSING = "closing_missing"
    REPORT_RIVAL = "report_rival"
    ENVELOPE_DIGEST_MISMATCH = "envelope_digest_mismatch"
    OPENING_MISSING = "opening_missing"
    OPENING_SEALED = "opening_sealed"
    OPENING_UNDECRYPTABLE = "opening_undecryptable"
    OPENING_UNREADABLE = "opening_unreadable"
    OPENING_CONTRADICTS_COMMITMENT = "opening_contradicts_commitment"
    OPENING_CONTRADICTS_RECEIPT = "opening_contradicts_receipt"
    NONCE_LENGTH = "nonce_length"
    NONCE_REUSED = "nonce_reused"
    RETRY_GAP = "retry_gap"
    RETRY_LIMIT = "retry_limit"
    RETRY_CAUSE = "retry_cause"
    RETRY_SHADOWING = "retry_shadowing"


@dataclass(frozen=True, slots=True)
class Rule:
    """What a reason stands for."""

    layer: Literal["L1", "L3"]
    scope: Scope
    verdict: Verdict
    text: str


def _l1(text: str) -> Rule:
    return Rule("L1", Scope.INTEGRITY, Verdict.INVALID, text)


def _invalid_l3(text: str) -> Rule:
    return Rule("L3", Scope.INTEGRITY, Verdict.INVALID, text)


def _coverage(text: str) -> Rule:
    return Rule("L3", Scope.COVERAGE, Verdict.INCONCLUSIVE_COVERAGE, text)


def _openings(text: str) -> Rule:
    return Rule("L1", Scope.OPENINGS, Verdict.INCONCLUSIVE, text)


def _retries(text: str) -> Rule:
    return Rule("L3", Scope.RETRIES, Verdict.INVALID, text)


#: Each reason's rule.
RULES: Final[Mapping[Reason, Rule]] = MappingProxyType(
    {
        Reason.OBJECT_UNREADABLE: _l1("every delivery is exact JSON of a declared type and shape"),
        Reason.SIGNATURE_INVALID: _l1("an object carries its type's role's signature over its body"),
        Reason.WRONG_ROLE_KEY: _l1("a role's key signs the types of that role only"),
        Reason.KEY_HINT_MISMATCH: _l1("a key hint, where there is one, names the role's key"),
        Reason.NOTHING_SOUND: Rule(
            "L1", Scope.INTEGRITY, Verdict.INCONCLUSIVE, "there is a sound object to be judged"
        ),
        Reason.MANIFEST_NOT_CITED: _l1("what is delivered cites the manifest that is delivered with it"),
        Reason.MANIFEST_MISSING: _coverage("the expected set is known from the manifest"),
        Reason.MANIFEST_AMBIGUOUS: Rule(
            "L1",
            Scope.INTEGRITY,
            Verdict.INCONCLUSIVE,
            "the caller names one of several manifests",
        ),
        Reason.FOREIGN_CITES_OURS: _l1("objects of another manifest cite neither our tickets nor our chain"),
        Reason.SET_ASIDE: Rule("L3", Scope.NOTE, Verdict.PASS, "objects of another manifest are set aside"),
        Reason.ANCHOR_MISSING: _coverage("a time anchor over the manifest precedes the tickets"),
        Reason.ANCHOR_LATE: _coverage("tickets cite the anchor's token, so they were made after it"),
        Reason.ANCHOR_UNCHECKED: _coverage("roots or block headers are given that a cited token needs"),
        Reason.ANCHOR_UNREADABLE: _coverage("a cited token is a granted response in DER, or an .ots proof"),
        Reason.ANCHOR_OTHER_CONTENT: _coverage("a cited token is over the manifest's digest in SHA-256"),
        Reason.ANCHOR_UNTRUSTED: _coverage("a cited token holds against the given roots or block headers"),
        Reason.ANCHOR_PENDING: _coverage("a cited proof is complete"),
        Reason.ANCHOR_UNUSED: Rule(
            "L3", Scope.NOTE, Verdict.PASS, "a token that no ticket cites is set aside"
        ),
        Reason.TICKET_RIVAL: _invalid_l3("an assignment has one ticket"),
        Reason.TICKET_UNKNOWN_ASSIGNMENT: _invalid_l3("a ticket is for an assignment of the manifest"),
        Reason.TICKET_NOT_IN_CHECKPOINT: _invalid_l3("the checkpoint is over all tickets"),
        Reason.TICKET_ANCHOR_MISMATCH: _invalid_l3("tickets and checkpoint cite one anchor"),
        Reason.TICKET_UNEXPECTED: _invalid_l3("a retrospective batch has no tickets and no checkpoint"),
        Reason.TICKET_MISSING: _coverage("every ticket of the checkpoint is held"),
        Reason.CHECKPOINT_RIVAL: _invalid_l3("a manifest has one checkpoint"),
        Reason.CHECKPOINT_SURPLUS: _invalid_l3("the checkpoint has no more tickets than assignments"),
        Reason.CHECKPOINT_SHORT: _coverage("the checkpoint has a ticket for every assignment"),
        Reason.CHECKPOINT_MISSING: _coverage("the checkpoint is held"),
        Reason.RECEIPT_UNKNOWN_ASSIGNMENT: _invalid_l3("a receipt is for an assignment of the manifest"),
        Reason.RECEIPT_UNTICKETED: _invalid_l3("a receipt of a prospective batch cites a ticket"),
        Reason.RECEIPT_TICKET_NOT_IN_CHECKPOINT: _invalid_l3("a receipt's ticket is in the checkpoint"),
        Reason.RECEIPT_TICKET_MISMATCH: _invalid_l3("a receipt cites the ticket of its own assignment"),
        Reason.TICKET_REUSED: _invalid_l3("no two assignments' receipts cite one ticket"),
        Reason.RIVAL_TERMINALS: _invalid_l3("an assignment has one terminal"),
        Reason.TERMINAL_MISSING: _coverage("every assignment has its terminal"),
        Reason.CHAIN_HEAD: _l1("the first receipt follows the checkpoint (retrospective: manifest)"),
        Reason.CHAIN_FORK: _l1("no two receipts have one place or one predecessor"),
        Reason.CHAIN_REORDER: _l1("a receipt follows the one that it cites, and cites the one it follows"),
        Reason.CHAIN_GAP: _coverage("every receipt's predecessor is held"),
        Reason.CHAIN_SURPLUS: _invalid_l3("a chain has no more places than there are assignments"),
        Reason.CLOSING_RIVAL: _invalid_l3("a manifest has one closing record"),
        Reason.CLOSING_CONTRADICTS: _invalid_l3("the closing record's count and head fit the receipts held"),
        Reason.CLOSING_MISSING: _coverage("the closing record is held"),
        Reason.REPORT_RIVAL: _l1("a manifest has one report bundle"),
        Reason.ENVELOPE_DIGEST_MISMATCH: _l1("an envelope has the digest that the receipt carries"),
        Reason.OPENING_MISSING: _openings("every receipt has its opening"),
        Reason.OPENING_SEALED: _openings("the auditor's key is given, so that envelopes can be opened"),
        Reason.OPENING_UNDECRYPTABLE: _openings("an envelope opens with the auditor's key at its place"),
        Reason.OPENING_UNREADABLE: _l1("what an envelope holds is an opening in exact JSON"),
        Reason.OPENING_CONTRADICTS_COMMITMENT: _l1("an opening opens each of its receipt's commitments"),
        Reason.OPENING_CONTRADICTS_RECEIPT: _l1("opening and receipt agree on ticket, status and counts"),
        Reason.NONCE_LENGTH: _l1("a nonce has 32 bytes"),
        Reason.NONCE_REUSED: _l1("a nonce serves one receipt"),
        Reason.RETRY_GAP: _retries("attempts are listed 1..m without gaps"),
        Reason.RETRY_LIMIT: _retries("there are no more attempts than the policy allows"),
        Reason.RETRY_CAUSE: _retries("an attempt's cause is the failure before it, and declared"),
        Reason.RETRY_SHADOWING: _retries("the terminal attempt is the first that the policy does not retry"),
    }
)
