"""Targets that break EVD-13 or EVD-14: secrets in the document, no final response in it."""

from __future__ import annotations

from typing import Any, Final

from agentbeat_conformance.mutants.base_evidence import Recording
from agentbeat_conformance.mutants.base_target import SECRET, BaseTarget
from agentbeat_conformance.mutants.evidence_altered import AlteredDocument, every_event
from agentbeat_conformance.mutants.registry import target_mutant
from agentbeat_conformance.requirements import Tier

__all__: list[str] = []

L2: Final[Tier] = "target-L2"


@target_mutant(
    "evidence-with-own-secret",
    tier=L2,
    breaks={"EVD-13.a"},
    text="It records the head of the request with the Target's own secret.",
)
class EvidenceWithOwnSecret(AlteredDocument):
    def alter(self, document: dict[str, Any]) -> None:
        document["events"][0]["data"]["attributes"] = {"head": [f"token={SECRET}"]}


@target_mutant(
    "evidence-with-planted-secrets",
    tier=L2,
    breaks={"EVD-13.b"},
    text="It records the user's message as it came, whatever secrets are in it.",
)
class EvidenceWithPlantedSecrets(BaseTarget):
    def document(self, recording: Recording) -> dict[str, Any]:
        recording.events[0]["data"]["text"] = recording.invocation.input.text
        return recording.document()


@target_mutant(
    "evidence-with-password",
    tier=L2,
    breaks={"EVD-13.c"},
    text="It records the password among a tool's arguments.",
)
class EvidenceWithPassword(AlteredDocument):
    def alter(self, document: dict[str, Any]) -> None:
        login = {"user": "desk", "password": "tea-for-two"}
        every_event(document, "tool.call", lambda event: event["data"]["arguments"].update(login=login))


@target_mutant(
    "evidence-without-final-message",
    tier=L2,
    breaks={"EVD-14"},
    text="It does not record what the Agent answers.",
)
class EvidenceWithoutFinalMessage(AlteredDocument):
    def alter(self, document: dict[str, Any]) -> None:
        document["events"].pop()


@target_mutant(
    "final-message-differs", tier=L2, breaks={"EVD-14"}, text="It records a draft of what the Agent answers."
)
class FinalMessageDiffers(AlteredDocument):
    def alter(self, document: dict[str, Any]) -> None:
        document["events"][-1]["data"]["text"] = "I am nearly ready."
