"""The report as JSON, `conformance-report-v1`, with a schema that the package ships.

Bodies are excerpts with their length and digest: a transcript holds the whole bytes, a report need not.
After a change of the models, `python -m agentbeat_conformance.reports.json_report` writes the schema anew; a
test fails while the two differ.
"""

from __future__ import annotations

import json
from datetime import date
from importlib import resources
from pathlib import Path
from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field

from agentbeat_conformance.exchanges import Answer, Exchange, Failure, Fields, Request
from agentbeat_conformance.outcomes import Outcome, Result, Verdict
from agentbeat_conformance.reports.excerpts import visible
from agentbeat_conformance.reports.records import Report
from agentbeat_conformance.reports.wording import meaning, next_step
from agentbeat_conformance.requirements import Capability, Level, Tier
from agentbeat_protocol import digest_bytes

__all__ = ["SCHEMA_NAME", "ConformanceReport", "generated_schema", "report_model", "schema_text", "to_json"]

SCHEMA_NAME: Final = "conformance-report-v1"

#: How much of a body a report shows, in characters.
BODY_EXCERPT: Final = 2000

Count = Annotated[int, Field(ge=0)]
Index = Annotated[int, Field(ge=0)]
Digest = Annotated[str, Field(pattern=r"^sha256:[0-9a-f]{64}$")]


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Suite(_Part):
    """What judged: the version and the catalogue that a verdict is to be read with."""

    version: str
    catalogue: str = Field(description="The version of the catalogue.")
    catalogue_digest: Digest
    specs: tuple[str, ...]


class Endpoint(_Part):
    """What was judged, and as what."""

    url: str = Field(description="Without user, query and fragment.")
    tier: Tier


class PlanPart(_Part):
    """What was announced before the first request."""

    requirements: Count
    left_out: tuple[str, ...] = Field(description="What belongs to the tier and was not planned.")
    invocations: Count = Field(description="How often a conformant Target runs its Agent for it, at most.")
    budget: Count | None = Field(description="The bound on that number; null for none.")
    safe: bool = Field(description="Whether nothing was sent that a conformant Target would run.")


class ExpectedPart(_Part):
    """Why a failure is put up with, and until when; the verdict is not changed by it."""

    reason: str
    expires: date


class FindingPart(_Part):
    """One way in which a requirement is not met."""

    message: str
    exchange: Index | None = Field(description="The exchange that shows it; null for none in particular.")
    before: tuple[Index, ...] = Field(description="The exchanges that lead there, where it takes a sequence.")


class ResultPart(_Part):
    """A requirement and the end of its check."""

    id: str = Field(description="The rule of the specs, or a part of it, such as INV-3.b.")
    rule: str
    level: Level
    tier: Tier
    section: str
    text: str
    needs: tuple[Capability, ...]
    permits: tuple[str, ...] = Field(description="Every permitted outcome of the exchange in question.")
    outcome: Outcome
    findings: tuple[FindingPart, ...] = Field(description="What is wrong; empty unless fail or warn.")
    expected: ExpectedPart | None = Field(
        description="The entry of --expected-failures that puts up with it."
    )
    reason: str | None = Field(
        description="Why it could not run or is not applicable, or what our fault was."
    )
    exchanges: tuple[Index, ...] = Field(description="The exchanges of this check.")


class Body(_Part):
    """A body, cut to an excerpt."""

    bytes: Count
    digest: Digest
    excerpt: str = Field(description="As UTF-8, what does not print or decode as an escape.")
    complete: bool = Field(description="Whether the excerpt is the whole body.")


class FieldPart(_Part):
    """A header field as it stood there."""

    name: str
    value: str


class RequestPart(_Part):
    """What went out; a mark stands in the place of the secret."""

    method: str
    target: str
    fields: tuple[FieldPart, ...]
    body: Body
    repeat: str | None = Field(description="The shell command that sends it again; null when it is too long.")


class AnswerPart(_Part):
    """What came back."""

    status: int
    fields: tuple[FieldPart, ...]
    body: Body


class ExchangePart(_Part):
    """One request and its answer, or the failure in its place."""

    index: Index
    request: RequestPart
    answer: AnswerPart | None
    failure: Failure | None


class ConformanceReport(_Part):
    """The report of a run."""

    schema_version: Literal["conformance-report-v1"]
    suite: Suite
    endpoint: Endpoint
    seed: str = Field(description="What all ids of the run follow from.")
    started_at: str = Field(description="When the run began, RFC 3339.")
    verdict: Verdict
    exit_code: Annotated[int, Field(ge=0, le=5)]
    meaning: str
    next_step: str
    counts: dict[Outcome, Count]
    plan: PlanPart
    complaints: tuple[str, ...] = Field(description="What is not true any longer in the expected failures.")
    results: tuple[ResultPart, ...]
    exchanges: tuple[ExchangePart, ...]


def report_model(report: Report) -> ConformanceReport:
    """The report as the model of its JSON."""
    return ConformanceReport(
        schema_version=SCHEMA_NAME,
        suite=Suite(
            version=report.suite_version,
            catalogue=report.catalogue,
            catalogue_digest=report.catalogue_digest,
            specs=report.specs,
        ),
        endpoint=Endpoint(url=report.endpoint, tier=report.tier),
        seed=report.seed,
        started_at=report.started_at,
        verdict=report.verdict,
        exit_code=report.exit_code,
        meaning=meaning(report),
        next_step=next_step(report),
        counts={outcome: report.count(outcome) for outcome in Outcome},
        plan=PlanPart(
            requirements=len(report.results),
            left_out=tuple(made.id for made in report.left_out),
            invocations=report.invocations,
            budget=report.budget,
            safe=report.safe,
        ),
        complaints=tuple(_safe(complaint) for complaint in report.complaints),
        results=tuple(_result(report, result) for results in report.rules().values() for result in results),
        exchanges=tuple(_exchange(report, exchange) for exchange in report.exchanges),
    )


def to_json(report: Report) -> str:
    """The report as JSON text that ends in a line feed."""
    members = report_model(report).model_dump(mode="json")
    return json.dumps(members, indent=2, ensure_ascii=False) + "\n"


def schema_text() -> str:
    """The shipped JSON Schema (2020-12) of `to_json`."""
    file = resources.files("agentbeat_conformance.reports") / f"{SCHEMA_NAME}.json"
    return file.read_text(encoding="utf-8")


def generated_schema() -> str:
    """The schema as the models give it now."""
    schema: dict[str, Any] = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"urn:agentbeat:{SCHEMA_NAME}",
        **ConformanceReport.model_json_schema(mode="serialization"),
    }
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


def _result(report: Report, result: Result) -> ResultPart:
    made = result.requirement
    entry = report.expectation(result)
    there = range(len(report.exchanges))
    return ResultPart(
        id=made.id,
        rule=made.rule,
        level=made.level,
        tier=made.tier,
        section=made.section,
        text=made.text,
        needs=tuple(sorted(made.needs)),
        permits=tuple(sorted(made.permits)),
        outcome=result.outcome,
        findings=tuple(
            FindingPart(
                message=_safe(finding.message),
                exchange=finding.exchange if finding.exchange in there else None,
                before=tuple(index for index in finding.before if index in there),
            )
            for finding in result.findings
        ),
        expected=None if entry is None else ExpectedPart(reason=_safe(entry.reason), expires=entry.expires),
        reason=None if result.reason is None else _safe(result.reason),
        exchanges=result.exchanges,
    )


def _exchange(report: Report, exchange: Exchange) -> ExchangePart:
    return ExchangePart(
        index=exchange.index,
        request=_request(report, exchange, exchange.request),
        answer=None if exchange.answer is None else _answer(exchange.answer),
        failure=exchange.failure,
    )


def _request(report: Report, exchange: Exchange, request: Request) -> RequestPart:
    return RequestPart(
        method=_safe(request.method),
        target=_safe(request.target),
        fields=_fields(request.fields),
        body=_body(request.body),
        repeat=report.repeat(exchange),
    )


def _answer(answer: Answer) -> AnswerPart:
    return AnswerPart(status=answer.status, fields=_fields(answer.fields), body=_body(answer.body))


def _fields(fields: Fields) -> tuple[FieldPart, ...]:
    return tuple(FieldPart(name=_safe(name), value=_safe(value)) for name, value in fields)


def _body(body: bytes) -> Body:
    text = body[: 4 * BODY_EXCERPT].decode("utf-8", "backslashreplace")
    complete = len(body) <= 4 * BODY_EXCERPT and len(text) <= BODY_EXCERPT
    return Body(
        bytes=len(body), digest=digest_bytes(body), excerpt=_safe(text[:BODY_EXCERPT]), complete=complete
    )


def _safe(text: str) -> str:
    return visible(text, lines=True)


def _write() -> None:
    (Path(__file__).parent / f"{SCHEMA_NAME}.json").write_text(generated_schema(), encoding="utf-8")


if __name__ == "__main__":
    _write()
