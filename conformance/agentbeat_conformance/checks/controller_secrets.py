"""CTL-9: the control secret, and nothing else, opens the routes of the control plane but the health route."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Final

from agentbeat_conformance.controller_expectations import ROUTES, refused
from agentbeat_conformance.controller_probes import ControllerProbe
from agentbeat_conformance.controller_runs import SNAPSHOTS, ControllerRun, Step
from agentbeat_conformance.exchanges import Exchange
from agentbeat_conformance.requirements import (
    Capability,
    CheckFunction,
    CouldNotRun,
    Finding,
    Findings,
    Level,
    requirement,
)
from agentbeat_protocol import CONTROL_PATH

__all__: list[str] = []

_WRONG: Final = "a-secret-that-opens-nothing"

#: Asks for a route with a secret, in a run that has come as far as `_BEFORE` says.
Ask = Callable[[ControllerProbe, ControllerRun, str | None], Awaitable[Exchange]]


def _post(route: str, step: Step) -> Ask:
    async def ask(controller: ControllerProbe, run: ControllerRun, secret: str | None) -> Exchange:
        exchange = await controller.post(route, run.body(step), secret=secret)
        if exchange.status == 200:
            run.granted[step] = exchange
        return exchange

    return ask


async def _read(controller: ControllerProbe, run: ControllerRun, secret: str | None) -> Exchange:
    return await controller.get(SNAPSHOTS + run.reference("before")["ref"], secret=secret)


async def _list(controller: ControllerProbe, run: ControllerRun, secret: str | None) -> Exchange:  # noqa: ARG001
    return await controller.get(CONTROL_PATH + "profiles", secret=secret)


_ASKED: Final[Mapping[str, tuple[str, Ask, tuple[Step, ...]]]] = {
    "CTL-9.r": ("reset", _post("reset", "reset"), ()),
    "CTL-9.s": ("snapshot", _post("snapshot", "before"), ("reset",)),
    "CTL-9.t": ("snapshot-read", _read, ("reset", "before")),
    "CTL-9.u": ("verify", _post("verify", "verify"), ("reset", "before", "after")),
    "CTL-9.v": ("renew", _post("renew", "renew"), ("reset",)),
    "CTL-9.w": ("release", _post("release", "release"), ("reset",)),
    "CTL-9.x": ("catalogue", _list, ()),
}


def _check(route: str, ask: Ask, before: tuple[Step, ...]) -> CheckFunction:
    async def closed(controller: ControllerProbe) -> Findings:
        found: list[Finding] = []
        async with controller.run() as run:
            await run.through(*before)
            for what, secret in (("no secret", None), ("a wrong secret", _WRONG)):
                found += refused(await ask(controller, run, secret), {"401"}, f"{route} with {what}")
            granted = await ask(controller, run, controller.secret)
            if granted.status != 200:
                raise CouldNotRun(f"{route} with the secret was answered {granted.outcome}, not 200")
        return found

    return closed


for _id, (_route, _ask, _before) in _ASKED.items():
    requirement(
        _id,
        level=Level.MUST,
        tier="controller",
        section=ROUTES,
        text=f"A {_route} request with no secret or a wrong one is 401.",
        permits={"401"},
        kills={f"{_route}-is-open"},
    )(_check(_route, _ask, _before))


@requirement(
    "CTL-9.y",
    level=Level.MUST,
    tier="controller",
    section=ROUTES,
    text="A secret that is nearly right is wrong: longer, shorter, under another scheme or under none.",
    needs={Capability.AUTH},
    permits={"401"},
    kills={"secret-is-compared-by-its-beginning", "scheme-is-ignored"},
)
async def nearly_the_secret(controller: ControllerProbe) -> Findings:
    await controller.control()
    secret = controller.secret or ""
    values = {
        "the secret and one character more": f"Bearer {secret}x",
        "the secret but its last character": f"Bearer {secret[:-1]}",
        "Basic with the secret": f"Basic {secret}",
        "the secret without a scheme": secret,
    }
    found: list[Finding] = []
    for what, value in values.items():
        tried = await controller.get(CONTROL_PATH + "profiles", authorization=value)
        found += refused(tried, {"401"}, what)
    return found
