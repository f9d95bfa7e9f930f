"""CTL-9: a request with an unknown member, without one of its own, or of another shape is 400."""

from __future__ import annotations

from typing import Any

from agentbeat_conformance.controller_expectations import ROUTES
from agentbeat_conformance.controller_probes import ControllerProbe
from agentbeat_conformance.controller_runs import Step
from agentbeat_conformance.expectations import permitted
from agentbeat_conformance.requirements import Finding, Findings, Level, requirement

__all__: list[str] = []


async def _with_surplus(controller: ControllerProbe, step: Step, *before: Step) -> Findings:
    """The findings against a step with a member that the specs do not name; it is granted without."""
    async with controller.run() as run:
        await run.through(*before)
        tried = await run.attempt(step, surplus="x")
        await run.through(step)
        return list(permitted(tried, {"400"}, f"{step} with an unknown member"))


@requirement(
    "CTL-9.c",
    level=Level.MUST,
    tier="controller",
    section=ROUTES,
    text="An unknown member of a reset is 400.",
    permits={"400"},
    kills={"reset-takes-unknown-members"},
)
async def surplus_in_reset(controller: ControllerProbe) -> Findings:
    return await _with_surplus(controller, "reset")


@requirement(
    "CTL-9.d",
    level=Level.MUST,
    tier="controller",
    section=ROUTES,
    text="An unknown member of a snapshot request is 400.",
    permits={"400"},
    kills={"snapshot-takes-unknown-members"},
)
async def surplus_in_snapshot(controller: ControllerProbe) -> Findings:
    return await _with_surplus(controller, "before", "reset")


@requirement(
    "CTL-9.e",
    level=Level.MUST,
    tier="controller",
    section=ROUTES,
    text="An unknown member of a verify request is 400.",
    permits={"400"},
    kills={"verify-takes-unknown-members"},
)
async def surplus_in_verify(controller: ControllerProbe) -> Findings:
    return await _with_surplus(controller, "verify", "reset", "before", "after")


@requirement(
    "CTL-9.f",
    level=Level.MUST,
    tier="controller",
    section=ROUTES,
    text="An unknown member of a renew request is 400.",
    permits={"400"},
    kills={"renew-takes-unknown-members"},
)
async def surplus_in_renew(controller: ControllerProbe) -> Findings:
    return await _with_surplus(controller, "renew", "reset")


@requirement(
    "CTL-9.g",
    level=Level.MUST,
    tier="controller",
    section=ROUTES,
    text="An unknown member of a release request is 400.",
    permits={"400"},
    kills={"release-takes-unknown-members"},
)
async def surplus_in_release(controller: ControllerProbe) -> Findings:
    return await _with_surplus(controller, "release", "reset")


@requirement(
    "CTL-9.h",
    level=Level.MUST,
    tier="controller",
    section=ROUTES,
    text="An unknown member inside a snapshot reference of verify is 400.",
    permits={"400"},
    kills={"references-take-unknown-members"},
)
async def surplus_in_a_reference(controller: ControllerProbe) -> Findings:
    async with controller.run() as run:
        await run.through("reset", "before", "after")
        tried = await run.attempt("verify", before={**run.reference("before"), "surplus": "x"})
        return list(permitted(tried, {"400"}, "an unknown member inside before"))


@requirement(
    "CTL-9.i",
    level=Level.MUST,
    tier="controller",
    section=ROUTES,
    text="A reset without one of its members, of another version or with an id off its pattern is 400.",
    permits={"400"},
    kills={"schema-version-is-ignored", "missing-members-have-defaults", "ids-are-any-text"},
)
async def malformed_reset(controller: ControllerProbe) -> Findings:
    await controller.control()
    cases: dict[str, dict[str, Any]] = {
        "without attempt_nonce": {"attempt_nonce": ...},
        "without profile_digest": {"profile_digest": ...},
        "without binding_mode": {"binding_mode": ...},
        "with another schema_version": {"schema_version": "state-controller-v0"},
        "with a run_id in capitals": {"run_id": "RUN-A"},
        "with a case_id that ends in a newline": {"case_id": "case-a\n"},
        "with a number as profile_digest": {"profile_digest": 1},
    }
    found: list[Finding] = []
    for name, changes in cases.items():
        async with controller.run() as run:
            found += permitted(await run.send("reset", **changes), {"400"}, f"a reset {name}")
    return found


@requirement(
    "CTL-9.j",
    level=Level.MUST,
    tier="controller",
    section=ROUTES,
    text="A body that is no JSON object is 400.",
    permits={"400"},
    kills={"syntax-error-is-500"},
)
async def no_object(controller: ControllerProbe) -> Findings:
    await controller.control()
    found: list[Finding] = []
    for body in (b"{", b"[]", b"null", b""):
        shown = body.decode() or "nothing"
        found += permitted(await controller.post("reset", body=body), {"400"}, f"a body of {shown}")
    return found
