"""CTL-2: checks go in this order: 401, 400, 404, lease_expired, recorded answer, binding_conflict, phase."""

from __future__ import annotations

from typing import Final

from agentbeat_conformance.controller_expectations import LEASES, ROUTES, refused
from agentbeat_conformance.controller_probes import SHORT_LEASE_SECONDS, ControllerProbe
from agentbeat_conformance.controller_runs import Step
from agentbeat_conformance.expectations import permitted
from agentbeat_conformance.requirements import Capability, Finding, Findings, Level, requirement

__all__: list[str] = []

_UNKNOWN_PROFILE: Final = "profile-that-nobody-has"


@requirement(
    "CTL-2.m",
    level=Level.MUST,
    tier="controller",
    section=ROUTES,
    text="401 comes before 400: without the secret nothing else of a request is judged.",
    permits={"401"},
    kills={"body-is-judged-before-the-secret"},
)
async def secret_before_body(controller: ControllerProbe) -> Findings:
    await controller.control()
    tried = await controller.post("reset", body=b"{", secret=None)
    return list(refused(tried, {"401"}, "neither a secret nor JSON"))


@requirement(
    "CTL-2.n",
    level=Level.MUST,
    tier="controller",
    section=ROUTES,
    text="400 comes before 404: an unknown member is refused before an unknown profile.",
    permits={"400"},
    kills={"profile-is-looked-up-before-the-shape"},
)
async def shape_before_profile(controller: ControllerProbe) -> Findings:
    await controller.control()
    async with controller.run() as run:
        tried = await run.attempt("reset", profile_id=_UNKNOWN_PROFILE, surplus=1)
        return list(refused(tried, {"400"}, "an unknown member and an unknown profile"))


@requirement(
    "CTL-2.o",
    level=Level.MUST,
    tier="controller",
    section=ROUTES,
    text="404 comes before binding_conflict: an unknown profile is not found for a run that was reset too.",
    permits={"404"},
    kills={"conflict-comes-before-404"},
)
async def profile_before_conflict(controller: ControllerProbe) -> Findings:
    async with controller.run() as run:
        await run.through("reset")
        tried = await run.attempt("reset", profile_id=_UNKNOWN_PROFILE)
        return list(refused(tried, {"404"}, "a run that was reset, with an unknown profile"))


@requirement(
    "CTL-2.p",
    level=Level.MUST,
    tier="controller",
    section=ROUTES,
    text="binding_conflict comes before the phase: a step of another case is not judged by its order.",
    permits={"404", "409"},
    kills={"phase-is-judged-before-the-binding"},
)
async def conflict_before_phase(controller: ControllerProbe) -> Findings:
    async with controller.run() as run:
        await run.through("reset")
        tried = await run.attempt("after", case_id=f"{run.ids.case_id}-other")
        codes = {"binding_conflict", "not_found"}
        return list(refused(tried, {"404", "409"}, "a step of another case, out of order", codes=codes))


@requirement(
    "CTL-2.q",
    level=Level.MUST,
    tier="controller",
    section=LEASES,
    text="An expired lease fails closed: every call on it is 409 lease_expired, and nothing is verified.",
    needs={Capability.EXPIRY},
    permits={"409"},
    kills={"expired-lease-is-verified"},
)
async def expired_fails_closed(controller: ControllerProbe) -> Findings:
    async with controller.run() as run:
        await run.through("reset", "before", "after")
        renewal = run.later()
        await controller.session.pause(SHORT_LEASE_SECONDS + 1)
        found: list[Finding] = []
        for step in ("verify", "release"):
            found += refused(
                await run.send(step), {"409"}, f"{step} of an expired lease", codes={"lease_expired"}
            )
        late = await run.attempt("renew", expires_at=renewal)
        return found + list(refused(late, {"409"}, "renew of an expired lease", codes={"lease_expired"}))


@requirement(
    "CTL-2.r",
    level=Level.MUST,
    tier="controller",
    section=ROUTES,
    text="lease_expired comes before the recorded answer: a repeated request is refused on an expired lease.",
    needs={Capability.EXPIRY},
    permits={"409"},
    kills={"recorded-answer-comes-before-expiry"},
)
async def expiry_before_recorded(controller: ControllerProbe) -> Findings:
    async with controller.run() as run:
        await run.through("reset", "before")
        body = run.body("before")
        await controller.session.pause(SHORT_LEASE_SECONDS + 1)
        tried = await run.attempt("before", body=body)
        return list(refused(tried, {"409"}, "a repeat on an expired lease", codes={"lease_expired"}))


@requirement(
    "CTL-2.s",
    level=Level.MUST,
    tier="controller",
    section=ROUTES,
    text="A released lease no longer expires: its recorded answers are given after its end too.",
    needs={Capability.EXPIRY},
    permits={"200"},
    kills={"released-lease-expires"},
)
async def released_never_expires(controller: ControllerProbe) -> Findings:
    async with controller.run() as run:
        bodies: dict[Step, dict[str, object]] = {}
        for step in ("reset", "before", "release"):
            bodies[step] = run.body(step)
            await run.through(step)
        await controller.session.pause(SHORT_LEASE_SECONDS + 1)
        found: list[Finding] = []
        for step, body in bodies.items():
            again = await run.attempt(step, body=body)
            found += permitted(again, {"200"}, f"{step} again, after the end of a released lease")
        return found
