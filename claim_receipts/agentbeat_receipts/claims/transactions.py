"""What a tally says of its transactions, as findings: of one claim itself, and of what rests on it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from agentbeat_receipts.claims.domains import Domain
from agentbeat_receipts.claims.faults import FAULT_RULES, Fault
from agentbeat_receipts.claims.results import ClaimFinding
from agentbeat_receipts.claims.tallies import ClaimTally, Tally
from agentbeat_receipts.verification.reasons import Verdict

__all__ = ["REPLAY", "claim_findings", "listed", "profile_findings", "resting_findings"]

#: How the whole replay is named among the claims of a transaction.
REPLAY = "replay"


def claim_findings(counted: ClaimTally, received: int) -> Iterator[ClaimFinding]:
    """Why a claim does not hold of each transaction: the first few of each fault, and how many there are."""
    yield from listed(counted)
    settled = counted.determined + counted.faults.total()
    if not received:
        yield ClaimFinding(Fault.EVIDENCE_ABSENT, "", "no receipt")
    elif settled < received:
        yield ClaimFinding(Fault.EVIDENCE_ABSENT, "", f"{received - settled} of {received} not settled")


def listed(counted: ClaimTally) -> Iterator[ClaimFinding]:
    """The faults that were counted: the first few of each, and how many there are where those are not all."""
    yield from (ClaimFinding(*example) for example in counted.examples)
    for fault, count in counted.faults.items():
        if count > sum(example[0] is fault for example in counted.examples):
            yield ClaimFinding(fault, "", f"{count} transactions", count)


def resting_findings(tally: Tally, domain: Domain | None, claims: Iterable[str]) -> Iterator[ClaimFinding]:
    """What a claim of the batch inherits from the transactions: whole replay, and some of their claims."""
    if domain is None:
        yield ClaimFinding(Fault.DOMAIN_UNKNOWN, "", "no domain to replay with")
        return
    yield from _inherited(REPLAY, tally.whole, tally.received)
    # No claim of a run says why its whole replay is undetermined, unless evidence that both need is absent.
    undetermined = (found for found in listed(tally.whole) if found.rule.verdict is not Verdict.INVALID)
    yield from (found for found in undetermined if found.fault is not Fault.EVIDENCE_ABSENT)
    for claim in claims:
        if claim not in tally.claims:
            yield ClaimFinding(Fault.EVIDENCE_ABSENT, claim, f"no claim of {domain.name}")
            continue
        yield from _inherited(claim, tally.claims[claim], tally.received)


def profile_findings(tally: Tally) -> Iterator[ClaimFinding]:
    """Profiles that are not the same in each of their runs: what is summed over them is of no one profile."""
    for profile, digests in sorted(tally.profiles.items()):
        if len(digests) > 1:
            yield ClaimFinding(Fault.PROFILE_DIFFERS, profile, "another content in another run")


def _inherited(name: str, counted: ClaimTally, received: int) -> Iterator[ClaimFinding]:
    refuting = [fault for fault in counted.faults if FAULT_RULES[fault].verdict is Verdict.INVALID]
    refuted = sum(counted.faults[fault] for fault in refuting)
    if refuted:
        detail = f"{refuted} of {received}: {', '.join(sorted(refuting))}"
        yield ClaimFinding(Fault.TRANSACTION_REFUTED, name, detail)
    undetermined = received - counted.determined - refuted
    if undetermined or not received:
        yield ClaimFinding(Fault.TRANSACTION_UNDETERMINED, name, f"{undetermined} of {received}")
