"""CTL-1: reset, before, after, verify; release and renew at any time; any other order changes nothing."""

from __future__ import annotations

from typing import Final

from agentbeat_conformance.controller_answers import read_answer, surplus
from agentbeat_conformance.controller_expectations import LEASES, ROUTES, goes_on, refused
from agentbeat_conformance.controller_probes import ControllerProbe
from agentbeat_conformance.controller_runs import ANSWERS, Step
from agentbeat_conformance.expectations import permitted
from agentbeat_conformance.requirements import CouldNotRun, Finding, Findings, Level, requirement
from agentbeat_protocol import ProtocolError

__all__: list[str] = []

#: Ends of a lease: a call on it is refused; whether it is still known is the Controller's affair.
ENDED: Final = frozenset({"404", "409"})

_STAGES: Final[tuple[tuple[Step, ...], ...]] = (
    ("reset",),
    ("reset", "before"),
    ("reset", "before", "after"),
    ("reset", "before", "after", "verify"),
)


@requirement(
    "CTL-1.a",
    level=Level.MUST,
    tier="controller",
    section=ROUTES,
    text="The order reset, before, after, verify, release is granted.",
    permits={"200"},
    kills={"verify-refused-in-order"},
)
async def order_is_granted(controller: ControllerProbe) -> Findings:
    run = await controller.attempt()
    run.need("reset")
    return [
        finding
        for step, exchange in run.last.items()
        if step in ANSWERS
        for finding in permitted(exchange, {"200"}, f"{step} in the right order")
    ]


@requirement(
    "CTL-1.b",
    level=Level.MUST,
    tier="controller",
    section=ROUTES,
    text="Each 200 answer has the members of its route, in their types, and the request's ids.",
    permits={"200"},
    kills={"snapshot-answer-without-phase", "answer-names-another-run"},
)
async def answers_have_their_members(controller: ControllerProbe) -> Findings:
    run = await controller.attempt()
    found: list[Finding] = []
    for step, model in ANSWERS.items():
        exchange = run.granted.get(step)
        if exchange is None:
            continue
        try:
            answer = read_answer(exchange, model)
        except ProtocolError as error:
            found.append(Finding(f"{step}: {error}", exchange.index))
            continue
        bound = {"run_id": run.ids.run_id, "case_id": run.ids.case_id, "profile_id": run.profile.profile_id}
        found += [
            Finding(f"{step}: got another {name}, expected that of the request", exchange.index)
            for name, value in bound.items()
            if getattr(answer, name) != value
        ]
    if not run.granted:
        raise CouldNotRun("no step was answered 200")
    return found


@requirement(
    "CTL-1.c",
    level=Level.SHOULD,
    tier="controller",
    section=ROUTES,
    text="A 200 answer has no members beyond those of its route; a strict Core refuses others.",
    permits={"200"},
    kills={"answer-with-surplus-members"},
)
async def answers_have_nothing_else(controller: ControllerProbe) -> Findings:
    run = await controller.control()
    found: list[Finding] = []
    for step, model in ANSWERS.items():
        exchange = run.granted.get(step)
        if exchange is not None:
            try:
                pointers = surplus(exchange, model)
            except ProtocolError as error:
                raise CouldNotRun(f"{step} was answered in another shape: {error}") from None
            found += [
                Finding(f"{step}: got {pointer}, expected no such member", exchange.index)
                for pointer in pointers
            ]
    return found


@requirement(
    "CTL-1.d",
    level=Level.MUST,
    tier="controller",
    section=ROUTES,
    text="Snapshot after without snapshot before is 409 phase_out_of_order and changes nothing.",
    permits={"409"},
    kills={"after-without-before"},
)
async def after_needs_before(controller: ControllerProbe) -> Findings:
    await controller.control()
    async with controller.run() as run:
        await run.through("reset")
        tried = await run.attempt("after")
        found = list(refused(tried, {"409"}, "after without before", codes={"phase_out_of_order"}))
        return found or await goes_on(run, "a snapshot out of order")


@requirement(
    "CTL-1.e",
    level=Level.MUST,
    tier="controller",
    section=ROUTES,
    text="Verify before snapshot before is refused with 409 and changes nothing.",
    permits={"409"},
    kills={"verify-right-after-reset"},
)
async def verify_needs_before(controller: ControllerProbe) -> Findings:
    await controller.control()
    async with controller.run() as run:
        await run.through("reset")
        tried = await run.attempt("verify")
        codes = {"phase_out_of_order", "snapshot_mismatch"}
        found = list(refused(tried, {"409"}, "verify right after reset", codes=codes))
        return found or await goes_on(run, "a verify out of order")


@requirement(
    "CTL-1.f",
    level=Level.MUST,
    tier="controller",
    section=ROUTES,
    text="Verify between the two snapshots is refused with 409 and changes nothing.",
    permits={"409"},
    kills={"verify-without-after"},
)
async def verify_needs_after(controller: ControllerProbe) -> Findings:
    await controller.control()
    async with controller.run() as run:
        await run.through("reset", "before")
        tried = await run.attempt("verify", after=run.reference("before"))
        codes = {"phase_out_of_order", "snapshot_mismatch"}
        found = list(refused(tried, {"409"}, "verify before snapshot after", codes=codes))
        for step in ("after", "verify") if not found else ():
            found += permitted(await run.send(step), {"200"}, f"{step}, after a verify out of order")
        return found


@requirement(
    "CTL-1.g",
    level=Level.MUST,
    tier="controller",
    section=ROUTES,
    text="Release is legal any time after reset.",
    permits={"200"},
    kills={"release-needs-verify"},
)
async def release_at_any_time(controller: ControllerProbe) -> Findings:
    found: list[Finding] = []
    for stage in _STAGES:
        async with controller.run() as run:
            await run.through(*stage)
            found += permitted(await run.send("release"), {"200"}, f"release after {stage[-1]}")
    return found


@requirement(
    "CTL-1.h",
    level=Level.MUST,
    tier="controller",
    section=ROUTES,
    text="Renew is legal any time after reset, and answers with a later end of the lease.",
    permits={"200"},
    kills={"renew-only-after-reset", "renew-keeps-the-end"},
)
async def renew_at_any_time(controller: ControllerProbe) -> Findings:
    found: list[Finding] = []
    async with controller.run() as run:
        for minutes, step in enumerate(_STAGES[-1], start=1):
            await run.through(step)
            renewed = await run.send("renew", expires_at=run.later(minutes))
            found += permitted(renewed, {"200"}, f"renew after {step}")
            if renewed.status == 200 and run.renewed.expires_at <= run.expires_at:
                found.append(Finding(f"renew after {step}: got no later end", renewed.index))
    return found


@requirement(
    "CTL-1.i",
    level=Level.MUST,
    tier="controller",
    section=LEASES,
    text="A released lease has ended: neither a snapshot nor verify nor a renewal is granted on it.",
    permits=ENDED,
    kills={"snapshot-after-release", "renew-revives-a-released-lease"},
)
async def released_is_ended(controller: ControllerProbe) -> Findings:
    await controller.control()
    found: list[Finding] = []
    async with controller.run() as run:
        await run.through("reset", "release")
        for step in ("before", "renew", "before"):
            found += refused(await run.attempt(step), ENDED, f"{step} after release")
    async with controller.run() as run:
        await run.through("reset", "before", "after", "release")
        found += refused(await run.attempt("verify"), ENDED, "verify after release")
    return found


@requirement(
    "CTL-1.j",
    level=Level.MUST,
    tier="controller",
    section=LEASES,
    text="A run without snapshots is reset and released: so a Controller serves every tier.",
    permits={"200"},
    kills={"reset-needs-snapshots"},
)
async def snapshots_are_optional(controller: ControllerProbe) -> Findings:
    await controller.control()
    found: list[Finding] = []
    async with controller.run(snapshots=False) as run:
        for step in ("reset", "release"):
            exchange = await run.send(step)
            found += permitted(exchange, {"200"}, f"{step} of a run without snapshots")
    return found
