"""EVD-9: the evidence reference of an invocation's answer. The suite holds it to the endpoint, as Core does.

Core never follows the reference: it reads the registered base and route. A reference that names anything else
costs the Target its L2 channels.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from agentbeat_conformance.evidence_views import answered, judged_runs
from agentbeat_conformance.requirements import CouldNotRun, Finding, Findings, Level, requirement
from agentbeat_conformance.target_probes import TargetProbe, Traced
from agentbeat_protocol import EvidenceRefError, resolve_evidence_ref

__all__: list[str] = []

SECTION: Final = "Evidence document"
#: The O-* rules about the path; the others are about the reference as a whole and its origin.
_ABOUT_PATH: Final = frozenset({"O-QUERY", "O-FRAGMENT", "O-PATH", "O-RUN"})


@requirement(
    "EVD-9.a",
    level=Level.MUST,
    tier="target-L2",
    section=SECTION,
    text="The answer of every invocation has an evidence_ref, a string.",
    permits={"200"},
    kills={"no-evidence-ref", "evidence-ref-object"},
)
async def has_a_reference(target: TargetProbe) -> Findings:
    def rule(run: Traced) -> Iterator[Finding]:
        members = answered(run)
        if not isinstance(members.get("evidence_ref"), str):
            got = "a value that is no string" if "evidence_ref" in members else "nothing"
            yield Finding(f"/evidence_ref: got {got}, expected a string", run.invocation.index)

    return await judged_runs(target, rule)


@requirement(
    "EVD-9.b",
    level=Level.MUST,
    tier="target-L2",
    section=SECTION,
    text="evidence_ref is a well-formed reference of the same origin as the registered endpoint.",
    permits={"200"},
    kills={"evidence-ref-of-other-host", "evidence-ref-of-other-port", "evidence-ref-with-user"},
)
async def reference_is_of_the_origin(target: TargetProbe) -> Findings:
    return await judged_runs(target, _refused(target, lambda rule: rule not in _ABOUT_PATH))


@requirement(
    "EVD-9.c",
    level=Level.MUST,
    tier="target-L2",
    section=SECTION,
    text="evidence_ref names this run's route and nothing beside it.",
    permits={"200"},
    kills={
        "evidence-ref-of-other-run",
        "evidence-ref-relative",
        "evidence-ref-with-dot-segments",
        "evidence-ref-with-query",
        "evidence-ref-with-slash",
    },
)
async def reference_names_the_route(target: TargetProbe) -> Findings:
    def rule(run: Traced) -> Iterator[Finding]:
        error = _refusal(target, run)
        if error is not None and error.rule not in _ABOUT_PATH:
            raise CouldNotRun(f"evidence_ref is not of the endpoint's origin: {error.rule} (EVD-9.b)")
        return _refused(target, lambda name: name in _ABOUT_PATH)(run)

    return await judged_runs(target, rule)


def _refused(target: TargetProbe, wanted: Callable[[str], bool]) -> Callable[[Traced], Iterator[Finding]]:
    def rule(run: Traced) -> Iterator[Finding]:
        error = _refusal(target, run)
        if error is not None and wanted(error.rule):
            message = f"/evidence_ref: {error.rule}, got {error.got}, expected {error.expected}"
            yield Finding(message, run.invocation.index)

    return rule


def _refusal(target: TargetProbe, run: Traced) -> EvidenceRefError | None:
    members: Mapping[str, Any] = answered(run)
    reference = members.get("evidence_ref")
    if not isinstance(reference, str):
        raise CouldNotRun("the answer has no evidence_ref (EVD-9.a)")
    try:
        resolve_evidence_ref(target.registered_url, reference, run_id=run.ids.run_id)
    except EvidenceRefError as error:
        return error
    return None
