"""CTL-1, CTL-2 and CTL-6 together: two runs, their steps in any order, repeated and in conflict."""

from __future__ import annotations

from agentbeat_conformance.controller_expectations import ROUTES
from agentbeat_conformance.controller_probes import ControllerProbe
from agentbeat_conformance.requirements import Finding, Findings, Level, requirement
from agentbeat_conformance.state_machine import Failure, first_failure

__all__: list[str] = []


@requirement(
    "CTL-1.z",
    level=Level.MUST,
    tier="controller",
    section=ROUTES,
    text="Whatever two runs ask, in any order, each step is granted, repeated or refused as the rules say.",
    permits={"200", "400", "404", "409"},
    kills={"renew-sets-the-phase-back", "late-release-ends-the-next-run"},
)
async def any_order(controller: ControllerProbe) -> Findings:
    await controller.control()
    # In catalog first: there one sequence does not stand in the way of the next, whatever went wrong.
    for mode in sorted(await controller.modes()):
        failure = await first_failure(controller, mode)
        if failure is not None:
            return _findings(failure)
    return ()


def _findings(failure: Failure) -> list[Finding]:
    """The failure, with the shortest sequence that it was found in."""
    sequence = ", ".join(map(str, failure.moves))
    before = tuple(exchange.index for exchange in failure.sent[:-1])
    return [
        Finding(f"{finding.message}, in {failure.mode} at the end of: {sequence}", finding.exchange, before)
        for finding in failure.findings
    ]
