"""One run, step by step, from an accepted plan to what was observed.

    1. Reset the environment (wherever a State Controller takes part).
    2. L3: have the state kept, and hold the answer.
    3. Invoke the Agent.
    4. L3: have the state kept again, once the invocation has ended.
    5. L2 and L3: read the evidence from the registered endpoint.
    6. L3: read both snapshots, have the run judged, check the receipt.
    7. Release the environment, however the run ended.

Steps 1 to 3 fail the run. From step 4 on the Agent has run, and what fails costs only its own channels.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from agentbeat_core.clients import ClientPool, ControllerClient, EvidenceRead, Invoked, Peer, TargetClient
from agentbeat_core.credentials import Redactor
from agentbeat_core.plans import ControllerPlan, Plan
from agentbeat_core.recordings import Recording
from agentbeat_core.runs.lease import Lease, leased
from agentbeat_core.runs.timeline import Timeline
from agentbeat_core.runs.witness import Judged, StateWitness
from agentbeat_protocol.scoring import Observations

__all__ = ["observe"]


async def observe(
    plan: Plan,
    *,
    run_id: str,
    pool: ClientPool,
    timeline: Timeline,
    redactor: Redactor,
    recording: Recording | None = None,
) -> Observations:
    """Carry the plan out.

    Args:
        recording: takes in what is sent and received, byte for byte.

    Raises:
        TargetError: the Target gave no observation of the Agent.
        ControllerError: the environment could not be prepared; the Agent was not started.
    """
    recording = recording or Recording()
    run = _Run(
        plan=plan,
        run_id=run_id,
        pool=pool,
        timeline=timeline,
        redactor=redactor,
        recording=recording,
    )
    # Steps 1 and 7 are the two ends of this block.
    async with run.environment() as witness:
        if witness is not None:
            await witness.snapshot_before()  # 2.
        invoked = await run.invoke(witness)  # 3.
        if witness is not None:
            await witness.snapshot_after()  # 4.
        evidence = await run.read_evidence(invoked)  # 5.
        state = Judged()
        if witness is not None:
            state = await witness.judge(invoked.response.final_response)  # 6.
            recording.state.reason = state.reason
    documents = [invoked.document, *([evidence.kept] if evidence.kept else []), *state.documents]
    return Observations(
        final_response=invoked.response.final_response,
        evidence=evidence.document,
        evidence_reason=evidence.reason,
        state=state.report,
        state_reason=state.reason,
        documents=tuple(documents),
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class _Run:
    plan: Plan
    run_id: str
    pool: ClientPool
    timeline: Timeline
    redactor: Redactor
    recording: Recording

    @asynccontextmanager
    async def environment(self) -> AsyncIterator[StateWitness | None]:
        """Hold the environment for the block; at L3 with a witness of its state."""
        if self.plan.controller is None:
            yield None
            return
        controller = self._controller(self.plan.controller)
        witnessed = self.plan.tier == "L3"
        async with leased(controller, self.timeline, snapshots=witnessed, seconds=self.plan.seconds) as lease:
            yield self._witness(controller, lease) if witnessed else None

    async def invoke(self, witness: StateWitness | None) -> Invoked:
        """Ask the Agent, and note when; the invocation has ended when this returns."""
        if witness is not None:
            witness.mark("invoked")
        with self.timeline.phase("invoke"):
            invoked = await self._target().invoke(self.plan.task)
        if witness is not None:
            witness.mark("invocation_ended")
        return invoked

    async def read_evidence(self, invoked: Invoked) -> EvidenceRead:
        """The evidence of the run; at L1 nothing is read."""
        if self.plan.tier == "L1":
            return EvidenceRead()
        with self.timeline.phase("evidence") as phase:
            evidence = await self._target().read_evidence(invoked.response)
            phase.failed = evidence.document is None
        return evidence

    def _target(self) -> TargetClient:
        peer = Peer(
            pool=self.pool,
            endpoint=self.plan.target,
            keep_alive=False,
            connect_seconds=self.plan.seconds.connect,
        )
        return TargetClient(
            peer=peer,
            run_path=self.plan.run_path,
            run_id=self.run_id,
            case_id=self.plan.case.case_id,
            seconds=self.plan.seconds,
            redactor=self.redactor,
            recording=self.recording,
        )

    def _controller(self, controller: ControllerPlan) -> ControllerClient:
        peer = Peer(
            pool=self.pool,
            endpoint=controller.endpoint,
            keep_alive=True,
            connect_seconds=self.plan.seconds.connect,
        )
        return ControllerClient(
            peer=peer,
            plan=controller,
            deployment_profile_id=self.plan.deployment.deployment_profile_id,
            run_id=self.run_id,
            case_id=self.plan.case.case_id,
            seconds=self.plan.seconds.controller,
            redactor=self.redactor,
            recording=self.recording.state,
        )

    def _witness(self, controller: ControllerClient, lease: Lease) -> StateWitness:
        return StateWitness(controller, lease, self.timeline)
