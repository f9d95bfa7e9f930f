"""State Controllers that let runs meet, or business calls in at the wrong time (CTL-6, CTL-12)."""

from __future__ import annotations

from agentbeat_conformance.mutants.base_controller import BaseController
from agentbeat_conformance.mutants.base_leases import Lease
from agentbeat_conformance.mutants.base_shelf import Shelf
from agentbeat_conformance.mutants.registry import controller_mutant
from agentbeat_conformance.mutants.replies import Refused
from agentbeat_protocol import ResetRequest

__all__: list[str] = []


@controller_mutant(
    "second-run-is-not-refused",
    breaks={"CTL-6.a"},
    text="It gives the Deployment's one environment to a second run.",
    consequences={"CTL-1.z"},
)
class SecondRunIsNotRefused(BaseController):
    def check_free(self) -> None:
        """Always."""


@controller_mutant(
    "busy-without-retry-after",
    breaks={"CTL-6.b"},
    text="Its environment_busy does not say when to try again.",
)
class BusyWithoutRetryAfter(BaseController):
    def check_free(self) -> None:
        try:
            super().check_free()
        except Refused as refused:
            raise Refused(refused.code, refused.message) from None


@controller_mutant(
    "refused-run-clears-the-environment",
    breaks={"CTL-6.c"},
    text="It clears the environment before it sees that another run holds it.",
)
class RefusedRunClearsTheEnvironment(BaseController):
    def environment(self, request: ResetRequest) -> str:
        if request.binding_mode == "deployment_static":
            self.shelves["env-of-the-deployment"] = Shelf(notes={})
        return super().environment(request)


@controller_mutant(
    "busy-refusal-is-recorded",
    breaks={"CTL-6.d"},
    text="A run that was once refused as the second one stays refused.",
)
class BusyRefusalIsRecorded(BaseController):
    def __init__(self) -> None:
        super().__init__()
        self._turned_away: set[str] = set()

    def environment(self, request: ResetRequest) -> str:
        if request.run_id in self._turned_away:
            raise Refused("environment_busy", "expected another run", ("Retry-After", "1"))
        try:
            return super().environment(request)
        except Refused:
            self._turned_away.add(request.run_id)
            raise


@controller_mutant(
    "catalog-run-is-refused",
    breaks={"CTL-6.e"},
    text="In catalog too it takes one run at a time.",
    consequences={"CTL-1.z"},
)
class CatalogRunIsRefused(BaseController):
    def environment(self, request: ResetRequest) -> str:
        if any(not lease.released for lease in self.leases.values()):
            raise Refused("environment_busy", "expected it to be released first", ("Retry-After", "1"))
        return super().environment(request)


@controller_mutant(
    "catalog-runs-share-an-environment",
    breaks={"CTL-6.e"},
    text="In catalog all runs get the same environment.",
    consequences={"CTL-6.f"},
)
class CatalogRunsShareAnEnvironment(BaseController):
    def environment(self, request: ResetRequest) -> str:
        return "env-of-all" if request.binding_mode == "catalog" else super().environment(request)


@controller_mutant(
    "catalog-leaks-writes",
    breaks={"CTL-6.f"},
    text="In catalog a business call reaches the environments of all open runs.",
)
class CatalogLeaksWrites(BaseController):
    async def put(self, shelf: Shelf, text: str) -> None:
        for lease in self.leases.values():
            other = self.shelves[lease.environment_id]
            if self.lets_in(lease) and other is not shelf:
                await super().put(other, text)
        await super().put(shelf, text)


@controller_mutant(
    "window-opens-at-reset",
    breaks={"CTL-12.a"},
    text="It lets business calls in from reset on, although snapshots are planned.",
)
class WindowOpensAtReset(BaseController):
    def lets_in(self, lease: Lease) -> bool:
        return super().lets_in(lease) or (lease.stage == "reset" and not lease.released)


@controller_mutant(
    "window-stays-open-after-after",
    breaks={"CTL-12.b"},
    text="It lets business calls in after snapshot after.",
)
class WindowStaysOpenAfterAfter(BaseController):
    def lets_in(self, lease: Lease) -> bool:
        return not lease.released and (lease.stage != "reset" or not lease.request.snapshots)


@controller_mutant(
    "window-stays-open-after-release",
    breaks={"CTL-12.c"},
    text="It lets business calls in after the release of a run whose window was open.",
    consequences={"CTL-12.d"},
)
class WindowStaysOpenAfterRelease(BaseController):
    def lets_in(self, lease: Lease) -> bool:
        return lease.stage == "before" or not lease.request.snapshots


@controller_mutant(
    "window-needs-a-snapshot",
    breaks={"CTL-12.d"},
    text="It lets no business call in where no snapshots are planned.",
)
class WindowNeedsASnapshot(BaseController):
    def lets_in(self, lease: Lease) -> bool:
        return super().lets_in(lease) and lease.request.snapshots


@controller_mutant(
    "refused-write-is-kept",
    breaks={"CTL-12.e"},
    text="It refuses a business call outside the window and does it all the same.",
)
class RefusedWriteIsKept(BaseController):
    async def write(self, canary: str, run_id: str) -> bool:
        accepted = await super().write(canary, run_id)
        lease = self.leases.get(run_id)
        if not accepted and lease is not None:
            await self.put(self.shelves[lease.environment_id], canary)
        return accepted
