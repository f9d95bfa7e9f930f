"""Targets that break HLT-1, or do not what HLT-2 asks."""

# ruff: noqa: ARG002 - an override keeps its parent's signature
from __future__ import annotations

from typing import Any

from agentbeat_conformance.mutants.base_target import SECRET, Asked, BaseTarget, Refused, Reply
from agentbeat_conformance.mutants.registry import target_mutant

__all__: list[str] = []


@target_mutant("health-behind-the-secret", breaks={"HLT-1.a"}, text="Its health wants the secret.")
class HealthBehindTheSecret(BaseTarget):
    def health(self, asked: Asked) -> Reply:
        self.authorise(asked)
        return super().health(asked)


@target_mutant("no-health", breaks={"HLT-1.a"}, text="It has no health route.")
class NoHealth(BaseTarget):
    def health(self, asked: Asked) -> Reply:
        raise Refused("not_found", "no such route")


class _Telling(BaseTarget):
    """Says something else of itself; a value of `...` leaves a member out."""

    def amended(self) -> dict[str, Any]:
        raise NotImplementedError

    def identity(self) -> dict[str, Any]:
        members = {**super().identity(), **self.amended()}
        return {name: value for name, value in members.items() if value is not ...}


@target_mutant(
    "health-tells-the-secret", breaks={"HLT-1.b"}, text="Its health lists its settings, with the secret."
)
class HealthTellsTheSecret(_Telling):
    def amended(self) -> dict[str, Any]:
        return {"settings": {"AGENT_TOKEN": SECRET}}


@target_mutant(
    "health-tells-the-secret-in-a-header",
    breaks={"HLT-1.b"},
    text="Its health sets a cookie with the secret.",
)
class HealthTellsTheSecretInAHeader(BaseTarget):
    def health(self, asked: Asked) -> Reply:
        reply = super().health(asked)
        reply.fields.append(("Set-Cookie", f"session={SECRET}"))
        return reply


@target_mutant("health-in-words", breaks={"HLT-2.a"}, text="Its health is the word OK.")
class HealthInWords(BaseTarget):
    def health(self, asked: Asked) -> Reply:
        return Reply(200, b"OK", [("Content-Type", "text/plain")])


@target_mutant("health-says-up", breaks={"HLT-2.a"}, text="Its health has the status UP.")
class HealthSaysUp(_Telling):
    def amended(self) -> dict[str, Any]:
        return {"status": "UP"}


@target_mutant("health-without-identity", breaks={"HLT-2.b"}, text="Its health does not say who it is.")
class HealthWithoutIdentity(_Telling):
    def amended(self) -> dict[str, Any]:
        return {"target_id": ...}


@target_mutant("health-of-another-protocol", breaks={"HLT-2.b"}, text="Its health names another protocol.")
class HealthOfAnotherProtocol(_Telling):
    def amended(self) -> dict[str, Any]:
        return {"connector_id": "chat-http-json-v1", "invocation_protocol": "chat-v1"}


@target_mutant("health-with-another-path", breaks={"HLT-2.b"}, text="Its health names another path.")
class HealthWithAnotherPath(_Telling):
    def amended(self) -> dict[str, Any]:
        return {"invocation_path": "/invoke"}


@target_mutant("health-with-evidence-true", breaks={"HLT-2.c"}, text="Its health says evidence: true.")
class HealthWithEvidenceTrue(_Telling):
    def amended(self) -> dict[str, Any]:
        return {"evidence": True}


@target_mutant("health-without-counts", breaks={"HLT-2.d"}, text="Its health does not count its runs.")
class HealthWithoutCounts(_Telling):
    def amended(self) -> dict[str, Any]:
        return {"active_runs": ..., "max_concurrent_runs": ...}


@target_mutant("health-counts-in-text", breaks={"HLT-2.d"}, text="Its health writes its counts as text.")
class HealthCountsInText(_Telling):
    def amended(self) -> dict[str, Any]:
        return {"active_runs": "0", "max_concurrent_runs": "4"}
