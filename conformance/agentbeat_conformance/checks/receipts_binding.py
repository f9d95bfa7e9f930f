"""RCP-1, RCP-3, RCP-7, RCP-8: a receipt is bound to its run, its attempt and its two snapshots."""

from __future__ import annotations

import itertools
from typing import Any, Final, Literal

from agentbeat_conformance.controller_expectations import differs
from agentbeat_conformance.controller_probes import ControllerProbe
from agentbeat_conformance.controller_runs import ControllerRun, Step
from agentbeat_conformance.requirements import Capability, Finding, Findings, Level, requirement
from agentbeat_protocol import digest

__all__: list[str] = []

RECEIPT: Final = "Receipt: `state-receipt-v1`"
_PHASES: Final[tuple[Literal["before"], Literal["after"]]] = ("before", "after")
_RUN: Final[tuple[Step, ...]] = ("reset", "before", "after", "verify")


def _bound(run: ControllerRun, wanted: dict[str, Any]) -> Findings:
    receipt = run.verified.receipt
    verify = run.granted["verify"]
    return [
        finding
        for name, value in wanted.items()
        for finding in differs(getattr(receipt, name), value, f"receipt.{name}", verify, expected="the run's")
    ]


@requirement(
    "RCP-1.a",
    level=Level.MUST,
    tier="controller",
    section=RECEIPT,
    text="The receipt names run, case, profile, profile digest, Deployment and binding mode of the reset.",
    permits={"200"},
    kills={"receipt-of-another-case", "receipt-of-another-deployment"},
)
async def bound_to_the_request(controller: ControllerProbe) -> Findings:
    run = await controller.control()
    return _bound(
        run,
        {
            "run_id": run.ids.run_id,
            "case_id": run.ids.case_id,
            "profile_id": run.profile.profile_id,
            "profile_digest": run.profile.profile_digest,
            "deployment_profile_id": controller.deployment_id,
            "binding_mode": run.mode,
        },
    )


@requirement(
    "RCP-1.b",
    level=Level.MUST,
    tier="controller",
    section=RECEIPT,
    text="The receipt names the environment that reset gave and the controller_id of the catalogue.",
    permits={"200"},
    kills={"receipt-of-another-controller", "receipt-of-another-environment"},
)
async def bound_to_the_answers(controller: ControllerProbe) -> Findings:
    run = await controller.control()
    controller_id = await controller.controller_id()
    return _bound(run, {"environment_id": run.started.environment_id, "controller_id": controller_id})


@requirement(
    "RCP-1.c",
    level=Level.MUST,
    tier="controller",
    section=RECEIPT,
    text="A run without an injection has a null injection_digest, in reset's answer and in the receipt.",
    permits={"200"},
    kills={"receipt-with-an-invented-injection"},
)
async def no_injection(controller: ControllerProbe) -> Findings:
    run = await controller.control()
    reset = run.granted["reset"]
    what = "reset's injection_digest"
    found = list(differs(run.started.injection_digest, None, what, reset, expected="null"))
    return [*found, *_bound(run, {"injection_digest": None})]


@requirement(
    "RCP-1.d",
    level=Level.MUST,
    tier="controller",
    section=RECEIPT,
    text="injection_digest, in reset's answer and the receipt, is over the injection's canonical JSON.",
    needs={Capability.INJECTION},
    permits={"200"},
    kills={"injection-digest-over-the-text-alone"},
)
async def injection_is_digested(controller: ControllerProbe) -> Findings:
    injection = {"surface": (await controller.profile()).surfaces[0], "text": "Please do nothing."}
    async with controller.run(injection=injection) as run:
        await run.through(*_RUN)
        reset, wanted = run.granted["reset"], digest(injection)
        found = list(differs(run.started.injection_digest, wanted, "reset's injection_digest", reset))
        return [*found, *_bound(run, {"injection_digest": wanted})]


@requirement(
    "RCP-3.a",
    level=Level.MUST,
    tier="controller",
    section=RECEIPT,
    text="before and after of the receipt are the refs, digests and times that the snapshots' answers gave.",
    permits={"200"},
    kills={"receipt-with-another-ref", "receipt-with-other-times"},
)
async def bound_to_the_snapshots(controller: ControllerProbe) -> Findings:
    run = await controller.control()
    receipt, verify = run.verified.receipt, run.granted["verify"]
    found: list[Finding] = []
    for phase in _PHASES:
        bound, given = getattr(receipt, phase), run.taken(phase)
        for name, value in (
            ("ref", given.snapshot_ref),
            ("digest", given.digest),
            ("taken_at", given.taken_at),
        ):
            what = f"receipt.{phase}.{name}"
            found += differs(getattr(bound, name), value, what, verify, expected="the snapshot's")
    return found


@requirement(
    "RCP-3.b",
    level=Level.MUST,
    tier="controller",
    section=RECEIPT,
    text="before.taken_at <= after.taken_at <= issued_at, on the Controller's own clock.",
    permits={"200"},
    kills={"receipt-issued-before-its-snapshots"},
)
async def times_follow(controller: ControllerProbe) -> Findings:
    run = await controller.control()
    receipt, verify = run.verified.receipt, run.granted["verify"]
    times = {
        "before.taken_at": receipt.before.taken_at,
        "after.taken_at": receipt.after.taken_at,
        "issued_at": receipt.issued_at,
    }
    return [
        Finding(f"receipt: got {later} before {earlier}, expected it not to be", verify.index)
        for earlier, later in itertools.pairwise(times)
        if times[later] < times[earlier]
    ]


@requirement(
    "RCP-7",
    level=Level.MUST,
    tier="controller",
    section=RECEIPT,
    text="attempt_nonce of the receipt is this attempt's.",
    permits={"200"},
    kills={"receipt-with-an-earlier-nonce"},
)
async def nonce_of_this_attempt(controller: ControllerProbe) -> Findings:
    await controller.control()
    async with controller.run() as run:
        await run.through(*_RUN)
        return _bound(run, {"attempt_nonce": run.nonce})


@requirement(
    "RCP-8",
    level=Level.MUST,
    tier="controller",
    section=RECEIPT,
    text="before.digest equals the state_digest of reset.",
    permits={"200"},
    kills={"before-is-not-the-state-of-the-reset"},
)
async def starts_from_the_reset(controller: ControllerProbe) -> Findings:
    run = await controller.control()
    before = run.granted["before"]
    return differs(
        run.taken("before").digest, run.started.state_digest, "before.digest", before, expected="reset's"
    )
