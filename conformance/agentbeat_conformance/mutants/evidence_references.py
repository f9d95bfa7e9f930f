"""Targets that break EVD-9: an evidence_ref that names something else."""

from __future__ import annotations

from typing import Any, Final

from agentbeat_conformance.mutants.base_target import Asked, BaseTarget, Reply
from agentbeat_conformance.mutants.registry import target_mutant
from agentbeat_conformance.requirements import Tier
from agentbeat_protocol import EVIDENCE_PATH, INVOCATION_PATH, Invocation

__all__ = ["Referring"]

L2: Final[Tier] = "target-L2"


class Referring(BaseTarget):
    """A Target with another `evidence_ref`; it knows under which Host it was asked."""

    host = ""

    async def answer(self, asked: Asked) -> Reply:
        if asked.path.endswith(INVOCATION_PATH):
            self.host = asked.value("host") or ""
        return await super().answer(asked)

    def response(self, invocation: Invocation, final_response: str) -> dict[str, Any]:
        members = super().response(invocation, final_response)
        members["evidence_ref"] = self.reference(EVIDENCE_PATH + invocation.run_id)
        return members

    def reference(self, route: str) -> object:
        """The reference to the run's route, which is `/v1/evidence/<run_id>`."""
        raise NotImplementedError


@target_mutant("no-evidence-ref", tier=L2, breaks={"EVD-9.a"}, text="It does not say where the evidence is.")
class NoEvidenceRef(BaseTarget):
    def response(self, invocation: Invocation, final_response: str) -> dict[str, Any]:
        members = super().response(invocation, final_response)
        del members["evidence_ref"]
        return members


@target_mutant("evidence-ref-object", tier=L2, breaks={"EVD-9.a"}, text="Its evidence_ref is an object.")
class EvidenceRefObject(Referring):
    def reference(self, route: str) -> object:
        return {"href": route}


@target_mutant(
    "evidence-ref-of-other-host",
    tier=L2,
    breaks={"EVD-9.b"},
    text="Its evidence_ref names a store elsewhere.",
)
class EvidenceRefOfOtherHost(Referring):
    def reference(self, route: str) -> object:
        return f"https://evidence.example{route}"


@target_mutant(
    "evidence-ref-of-other-port",
    tier=L2,
    breaks={"EVD-9.b"},
    text="Its evidence_ref names the port behind a proxy.",
)
class EvidenceRefOfOtherPort(Referring):
    def reference(self, route: str) -> object:
        return f"//{self.host.partition(':')[0]}:9{route}"


@target_mutant(
    "evidence-ref-with-user", tier=L2, breaks={"EVD-9.b"}, text="Its evidence_ref carries a user of its own."
)
class EvidenceRefWithUser(Referring):
    def reference(self, route: str) -> object:
        return f"http://reader@{self.host}{route}"


@target_mutant(
    "evidence-ref-of-other-run", tier=L2, breaks={"EVD-9.c"}, text="Its evidence_ref names a run of its own."
)
class EvidenceRefOfOtherRun(Referring):
    def reference(self, route: str) -> object:
        return route + "-1"


@target_mutant(
    "evidence-ref-relative",
    tier=L2,
    breaks={"EVD-9.c"},
    text="Its evidence_ref is relative to the invocation.",
)
class EvidenceRefRelative(Referring):
    def reference(self, route: str) -> object:
        return route.removeprefix("/v1/")


@target_mutant(
    "evidence-ref-with-dot-segments",
    tier=L2,
    breaks={"EVD-9.c"},
    text="Its evidence_ref climbs out of the invocation's path.",
)
class EvidenceRefWithDotSegments(Referring):
    def reference(self, route: str) -> object:
        return f"/v1/agent/..{route.removeprefix('/v1')}"


@target_mutant(
    "evidence-ref-with-query", tier=L2, breaks={"EVD-9.c"}, text="Its evidence_ref has the format in a query."
)
class EvidenceRefWithQuery(Referring):
    def reference(self, route: str) -> object:
        return f"{route}?format=json"


@target_mutant(
    "evidence-ref-with-slash", tier=L2, breaks={"EVD-9.c"}, text="Its evidence_ref ends in a slash."
)
class EvidenceRefWithSlash(Referring):
    def reference(self, route: str) -> object:
        return f"{route}/"
