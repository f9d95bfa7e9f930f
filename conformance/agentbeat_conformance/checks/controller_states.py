"""CTL-3, CTL-4, CTL-5: exact starting states, snapshots of one instant, digests over the very bytes."""

from __future__ import annotations

import asyncio
import json
from typing import Any, Final, Literal

from agentbeat_conformance.controller_answers import members_of
from agentbeat_conformance.controller_expectations import ROUTES, differs, refused
from agentbeat_conformance.controller_probes import ControllerProbe
from agentbeat_conformance.controller_runs import SNAPSHOTS
from agentbeat_conformance.requirements import Capability, CouldNotRun, Finding, Findings, Level, requirement
from agentbeat_protocol import ProtocolError, canonical_json, digest_bytes
from agentbeat_protocol.state_receipts import BindingMode

__all__: list[str] = []

_PHASES: Final[tuple[Literal["before"], Literal["after"]]] = ("before", "after")
#: A word without a character that any encoding would escape.
_PLANTED: Final = "conformanceinjectionword"


async def _lasting(controller: ControllerProbe) -> BindingMode:
    """The mode in which one environment is used over and over, where there is one."""
    modes = await controller.modes()
    return "deployment_static" if "deployment_static" in modes else "catalog"


@requirement(
    "CTL-3.a",
    level=Level.MUST,
    tier="controller",
    section=ROUTES,
    text="The state digest after two resets of one profile is equal, with a whole run between them.",
    permits={"200"},
    kills={"reset-is-counted-in-the-state"},
)
async def resets_are_equal(controller: ControllerProbe) -> Findings:
    mode = await _lasting(controller)
    async with controller.run(mode=mode) as first:
        await first.through("reset", "before", "after", "verify")
    async with controller.run(mode=mode) as second:
        await second.through("reset")
    got, wanted = second.started.state_digest, first.started.state_digest
    return differs(got, wanted, "the state digest of a second reset", second.granted["reset"])


@requirement(
    "CTL-3.b",
    level=Level.MUST,
    tier="controller",
    section=ROUTES,
    text="The state digest after two resets with one injection is equal.",
    needs={Capability.INJECTION},
    permits={"200"},
    kills={"injection-is-planted-with-the-run-id"},
)
async def injected_resets_are_equal(controller: ControllerProbe) -> Findings:
    injection = await _injection(controller)
    digests = []
    for _ in range(2):
        async with controller.run(injection=injection) as run:
            await run.through("reset")
            digests.append(run.started.state_digest)
    return differs(
        digests[1], digests[0], "the state digest of a second injected reset", run.granted["reset"]
    )


@requirement(
    "CTL-3.c",
    level=Level.MUST,
    tier="controller",
    section=ROUTES,
    text="The injection of one run is gone from the starting state of the next.",
    needs={Capability.INJECTION},
    permits={"200"},
    kills={"reset-keeps-the-injection"},
)
async def injection_goes(controller: ControllerProbe) -> Findings:
    mode, injection = await _lasting(controller), await _injection(controller)
    digests = []
    for planted in (None, injection, None):
        async with controller.run(mode=mode, injection=planted) as run:
            await run.through("reset")
            digests.append(run.started.state_digest)
    what = "the state digest of a plain reset after one with an injection"
    return differs(digests[2], digests[0], what, run.granted["reset"])


@requirement(
    "CTL-3.d",
    level=Level.MUST,
    tier="controller",
    section=ROUTES,
    text="The text of an injection stands in the state that the run starts from.",
    needs={Capability.INJECTION},
    permits={"200"},
    kills={"injection-is-not-planted"},
)
async def injection_stands(controller: ControllerProbe) -> Findings:
    async with controller.run(injection=await _injection(controller)) as run:
        await run.through("reset", "before", "read-before")
        if _PLANTED.encode() in run.content("before"):
            return ()
        return [Finding("before: got a state without the injected text", run.granted["read-before"].index)]


@requirement(
    "CTL-3.e",
    level=Level.MUST,
    tier="controller",
    section=ROUTES,
    text="What a business call wrote is gone after the next reset: canary and digest.",
    needs={Capability.WRITE},
    permits={"200"},
    kills={"reset-leaves-rows-behind"},
)
async def canary_goes(controller: ControllerProbe) -> Findings:
    mode = await _lasting(controller)
    async with controller.run(mode=mode) as first:
        await first.through("reset", "before")
        await first.write_inside()
        await first.through("after")
    async with controller.run(mode=mode) as second:
        await second.through("reset", "before", "read-before")
        reset, read = second.granted["reset"], second.granted["read-before"]
        wanted = first.started.state_digest
        found = list(differs(second.started.state_digest, wanted, "the state digest after a canary", reset))
        if first.canary.encode() in second.content("before"):
            found.append(Finding("before: got the last run's canary, expected it gone", read.index))
        return found


@requirement(
    "CTL-4.a",
    level=Level.MUST,
    tier="controller",
    section=ROUTES,
    text="A snapshot changes nothing: with no business call between them both hold the same records.",
    permits={"200"},
    kills={"snapshot-changes-the-state"},
)
async def snapshots_change_nothing(controller: ControllerProbe) -> Findings:
    run = await controller.control()
    try:
        before, after = (members_of(run.granted[f"read-{phase}"]) for phase in _PHASES)
    except ProtocolError as error:
        raise CouldNotRun(f"a snapshot is no JSON: {error}") from None
    # The log of calls may be there from the first call on only.
    what = "the records after two snapshots"
    return differs(_filled(after), _filled(before), what, run.granted["read-after"])


@requirement(
    "CTL-4.b",
    level=Level.MUST,
    tier="controller",
    section=ROUTES,
    text="No half of a business write is in a snapshot that is taken while it is under way.",
    needs={Capability.WRITE},
    permits={"200"},
    kills={"snapshot-splits-a-write"},
)
async def no_half_of_a_write(controller: ControllerProbe) -> Findings:
    async with controller.run() as run:
        await run.through("reset", "before")
        await run.write_inside()
        await run.through("after", "read-after")
        whole = run.content("after").count(run.canary.encode())
    if not whole:
        raise CouldNotRun("what the write command wrote does not stand in the state")
    async with controller.run() as run:
        await run.through("reset", "before")
        accepted, _ = await asyncio.gather(run.write(), run.send("after"))
        await run.through("read-after")
        times = run.content("after").count(run.canary.encode())
    read = run.granted["read-after"]
    if times not in (0, whole):
        message = f"after, taken during a write: got the canary {times} times, expected {whole} times or none"
        return [Finding(message, read.index)]
    if accepted != (times == whole):
        word = "accepted" if accepted else "refused"
        return [
            Finding(f"after, taken during a write: the write was {word}, got the other state", read.index)
        ]
    return ()


@requirement(
    "CTL-5.a",
    level=Level.MUST,
    tier="controller",
    section=ROUTES,
    text="The digest of a snapshot is `sha256:` and the SHA-256 in hex of the bytes that its route returns.",
    permits={"200"},
    kills={"snapshot-digest-over-other-bytes"},
)
async def digests_are_of_the_bytes(controller: ControllerProbe) -> Findings:
    run = await controller.control()
    found: list[Finding] = []
    for phase in _PHASES:
        read = run.granted[f"read-{phase}"]
        what = f"the digest of snapshot {phase}"
        wanted = digest_bytes(run.content(phase))
        found += differs(run.taken(phase).digest, wanted, what, read, expected="that of the bytes")
    return found


@requirement(
    "CTL-5.b",
    level=Level.MUST,
    tier="controller",
    section=ROUTES,
    text="The bytes of a snapshot are canonical JSON (RFC 8785).",
    permits={"200"},
    kills={"snapshot-bytes-not-canonical"},
)
async def bytes_are_canonical(controller: ControllerProbe) -> Findings:
    run = await controller.control()
    found: list[Finding] = []
    for phase in _PHASES:
        read = run.granted[f"read-{phase}"]
        try:
            canonical = canonical_json(members_of(read))
        except ProtocolError as error:
            found.append(Finding(f"snapshot {phase}: {error}", read.index))
            continue
        what = f"the bytes of snapshot {phase}"
        found += differs(run.content(phase), canonical, what, read, expected="their RFC 8785 form")
    return found


@requirement(
    "CTL-5.c",
    level=Level.MUST,
    tier="controller",
    section=ROUTES,
    text="A snapshot that nobody took is 404: there is no ref without its content.",
    permits={"404"},
    kills={"unknown-snapshot-is-empty"},
)
async def unknown_snapshots_are_not_found(controller: ControllerProbe) -> Findings:
    await controller.control()
    tried = await controller.get(SNAPSHOTS + "snapshot-that-nobody-took")
    return refused(tried, {"404"}, "an unknown snapshot")


async def _injection(controller: ControllerProbe) -> dict[str, str]:
    profile = await controller.profile()
    return {"surface": profile.surfaces[0], "text": _PLANTED}


def _filled(value: Any) -> Any:
    """A JSON value without what is empty or null, at any depth, as text that compares."""
    return json.dumps(_without_empty(value), sort_keys=True)


def _without_empty(value: Any) -> Any:
    if isinstance(value, dict):
        kept = {name: _without_empty(item) for name, item in value.items()}
        return {name: item for name, item in kept.items() if item not in (None, [], {})}
    return [_without_empty(item) for item in value] if isinstance(value, list) else value
