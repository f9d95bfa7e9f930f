"""Step 2, its second half: what time anchors prove, against trust that was not delivered with them.

Tickets cite a token by digest, so only a cited token can fail. One that nobody cites is noted and set aside,
whatever it is: anybody can lay one beside a batch. A cited token counts as soon as one object proves it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from types import MappingProxyType
from typing import Final

from agentbeat_receipts.anchors.outcomes import AnchorFault, AnchorProblem, ProvenAnchor
from agentbeat_receipts.anchors.proving import prove
from agentbeat_receipts.anchors.trust import AnchorTrust
from agentbeat_receipts.objects import Checkpoint, TimeAnchor
from agentbeat_receipts.verification.facts import TicketFacts
from agentbeat_receipts.verification.framing import sole_checkpoint
from agentbeat_receipts.verification.holdings import Holdings
from agentbeat_receipts.verification.reasons import Reason
from agentbeat_receipts.verification.results import Finding

__all__ = ["Anchorage", "take_anchors"]

_REASONS: Final[Mapping[AnchorProblem, Reason]] = MappingProxyType(
    {
        AnchorProblem.UNCHECKED: Reason.ANCHOR_UNCHECKED,
        AnchorProblem.UNREADABLE: Reason.ANCHOR_UNREADABLE,
        AnchorProblem.OTHER_CONTENT: Reason.ANCHOR_OTHER_CONTENT,
        AnchorProblem.UNTRUSTED: Reason.ANCHOR_UNTRUSTED,
        AnchorProblem.PENDING: Reason.ANCHOR_PENDING,
    }
)
_NO_TRUST: Final = AnchorFault(AnchorProblem.UNCHECKED, "got neither roots nor block headers")


@dataclass(frozen=True, slots=True)
class Anchorage:
    """The proven anchor whose token checkpoint and tickets cite, and everything wrong with anchors."""

    anchor: ProvenAnchor | None = None
    findings: tuple[Finding, ...] = ()


def take_anchors(holdings: Holdings, given: tuple[ProvenAnchor, ...], trust: AnchorTrust | None) -> Anchorage:
    """What holds of the anchors over our manifest.

    Args:
        given: what was proven before.
        trust: what delivered tokens are checked against; None when they are not to be.
    """
    outcomes = {
        digest: (anchor, _NO_TRUST if trust is None else prove(anchor, trust))
        for digest, anchor in holdings.of(TimeAnchor).items()
    }
    found = [outcome for _, outcome in outcomes.values() if isinstance(outcome, ProvenAnchor)]
    proven = {
        anchor.token: anchor for anchor in (*found, *given) if anchor.manifest == holdings.manifest_digest
    }
    tokens = {digest: anchor.token_digest() for digest, (anchor, _) in outcomes.items()}
    cited = set(_citations(holdings)).intersection(tokens.values()) if tokens else set()
    findings = []
    for digest, (anchor, outcome) in outcomes.items():
        token = tokens[digest]
        if token not in cited:
            findings.append(Finding(Reason.ANCHOR_UNUSED, digest, f"of the form {anchor.form}"))
        elif token not in proven and isinstance(outcome, AnchorFault):
            findings.append(Finding(_REASONS[outcome.problem], digest, outcome.detail))
    checkpoint = sole_checkpoint(holdings)
    token_cited = None if checkpoint is None else checkpoint[1].anchor
    anchor_held = None if token_cited is None else proven.get(token_cited)
    failed = any(finding.reason is not Reason.ANCHOR_UNUSED for finding in findings)
    if holdings.prospective and anchor_held is None and not failed:
        findings += _absence(holdings, proven, framed=checkpoint is not None)
    return Anchorage(anchor_held, tuple(findings))


def _absence(holdings: Holdings, proven: Mapping[str, ProvenAnchor], *, framed: bool) -> Iterator[Finding]:
    """Why no anchor counts, when none that is cited has failed."""
    subject = holdings.manifest_digest or ""
    if not proven:
        yield Finding(Reason.ANCHOR_MISSING, subject)
    elif framed:
        yield Finding(Reason.ANCHOR_LATE, subject, "no ticket cites its token")


def _citations(holdings: Holdings) -> Iterator[str]:
    """The digest of every token that a checkpoint or a ticket cites."""
    bodies: Iterator[Checkpoint | TicketFacts] = chain(
        holdings.of(Checkpoint).values(), holdings.tickets.values()
    )
    for body in bodies:
        if body.anchor is not None:
            yield body.anchor
