"""EVD-11: the document stays what it is, and is what the Target's digests say."""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
from collections.abc import Iterator
from typing import Final

from agentbeat_conformance.evidence_views import answered, judged_runs, runs, served
from agentbeat_conformance.expectations import permitted
from agentbeat_conformance.requirements import CouldNotRun, Finding, Findings, Level, requirement
from agentbeat_conformance.target_probes import TargetProbe, Traced
from agentbeat_protocol import cut, digest_bytes

__all__: list[str] = []

SECTION: Final = "Evidence document"


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
