"""CTL-2: the same request again has the recorded answer, a different one is a conflict."""

from __future__ import annotations

import asyncio
from typing import Any, Final

from agentbeat_conformance.controller_expectations import LEASES, ROUTES, goes_on, refused, repeated
from agentbeat_conformance.controller_probes import ControllerProbe
from agentbeat_conformance.controller_runs import ControllerRun, Step
from agentbeat_conformance.expectations import permitted
from agentbeat_conformance.requirements import Capability, Finding, Findings, Level, requirement

__all__: list[str] = []

_OTHER_NONCE: Final = "0123456789abcdef0123456789abcdef"
_CONFLICT: Final = frozenset({"binding_conflict"})
#: Steps that had no answer yet: a lease of this run and another case may also be said not to exist.
_UNRECORDED: Final[tuple[Step, ...]] = ("renew", "release")


async def _asked_again(run: ControllerRun, step: Step, body: dict[str, Any], when: str) -> list[Finding]:
    """The findings against a second answer to `body`, which has had a 200."""
    first = run.granted[step]
    return list(repeated(first, await run.attempt(step, body=body), f"the same {step} again{when}"))


@requirement(
    "CTL-2.a",
    level=Level.MUST,
    tier="controller",
    section=ROUTES,
    text="The same reset again has the recorded answer, byte for byte.",
    permits={"200"},
    kills={"reset-again-is-a-new-lease", "recorded-answers-are-written-anew"},
)
async def reset_again(controller: ControllerProbe) -> Findings:
    async with controller.run() as run:
        body = run.body("reset")
        await run.through("reset")
        found = await _asked_again(run, "reset", body, "")
        if found:
            return found
        await run.through("before")
        return await _asked_again(run, "reset", body, ", after snapshot before")


@requirement(
    "CTL-2.b",
    level=Level.MUST,
    tier="controller",
    section=ROUTES,
    text="The same snapshot again has the recorded answer, byte for byte, in any later phase.",
    permits={"200"},
    kills={"snapshot-again-is-out-of-order", "snapshot-is-taken-again", "recorded-answers-are-written-anew"},
)
async def snapshots_again(controller: ControllerProbe) -> Findings:
    async with controller.run() as run:
        await run.through("reset")
        found: list[Finding] = []
        bodies: dict[Step, dict[str, Any]] = {}
        for step in ("before", "after"):
            bodies[step] = run.body(step)
            await run.through(step)
            for earlier, body in bodies.items():
                found += await _asked_again(run, earlier, body, f", after snapshot {step}")
        return found


@requirement(
    "CTL-2.c",
    level=Level.MUST,
    tier="controller",
    section=ROUTES,
    text="The same verify again has the recorded answer, byte for byte: there is one receipt for a run.",
    permits={"200"},
    kills={"verify-again-is-a-new-receipt", "recorded-answers-are-written-anew"},
)
async def verify_again(controller: ControllerProbe) -> Findings:
    async with controller.run() as run:
        await run.through("reset", "before", "after")
        body = run.body("verify")
        await run.through("verify")
        return await _asked_again(run, "verify", body, "")


@requirement(
    "CTL-2.d",
    level=Level.MUST,
    tier="controller",
    section=ROUTES,
    text="Renew is idempotent per expires_at, and a later one is a new renewal.",
    permits={"200"},
    kills={
        "renew-again-is-refused",
        "renew-once-only",
        "renewals-have-one-answer",
        "recorded-answers-are-written-anew",
    },
)
async def renew_again(controller: ControllerProbe) -> Findings:
    async with controller.run() as run:
        await run.through("reset")
        first, second = (run.body("renew", expires_at=run.later(minutes)) for minutes in (1, 2))
        found = list(permitted(await run.send("renew", body=first), {"200"}, "a renewal"))
        if found:
            return found
        found += await _asked_again(run, "renew", first, "")
        earlier, first_end = run.granted["renew"], run.renewed.expires_at
        later = await run.send("renew", body=second)
        found += permitted(later, {"200"}, "a later renewal")
        if later.status == 200 and run.renewed.expires_at <= first_end:
            found.append(Finding("a later renewal: got no later end", later.index))
        again = await run.attempt("renew", body=first)
        return found + list(repeated(earlier, again, "the first renewal again, after a later one"))


@requirement(
    "CTL-2.e",
    level=Level.MUST,
    tier="controller",
    section=ROUTES,
    text="The same release again has the recorded answer, byte for byte.",
    permits={"200"},
    kills={"release-again-is-refused", "recorded-answers-are-written-anew"},
)
async def release_again(controller: ControllerProbe) -> Findings:
    async with controller.run() as run:
        await run.through("reset")
        body = run.body("release")
        await run.through("release")
        return await _asked_again(run, "release", body, "")


@requirement(
    "CTL-2.f",
    level=Level.MUST,
    tier="controller",
    section=LEASES,
    text="The recorded answers of a run are given after its release too.",
    permits={"200"},
    kills={"release-forgets-the-answers"},
)
async def answers_outlive_the_release(controller: ControllerProbe) -> Findings:
    async with controller.run() as run:
        bodies: dict[Step, dict[str, Any]] = {}
        for step in ("reset", "before", "after", "verify"):
            bodies[step] = run.body(step)
            await run.through(step)
        await run.through("release")
        found: list[Finding] = []
        for step, body in bodies.items():
            found += await _asked_again(run, step, body, ", after release")
        return found


@requirement(
    "CTL-2.g",
    level=Level.MUST,
    tier="controller",
    section=ROUTES,
    text="Another attempt_nonce for a run that was reset is 409 binding_conflict and changes nothing.",
    permits={"409"},
    kills={"reset-takes-another-nonce"},
)
async def reset_with_another_nonce(controller: ControllerProbe) -> Findings:
    async with controller.run() as run:
        await run.through("reset")
        tried = await run.attempt("reset", attempt_nonce=_OTHER_NONCE)
        found = list(refused(tried, {"409"}, "another attempt_nonce", codes=_CONFLICT))
        return found or await goes_on(run, "a reset with another nonce")


@requirement(
    "CTL-2.h",
    level=Level.MUST,
    tier="controller",
    section=ROUTES,
    text="A reset that differs in its case or in `snapshots` from the run's first is 409 binding_conflict.",
    permits={"409"},
    kills={"reset-compares-the-nonce-only"},
)
async def reset_with_other_members(controller: ControllerProbe) -> Findings:
    async with controller.run() as run:
        await run.through("reset")
        found: list[Finding] = []
        for name, value in (("case_id", f"{run.ids.case_id}-other"), ("snapshots", False)):
            tried = await run.attempt("reset", body={**run.body("reset"), name: value})
            found += refused(tried, {"409"}, f"a reset with another {name}", codes=_CONFLICT)
        return found


@requirement(
    "CTL-2.i",
    level=Level.MUST,
    tier="controller",
    section=ROUTES,
    text="A snapshot, renewal or release of another case than that of the reset is refused as a conflict.",
    permits={"404", "409"},
    kills={"case-is-compared-at-reset-only"},
)
async def steps_of_another_case(controller: ControllerProbe) -> Findings:
    async with controller.run() as run:
        await run.through("reset", "before")
        other = f"{run.ids.case_id}-other"
        tried = await run.attempt("before", case_id=other)
        found = list(refused(tried, {"409"}, "before again, of another case", codes=_CONFLICT))
        for step in _UNRECORDED:
            tried = await run.attempt(step, case_id=other)
            codes = _CONFLICT | {"not_found"}
            found += refused(tried, {"404", "409"}, f"{step} of another case", codes=codes)
        return found


@requirement(
    "CTL-2.j",
    level=Level.MUST,
    tier="controller",
    section=ROUTES,
    text="Verify with another final_response for a run that was verified is 409 binding_conflict.",
    permits={"409"},
    kills={"verify-takes-another-response", "verify-again-with-another-response"},
)
async def verify_with_another_response(controller: ControllerProbe) -> Findings:
    async with controller.run() as run:
        await run.through("reset", "before", "after", "verify")
        tried = await run.attempt("verify", final_response="Everything was done.")
        return list(refused(tried, {"409"}, "another final_response", codes=_CONFLICT))


@requirement(
    "CTL-2.k",
    level=Level.MUST,
    tier="controller",
    section=ROUTES,
    text="Only 200 answers are recorded: a request that was refused is granted when it is in order.",
    permits={"200"},
    kills={"refusals-are-recorded"},
)
async def refusals_are_not_recorded(controller: ControllerProbe) -> Findings:
    async with controller.run() as run:
        await run.through("reset")
        body = run.body("after")
        await run.attempt("after", body=body)
        await run.through("before")
        again = await run.send("after", body=body)
        return list(permitted(again, {"200"}, "snapshot after in order, once refused out of order"))


@requirement(
    "CTL-2.l",
    level=Level.MUST,
    tier="controller",
    section=ROUTES,
    text="The recorded answers of reset, snapshots, renew and release are the same bytes after a restart.",
    needs={Capability.RESTART},
    permits={"200"},
    kills={"restart-forgets-the-answers"},
)
async def answers_outlive_a_restart(controller: ControllerProbe) -> Findings:
    async with controller.run() as run:
        bodies: dict[Step, dict[str, Any]] = {}
        for step in ("reset", "before", "renew", "after", "release"):
            bodies[step] = run.body(step)
            await run.through(step)
        await controller.session.restart()
        found: list[Finding] = []
        for step, body in bodies.items():
            found += await _asked_again(run, step, body, ", after a restart")
        return found


@requirement(
    "CTL-2.t",
    level=Level.MUST,
    tier="controller",
    section=ROUTES,
    text="Two equal requests that arrive at the same time get no two answers: one lease, one receipt.",
    permits={"200", "409", "503"},
    kills={"racing-resets-are-two-leases"},
)
async def equal_requests_at_once(controller: ControllerProbe) -> Findings:
    found: list[Finding] = []
    async with controller.run() as run:
        for step in ("reset", "before", "after", "verify"):
            body, what = run.body(step), f"{step}, sent twice at once"
            pair = await asyncio.gather(run.send(step, body=body), run.send(step, body=body))
            run.need(step)
            for exchange in pair:
                found += permitted(exchange, {"200", "409", "503"}, what)
            if all(exchange.status == 200 for exchange in pair):
                found += repeated(*pair, what)
            if found:
                break
    return found
