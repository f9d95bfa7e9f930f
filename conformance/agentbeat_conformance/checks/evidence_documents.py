"""EVD-1, EVD-2, EVD-3 and EVD-15: the document as a whole, and whose it is."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator
from typing import Final

from agentbeat_conformance.evidence_views import Document, judged, judged_runs, runs, served, shape_faults
from agentbeat_conformance.exchanges import MAX_ANSWER_BYTES, Exchange, Failure
from agentbeat_conformance.expectations import permitted
from agentbeat_conformance.requirements import CouldNotRun, Finding, Findings, Level, requirement
from agentbeat_conformance.target_probes import TargetProbe, Traced
from agentbeat_protocol import MAX_EVIDENCE_BYTES, ProtocolError, cut, read_json

__all__: list[str] = []

SECTION: Final = "Evidence document"


@requirement(
    "EVD-1.a",
    level=Level.MUST,
    tier="target-L2",
    section=SECTION,
    text="The evidence of a finished run is answered 200, by the registered endpoint itself.",
    permits={"200"},
    kills={"evidence-redirected", "evidence-no-content"},
)
async def is_served(target: TargetProbe) -> Findings:
    def rule(run: Traced) -> Iterator[Finding]:
        if run.evidence.failure is Failure.TOO_LARGE:
            raise CouldNotRun("the document goes on past where the suite stops reading (EVD-15)")
        return permitted(run.evidence, {"200"}, "the evidence of a finished run")

    return await judged_runs(target, rule)


@requirement(
    "EVD-1.b",
    level=Level.MUST,
    tier="target-L2",
    section=SECTION,
    text="The document is one JSON object in UTF-8 that every reader understands alike (INV-8).",
    permits={"200"},
    kills={
        "evidence-bare-events",
        "evidence-bom",
        "evidence-duplicate-member",
        "evidence-latin-1",
        "evidence-lone-surrogate",
        "evidence-nan",
    },
)
async def is_strict_json(target: TargetProbe) -> Findings:
    def rule(run: Traced) -> Iterator[Finding]:
        try:
            value = read_json(served(run), max_bytes=MAX_ANSWER_BYTES)
        except ProtocolError as error:
            message = f"the document: {error.rule}, got {error.got}, expected {error.expected}"
            yield Finding(message, run.evidence.index)
        else:
            if not isinstance(value, dict):
                yield Finding("the document: got another JSON value, expected an object", run.evidence.index)

    return await judged_runs(target, rule)


@requirement(
    "EVD-1.c",
    level=Level.MUST,
    tier="target-L2",
    section=SECTION,
    text="The document has no member that the spec does not name, at any level but the open objects.",
    permits={"200"},
    kills={"evidence-extra-member", "event-extra-member", "event-data-extra-member"},
)
async def has_no_other_member(target: TargetProbe) -> Findings:
    return await judged(target, lambda document: _shape(document, lambda rule: rule == "S-ADDPROP"))


@requirement(
    "EVD-1.d",
    level=Level.MUST,
    tier="target-L2",
    section=SECTION,
    text="Every required member is there, and a file change has a diff or changes.",
    permits={"200"},
    kills={"evidence-without-start", "event-without-attributes", "file-change-without-change"},
)
async def has_every_member(target: TargetProbe) -> Findings:
    return await judged(target, lambda document: _shape(document, lambda rule: rule == "S-REQUIRED"))


@requirement(
    "EVD-1.e",
    level=Level.MUST,
    tier="target-L2",
    section=SECTION,
    text="Every member has the type, the value and the length that the table of events gives.",
    permits={"200"},
    kills={
        "arguments-as-text",
        "evidence-schema-version",
        "event-type-unknown",
        "exit-code-null",
        "is-error-as-number",
        "message-empty",
        "message-too-long",
        "sequence-as-text",
    },
)
async def has_the_right_types(target: TargetProbe) -> Findings:
    return await judged(
        target, lambda document: _shape(document, lambda rule: rule not in ("S-ADDPROP", "S-REQUIRED"))
    )


def _shape(document: Document, wanted: Callable[[str], bool]) -> Iterator[Finding]:
    return (finding for rule, finding in shape_faults(document) if wanted(rule))


def _bound(exchange: Exchange, member: str, got: str, expected: str) -> Iterator[Finding]:
    if got != expected:
        yield Finding(f"/{member}: got {cut(got, 160)!r}, expected {expected!r}", exchange.index)


@requirement(
    "EVD-2.a",
    level=Level.MUST,
    tier="target-L2",
    section=SECTION,
    text="The document's run_id is the invocation's.",
    permits={"200"},
    kills={"evidence-other-run-id"},
)
async def names_the_run(target: TargetProbe) -> Findings:
    return await judged(
        target,
        lambda document: _bound(document.evidence, "run_id", document.text("run_id"), document.ids.run_id),
    )


@requirement(
    "EVD-2.b",
    level=Level.MUST,
    tier="target-L2",
    section=SECTION,
    text="The document's case_id is the invocation's.",
    permits={"200"},
    kills={"evidence-other-case-id"},
)
async def names_the_case(target: TargetProbe) -> Findings:
    return await judged(
        target,
        lambda document: _bound(document.evidence, "case_id", document.text("case_id"), document.ids.case_id),
    )


@requirement(
    "EVD-2.c",
    level=Level.MUST,
    tier="target-L2",
    section=SECTION,
    text="Each run has its own document, also after other runs.",
    permits={"200"},
    kills={"evidence-of-latest-run"},
)
async def keeps_runs_apart(target: TargetProbe) -> Findings:
    documents = [Document.of(run) for run in await runs(target)]
    findings: list[Finding] = []
    for document in documents:
        again = await target.evidence(document.ids.run_id)
        if again.answer is None or again.status != 200:
            raise CouldNotRun(f"the evidence was answered {again.outcome} after another run (EVD-11.a)")
        others = {other.ids.run_id for other in documents} - {document.ids.run_id}
        findings += _not_another(again, again.answer.body, document.ids.run_id, others)
    return findings


def _not_another(exchange: Exchange, raw: bytes, run_id: str, others: Container[str]) -> Iterator[Finding]:
    try:
        value = read_json(raw, max_bytes=MAX_ANSWER_BYTES)
    except ProtocolError:
        raise CouldNotRun("the document is no strict JSON after another run (EVD-1.b)") from None
    given = value.get("run_id") if isinstance(value, dict) else None
    if isinstance(given, str) and given in others:
        yield Finding(f"/run_id: got {given!r}, expected {run_id!r}", exchange.index)


@requirement(
    "EVD-3",
    level=Level.MUST,
    tier="target-L2",
    section=SECTION,
    text="The document's assurance_level is L2.",
    permits={"200"},
    kills={"evidence-claims-l3"},
)
async def claims_l2(target: TargetProbe) -> Findings:
    def rule(document: Document) -> Iterator[Finding]:
        level = document.text("assurance_level")
        if level != "L2":
            yield document.finding("/assurance_level", repr(cut(level, 32)), "'L2'")

    return await judged(target, rule)


@requirement(
    "EVD-15",
    level=Level.MUST,
    tier="target-L2",
    section=SECTION,
    text="The document is at most 16 MiB long.",
    permits={"200"},
    kills={"evidence-over-16-mib"},
)
async def is_bounded(target: TargetProbe) -> Findings:
    def rule(run: Traced) -> Iterator[Finding]:
        if run.evidence.failure is Failure.TOO_LARGE:
            got = "more than the suite reads"
        elif (size := len(served(run))) > MAX_EVIDENCE_BYTES:
            got = f"{size} bytes"
        else:
            return
        message = f"the document: got {got}, expected at most {MAX_EVIDENCE_BYTES} bytes"
        yield Finding(message, run.evidence.index)

    return await judged_runs(target, rule)
