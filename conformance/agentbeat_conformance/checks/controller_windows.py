"""CTL-12: the business plane is open from the before snapshot's answer until the after snapshot's request."""

from __future__ import annotations

from agentbeat_conformance.controller_expectations import LEASES, ROUTES
from agentbeat_conformance.controller_probes import SHORT_LEASE_SECONDS, ControllerProbe
from agentbeat_conformance.controller_runs import ControllerRun
from agentbeat_conformance.requirements import Capability, CouldNotRun, Finding, Findings, Level, requirement

__all__: list[str] = []


async def _closed(run: ControllerRun, when: str, shown_by: str) -> list[Finding]:
    """The findings against a business call that must be refused now."""
    if not await run.write():
        return []
    return [Finding(f"a business call {when}: got accepted, expected refused", run.granted[shown_by].index)]


@requirement(
    "CTL-12.a",
    level=Level.MUST,
    tier="controller",
    section=ROUTES,
    text="Between reset and the answer to snapshot before, where one is planned, a business call is refused.",
    needs={Capability.WRITE},
    permits={"409"},
    kills={"window-opens-at-reset"},
)
async def closed_before_before(controller: ControllerProbe) -> Findings:
    async with controller.run() as run:
        await run.through("reset")
        found = await _closed(run, "after reset, before snapshot before", "reset")
        await run.through("before")
        await run.write_inside()
        return found


@requirement(
    "CTL-12.b",
    level=Level.MUST,
    tier="controller",
    section=ROUTES,
    text="From the request for snapshot after on, a business call is refused.",
    needs={Capability.WRITE},
    permits={"409"},
    kills={"window-stays-open-after-after"},
)
async def closed_after_after(controller: ControllerProbe) -> Findings:
    async with controller.run() as run:
        await run.through("reset", "before")
        await run.write_inside()
        await run.through("after")
        found = await _closed(run, "after snapshot after", "after")
        await run.through("verify")
        return found + await _closed(run, "after verify", "verify")


@requirement(
    "CTL-12.c",
    level=Level.MUST,
    tier="controller",
    section=ROUTES,
    text="After release a business call is refused, whatever phase the run had come to.",
    needs={Capability.WRITE},
    permits={"404", "409"},
    kills={"window-stays-open-after-release"},
)
async def closed_after_release(controller: ControllerProbe) -> Findings:
    async with controller.run() as run:
        await run.through("reset", "before")
        await run.write_inside()
        await run.through("release")
        return await _closed(run, "after release", "release")


@requirement(
    "CTL-12.d",
    level=Level.MUST,
    tier="controller",
    section=LEASES,
    text="With no snapshots planned the business plane is open from reset to release.",
    needs={Capability.WRITE},
    permits={"200"},
    kills={"window-needs-a-snapshot"},
)
async def open_without_snapshots(controller: ControllerProbe) -> Findings:
    async with controller.run() as control:
        await control.through("reset", "before")
        await control.write_inside()
    async with controller.run(snapshots=False) as run:
        await run.through("reset")
        reset = run.granted["reset"].index
        if not await run.write():
            return [Finding("a business call of a run without snapshots: got refused", reset)]
        await run.through("release")
        return await _closed(run, "after the release of a run without snapshots", "release")


@requirement(
    "CTL-12.e",
    level=Level.MUST,
    tier="controller",
    section=ROUTES,
    text="A business call that is refused outside the window changes nothing.",
    needs={Capability.WRITE},
    permits={"409"},
    kills={"refused-write-is-kept"},
)
async def refused_calls_change_nothing(controller: ControllerProbe) -> Findings:
    async with controller.run() as run:
        await run.through("reset")
        if await run.write():
            raise CouldNotRun("a business call before the window was accepted")
        await run.through("before", "read-before")
        await run.write_inside()
        if run.canary.encode() in run.content("before"):
            return [Finding("before: got what was refused before it", run.granted["read-before"].index)]
        return ()


@requirement(
    "CTL-12.f",
    level=Level.MUST,
    tier="controller",
    section=LEASES,
    text="On a lease that has expired a business call is refused, though its window was open.",
    needs={Capability.WRITE, Capability.EXPIRY},
    permits={"409"},
    kills={"window-outlives-the-lease"},
)
async def closed_after_expiry(controller: ControllerProbe) -> Findings:
    async with controller.run() as run:
        await run.through("reset", "before")
        await run.write_inside()
        await controller.session.pause(SHORT_LEASE_SECONDS + 1)
        return await _closed(run, "on an expired lease", "before")
