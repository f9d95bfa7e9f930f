"""Why a claim has its verdict in one verification; as lines of text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from agentbeat_protocol import cut
from agentbeat_receipts.claims.results import ClaimReport, ClaimVerdict
from agentbeat_receipts.objects import Manifest
from agentbeat_receipts.reports.explanations import claim_text, labelled
from agentbeat_receipts.reports.findings import ReasonGroup, chain_reasons, claim_reasons
from agentbeat_receipts.reports.outcomes import judged, verdict_text
from agentbeat_receipts.reports.wording import analysis_lines, counts_text, value_text, weaker_text
from agentbeat_receipts.verification.reasons import Verdict

__all__ = ["reasoning_lines"]

_PLACES: Final = 5
_EVIDENCE: Final = 12
_ANALYSES: Final = 8
_NUMBERS: Final = 16

#: What can be done about a reason by whoever asks.
_ADVICE: Final = {
    "opening_sealed": "give the auditor's key with --auditor-key",
    "anchor_unchecked": "give roots with --tsa-root, or a header with --block-header",
    "anchor_missing": "ask the operator for the time anchor, if there is one",
    "manifest_ambiguous": "name the manifest with --manifest",
    "terminal_missing": "ask the operator for the receipts that are missing",
    "chain_surplus": "ask the operator for all receipts: a run has two, or was never promised",
    "closing_missing": "ask the operator for the closing record",
    "profile_differs": "compare the openings of the profile's runs with agentbeat claims open",
    "policy_silent": "ask the operator why the seller did not answer",
    "scorer_differs": "read each value as the scorer's that ran: as that it passes, and only C4 objects",
}


def reasoning_lines(report: ClaimReport, name: str) -> Iterator[str]:
    """Why the claim, or the question, of this name has its verdict.

    Raises:
        KeyError: the report has no verdict of this name.
    """
    verdict = judged(report)[name]
    yield f"{name} is {verdict}: {verdict_text(verdict)}"
    claims = [claim for claim in report.claims if claim.claim == name]
    for claim in claims:
        yield from _claim(claim, report.chain.manifest)
    about = name if not claims else None
    groups = [group for group in chain_reasons(report.chain) if about is None or group.concerns == about]
    if groups and (not claims or claims[0].verdict is not Verdict.PASS):
        yield ""
        yield f"What was found of {'bytes, chain and coverage' if about is None else about}:"
        for group in groups:
            yield from _reason(group)
    if verdict is Verdict.PASS and not groups and not claims:
        yield "Nothing speaks against it."


def _claim(claim: ClaimVerdict, manifest: Manifest | None) -> Iterator[str]:
    yield from claim_text(claim.claim)
    of = "" if claim.expected is None else f" of {claim.expected}"
    yield from labelled("about", f"{claim.received}{of} receipts, level {claim.level or 'none'}")
    if claim.value is not None:
        yield from labelled("sum/count", value_text(claim.value))
    if claim.nulls:
        yield from labelled("nulls", counts_text(claim.nulls))
    if claim.weaker:
        yield from labelled("caveat", weaker_text(claim.weaker, claim.value))
    needs = "; ".join(f"{group} {group.label}" for group in claim.depends_on)
    yield from labelled("needs", needs or "nothing that is known")
    for analysis in claim.analyses[:_ANALYSES]:
        title = f"{cut(analysis.contract)}, {cut(analysis.outcome)} over {analysis.subjects} profiles"
        yield from labelled("contract", title)
        if analysis.weaker:
            yield from labelled("", weaker_text(analysis.weaker))
        for number_name, number in list(analysis_lines(analysis, manifest))[:_NUMBERS]:
            yield from labelled("", f"{number_name} {value_text(number)}")
    more = len(claim.evidence) - _EVIDENCE
    for place, digest in enumerate(claim.evidence[:_EVIDENCE]):
        yield from labelled("" if place else "evidence", digest)
    if more > 0:
        yield from labelled("", f"and {more} more")
    groups = claim_reasons(claim)
    if groups:
        yield ""
        yield f"What speaks against {cut(claim.claim)}:"
        for group in groups:
            yield from _reason(group)


def _reason(group: ReasonGroup) -> Iterator[str]:
    yield f"- {group.code}{group.times} ({group.layer}, {group.verdict})"
    yield from labelled("  rule", group.rule)
    for place in group.places[:_PLACES]:
        said = ": ".join(part for part in (place.subject, place.detail) if part)
        if said:
            yield from labelled("  at", said)
    more = group.count - _PLACES
    if more > 0:
        yield from labelled("", f"and {'at least ' if group.at_least else ''}{more} more")
    if group.code in _ADVICE:
        yield from labelled("  to do", _ADVICE[group.code])
