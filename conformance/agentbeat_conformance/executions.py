"""How a check comes to its outcome: the part of a run that is the same live and from a transcript."""

from __future__ import annotations

import traceback
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from agentbeat_conformance.outcomes import Outcome, Result
from agentbeat_conformance.plans import Plan, obstacle
from agentbeat_conformance.requirements import Capability, CouldNotRun, Requirement
from agentbeat_conformance.runs import Run
from agentbeat_conformance.subjects import Probe
from agentbeat_conformance.transcript_records import Transcript
from agentbeat_protocol import cut

__all__ = ["INTERRUPTED", "TIMED_OUT", "Execution"]

INTERRUPTED: Final = "the run was interrupted"
TIMED_OUT: Final = "the check took longer than a check may"

#: The scope of what is asked before the first check.
_REACH: Final = "reach"
_LONGEST_FAULT: Final = 300


class Execution:
    """The checks of a plan over one probe."""

    def __init__(self, plan: Plan, probe: Probe) -> None:
        self._plan = plan
        self._probe = probe
        self._session = probe.session
        self._capabilities = plan.capabilities
        if self._session.wire.has_sockets:
            self._capabilities |= {Capability.SOCKET}
        #: What ends every check before it begins, and how.
        self._obstacle: tuple[Outcome, str] | None = None
        self._first = 0

    async def begin(self) -> None:
        """Ask whether anybody is there, and for what the endpoint shows of itself."""
        self._session.scope = _REACH
        try:
            await self._probe.health()
            self._capabilities |= await self._probe.capabilities()
        except CouldNotRun as reason:
            self._obstacle = Outcome.COULD_NOT_RUN, str(reason)
        except Exception as error:  # noqa: BLE001 - our own fault, and an outcome
            self._obstacle = Outcome.ERROR, _fault(error)

    def foregone(self, made: Requirement) -> Result | None:
        """The end of a check that needs not even begin."""
        self._first = len(self._session.exchanges)
        if self._obstacle is not None:
            outcome, reason = self._obstacle
            return Result(requirement=made, outcome=outcome, reason=reason)
        return obstacle(made, self._capabilities)

    async def check(self, made: Requirement) -> Result:
        """Run one check to its outcome."""
        self._session.scope = made.id
        self._first = len(self._session.exchanges)
        try:
            findings = tuple(await made.check(self._probe))
        except CouldNotRun as reason:
            return self._without_findings(made, Outcome.COULD_NOT_RUN, str(reason))
        except Exception as error:  # noqa: BLE001 - our own fault, and an outcome
            return self._without_findings(made, Outcome.ERROR, _fault(error))
        return Result.of_findings(made, findings, self._exchanges())

    def timed_out(self, made: Requirement) -> Result:
        """The outcome of a check that was given up."""
        return self._without_findings(made, Outcome.COULD_NOT_RUN, TIMED_OUT)

    def finished(self, results: Iterable[Result], transcript: Transcript) -> Run:
        """The run, once every check has ended."""
        return Run(
            plan=self._plan,
            results=tuple(results),
            exchanges=tuple(self._session.exchanges),
            reached=self._session.reached,
            transcript=transcript,
        )

    def _without_findings(self, made: Requirement, outcome: Outcome, reason: str) -> Result:
        return Result(requirement=made, outcome=outcome, reason=reason, exchanges=self._exchanges())

    def _exchanges(self) -> tuple[int, ...]:
        return tuple(range(self._first, len(self._session.exchanges)))


def _fault(error: Exception) -> str:
    """What went wrong, and the place in our code."""
    frames = traceback.extract_tb(error.__traceback__)
    place = f" ({Path(frames[-1].filename).name}:{frames[-1].lineno})" if frames else ""
    return f"{type(error).__name__}: {cut(str(error), _LONGEST_FAULT)}{place}"
