"""CTL-7, CTL-8, CTL-11: whose snapshots are judged, that the verdict repeats, and what stays undecided."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from agentbeat_conformance.controller_expectations import ROUTES, differs, refused
from agentbeat_conformance.controller_probes import ControllerProbe
from agentbeat_conformance.controller_runs import ControllerRun, Step
from agentbeat_conformance.expectations import permitted
from agentbeat_conformance.requirements import Capability, CouldNotRun, Finding, Findings, Level, requirement
from agentbeat_protocol import DIMENSIONS, VerifyAnswer, digest_text
from agentbeat_protocol.verdicts import Dimension

__all__: list[str] = []

_UNTIL_AFTER: Final[tuple[Step, ...]] = ("reset", "before", "after")
_UNDECIDED: Final = frozenset({"not_observed", "not_applicable"})


async def _mismatch(run: ControllerRun, what: str, **references: Mapping[str, str]) -> list[Finding]:
    """The findings against a verify with other references, and against the right one that follows."""
    await run.probe.control()
    tried = await run.attempt("verify", **references)
    found = list(refused(tried, {"409"}, what, codes={"snapshot_mismatch"}))
    if not found:
        again = await run.send("verify")
        found += permitted(again, {"200"}, f"verify with the run's own snapshots, after {what}")
    return found


@requirement(
    "CTL-7.a",
    level=Level.MUST,
    tier="controller",
    section=ROUTES,
    text="Verify with another digest than that of the run's snapshot is 409 snapshot_mismatch.",
    permits={"409"},
    kills={"verify-ignores-the-digests"},
)
async def digest_of_another_state(controller: ControllerProbe) -> Findings:
    async with controller.run() as run:
        await run.through(*_UNTIL_AFTER)
        other = {**run.reference("after"), "digest": digest_text("another state")}
        return await _mismatch(run, "another digest for after", after=other)


@requirement(
    "CTL-7.b",
    level=Level.MUST,
    tier="controller",
    section=ROUTES,
    text="Verify with the two snapshots of the run exchanged is 409 snapshot_mismatch.",
    permits={"409"},
    kills={"verify-takes-the-snapshots-in-any-place"},
)
async def snapshots_exchanged(controller: ControllerProbe) -> Findings:
    async with controller.run() as run:
        await run.through(*_UNTIL_AFTER)
        before, after = run.reference("before"), run.reference("after")
        return await _mismatch(run, "before and after exchanged", before=after, after=before)


@requirement(
    "CTL-7.c",
    level=Level.MUST,
    tier="controller",
    section=ROUTES,
    text="Verify with the snapshots of another run is 409 snapshot_mismatch.",
    permits={"409"},
    kills={"verify-takes-snapshots-of-another-run"},
)
async def snapshots_of_another_run(controller: ControllerProbe) -> Findings:
    async with controller.run() as other:
        await other.through(*_UNTIL_AFTER)
    async with controller.run() as run:
        await run.through(*_UNTIL_AFTER)
        references = {phase: other.reference(phase) for phase in ("before", "after")}
        return await _mismatch(run, "another run's snapshots", **references)


@requirement(
    "CTL-7.d",
    level=Level.MUST,
    tier="controller",
    section=ROUTES,
    text="Verify with a ref that nobody has is 409 snapshot_mismatch.",
    permits={"409"},
    kills={"verify-ignores-the-refs"},
)
async def unknown_snapshot(controller: ControllerProbe) -> Findings:
    async with controller.run() as run:
        await run.through(*_UNTIL_AFTER)
        other = {**run.reference("before"), "ref": "snapshot-that-nobody-took"}
        return await _mismatch(run, "an unknown ref for before", before=other)


@requirement(
    "CTL-8.a",
    level=Level.MUST,
    tier="controller",
    section=ROUTES,
    text="The same inputs give the same verdict: verdicts, checks and native_score of equal runs are equal.",
    permits={"200"},
    kills={"verdict-depends-on-the-run"},
)
async def verdicts_repeat(controller: ControllerProbe) -> Findings:
    control = await controller.control()
    found: list[Finding] = []
    for _ in range(2):
        async with controller.run() as run:
            await run.through(*_UNTIL_AFTER, "verify")
            found += _same_word(control, run, "an equal run")
    return found


@requirement(
    "CTL-8.b",
    level=Level.MUST,
    tier="controller",
    section=ROUTES,
    text="The same inputs give the same verdict in another process, after a restart.",
    needs={Capability.RESTART},
    permits={"200"},
    kills={"verdict-depends-on-the-process"},
)
async def verdicts_repeat_after_restart(controller: ControllerProbe) -> Findings:
    control = await controller.control()
    await controller.session.restart()
    async with controller.run() as run:
        await run.through(*_UNTIL_AFTER, "verify")
        return _same_word(control, run, "an equal run after a restart")


@requirement(
    "CTL-8.c",
    level=Level.MUST,
    tier="controller",
    section=ROUTES,
    text="What a business call wrote stands in the after snapshot, and not in the one before.",
    needs={Capability.WRITE},
    permits={"200"},
    kills={"after-snapshot-is-that-of-before"},
)
async def calls_are_seen(controller: ControllerProbe) -> Findings:
    async with controller.run() as run:
        await run.through("reset", "before", "read-before")
        await run.write_inside()
        await run.through("after", "read-after")
        canary = run.canary.encode()
        found = []
        if canary in run.content("before"):
            found.append(Finding("before: got what was written later", run.granted["read-before"].index))
        if canary not in run.content("after"):
            found.append(Finding("after: got a state without the write", run.granted["read-after"].index))
        return found


@requirement(
    "CTL-11.a",
    level=Level.MUST,
    tier="controller",
    section=ROUTES,
    text="A dimension that the profile cannot decide is not_observed or not_applicable, never a verdict.",
    needs={Capability.UNDECIDED},
    permits={"200"},
    kills={"undecidable-dimension-passes"},
)
async def undecidable_stays_open(controller: ControllerProbe) -> Findings:
    found: list[Finding] = []
    for dimension, run in (await _undecidable_runs(controller)).items():
        word = run.verified.verdicts.of(dimension).verdict
        if word not in _UNDECIDED:
            message = f"{dimension}, which the profile cannot decide: got {word}, expected not_observed"
            found.append(Finding(message, run.granted["verify"].index))
    return found


@requirement(
    "CTL-11.b",
    level=Level.MUST,
    tier="controller",
    section=ROUTES,
    text="A dimension that is not_observed says why.",
    needs={Capability.UNDECIDED},
    permits={"200"},
    kills={"not-observed-without-a-reason"},
)
async def undecided_says_why(controller: ControllerProbe) -> Findings:
    runs = [await controller.control(), *(await _undecidable_runs(controller)).values()]
    return [
        Finding(f"{dimension}: got not_observed without a reason", run.granted["verify"].index)
        for run in runs
        for dimension in DIMENSIONS
        if run.verified.verdicts.of(dimension).verdict == "not_observed"
        and not (run.verified.verdicts.of(dimension).reason or "").strip()
    ]


async def _undecidable_runs(controller: ControllerProbe) -> dict[Dimension, ControllerRun]:
    """A verified run for each dimension that some profile of the catalogue cannot decide."""
    runs: dict[Dimension, ControllerRun] = {}
    for dimension, profile in (await controller.undeciding()).items():
        async with controller.run(profile=profile) as run:
            await run.through(*_UNTIL_AFTER, "verify")
            runs[dimension] = run
    return runs


def _same_word(first: ControllerRun, second: ControllerRun, what: str) -> list[Finding]:
    if first.taken("after").digest != second.taken("after").digest:
        raise CouldNotRun(f"{what} ended in another state, so the inputs are not the same")
    got, wanted = _word(second.verified), _word(first.verified)
    verify = second.granted["verify"]
    return [
        finding
        for part in wanted
        for finding in differs(got[part], wanted[part], f"{part} of {what}", verify)
    ]


def _word(answer: VerifyAnswer) -> dict[str, Any]:
    """What a verify said, without its reasons and its receipt."""
    return {
        "the verdicts": [answer.verdicts.of(dimension).verdict for dimension in DIMENSIONS],
        "the checks": [(each.check_id, each.dimension, each.weight, each.passed) for each in answer.checks],
        "native_score": answer.native_score,
    }
