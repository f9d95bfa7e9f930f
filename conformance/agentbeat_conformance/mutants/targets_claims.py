"""Targets that break INV-4: they run twice what they may run once, or refuse what was never accepted."""

# ruff: noqa: ARG002 - an override keeps its parent's signature
from __future__ import annotations

import asyncio
from collections import deque

from agentbeat_conformance.mutants.base_target import Asked, BaseTarget, Recording, Refused, Reply
from agentbeat_conformance.mutants.registry import target_mutant
from agentbeat_protocol import RUN_ID_HEADER, Invocation

__all__: list[str] = []


@target_mutant(
    "accepts-replays",
    breaks={"INV-4.a"},
    consequences={"INV-4.b", "INV-4.d", "INV-4.e", "INV-4.f"},
    text="It remembers no run_id at all.",
)
class AcceptsReplays(BaseTarget):
    def is_claimed(self, run_id: str) -> bool:
        return False


@target_mutant(
    "repeats-its-answer",
    breaks={"INV-4.a"},
    consequences={"INV-4.d", "INV-4.e", "INV-4.f"},
    text="It answers an invocation that it knows to the letter as it did before, with 200.",
)
class RepeatsItsAnswer(BaseTarget):
    def __init__(self) -> None:
        super().__init__()
        self._known: dict[tuple[str, str, str], Reply] = {}

    def admit(self, run_id: str) -> None:
        """Later, when the whole invocation is known."""

    async def completed(self, invocation: Invocation) -> Reply:
        key = (invocation.run_id, invocation.case_id, invocation.input.text)
        if key in self._known:
            known = self._known[key]
            return Reply(known.status, known.body, list(known.fields))
        if any(run_id == invocation.run_id for run_id, _, _ in self._known):
            raise Refused("run_id_reused", "this run_id was accepted before")
        reply = await super().completed(invocation)
        self._known[key] = Reply(reply.status, reply.body, list(reply.fields))
        return reply


@target_mutant(
    "replays-are-400",
    breaks={"INV-4.a"},
    consequences={"INV-4.b", "INV-4.d", "INV-4.e", "INV-4.f"},
    text="It refuses every replay, but as an invalid request.",
)
class ReplaysAre400(BaseTarget):
    def admit(self, run_id: str) -> None:
        if self.is_claimed(run_id):
            raise Refused("invalid_run_id", "expected a new run_id")


class _ClaimingMore(BaseTarget):
    """Claims a run_id together with something else of the invocation."""

    def __init__(self) -> None:
        super().__init__()
        self._with = ""

    def beside(self, invocation: Invocation) -> str:
        raise NotImplementedError

    def check_correlation(self, invocation: Invocation, asked: Asked) -> None:
        super().check_correlation(invocation, asked)
        # From here to the claim nothing else comes between.
        self._with = self.beside(invocation)

    def is_claimed(self, run_id: str) -> bool:
        return super().is_claimed(f"{run_id} {self._with}")

    def claim(self, run_id: str) -> None:
        super().claim(f"{run_id} {self._with}")


@target_mutant("claims-run-and-case", breaks={"INV-4.b"}, text="A run may run again with another case_id.")
class ClaimsRunAndCase(_ClaimingMore):
    def beside(self, invocation: Invocation) -> str:
        return invocation.case_id


@target_mutant("claims-run-and-text", breaks={"INV-4.b"}, text="A run may run again with another text.")
class ClaimsRunAndText(_ClaimingMore):
    def beside(self, invocation: Invocation) -> str:
        return invocation.input.text


class _ClaimingEarly(BaseTarget):
    """Claims a run_id before all refusals are past."""

    def __init__(self) -> None:
        super().__init__()
        self._is_new = True

    def claim_early(self, run_id: str) -> None:
        self._is_new = run_id not in self.claims
        self.claims.add(run_id)

    def is_claimed(self, run_id: str) -> bool:
        return not self._is_new


@target_mutant(
    "claims-before-reading",
    breaks={"INV-4.c"},
    text="It claims the header's run_id before it reads the body.",
)
class ClaimsBeforeReading(_ClaimingEarly):
    async def read_body(self, asked: Asked) -> bytes:
        raw = await super().read_body(asked)
        self.claim_early(asked.value(RUN_ID_HEADER) or "")
        return raw


@target_mutant(
    "claims-before-metadata", breaks={"INV-4.c"}, text="It claims the run_id before it looks at the metadata."
)
class ClaimsBeforeMetadata(_ClaimingEarly):
    def validate(self, value: object) -> Invocation:
        invocation = super().validate(value)
        self.claim_early(invocation.run_id)
        return invocation


@target_mutant(
    "runs-before-metadata",
    breaks={"INV-4.c"},
    text="It runs its Agent, and refuses the metadata when that is done.",
)
class RunsBeforeMetadata(BaseTarget):
    def validate(self, value: object) -> Invocation:
        invocation = super().validate(value)
        recording = Recording(invocation)
        recording.message("assistant", "I am ready.")
        self.keep(recording)
        return invocation


@target_mutant(
    "remembers-ten-runs",
    breaks={"INV-4.d"},
    consequences={"INV-4.e"},
    text="It forgets a run_id when ten others have come.",
)
class RemembersTenRuns(BaseTarget):
    def __init__(self) -> None:
        super().__init__()
        self._last: deque[str] = deque(maxlen=10)

    def is_claimed(self, run_id: str) -> bool:
        return run_id in self._last

    def claim(self, run_id: str) -> None:
        self._last.append(run_id)


@target_mutant("forgets-at-restart", breaks={"INV-4.e"}, text="It keeps its claims in memory only.")
class ForgetsAtRestart(BaseTarget):
    async def restart(self) -> None:
        await super().restart()
        self.claims.clear()


@target_mutant(
    "claims-after-the-run", breaks={"INV-4.f"}, text="It claims the run_id when the Agent is done with it."
)
class ClaimsAfterTheRun(BaseTarget):
    def claim(self, run_id: str) -> None:
        """Later."""

    async def agent(self, recording: Recording) -> str:
        final_response = await super().agent(recording)
        await asyncio.sleep(0.02)
        super().claim(recording.invocation.run_id)
        return final_response
