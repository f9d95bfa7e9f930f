"""CTL-9: unknown profiles, members and leases; what every answer and refusal of the control plane has."""

from __future__ import annotations

from typing import Final

from agentbeat_conformance.controller_answers import read_answer
from agentbeat_conformance.controller_expectations import LEASES, ROUTES, refused
from agentbeat_conformance.controller_probes import ControllerProbe
from agentbeat_conformance.expectations import enveloped, permitted
from agentbeat_conformance.requirements import Capability, CouldNotRun, Finding, Findings, Level, requirement
from agentbeat_protocol import Catalogue, ControllerHealth, ProtocolError, digest_text

__all__: list[str] = []

_UNKNOWN: Final = "profile-that-nobody-has"
#: A lease's form is the Controller's own affair, so what it never gave may also be malformed to it.
_NOT_HERE: Final = frozenset({"400", "404", "409"})


@requirement(
    "CTL-9.a",
    level=Level.MUST,
    tier="controller",
    section=ROUTES,
    text="An unknown profile is 404 profile_not_found.",
    permits={"404"},
    kills={"unknown-profile-is-400"},
)
async def unknown_profile(controller: ControllerProbe) -> Findings:
    await controller.control()
    async with controller.run() as run:
        tried = await run.send("reset", profile_id=_UNKNOWN)
        return list(refused(tried, {"404"}, "an unknown profile", codes={"profile_not_found"}))


@requirement(
    "CTL-9.b",
    level=Level.MUST,
    tier="controller",
    section=LEASES,
    text="A reset with another profile_digest than the catalogue's is 409 profile_changed.",
    permits={"409"},
    kills={"profile-digest-is-ignored"},
)
async def changed_profile(controller: ControllerProbe) -> Findings:
    await controller.control()
    async with controller.run() as run:
        tried = await run.send("reset", profile_digest=digest_text("another profile"))
        return list(refused(tried, {"409"}, "another profile_digest", codes={"profile_changed"}))


@requirement(
    "CTL-9.k",
    level=Level.MUST,
    tier="controller",
    section=ROUTES,
    text="A lease that nobody has is refused by every route that names one.",
    permits=_NOT_HERE,
    kills={"lease-id-is-ignored"},
)
async def unknown_lease(controller: ControllerProbe) -> Findings:
    found: list[Finding] = []
    async with controller.run() as run:
        await run.through("reset")
        for step in ("before", "verify", "renew", "release"):
            tried = await run.attempt(step, lease_id=run.unknown_lease)
            found += refused(tried, _NOT_HERE, f"{step} of an unknown lease")
        return found


@requirement(
    "CTL-9.l",
    level=Level.MUST,
    tier="controller",
    section=ROUTES,
    text="The lease of another run is refused.",
    needs={Capability.CATALOG},
    permits=_NOT_HERE,
    kills={"lease-of-another-run-is-taken"},
)
async def lease_of_another_run(controller: ControllerProbe) -> Findings:
    found: list[Finding] = []
    async with controller.run(mode="catalog") as first, controller.run(mode="catalog") as second:
        await first.through("reset")
        await second.through("reset")
        for step in ("before", "renew", "release"):
            tried = await second.attempt(step, lease_id=first.lease_id)
            found += refused(tried, _NOT_HERE, f"{step} with another run's lease")
        return found


@requirement(
    "CTL-9.m",
    level=Level.MUST,
    tier="controller",
    section=ROUTES,
    text="The catalogue lists each profile with id, digest, title, binding modes and decidable dimensions.",
    permits={"200"},
    kills={"catalogue-without-titles", "catalogue-is-refused"},
)
async def catalogue_is_whole(controller: ControllerProbe) -> Findings:
    listed = await controller.listed()
    if listed.status == 401:
        raise CouldNotRun("the catalogue was answered 401: the Controller does not know the secret")
    found = list(permitted(listed, {"200"}, "the catalogue"))
    if found:
        return found
    try:
        read_answer(listed, Catalogue)
    except ProtocolError as error:
        found.append(Finding(f"the catalogue: {error}", listed.index))
    return found


@requirement(
    "CTL-9.n",
    level=Level.MUST,
    tier="controller",
    section=ROUTES,
    text="The health route answers 200 without a secret, with its members and without the secret in it.",
    permits={"200"},
    kills={"health-needs-the-secret", "health-without-its-protocol", "health-shows-the-secret"},
)
async def health_is_open(controller: ControllerProbe) -> Findings:
    health = await controller.health()
    found = list(permitted(health, {"200"}, "the health route without a secret"))
    if found or health.answer is None:
        return found
    try:
        read_answer(health, ControllerHealth)
    except ProtocolError as error:
        found.append(Finding(f"health: {error}", health.index))
    if controller.secret is not None and controller.secret.encode() in health.answer.body:
        found.append(Finding("health: got the secret in it", health.index))
    return found


@requirement(
    "CTL-9.o",
    level=Level.MUST,
    tier="controller",
    section=ROUTES,
    text="Every refusal carries the error envelope as JSON.",
    permits={"400", "401", "404", "409"},
    kills={"refusals-are-plain-text"},
)
async def refusals_are_enveloped(controller: ControllerProbe) -> Findings:
    found: list[Finding] = []
    async with controller.run() as run:
        await run.through("reset")
        tried = {
            "a missing secret": await controller.post("reset", run.body("reset"), secret=None),
            "an unknown member": await run.attempt("before", surplus="x"),
            "an unknown profile": await run.attempt("reset", profile_id=_UNKNOWN),
            "a step out of order": await run.attempt("after"),
        }
    for what, exchange in tried.items():
        if exchange.status == 200:
            raise CouldNotRun(f"{what} was granted")
        found += enveloped(exchange, what)
    return found


@requirement(
    "CTL-9.p",
    level=Level.MUST,
    tier="controller",
    section=ROUTES,
    text="No refusal repeats a value of the request or the secret.",
    permits={"400", "404"},
    kills={"refusals-repeat-values"},
)
async def refusals_repeat_nothing(controller: ControllerProbe) -> Findings:
    await controller.control()
    found: list[Finding] = []
    async with controller.run() as run:
        word = run.canary
        tried = {
            "an unknown profile": await run.attempt("reset", profile_id=word),
            "another schema_version": await run.attempt("reset", schema_version=word),
            "an unknown lease": await run.attempt("before", lease_id=word),
        }
    secret = controller.secret or word
    for what, exchange in tried.items():
        body = exchange.answer.body if exchange.answer is not None else b""
        if word.encode() in body:
            found.append(Finding(f"{what}: got the request's value in the refusal", exchange.index))
        if secret.encode() in body:
            found.append(Finding(f"{what}: got the secret in the refusal", exchange.index))
    return found


@requirement(
    "CTL-9.q",
    level=Level.SHOULD,
    tier="controller",
    section=ROUTES,
    text="A body of another media type is 415.",
    permits={"415"},
    kills={"any-media-type-is-taken"},
)
async def another_media_type(controller: ControllerProbe) -> Findings:
    await controller.control()
    async with controller.run() as run:
        tried = await controller.post("reset", run.body("reset"), media_type="text/plain")
        if tried.status == 200:
            run.granted["reset"] = tried
        return list(permitted(tried, {"415"}, "a reset as text/plain"))
