"""What a verification says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum, unique
from typing import Final

from agentbeat_protocol import Instant
from agentbeat_receipts.anchors.outcomes import ProvenAnchor
from agentbeat_receipts.objects import Body, Manifest, Opening, Receipt, ReportBundle
from agentbeat_receipts.verification.reasons import RULES, Reason, Rule, Verdict

__all__ = ["CAVEAT", "REPLACEMENT_CAVEAT", "ChainReport", "Finding", "Level", "ProvenAnchor"]

#: What every Pass carries: runs that nobody ticketed leave no trace here (L4).
CAVEAT: Final = "verified_only_within_committed_ingress"
#: Until the closing record is published outside, the whole chain may be replaced by another.
REPLACEMENT_CAVEAT: Final = "full_replacement_undetectable_before_closing_is_published"


@unique
class Level(StrEnum):
    """How much was committed when (spec 4, "Conformance levels")."""

    CR_1 = "CR-1"
    CR_2 = "CR-2"
    CR_3 = "CR-3"


@dataclass(frozen=True, slots=True, order=True)
class Finding:
    """One reason, at one place.

    Args:
        reason: the code.
        subject: the assignment, object digest or delivery path that it is about.
        detail: got and expected, short.
        more: it is about all further places of its reason, which are not kept one by one.
    """

    reason: Reason
    subject: str
    detail: str = ""
    more: bool = False

    @property
    def rule(self) -> Rule:
        """The rule that the reason stands for."""
        return RULES[self.reason]


@dataclass(frozen=True, slots=True, kw_only=True)
class ChainReport:
    """The verdicts of layers 1 and 3, and what the later layers start from.

    Args:
        level: the level that the batch reaches; None when there is nothing sound.
        manifest_digest: the manifest that this is about; None when it is not known.
        integrity: bytes, signatures, chain and openings. Inconclusive when nothing sound was delivered.
        coverage: the expected set against what arrived; Pass at CR-3 only, `not_claimed` for a batch that
            lacks nothing but is none.
        openings: whether every receipt held was opened.
        retries: whether the terminal attempts are those of the policy.
        findings: sorted, each once.
        expected: number of assignments; None without a manifest.
        arrived: number of assignments with one sound terminal.
        terminals: the sound receipt of each assignment that has one only, by assignment.
        opened: the sound opening of each of these receipts that was opened.
        report: the one report bundle.
        anchored_at: the anchor's time, where tickets cite its token.
        caveats: what even a Pass does not say.
        held: digests of all sound objects by kind, sorted.
        head: digest of the sound receipt at the last place of the chain.
    """

    level: Level | None
    manifest_digest: str | None
    manifest: Manifest | None
    integrity: Verdict
    coverage: Verdict
    openings: Verdict
    retries: Verdict
    findings: tuple[Finding, ...]
    expected: int | None
    arrived: int
    terminals: Mapping[str, Receipt]
    opened: Mapping[str, Opening]
    report: ReportBundle | None
    anchored_at: Instant | None
    caveats: tuple[str, ...]
    held: Mapping[type[Body], Sequence[str]] = field(default_factory=dict)
    head: str | None = None

    @property
    def evidence(self) -> tuple[str, ...]:
        """The digests of all sound objects, sorted."""
        return tuple(sorted(digest for digests in self.held.values() for digest in digests))

    @property
    def reasons(self) -> frozenset[Reason]:
        """The reasons that were found."""
        return frozenset(finding.reason for finding in self.findings)
