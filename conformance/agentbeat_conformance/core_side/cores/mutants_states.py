"""Mutants that take a State Controller's word without one of the receipt's rules."""

from __future__ import annotations

from typing import Any, Final

from agentbeat_conformance.core_side.cores.preflight import Run
from agentbeat_conformance.core_side.cores.receipts import Held
from agentbeat_conformance.core_side.cores.registry import core_mutant
from agentbeat_conformance.core_side.cores.small import SmallCore
from agentbeat_conformance.core_side.cores.state_side import Lease, State
from agentbeat_conformance.core_side.cores.wires import FailedError
from agentbeat_protocol import InvocationResponse, SnapshotAnswer, VerifyAnswer
from agentbeat_protocol.controller import Phase

__all__: list[str] = []

_RULES: Final = {
    "RCP-1": ["other-controller-id", "other-run-id", "other-profile-digest"],
    "RCP-2": ["member-changed"],
    "RCP-3": ["other-before-ref", "other-after-digest", "other-taken-at", "issued-early", "in-reverse"],
    "RCP-4": ["before-bytes", "after-bytes", "before-not-served", "after-not-served"],
    "RCP-5": ["checks-changed", "other-response", "verdicts-lie", "score-lies", "decides-without-checks"],
    "RCP-6": ["signature-missing", "signature-changed", "other-key", "other-key-id"],
    "RCP-7": ["other-nonce", "replayed", "unsigned-other-nonce"],
    "RCP-8": ["written-before"],
}


def _skips(rule: str) -> type[SmallCore]:
    class Skips(SmallCore):
        def faults(self, answer: VerifyAnswer, members: dict[str, Any], held: Held) -> frozenset[str]:
            return super().faults(answer, members, held) - {rule}

    return Skips


for _rule, _names in _RULES.items():
    core_mutant(
        f"skips-{_rule.lower()}",
        flaw=f"does not look at {_rule}",
        caught_by=[f"receipt.{name}" for name in _names],
    )(_skips(_rule))


def _expected(member: str, held: Held) -> Any:
    if member == "controller_id":
        return held.registered.controller_id
    if member in ("environment_id", "injection_digest"):
        return getattr(held.reset, member)
    return getattr(held.asked, member)


def _forgets(member: str) -> type[SmallCore]:
    class Forgets(SmallCore):
        def faults(self, answer: VerifyAnswer, members: dict[str, Any], held: Held) -> frozenset[str]:
            receipt = answer.receipt.model_copy(update={member: _expected(member, held)})
            return super().faults(answer.model_copy(update={"receipt": receipt}), members, held)

    return Forgets


for _member in (
    "controller_id",
    "deployment_profile_id",
    "environment_id",
    "binding_mode",
    "run_id",
    "case_id",
    "profile_id",
    "profile_digest",
    "injection_digest",
):
    core_mutant(
        f"forgets-{_member.replace('_', '-')}",
        flaw=f"takes a receipt of another {_member} (RCP-1)",
        caught_by=[f"receipt.other-{_member.replace('_', '-')}"],
    )(_forgets(_member))


@core_mutant(
    "takes-unsigned-receipts",
    flaw="takes an unsigned receipt although a key is registered",
    caught_by=["receipt.signature-missing"],
)
class _TakesUnsignedReceipts(SmallCore):
    def faults(self, answer: VerifyAnswer, members: dict[str, Any], held: Held) -> frozenset[str]:
        broken = super().faults(answer, members, held)
        return broken if answer.receipt.signature else broken - {"RCP-6"}


@core_mutant(
    "refuses-unsigned-receipts",
    flaw="refuses a receipt where no key is registered",
    caught_by=["receipt.unsigned", "receipt.signed-without-key"],
)
class _RefusesUnsignedReceipts(SmallCore):
    def counting(self, broken: frozenset[str]) -> frozenset[str]:
        return broken


@core_mutant(
    "unsigned-excuses-all",
    flaw="looks at no rule where no key is registered",
    caught_by=["receipt.unsigned-other-nonce"],
)
class _UnsignedExcusesAll(SmallCore):
    def counting(self, broken: frozenset[str]) -> frozenset[str]:
        return frozenset() if "unsigned" in broken else super().counting(broken)


@core_mutant(
    "official-without-a-key",
    flaw="calls a result official although no key is registered",
    caught_by=["receipt.unsigned", "receipt.signed-without-key"],
)
class _OfficialWithoutAKey(SmallCore):
    def is_official(self, *, complete: bool, signed: bool) -> bool:
        del signed
        return complete


@core_mutant(
    "one-nonce-for-all",
    flaw="uses one attempt_nonce for all attempts",
    caught_by=["receipt.replayed", "receipt.honest-twice"],
)
class _OneNonceForAll(SmallCore):
    def nonce(self) -> str:
        return "0123456789abcdef" * 2


@core_mutant(
    "before-afterwards",
    flaw="asks for the snapshot before when the invocation has ended",
    caught_by=["control.l3"],
)
class _BeforeAfterwards(SmallCore):
    def __init__(self) -> None:
        self._responses: dict[str, InvocationResponse] = {}

    async def snapshot(self, run: Run, lease: Lease, phase: Phase) -> SnapshotAnswer:
        if phase == "before":
            self._responses[run.run_id] = await super().invoked(run)
        return await super().snapshot(run, lease, phase)

    async def invoked(self, run: Run) -> InvocationResponse:
        return self._responses.pop(run.run_id, None) or await super().invoked(run)


@core_mutant(
    "after-beforehand",
    flaw="asks for the snapshot after before the invocation has ended",
    caught_by=["control.l3"],
)
class _AfterBeforehand(SmallCore):
    def __init__(self) -> None:
        self._after: dict[str, SnapshotAnswer] = {}

    async def snapshot(self, run: Run, lease: Lease, phase: Phase) -> SnapshotAnswer:
        if phase == "after":
            return self._after.pop(run.run_id)
        before = await super().snapshot(run, lease, "before")
        self._after[run.run_id] = await super().snapshot(run, lease, "after")
        return before


@core_mutant(
    "stops-with-the-controller",
    flaw="fails the run where the State Controller stops after the invocation",
    caught_by=["receipt.stops-at-verify", "receipt.verify-500", "receipt.verify-cut"],
)
class _StopsWithTheController(SmallCore):
    async def state(
        self,
        run: Run,
        lease: Lease,
        before: SnapshotAnswer,
        after: SnapshotAnswer | None,
        response: InvocationResponse,
    ) -> State:
        state = await super().state(run, lease, before, after, response)
        if state[1] and state[1].startswith("verify:"):
            raise FailedError("controller_failed")
        return state


@core_mutant(
    "shares-the-secret",
    flaw="hands the Target's secret to the State Controller",
    caught_by=["control.l3"],
)
class _SharesTheSecret(SmallCore):
    async def control(self, run: Run, method: str, route: str, body: bytes | None) -> bytes:
        if run.controller is not None and run.target.secret is not None:
            fields = run.controller.authorization | {"X-Target-Secret": run.target.secret}
            url = f"{run.controller.base}/healthz"
            await self.asked("GET", url, fields, None, seconds=5, max_bytes=2**16)
        return await super().control(run, method, route, body)
