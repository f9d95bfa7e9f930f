"""CTL-10: after a restart a lease is as it was, a snapshot has its content, and a run has one receipt."""

from __future__ import annotations

from agentbeat_conformance.controller_expectations import ROUTES, differs
from agentbeat_conformance.controller_probes import ControllerProbe
from agentbeat_conformance.expectations import permitted
from agentbeat_conformance.requirements import Capability, Finding, Findings, Level, requirement

__all__: list[str] = []


@requirement(
    "CTL-10.a",
    level=Level.MUST,
    tier="controller",
    section=ROUTES,
    text="A lease is as it was after a restart: the run goes on from its phase to its receipt.",
    needs={Capability.RESTART},
    permits={"200"},
    kills={"restart-sets-leases-back"},
)
async def lease_is_as_it_was(controller: ControllerProbe) -> Findings:
    await controller.control()
    async with controller.run() as run:
        await run.through("reset", "before")
        await controller.session.restart()
        found: list[Finding] = []
        for step in ("after", "verify", "release"):
            found += permitted(await run.send(step), {"200"}, f"{step}, with a restart after snapshot before")
        return found


@requirement(
    "CTL-10.b",
    level=Level.MUST,
    tier="controller",
    section=ROUTES,
    text="After a restart a snapshot is there with its content, byte for byte.",
    needs={Capability.RESTART},
    permits={"200"},
    kills={"restart-loses-snapshot-contents"},
)
async def snapshots_keep_their_content(controller: ControllerProbe) -> Findings:
    async with controller.run() as run:
        await run.through("reset", "before", "read-before")
        content = run.content("before")
        await controller.session.restart()
        again = await run.send("read-before")
        found = list(permitted(again, {"200"}, "a snapshot after a restart"))
        if not found:
            found += differs(run.content("before"), content, "the snapshot's bytes after a restart", again)
        return found


@requirement(
    "CTL-10.c",
    level=Level.MUST,
    tier="controller",
    section=ROUTES,
    text="After a restart the same verify gives the same receipt: never two for one run.",
    needs={Capability.RESTART},
    permits={"200"},
    kills={"restart-allows-a-second-receipt"},
)
async def one_receipt_for_a_run(controller: ControllerProbe) -> Findings:
    async with controller.run() as run:
        await run.through("reset", "before", "after", "verify")
        first = run.verified.receipt
        await controller.session.restart()
        again = await run.send("verify")
        found = list(permitted(again, {"200"}, "the same verify after a restart"))
        if not found:
            receipt = run.verified.receipt
            found += differs(
                receipt, first, "the receipt after a restart", again, expected="the run's one receipt"
            )
        return found


@requirement(
    "CTL-10.d",
    level=Level.MUST,
    tier="controller",
    section=ROUTES,
    text="After a restart a run is still held to its order and its binding.",
    needs={Capability.RESTART},
    permits={"409"},
    kills={"restart-forgets-the-binding"},
)
async def binding_outlives_a_restart(controller: ControllerProbe) -> Findings:
    async with controller.run() as run:
        await run.through("reset", "before")
        await controller.session.restart()
        tried = {
            "another attempt_nonce": await run.attempt("reset", attempt_nonce="0123456789abcdef" * 2),
            "before again, of another case": await run.attempt("before", case_id=f"{run.ids.case_id}-other"),
        }
        return [
            finding
            for what, exchange in tried.items()
            for finding in permitted(exchange, {"409"}, f"{what}, after a restart")
        ]
