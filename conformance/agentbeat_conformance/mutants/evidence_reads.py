"""Targets that break EVD-10 or EVD-11: who reads evidence, and what there is to read."""

from __future__ import annotations

import asyncio
import json
from typing import Any, ClassVar, Final

from agentbeat_conformance.mutants.base_evidence import Recording
from agentbeat_conformance.mutants.base_target import SECRET, Asked, BaseTarget, Refused, Reply, json_reply
from agentbeat_conformance.mutants.registry import target_mutant
from agentbeat_conformance.requirements import Tier
from agentbeat_protocol import EVIDENCE_PATH, Invocation, is_run_id

__all__: list[str] = []

L2: Final[Tier] = "target-L2"

# --- EVD-10: the secret


class _ReadPolicy(BaseTarget):
    """A Target that looks at the secret of a read in a way of its own."""

    def authorise(self, asked: Asked) -> None:
        if not asked.path.startswith(EVIDENCE_PATH):
            super().authorise(asked)
        elif not self.may_read((asked.value("authorization") or "").removeprefix("Bearer ")):
            raise Refused("unauthorized", "expected the bearer secret", ("WWW-Authenticate", "Bearer"))

    def may_read(self, given: str) -> bool:
        """Whether the read may go on, with what was given as the secret."""
        raise NotImplementedError


@target_mutant(
    "evidence-without-secret",
    tier=L2,
    breaks={"EVD-10.a"},
    text="It serves evidence to anyone who gives no secret; a wrong one is refused.",
)
class EvidenceWithoutSecret(_ReadPolicy):
    def may_read(self, given: str) -> bool:
        return not given or given == SECRET


@target_mutant(
    "evidence-for-any-secret", tier=L2, breaks={"EVD-10.b"}, text="It serves evidence for any secret at all."
)
class EvidenceForAnySecret(_ReadPolicy):
    def may_read(self, given: str) -> bool:
        return bool(given)


@target_mutant(
    "evidence-for-secret-prefix",
    tier=L2,
    breaks={"EVD-10.b"},
    text="It compares as many characters of the secret as it is given.",
)
class EvidenceForSecretPrefix(_ReadPolicy):
    def may_read(self, given: str) -> bool:
        return bool(given) and SECRET.startswith(given)


@target_mutant(
    "evidence-404-before-401",
    tier=L2,
    breaks={"EVD-10.c"},
    text="It looks for the run before it looks at the secret.",
)
class Evidence404Before401(BaseTarget):
    def authorise(self, asked: Asked) -> None:
        if asked.path.startswith(EVIDENCE_PATH):
            self.evidence(asked.path.removeprefix(EVIDENCE_PATH), asked)
        super().authorise(asked)


# --- EVD-10: what is not there


@target_mutant(
    "unknown-run-empty-document",
    tier=L2,
    breaks={"EVD-10.d"},
    text="It serves an empty document for a run that it does not know.",
)
class UnknownRunEmptyDocument(BaseTarget):
    def evidence(self, run_id: str, asked: Asked) -> Reply:
        if is_run_id(run_id) and run_id not in self.documents:
            return json_reply(200, {"run_id": run_id, "events": []})
        return super().evidence(run_id, asked)


@target_mutant(
    "unknown-run-under-another-code",
    tier=L2,
    breaks={"EVD-10.d"},
    text="Its code for an unknown run is not not_found.",
)
class UnknownRunUnderAnotherCode(BaseTarget):
    def evidence(self, run_id: str, asked: Asked) -> Reply:
        if run_id not in self.documents:
            raise Refused("evidence_not_found", "no evidence of such a run", status=404)
        return super().evidence(run_id, asked)


@target_mutant(
    "malformed-run-400", tier=L2, breaks={"EVD-10.e"}, text="It answers a malformed run id with 400."
)
class MalformedRun400(BaseTarget):
    def evidence(self, run_id: str, asked: Asked) -> Reply:
        if not is_run_id(run_id):
            raise Refused("invalid_run_id", "expected a run id")
        return super().evidence(run_id, asked)


@target_mutant(
    "malformed-run-told-apart",
    tier=L2,
    breaks={"EVD-10.e"},
    text="Its 404 says whether the run id was malformed or unknown.",
)
class MalformedRunToldApart(BaseTarget):
    def evidence(self, run_id: str, asked: Asked) -> Reply:
        if not is_run_id(run_id):
            raise Refused("not_found", "no run can have this id")
        return super().evidence(run_id, asked)


@target_mutant(
    "malformed-run-repaired",
    tier=L2,
    breaks={"EVD-10.e"},
    text="It takes blanks and capitals out of a run id and serves that run.",
)
class MalformedRunRepaired(BaseTarget):
    def evidence(self, run_id: str, asked: Asked) -> Reply:
        return super().evidence(run_id.strip().lower(), asked)


class _Slow(BaseTarget):
    """A Target whose Agent takes a moment for a task with tools, and that knows which runs go on."""

    seconds: ClassVar[float] = 0.02

    def __init__(self) -> None:
        super().__init__()
        self.going_on: dict[str, Recording] = {}

    async def agent(self, recording: Recording) -> str:
        run_id = recording.invocation.run_id
        self.going_on[run_id] = recording
        try:
            if "tools" in recording.invocation.input.text:
                recording.message("system", "Use the notes.")
                await asyncio.sleep(self.seconds)
            return await super().agent(recording)
        finally:
            del self.going_on[run_id]


@target_mutant(
    "unfinished-run-202",
    tier=L2,
    breaks={"EVD-10.f"},
    text="It tells of a run that goes on: 202, come back later.",
)
class UnfinishedRun202(_Slow):
    def evidence(self, run_id: str, asked: Asked) -> Reply:
        if run_id in self.going_on:
            return json_reply(202, {"status": "running"})
        return super().evidence(run_id, asked)


@target_mutant(
    "unfinished-run-partial",
    tier=L2,
    breaks={"EVD-10.f"},
    text="It serves what it has of a run that goes on.",
)
class UnfinishedRunPartial(_Slow):
    def evidence(self, run_id: str, asked: Asked) -> Reply:
        if run_id in self.going_on:
            return json_reply(200, self.going_on[run_id].document())
        return super().evidence(run_id, asked)


# --- EVD-11: what stays


class _Counting(BaseTarget):
    """A Target that knows how often each document was read."""

    def __init__(self) -> None:
        super().__init__()
        self.reads: dict[str, int] = {}

    def evidence(self, run_id: str, asked: Asked) -> Reply:
        reply = super().evidence(run_id, asked)
        self.reads[run_id] = self.reads.get(run_id, 0) + 1
        return self.read_again(reply, self.reads[run_id])

    def read_again(self, reply: Reply, reads: int) -> Reply:
        """The answer to a read, the first one is number 1."""
        raise NotImplementedError


@target_mutant(
    "evidence-dated-anew", tier=L2, breaks={"EVD-11.a"}, text="Its documents end when they are read."
)
class EvidenceDatedAnew(_Counting):
    def read_again(self, reply: Reply, reads: int) -> Reply:
        members = reply.members()
        members["finished_at"] = f"2100-01-01T00:00:00.{reads:03d}Z"
        reply.body = json.dumps(members).encode()
        return reply


@target_mutant(
    "evidence-in-other-order",
    tier=L2,
    breaks={"EVD-11.a"},
    text="Its documents say the same at each read, with the members in another order.",
)
class EvidenceInOtherOrder(_Counting):
    def read_again(self, reply: Reply, reads: int) -> Reply:
        members = list(reply.members().items())
        turn = reads % len(members)
        reply.body = json.dumps(dict(members[turn:] + members[:turn])).encode()
        return reply


@target_mutant(
    "evidence-served-once", tier=L2, breaks={"EVD-11.a"}, text="It deletes a document once it was read."
)
class EvidenceServedOnce(_Counting):
    def read_again(self, reply: Reply, reads: int) -> Reply:
        if reads > 1:
            raise Refused("not_found", "no evidence of such a run")
        return reply


_OTHER_BYTES: Final = "sha256:" + "0" * 64


@target_mutant(
    "metadata-digest-lies",
    tier=L2,
    breaks={"EVD-11.b"},
    text="The evidence_digest of its answers is of other bytes than it serves.",
)
class MetadataDigestLies(BaseTarget):
    def response(self, invocation: Invocation, final_response: str) -> dict[str, Any]:
        return {**super().response(invocation, final_response), "metadata": {"evidence_digest": _OTHER_BYTES}}


@target_mutant(
    "repr-digest-lies", tier=L2, breaks={"EVD-11.b"}, text="Its Repr-Digest is of other bytes than it serves."
)
class ReprDigestLies(BaseTarget):
    def evidence(self, run_id: str, asked: Asked) -> Reply:
        reply = super().evidence(run_id, asked)
        reply.fields.append(("Repr-Digest", f"sha-256=:{'A' * 43}=:"))
        return reply
