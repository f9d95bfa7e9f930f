"""CTL-6: one run at a time in a Deployment's environment; environments of their own in a catalogue."""

from __future__ import annotations

import re
from typing import Final

from agentbeat_conformance.controller_expectations import LEASES, ROUTES, goes_on, refused
from agentbeat_conformance.controller_probes import SHORT_LEASE_SECONDS, ControllerProbe
from agentbeat_conformance.expectations import permitted
from agentbeat_conformance.requirements import Capability, CouldNotRun, Finding, Findings, Level, requirement

__all__: list[str] = []

#: RFC 9110, 10.2.3: seconds, or a date.
_RETRY_AFTER: Final = re.compile(r"[0-9]+|[A-Z][a-z]{2}, [0-9]{2} [A-Z][a-z]{2} [0-9]{4} [0-9:]{8} GMT")


@requirement(
    "CTL-6.a",
    level=Level.MUST,
    tier="controller",
    section=ROUTES,
    text="In deployment_static a second run is refused with 409 environment_busy.",
    needs={Capability.STATIC},
    permits={"409"},
    kills={"second-run-is-not-refused"},
)
async def second_run_is_refused(controller: ControllerProbe) -> Findings:
    async with controller.run(mode="deployment_static") as first:
        await first.through("reset")
        async with controller.run(mode="deployment_static") as second:
            tried = await second.send("reset")
            return list(refused(tried, {"409"}, "a second run", codes={"environment_busy"}))


@requirement(
    "CTL-6.b",
    level=Level.MUST,
    tier="controller",
    section=ROUTES,
    text="The refusal of a second run carries Retry-After.",
    needs={Capability.STATIC},
    permits={"409"},
    kills={"busy-without-retry-after"},
)
async def busy_says_when(controller: ControllerProbe) -> Findings:
    async with controller.run(mode="deployment_static") as first:
        await first.through("reset")
        async with controller.run(mode="deployment_static") as second:
            tried = await second.send("reset")
            if tried.answer is None or tried.status != 409:
                raise CouldNotRun(f"a second run was answered {tried.outcome}, not 409")
            given = tried.answer.value("retry-after")
            if given is not None and _RETRY_AFTER.fullmatch(given.strip()):
                return ()
            got = "none" if given is None else "one of another form"
            return [Finding(f"Retry-After: got {got}, expected seconds or a date", tried.index)]


@requirement(
    "CTL-6.c",
    level=Level.MUST,
    tier="controller",
    section=ROUTES,
    text="A second run that is refused leaves the first one as it is.",
    needs={Capability.STATIC},
    permits={"200"},
    kills={"refused-run-clears-the-environment"},
)
async def first_run_goes_on(controller: ControllerProbe) -> Findings:
    async with controller.run(mode="deployment_static") as first:
        await first.through("reset")
        async with controller.run(mode="deployment_static") as second:
            await second.attempt("reset")
        return await goes_on(first, "a second run")


@requirement(
    "CTL-6.d",
    level=Level.MUST,
    tier="controller",
    section=ROUTES,
    text="Once the first run is released the second one's same reset is granted.",
    needs={Capability.STATIC},
    permits={"200"},
    kills={"busy-refusal-is-recorded"},
)
async def second_run_has_its_turn(controller: ControllerProbe) -> Findings:
    async with controller.run(mode="deployment_static") as first:
        await first.through("reset")
        async with controller.run(mode="deployment_static") as second:
            await second.attempt("reset")
            await first.through("release")
            granted = await second.send("reset")
            return list(permitted(granted, {"200"}, "the second run, once the first is released"))


@requirement(
    "CTL-6.e",
    level=Level.MUST,
    tier="controller",
    section=ROUTES,
    text="In catalog two runs hold environments of their own at the same time.",
    needs={Capability.CATALOG},
    permits={"200"},
    kills={"catalog-run-is-refused", "catalog-runs-share-an-environment"},
)
async def runs_have_their_own(controller: ControllerProbe) -> Findings:
    async with controller.run(mode="catalog") as first, controller.run(mode="catalog") as second:
        await first.through("reset")
        granted = await second.send("reset")
        found = list(permitted(granted, {"200"}, "a second run in catalog"))
        if not found and second.started.environment_id == first.started.environment_id:
            found.append(
                Finding("environment_id: got the first run's, expected one of its own", granted.index)
            )
        return found


@requirement(
    "CTL-6.f",
    level=Level.MUST,
    tier="controller",
    section=ROUTES,
    text="In catalog no run sees another's writes.",
    needs={Capability.CATALOG, Capability.WRITE},
    permits={"200"},
    kills={"catalog-leaks-writes"},
)
async def runs_see_their_own(controller: ControllerProbe) -> Findings:
    async with controller.run(mode="catalog") as first, controller.run(mode="catalog") as second:
        for run in (first, second):
            await run.through("reset", "before")
        await first.write_inside()
        for run in (first, second):
            await run.through("after", "read-after")
        if first.canary.encode() not in first.content("after"):
            raise CouldNotRun("what the write command wrote does not stand in the state")
        if first.canary.encode() in second.content("after"):
            return [Finding("after: got another run's canary", second.granted["read-after"].index)]
        return ()


@requirement(
    "CTL-6.g",
    level=Level.MUST,
    tier="controller",
    section=LEASES,
    text="A lease that has expired holds the Deployment's environment no longer.",
    needs={Capability.STATIC, Capability.EXPIRY},
    permits={"200"},
    kills={"expired-lease-keeps-the-environment"},
)
async def expired_run_makes_way(controller: ControllerProbe) -> Findings:
    async with controller.run(mode="deployment_static") as first:
        await first.through("reset")
        await controller.session.pause(SHORT_LEASE_SECONDS + 1)
        async with controller.run(mode="deployment_static") as second:
            granted = await second.send("reset")
            return list(permitted(granted, {"200"}, "a second run, once the first has expired"))
