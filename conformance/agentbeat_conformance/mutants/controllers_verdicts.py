"""State Controllers that judge other snapshots, or judge what they cannot (CTL-7, CTL-8, CTL-11)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from agentbeat_conformance.mutants.base_controller import BaseController
from agentbeat_conformance.mutants.base_leases import Lease
from agentbeat_conformance.mutants.base_shelf import ShelfProfile
from agentbeat_conformance.mutants.registry import controller_mutant
from agentbeat_protocol import VerifyRequest, digest_bytes

__all__: list[str] = []


@controller_mutant(
    "verify-ignores-the-digests", breaks={"CTL-7.a"}, text="Verify compares the refs and no digest."
)
class VerifyIgnoresTheDigests(BaseController):
    def check_snapshot(self, lease: Lease, phase: str, given: Mapping[str, str]) -> None:
        super().check_snapshot(lease, phase, {**given, "digest": lease.taken[phase].digest})


@controller_mutant(
    "verify-ignores-the-refs",
    breaks={"CTL-7.d"},
    text="Verify compares the digests and no ref; in an idle run both are the same.",
    consequences={"CTL-7.b", "CTL-7.c"},
)
class VerifyIgnoresTheRefs(BaseController):
    def check_snapshot(self, lease: Lease, phase: str, given: Mapping[str, str]) -> None:
        super().check_snapshot(lease, phase, {**given, "ref": lease.taken[phase].ref})


@controller_mutant(
    "verify-takes-the-snapshots-in-any-place",
    breaks={"CTL-7.b"},
    text="Verify takes either of the run's snapshots for either phase.",
)
class VerifyTakesTheSnapshotsInAnyPlace(BaseController):
    def check_snapshot(self, lease: Lease, phase: str, given: Mapping[str, str]) -> None:
        if all((given["ref"], given["digest"]) != (own.ref, own.digest) for own in lease.taken.values()):
            super().check_snapshot(lease, phase, given)


@controller_mutant(
    "verify-takes-snapshots-of-another-run",
    breaks={"CTL-7.c"},
    text="Verify takes any snapshots of another run whose digests are right.",
)
class VerifyTakesSnapshotsOfAnotherRun(BaseController):
    def check_snapshot(self, lease: Lease, phase: str, given: Mapping[str, str]) -> None:
        own = {taken.ref for taken in lease.taken.values()}
        content = self.snapshots.get(given["ref"])
        if given["ref"] in own or content is None or digest_bytes(content) != given["digest"]:
            super().check_snapshot(lease, phase, given)


@controller_mutant(
    "verdict-depends-on-the-run",
    breaks={"CTL-8.a"},
    text="Every other verdict of the same inputs is another one.",
    consequences={"CTL-8.b"},
)
class VerdictDependsOnTheRun(BaseController):
    def __init__(self) -> None:
        super().__init__()
        self._verified = 0

    def checks(self, lease: Lease, request: VerifyRequest) -> list[dict[str, Any]]:
        self._verified += 1
        first, *rest = super().checks(lease, request)
        return [{**first, "passed": self._verified % 2 == 0}, *rest]


@controller_mutant(
    "verdict-depends-on-the-process",
    breaks={"CTL-8.b"},
    text="After a restart the same inputs get another verdict.",
)
class VerdictDependsOnTheProcess(BaseController):
    def __init__(self) -> None:
        super().__init__()
        self._first = self.process

    def checks(self, lease: Lease, request: VerifyRequest) -> list[dict[str, Any]]:
        first, *rest = super().checks(lease, request)
        return [{**first, "passed": self.process != self._first}, *rest]


@controller_mutant(
    "after-snapshot-is-that-of-before",
    breaks={"CTL-8.c"},
    text="Its after snapshot holds the state of the one before.",
)
class AfterSnapshotIsThatOfBefore(BaseController):
    def snapshot(self, lease: Lease, phase: str) -> dict[str, Any]:
        members = super().snapshot(lease, phase)
        if phase == "after":
            before, after = lease.taken["before"], lease.taken["after"]
            self.snapshots[after.ref] = self.snapshots[before.ref]
            lease.taken["after"] = type(after)(after.ref, before.digest, after.taken_at)
            members["digest"] = before.digest
        return members


@controller_mutant(
    "undecidable-dimension-passes",
    breaks={"CTL-11.a"},
    text="What a profile cannot decide passes its check.",
)
class UndecidableDimensionPasses(BaseController):
    def checks(self, lease: Lease, request: VerifyRequest) -> list[dict[str, Any]]:
        found = super().checks(lease, request)
        return [{**check, "passed": True} if check["passed"] is None else check for check in found]


@controller_mutant(
    "not-observed-without-a-reason",
    breaks={"CTL-11.b"},
    text="Its not_observed does not say why.",
)
class NotObservedWithoutAReason(BaseController):
    def verdicts(self, profile: ShelfProfile, checks: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        found = super().verdicts(profile, checks)
        return {name: {**verdict, "reason": None} for name, verdict in found.items()}
