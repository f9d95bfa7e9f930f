"""What the claims read from the chain's report: integrity, completeness, and which objects they rest on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Final

from agentbeat_receipts.claims.faults import Fault
from agentbeat_receipts.claims.groups import Group
from agentbeat_receipts.claims.results import ClaimFinding
from agentbeat_receipts.objects import (
    Body,
    Checkpoint,
    ClosingRecord,
    Envelope,
    Manifest,
    Opening,
    Receipt,
    ReportBundle,
)
from agentbeat_receipts.verification.reasons import Scope, Verdict
from agentbeat_receipts.verification.results import ChainReport

__all__ = ["LISTED", "completeness_findings", "evidence_of", "integrity_findings", "retries_refuted"]

#: Up to so many receipts a verdict lists each; of a longer batch it names the chain's head instead.
LISTED: Final = 32

_TRANSACTIONS: Final = (Receipt, Opening, Envelope)
_WHOLE: Final = (Manifest, Checkpoint, ClosingRecord, ReportBundle, *_TRANSACTIONS)
_KINDS: Final[Mapping[str, tuple[type[Body], ...]]] = MappingProxyType(
    {"C1": _WHOLE, "C2": (Manifest, Receipt), "C3": _WHOLE, "C4": _WHOLE}
)


def integrity_findings(chain: ChainReport) -> Iterator[ClaimFinding]:
    """What is wrong with bytes and chain makes every claim Invalid."""
    if chain.integrity is Verdict.INVALID:
        rules = ((str(f.reason), f.rule) for f in chain.findings)
        invalid = {r for r, rule in rules if (rule.scope, rule.verdict) == (Scope.INTEGRITY, Verdict.INVALID)}
        yield ClaimFinding(Fault.INTEGRITY_INVALID, "", ", ".join(sorted(invalid)))


def completeness_findings(
    chain: ChainReport, *, removed: frozenset[Group] = frozenset()
) -> Iterator[ClaimFinding]:
    """Whether there is one terminal for each assignment; without the group I that cannot be shown."""
    if Group.I in removed:
        yield ClaimFinding(Fault.TERMINALS_MISSING, "", f"{Group.I}, {Group.I.label}")
    elif chain.expected is None or chain.arrived != chain.expected:
        expected = "an unknown number" if chain.expected is None else chain.expected
        yield ClaimFinding(Fault.TERMINALS_MISSING, "", f"got {chain.arrived}, expected {expected}")


def retries_refuted(chain: ChainReport) -> Iterator[ClaimFinding]:
    """The runs whose terminal attempt is not the one that the policy names."""
    for found in chain.findings:
        if found.rule.scope is Scope.RETRIES:
            subject = "" if found.more else found.subject
            yield ClaimFinding(Fault.RETRIES_INVALID, subject, str(found.reason), more=found.more)


def evidence_of(claim: str, chain: ChainReport) -> tuple[str, ...]:
    """The digests of the objects that a claim's verdict was made from.

    Args:
        claim: C1 to C4, or a claim of transactions.
    """
    kinds = _KINDS.get(claim, (Manifest, *_TRANSACTIONS))
    held = chain.held
    if chain.arrived <= LISTED:
        return tuple(digest for kind in kinds for digest in held.get(kind, ()))
    framing = [digest for kind in kinds if kind not in _TRANSACTIONS for digest in held.get(kind, ())]
    return (*framing, *(() if chain.head is None else (chain.head,)))
