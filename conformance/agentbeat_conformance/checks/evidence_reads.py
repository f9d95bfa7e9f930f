"""EVD-10 and EVD-11: who may read evidence, what there is to read, and that it stays what it is."""

from __future__ import annotations

import asyncio
import base64
import binascii
import hashlib
import re
from collections.abc import Iterator
from typing import Final

from agentbeat_conformance.evidence_views import answered, judged_runs, runs, served
from agentbeat_conformance.exchanges import Exchange
from agentbeat_conformance.expectations import enveloped, permitted
from agentbeat_conformance.requirements import (
    Capability,
    CouldNotRun,
    Finding,
    Findings,
    Level,
    requirement,
)
from agentbeat_conformance.target_probes import TargetProbe, Traced
from agentbeat_protocol import cut, digest_bytes, read_error

__all__: list[str] = []

SECTION: Final = "Evidence document"

#: How often the evidence of a run in progress is asked for.
READS: Final = 3


# --- The secret


@requirement(
    "EVD-10.a",
    level=Level.MUST,
    tier="target-L2",
    section=SECTION,
    text="Evidence is not served without the secret: 401.",
    needs={Capability.AUTH},
    permits={"401"},
    kills={"evidence-without-secret"},
)
async def needs_a_secret(target: TargetProbe) -> Findings:
    run = await _control(target)
    exchange = await target.evidence(run.ids.run_id, secret=None)
    return [*permitted(exchange, {"401"}, "a read without the secret"), *enveloped(exchange, "its answer")]


@requirement(
    "EVD-10.b",
    level=Level.MUST,
    tier="target-L2",
    section=SECTION,
    text="Evidence is not served for another secret, however alike: 401.",
    needs={Capability.AUTH},
    permits={"401"},
    kills={"evidence-for-secret-prefix", "evidence-for-any-secret"},
)
async def needs_the_secret(target: TargetProbe) -> Findings:
    run = await _control(target)
    secret = target.secret or ""
    findings: list[Finding] = []
    for other, what in ((f"{secret}x", "one character more"), (secret[:-1], "one character less")):
        exchange = await target.evidence(run.ids.run_id, secret=other)
        findings += permitted(exchange, {"401"}, f"a read with the secret and {what}")
    return findings


@requirement(
    "EVD-10.c",
    level=Level.MUST,
    tier="target-L2",
    section=SECTION,
    text="Without the secret nobody learns which runs there are: an unknown run is 401 like any other.",
    needs={Capability.AUTH},
    permits={"401"},
    kills={"evidence-404-before-401"},
)
async def tells_nothing_without_the_secret(target: TargetProbe) -> Findings:
    run = await _control(target)
    known = await target.evidence(run.ids.run_id, secret=None)
    if known.status != 401:
        raise CouldNotRun("evidence is served without the secret (EVD-10.a)")
    unknown = await target.evidence(target.session.ids().run_id, secret=None)
    return permitted(unknown, {"401"}, "an unknown run, read without the secret")


# --- What is not there


@requirement(
    "EVD-10.d",
    level=Level.MUST,
    tier="target-L2",
    section=SECTION,
    text="The evidence of an unknown run is 404 not_found.",
    permits={"404"},
    kills={"unknown-run-empty-document", "unknown-run-under-another-code"},
)
async def knows_no_other_run(target: TargetProbe) -> Findings:
    await _control(target)
    exchange = await target.evidence(target.session.ids().run_id)
    findings = [
        *permitted(exchange, {"404"}, "the evidence of an unknown run"),
        *enveloped(exchange, "its answer"),
    ]
    return findings or _not_found(exchange)


def _not_found(exchange: Exchange) -> Iterator[Finding]:
    if exchange.answer is not None:
        code = read_error(exchange.answer.body).code
        if code != "not_found":
            yield Finding(f"/error/code: got {cut(code)!r}, expected 'not_found'", exchange.index)


@requirement(
    "EVD-10.e",
    level=Level.MUST,
    tier="target-L2",
    section=SECTION,
    text="A malformed run id gets the same answer as an unknown run, byte for byte.",
    permits={"404"},
    kills={"malformed-run-400", "malformed-run-repaired", "malformed-run-told-apart"},
)
async def treats_malformed_as_unknown(target: TargetProbe) -> Findings:
    run = await _control(target)
    unknown = await _unknown(target)
    name = run.ids.run_id
    malformed = {
        "the run id in capitals": name.upper(),
        "the run id and a newline": f"{name}%0A",
        "the run id and a space": f"{name}%20",
        "a run id without its prefix": name.removeprefix("run-"),
        "a run id with two hyphens in front": f"run--{name}",
        "a run id of 161 characters": "run-" + "a" * 157,
    }
    findings: list[Finding] = []
    for what, text in malformed.items():
        findings += _alike(await target.evidence(text), unknown, what)
    return findings


@requirement(
    "EVD-10.f",
    level=Level.MUST,
    tier="target-L2",
    section=SECTION,
    text="The evidence of a run that goes on is answered like an unknown run's; what is served is whole.",
    permits={"200", "404"},
    kills={"unfinished-run-202", "unfinished-run-partial"},
    invocations=1,
)
async def shows_nothing_unfinished(target: TargetProbe) -> Findings:
    await _control(target)
    unknown = await _unknown(target)
    ids = target.session.ids()

    async def read_meanwhile() -> list[Exchange]:
        return [await target.evidence(ids.run_id) for _ in range(READS)]

    task = target.tasks[0] if target.tasks else None
    if task is None:
        raise CouldNotRun("it needs a task that makes the Agent use tools (--task)")
    invocation, meanwhile = await asyncio.gather(target.invoke(task, ids=ids), read_meanwhile())
    finished = [await target.evidence(ids.run_id) for _ in range(2)]
    if invocation.status != 200:
        raise CouldNotRun(f"the task was answered {invocation.outcome}, not 200")
    bodies = [exchange.answer.body for exchange in finished if exchange.answer and exchange.status == 200]
    if len(set(bodies)) != 1 or len(bodies) != len(finished):
        raise CouldNotRun("the finished run has no evidence that stays the same (EVD-1.a, EVD-11.a)")
    findings: list[Finding] = []
    for exchange in meanwhile:
        if exchange.answer is None or exchange.status != 200:
            findings += _alike(exchange, unknown, "a read while the run goes on")
        elif exchange.answer.body != bodies[0]:
            message = "a read while the run goes on: got another document than after it, expected 404"
            findings.append(Finding(message, exchange.index))
    return findings


async def _control(target: TargetProbe) -> Traced:
    """A finished run whose evidence is served: without one no refusal means anything."""
    run = await target.plain()
    served(run)
    return run


async def _unknown(target: TargetProbe) -> Exchange:
    """How an unknown run is answered: 404."""
    exchange = await target.evidence(target.session.ids().run_id)
    if exchange.status != 404:
        raise CouldNotRun(f"an unknown run was answered {exchange.outcome}, not 404 (EVD-10.d)")
    return exchange


def _alike(exchange: Exchange, model: Exchange, what: str) -> list[Finding]:
    """The answers are the same: status, media type and body. Dates and the like may differ."""
    if exchange.answer is None or model.answer is None or exchange.status != model.status:
        return list(permitted(exchange, {model.outcome}, what))
    if exchange.answer.value("content-type") != model.answer.value("content-type"):
        return [Finding(f"{what}: got another media type, expected the same answer", exchange.index)]
    if exchange.answer.body != model.answer.body:
        return [Finding(f"{what}: got another body, expected the same answer", exchange.index)]
    return []


# --- What stays


@requirement(
    "EVD-11.a",
    level=Level.MUST,
    tier="target-L2",
    section=SECTION,
    text="Two reads give the same document, byte for byte.",
    permits={"200"},
    kills={"evidence-dated-anew", "evidence-in-other-order", "evidence-served-once"},
)
async def stays_the_same(target: TargetProbe) -> Findings:
    findings: list[Finding] = []
    for run in await runs(target):
        first = served(run)
        for _ in range(2):
            again = await target.evidence(run.ids.run_id)
            findings += permitted(again, {"200"}, "a further read")
            if again.answer is not None and again.status == 200 and again.answer.body != first:
                findings.append(Finding(_difference(first, again.answer.body), again.index))
    return findings


def _difference(first: bytes, again: bytes) -> str:
    length = min(len(first), len(again))
    place = next((index for index in range(length) if first[index] != again[index]), length)
    sizes = f"{len(again)} bytes, which differ from byte {place} on"
    return f"a further read: got {sizes}, expected the {len(first)} bytes of the first"


@requirement(
    "EVD-11.b",
    level=Level.MUST,
    tier="target-L2",
    section=SECTION,
    text="A digest of the document that the Target gives (Repr-Digest, metadata.evidence_digest) is right.",
    permits={"200"},
    kills={"metadata-digest-lies", "repr-digest-lies"},
)
async def digests_are_right(target: TargetProbe) -> Findings:
    # What the suite sees of the Target's own secret is a marker, and a digest of other bytes.
    marker = (target.secret or "")[:-1].encode()

    def rule(run: Traced) -> list[Finding]:
        findings = list(_digests(run))
        if findings and marker and marker in served(run):
            raise CouldNotRun("the document holds the Target's secret, which is not recorded (EVD-13.a)")
        return findings

    return await judged_runs(target, rule)


def _digests(run: Traced) -> Iterator[Finding]:
    raw = served(run)
    metadata = answered(run).get("metadata")
    claimed = metadata.get("evidence_digest") if isinstance(metadata, dict) else None
    if claimed is not None and claimed != digest_bytes(raw):
        got = repr(cut(claimed, 80)) if isinstance(claimed, str) else "no string"
        message = f"/metadata/evidence_digest: got {got}, expected {digest_bytes(raw)!r}"
        yield Finding(message, run.invocation.index)
    answer = run.evidence.answer
    fields = answer.values("repr-digest") if answer is not None else []
    if fields and not _repr_digest_holds(", ".join(fields), raw):
        right = base64.b64encode(hashlib.sha256(raw).digest()).decode()
        message = (
            f"Repr-Digest: got {cut(fields[-1], 120)}, expected sha-256=:{right}: or other algorithms only"
        )
        yield Finding(message, run.evidence.index)


# A member of a structured-fields dictionary that holds a byte sequence (RFC 9651, sections 3.2 and 3.3.5).
_MEMBER = re.compile(r"\s*([a-z*][a-z0-9_\-.*]*)=:([A-Za-z0-9+/]*={0,2}):[^,]*(?:,|$)")


def _repr_digest_holds(field: str, raw: bytes) -> bool:
    position, last = 0, None
    while position < len(field):
        member = _MEMBER.match(field, position)
        if member is None:
            return False
        if member[1] == "sha-256":
            last = member[2]
        position = member.end()
    if last is None:
        return True
    try:
        return base64.b64decode(last, validate=True) == hashlib.sha256(raw).digest()
    except binascii.Error:
        return False
