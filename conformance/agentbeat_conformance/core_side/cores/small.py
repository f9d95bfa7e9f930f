"""A small Core of our own: as much of spec 3 as the scenarios ask for, and each step a method to break.

It shares nothing with the kit's Core but the protocol room, so a scenario that is green for both is about the
specs and not about one implementation. The mutants are its subclasses. It is no Core to use: it knows the
few rules that the scenarios need, and no environment but loopback.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from agentbeat_conformance.core_side.cores.judging import Judging
from agentbeat_conformance.core_side.cores.preflight import RefusedError, Run, planned
from agentbeat_conformance.core_side.cores.results import answered, completed
from agentbeat_conformance.core_side.cores.state_side import StateSide
from agentbeat_conformance.core_side.cores.target_side import TargetSide
from agentbeat_conformance.core_side.cores.wires import FailedError
from agentbeat_conformance.core_side.results import Spoken
from agentbeat_protocol import SnapshotAnswer
from agentbeat_protocol.evaluation import EvalRunRequest, read_eval_run_request, read_registry

__all__ = ["SmallCore"]

Object = dict[str, Any]


class SmallCore(TargetSide, StateSide, Judging):
    """From a request to a result. Each method does one thing that a mutant can do wrong."""

    #: The codes that preflight does not refuse for.
    overlooked: frozenset[str] = frozenset()

    async def __call__(self, request: bytes, environment: Mapping[str, str | None]) -> Spoken:
        """One run, as `eval-run` does it."""
        asked = read_eval_run_request(request)
        try:
            result = await self.evaluated(await self.plan(asked, environment))
        except RefusedError as error:
            result = answered(asked, "refused", code=str(error))
        except FailedError as error:
            result = answered(asked, "failed", code=str(error))
        return Spoken(output=json.dumps(result).encode(), exit_code=0)

    async def plan(self, asked: EvalRunRequest, environment: Mapping[str, str | None]) -> Run:
        """The run, once preflight has nothing against it."""
        file = Path(environment["AIBEAT_AGENT_TARGET_REGISTRY"] or "")
        registry = read_registry(await asyncio.to_thread(file.read_bytes))
        return planned(asked, registry, environment, overlooked=self.overlooked)

    async def evaluated(self, run: Run) -> Object:
        """The steps of one run, in their order."""
        lease = await self.reset(run) if run.controller else None
        before = await self.snapshot(run, lease, "before") if lease and run.tier == "L3" else None
        response = await self.invoked(run)
        after: SnapshotAnswer | None = None
        if lease and before:
            try:
                after = await self.snapshot(run, lease, "after")
            except FailedError:
                after = None
        trace, reason = await self.trace(run, response) if run.tier != "L1" else (None, None)
        state = await self.state(run, lease, before, after, response) if lease and before else None
        if lease:
            await self.released(run, lease)
        scores = await self.judged(run, response.final_response, trace)
        return completed(self, run, response.final_response, (trace, reason), state, scores)
