"""Layers 1 and 3 of a verification: what holds of bytes, chain, openings and coverage.

Pure: bytes and keys in, verdicts out; no network, no file and no clock. The steps are numbered as in the
modules that do them:

    1 holdings    read, drop repeats, tell ours from others', signatures by role
    2 framing     manifest, tickets, checkpoint; anchoring: time anchors
    3 chaining    receipts, their tickets and places, closing record
    4 unsealing   openings against commitments
    5 retries     terminal attempts against the policy

Order and repetition of the deliveries change nothing. Invalid takes precedence; nothing sound is no Pass.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from agentbeat_receipts.anchors.outcomes import ProvenAnchor
from agentbeat_receipts.anchors.trust import AnchorTrust
from agentbeat_receipts.deliveries import Delivery
from agentbeat_receipts.keys import KeyRefused, PublicKeyring, Role
from agentbeat_receipts.objects import Receipt, ReportBundle
from agentbeat_receipts.verification.anchoring import Anchorage, take_anchors
from agentbeat_receipts.verification.chaining import chain_findings, terminals
from agentbeat_receipts.verification.framing import foreign_findings, framing_findings, sole_checkpoint
from agentbeat_receipts.verification.holdings import Holdings
from agentbeat_receipts.verification.reasons import Reason, Scope, Verdict
from agentbeat_receipts.verification.relations import (
    assignment_counts,
    listed_tickets,
    sorted_digests,
    without,
)
from agentbeat_receipts.verification.results import (
    CAVEAT,
    REPLACEMENT_CAVEAT,
    ChainReport,
    Finding,
    Level,
)
from agentbeat_receipts.verification.retries import limit_findings, retry_findings
from agentbeat_receipts.verification.sorting import take_in
from agentbeat_receipts.verification.unsealing import open_all

__all__ = ["assemble", "check_auditor", "held_findings", "verify_chain"]


def verify_chain(
    deliveries: Iterable[Delivery],
    keyring: PublicKeyring,
    *,
    manifest: str | None = None,
    anchors: Iterable[ProvenAnchor] = (),
    trust: AnchorTrust | None = None,
    auditor: X25519PrivateKey | None = None,
) -> ChainReport:
    """The verdicts of layers 1 and 3 on what was delivered.

    Args:
        deliveries: paths and bytes, in any order, repeated or not.
        keyring: who may sign what; never taken from the deliveries.
        manifest: digest of the manifest that is meant; needed when several are delivered.
        anchors: what was proven of time anchors before.
        trust: what delivered time anchors are checked against; never taken from the deliveries.
        auditor: the auditor's private key, to open envelopes.

    Raises:
        KeyRefused: `auditor` is not the private key of the keyring's auditor.
    """
    check_auditor(auditor, keyring)
    holdings = take_in(deliveries, keyring, manifest)
    if holdings.ambiguous:
        return assemble(holdings, holdings.findings, Anchorage(), 0)
    anchorage = take_anchors(holdings, tuple(anchors), trust)
    findings = [*holdings.findings, *held_findings(holdings), *anchorage.findings]
    if not any(holdings.ours.values()):
        findings.append(Finding(Reason.NOTHING_SOUND, ""))
    receipts = holdings.of(Receipt)
    found = {name: receipts[digest] for name, digest in terminals(holdings).items()}
    openings = open_all(holdings, found, auditor)
    findings += openings.findings
    if holdings.manifest is not None:
        for opening in openings.opened.values():
            findings += retry_findings(opening, holdings.manifest.retry)
    report = assemble(holdings, findings, anchorage, len(openings.opened))
    return replace(report, terminals=found, opened=openings.opened)


def check_auditor(auditor: X25519PrivateKey | None, keyring: PublicKeyring) -> None:
    """Refuse an auditor's private key that is not the keyring's.

    Raises:
        KeyRefused: `auditor` is not the private key of the keyring's auditor.
    """
    if auditor is not None and auditor.public_key().public_bytes_raw() != keyring.auditor:
        raise KeyRefused(f"{Role.AUDITOR}: not the private key of the keyring's auditor")


def held_findings(holdings: Holdings) -> Iterator[Finding]:
    """Steps 2, 3, and of 5 what receipts show: everything wrong with what is held, or missing of it."""
    yield from framing_findings(holdings)
    yield from foreign_findings(holdings)
    yield from chain_findings(holdings)
    if holdings.manifest is not None:
        yield from limit_findings(holdings.receipts.values(), holdings.manifest.retry)


def assemble(
    holdings: Holdings, findings: Iterable[Finding], anchorage: Anchorage, opened: int
) -> ChainReport:
    """The report, without the terminals and openings themselves.

    Args:
        opened: of how many assignments the terminal was opened.
    """
    findings = list(findings)
    manifest, reports = holdings.manifest, holdings.of(ReportBundle)
    counts = assignment_counts(holdings.receipts)
    arrived = sum(1 for _, count in counts.items() if count == 1)
    all_opened = bool(arrived) and arrived == opened
    anchor = anchorage.anchor
    level = _level(holdings, counts, anchored=anchor is not None)
    integrity = _worst(findings, Scope.INTEGRITY)
    caveats = (CAVEAT, REPLACEMENT_CAVEAT) if holdings.prospective else (CAVEAT,)
    receipts = holdings.receipts
    return ChainReport(
        level=level,
        manifest_digest=holdings.manifest_digest,
        manifest=manifest,
        integrity=integrity,
        coverage=_coverage(holdings, findings, integrity, level),
        openings=_of_openings(findings, integrity, complete=bool(arrived)),
        retries=_of_retries(findings, integrity, complete=all_opened),
        findings=tuple(sorted(set(findings))),
        expected=None if manifest is None else len(manifest.assignments),
        arrived=arrived,
        terminals={},
        opened={},
        report=next(iter(reports.values())) if len(reports) == 1 else None,
        anchored_at=None if anchor is None else anchor.at,
        caveats=caveats,
        held={kind: sorted_digests(bodies) for kind, bodies in holdings.ours.items() if bodies},
        head=max(((facts.sequence, digest) for digest, facts in receipts.items()), default=(0, None))[1],
    )


def _worst(findings: list[Finding], scope: Scope) -> Verdict:
    verdicts = {finding.rule.verdict for finding in findings if finding.rule.scope is scope}
    order = (Verdict.INVALID, Verdict.INCONCLUSIVE_COVERAGE, Verdict.INCONCLUSIVE)
    return next((verdict for verdict in order if verdict in verdicts), Verdict.PASS)


def _coverage(
    holdings: Holdings, findings: list[Finding], integrity: Verdict, level: Level | None
) -> Verdict:
    if integrity is Verdict.INVALID:
        return Verdict.INVALID
    if holdings.manifest is None:
        return Verdict.INCONCLUSIVE_COVERAGE
    worst = _worst(findings, Scope.COVERAGE) if holdings.prospective else Verdict.NOT_CLAIMED
    # Nothing is missing, but there are receipts without envelopes: coverage is claimed at CR-3 only.
    return Verdict.NOT_CLAIMED if worst is Verdict.PASS and level is not Level.CR_3 else worst


def _of_openings(findings: list[Finding], integrity: Verdict, *, complete: bool) -> Verdict:
    if integrity is Verdict.INVALID:
        return Verdict.INVALID
    return _worst(findings, Scope.OPENINGS) if complete else Verdict.INCONCLUSIVE


def _of_retries(findings: list[Finding], integrity: Verdict, *, complete: bool) -> Verdict:
    worst = _worst(findings, Scope.RETRIES)
    if Verdict.INVALID in (integrity, worst):
        return Verdict.INVALID
    return worst if complete else Verdict.INCONCLUSIVE


def _level(holdings: Holdings, counts: Mapping[str, int], *, anchored: bool) -> Level | None:
    """CR-3 needs all that precedes the first outcome, and an envelope behind every receipt.

    Args:
        counts: how many receipts there are of each assignment.
    """
    if holdings.manifest is None:
        return Level.CR_1 if any(count == 1 for count in counts.values()) else None
    found, tickets = sole_checkpoint(holdings), holdings.tickets
    listed = () if found is None else listed_tickets(found[1])
    framed = len(listed) == len(tickets) and next(without(listed, sorted_digests(tickets)), None) is None
    receipts = holdings.receipts.values()
    sealed = all(receipt.is_sealed or counts[receipt.assignment] > 1 for receipt in receipts)
    prospective = holdings.prospective and anchored and found is not None and framed and sealed
    return Level.CR_3 if prospective else Level.CR_2
