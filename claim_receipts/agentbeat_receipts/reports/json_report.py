"""The report as JSON, `claims-verification-v1`; the package ships its schema.

Numbers stay exact: integers, beyond ±(2^53-1) as decimal strings; a ratio has its unreduced parts and a
decimal for people. Lists are capped, and a number beside each says how much is left out.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Annotated, Final, Literal

from pydantic import BaseModel, ConfigDict, Field

from agentbeat_protocol import cut
from agentbeat_receipts.canonical import MAX_INTEGER
from agentbeat_receipts.claims.groups import Group
from agentbeat_receipts.claims.results import Analysis, ClaimReport, ClaimVerdict, Licence
from agentbeat_receipts.objects import Pair
from agentbeat_receipts.reports.exactness import decimal_text
from agentbeat_receipts.reports.findings import ReasonGroup, chain_reasons, claim_reasons
from agentbeat_receipts.reports.matrices import coverage_matrix
from agentbeat_receipts.reports.outcomes import ExitCode, headline, outcome_of
from agentbeat_receipts.verification.reasons import Verdict
from agentbeat_receipts.verification.results import Level

__all__ = ["SCHEMA_NAME", "Verification", "to_json", "verification_model"]

SCHEMA_NAME: Final = "claims-verification-v1"

#: The most evidence digests, blockers, names of a counter and analyses that are listed.
LISTED: Final = 100

Counted = Annotated[int, Field(ge=0)]
Digest = Annotated[str, Field(pattern=r"^sha256:[0-9a-f]{64}$")]
Exact = Annotated[int, Field(ge=-MAX_INTEGER, le=MAX_INTEGER)] | Annotated[str, Field(pattern=r"^-?[0-9]+$")]


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class RatioPart(_Part):
    """Two integers, unreduced; for a mean, sum and count."""

    numerator: Exact
    denominator: Exact
    decimal: str | None = Field(
        description="For people: at most 4 places, with `≈ ` in front when rounded; null over 0."
    )


class PlacePart(_Part):
    """Where a reason was found."""

    subject: str = Field(description="Assignment, digest, cell or path; empty for the whole batch.")
    detail: str


class ReasonPart(_Part):
    """One reason with its rule."""

    code: str
    layer: Literal["L1", "L2", "L3"]
    concerns: str = Field(description="The question or the claim that it was found for.")
    verdict: Verdict
    rule: str = Field(description="What holds where the reason is not found.")
    count: Counted
    at_least: bool = Field(
        description="It was found more often than `count`: a long batch's findings are kept up to a limit."
    )
    places: tuple[PlacePart, ...] = Field(description="The first few of `count`.")


class AnalysisPart(_Part):
    """The exact numbers of one contract."""

    contract: str
    outcome: str
    subjects: Counted
    estimate: RatioPart | None
    lower: RatioPart | None
    upper: RatioPart | None
    lower_envelope: tuple[RatioPart, RatioPart] | None
    upper_envelope: tuple[RatioPart, RatioPart] | None
    levels: tuple[RatioPart, ...]
    weaker: dict[str, Counted] = Field(description="As of the outcome's claim, over all its runs.")


class ClaimPart(_Part):
    """The verdict on one claim."""

    claim: str
    kind: Literal["transaction", "experiment"]
    level: Level | None
    verdict: Verdict
    word: Literal["Pass", "Invalid", "Inconclusive"]
    received: Counted
    expected: Counted | None
    value: RatioPart | None = Field(description="Of a transaction claim: sum and count of its integers.")
    nulls: dict[str, Counted] = Field(description="Transactions without a value, by reason.")
    weaker: dict[str, Counted] = Field(
        description="Integers that rest on less evidence than was promised, by what is missing."
    )
    reasons: tuple[ReasonPart, ...]
    analyses: tuple[AnalysisPart, ...]
    depends_on: tuple[Group, ...] = Field(description="The groups of fields that the claim needs.")
    evidence: tuple[Digest, ...]
    evidence_left_out: Counted
    caveats: tuple[str, ...]


class QuestionsPart(_Part):
    """The verdicts of layers 1 and 3."""

    integrity: Verdict
    coverage: Verdict
    openings: Verdict
    retries: Verdict


class CoveragePart(_Part):
    """What was promised and what arrived."""

    expected: Counted | None = Field(description="Assignments of the manifest; null without one.")
    arrived: Counted
    missing: tuple[str, ...] = Field(
        description="Assignments without one terminal: some of `missing_count`, in manifest order."
    )
    missing_count: Counted | None = Field(description="How many there are; null without a manifest.")
    statuses: dict[str, Counted]


class BlockerPart(_Part):
    """What stands against a licence."""

    licence: Licence
    claim: str
    verdict: Verdict


class LicencePart(_Part):
    """What may be said of the batch."""

    granted: Licence
    blockers: tuple[BlockerPart, ...]
    blockers_left_out: Counted


class Verification(_Part):
    """What `agentbeat claims verify` says."""

    schema_version: Literal["claims-verification-v1"]
    outcome: Literal["Pass", "Invalid", "Inconclusive"]
    exit_code: ExitCode
    headline: str
    title: str | None
    domain: str | None
    level: Level | None
    manifest: Digest | None
    anchored_at: str | None = Field(description="The anchor's time, RFC 3339.")
    questions: QuestionsPart
    coverage: CoveragePart
    replayed: Counted = Field(description="Transactions that were opened and replayed.")
    stages: dict[str, Counted] = Field(description="How many had each stage come out again.")
    claims: tuple[ClaimPart, ...]
    licences: LicencePart
    reasons: tuple[ReasonPart, ...] = Field(description="Of bytes, chain and coverage.")
    caveats: tuple[str, ...]


def verification_model(report: ClaimReport) -> Verification:
    """The report as the model of its JSON."""
    chain, outcome = report.chain, outcome_of(report)
    return Verification(
        schema_version=SCHEMA_NAME,
        outcome=outcome.word,
        exit_code=outcome.code,
        headline=headline(report),
        title=None if report.title is None else cut(report.title, 1024),
        domain=report.domain,
        level=chain.level,
        manifest=chain.manifest_digest,
        anchored_at=None if report.anchored_at is None else str(report.anchored_at),
        questions=QuestionsPart(
            integrity=chain.integrity,
            coverage=chain.coverage,
            openings=chain.openings,
            retries=chain.retries,
        ),
        coverage=_coverage(report),
        replayed=report.settled,
        stages=_capped(report.stages),
        claims=tuple(_claim(claim) for claim in report.claims),
        licences=_licences(report),
        reasons=tuple(_reason(group) for group in chain_reasons(chain)),
        caveats=report.caveats,
    )


def to_json(report: ClaimReport) -> str:
    """The report as JSON text that ends in a line feed."""
    members = verification_model(report).model_dump(mode="json")
    return json.dumps(members, indent=2, ensure_ascii=False) + "\n"


def _coverage(report: ClaimReport) -> CoveragePart:
    matrix = coverage_matrix(report, rows=1, arms=1)
    return CoveragePart(
        expected=report.chain.expected,
        arrived=report.chain.arrived,
        missing=() if matrix is None else matrix.missing,
        missing_count=None if matrix is None else matrix.missing_count,
        statuses=_capped(report.statuses),
    )


def _claim(claim: ClaimVerdict) -> ClaimPart:
    return ClaimPart(
        claim=claim.claim,
        kind=claim.kind,
        level=claim.level,
        verdict=claim.verdict,
        word=claim.verdict.word,
        received=claim.received,
        expected=claim.expected,
        value=_ratio(claim.value),
        nulls=_capped(claim.nulls),
        weaker=_capped(claim.weaker),
        reasons=tuple(_reason(group) for group in claim_reasons(claim)),
        analyses=tuple(_analysis(analysis) for analysis in claim.analyses[:LISTED]),
        depends_on=claim.depends_on,
        evidence=claim.evidence[:LISTED],
        evidence_left_out=max(0, len(claim.evidence) - LISTED),
        caveats=claim.caveats,
    )


def _analysis(analysis: Analysis) -> AnalysisPart:
    return AnalysisPart(
        contract=analysis.contract,
        outcome=analysis.outcome,
        subjects=analysis.subjects,
        estimate=_ratio(analysis.estimate),
        lower=_ratio(analysis.lower),
        upper=_ratio(analysis.upper),
        lower_envelope=_envelope(analysis.lower_envelope),
        upper_envelope=_envelope(analysis.upper_envelope),
        levels=tuple(_some_ratio(level) for level in analysis.levels[:LISTED]),
        weaker=_capped(analysis.weaker),
    )


def _licences(report: ClaimReport) -> LicencePart:
    blockers = report.licences.blockers
    return LicencePart(
        granted=report.licences.granted,
        blockers=tuple(
            BlockerPart(licence=blocker.licence, claim=blocker.claim, verdict=blocker.verdict)
            for blocker in blockers[:LISTED]
        ),
        blockers_left_out=max(0, len(blockers) - LISTED),
    )


def _reason(group: ReasonGroup) -> ReasonPart:
    places = tuple(PlacePart(subject=place.subject, detail=place.detail) for place in group.places)
    return ReasonPart(
        code=group.code,
        layer=group.layer,
        concerns=group.concerns,
        verdict=group.verdict,
        rule=group.rule,
        count=group.count,
        at_least=group.at_least,
        places=places,
    )


def _envelope(envelope: tuple[Pair, Pair] | None) -> tuple[RatioPart, RatioPart] | None:
    return None if envelope is None else (_some_ratio(envelope[0]), _some_ratio(envelope[1]))


def _ratio(pair: Pair | None) -> RatioPart | None:
    return None if pair is None else _some_ratio(pair)


def _some_ratio(pair: Pair) -> RatioPart:
    numerator, denominator = pair.pair
    return RatioPart(numerator=_exact(numerator), denominator=_exact(denominator), decimal=decimal_text(pair))


def _exact(number: int | str) -> int | str:
    return number if isinstance(number, str) or abs(number) <= MAX_INTEGER else str(number)


def _capped(counts: Mapping[str, int]) -> dict[str, int]:
    """The first names of a counter; names are the domain's or the manifest's and few."""
    return {cut(str(name)): count for name, count in list(counts.items())[:LISTED]}
