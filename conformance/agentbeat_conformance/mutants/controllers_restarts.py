"""State Controllers that come back from a restart as others (CTL-10)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agentbeat_conformance.mutants.base_controller import BaseController
from agentbeat_conformance.mutants.base_leases import Lease
from agentbeat_conformance.mutants.registry import controller_mutant
from agentbeat_conformance.mutants.replies import Refused
from agentbeat_protocol import ControllerMessage

__all__: list[str] = []


@controller_mutant(
    "restart-sets-leases-back",
    breaks={"CTL-10.a"},
    text="After a restart a lease is in the phase of its reset, neither as it was nor gone.",
)
class RestartSetsLeasesBack(BaseController):
    async def restart(self) -> None:
        await super().restart()
        for lease in self.leases.values():
            lease.stage = "reset"


@controller_mutant(
    "restart-loses-snapshot-contents",
    breaks={"CTL-10.b"},
    text="After a restart the snapshots are known, and their contents are not served.",
)
class RestartLosesSnapshotContents(BaseController):
    def __init__(self) -> None:
        super().__init__()
        self._lost: set[str] = set()

    async def restart(self) -> None:
        await super().restart()
        self._lost = set(self.snapshots)

    def content(self, ref: str) -> bytes:
        if ref in self._lost:
            raise Refused("not_found", "expected a snapshot of this process")
        return super().content(ref)


@controller_mutant(
    "restart-allows-a-second-receipt",
    breaks={"CTL-10.c"},
    text="After a restart it verifies a run again, which so gets a second receipt.",
)
class RestartAllowsASecondReceipt(BaseController):
    async def restart(self) -> None:
        await super().restart()
        for lease in self.leases.values():
            if lease.answers.pop("verify", None) is not None:
                lease.stage = "after"


@controller_mutant(
    "restart-forgets-the-binding",
    breaks={"CTL-10.d"},
    text="After a restart it no longer compares a repeated request with the first.",
)
class RestartForgetsTheBinding(BaseController):
    def __init__(self) -> None:
        super().__init__()
        self._first = self.process

    def is_same(self, first: Mapping[str, Any], again: Mapping[str, Any]) -> bool:
        return self.process != self._first or super().is_same(first, again)

    def check_binding(self, lease: Lease, request: ControllerMessage) -> None:
        if self.process == self._first:
            super().check_binding(lease, request)
