"""State Controllers whose states, snapshots or digests are not what they say (CTL-3, CTL-4, CTL-5)."""

from __future__ import annotations

import asyncio
import json
import secrets
from collections.abc import Mapping
from typing import Any

from agentbeat_conformance.mutants.base_controller import BaseController
from agentbeat_conformance.mutants.base_leases import Lease
from agentbeat_conformance.mutants.base_shelf import Shelf
from agentbeat_conformance.mutants.registry import controller_mutant
from agentbeat_conformance.mutants.replies import Refused
from agentbeat_protocol import Injection

__all__: list[str] = []

#: The environment that is used over and over.
_STANDING = "env-of-the-deployment"


@controller_mutant(
    "reset-is-counted-in-the-state",
    breaks={"CTL-3.a"},
    text="The state of the Deployment's environment holds how often it was reset.",
    consequences={"CTL-3.c", "CTL-3.e"},
)
class ResetIsCountedInTheState(BaseController):
    def __init__(self) -> None:
        super().__init__()
        self._resets = 0

    def prepare(self, environment_id: str, injection: Injection | None) -> None:
        super().prepare(environment_id, injection)
        if environment_id == _STANDING:
            self._resets += 1
            self.shelves[environment_id].label += f" ({self._resets})"


@controller_mutant(
    "injection-is-planted-with-the-run-id",
    breaks={"CTL-3.b"},
    text="It plants an injection together with something of this run alone.",
)
class InjectionIsPlantedWithTheRunId(BaseController):
    def prepare(self, environment_id: str, injection: Injection | None) -> None:
        super().prepare(environment_id, injection)
        if injection is not None:
            self.shelves[environment_id].label += f" [{secrets.token_hex(4)}]"


@controller_mutant(
    "reset-keeps-the-injection",
    breaks={"CTL-3.c"},
    text="A reset without an injection leaves that of the run before where it is.",
)
class ResetKeepsTheInjection(BaseController):
    def prepare(self, environment_id: str, injection: Injection | None) -> None:
        before = self.shelves.get(environment_id)
        super().prepare(environment_id, injection)
        if injection is None and before is not None:
            self.shelves[environment_id].label = before.label


@controller_mutant(
    "injection-is-not-planted", breaks={"CTL-3.d"}, text="It takes an injection and plants nothing."
)
class InjectionIsNotPlanted(BaseController):
    def prepare(self, environment_id: str, injection: Injection | None) -> None:  # noqa: ARG002 - that is it
        super().prepare(environment_id, None)


@controller_mutant(
    "reset-leaves-rows-behind",
    breaks={"CTL-3.e"},
    text="A reset restores what was changed and leaves what was added.",
)
class ResetLeavesRowsBehind(BaseController):
    def prepare(self, environment_id: str, injection: Injection | None) -> None:
        before = self.shelves.get(environment_id)
        super().prepare(environment_id, injection)
        if before is not None:
            self.shelves[environment_id].notes = before.notes


@controller_mutant(
    "snapshot-changes-the-state",
    breaks={"CTL-4.a"},
    text="Taking a snapshot puts a note of it on the shelf.",
)
class SnapshotChangesTheState(BaseController):
    def snapshot(self, lease: Lease, phase: str) -> dict[str, Any]:
        members = super().snapshot(lease, phase)
        self.shelves[lease.environment_id].put(f"snapshot {phase}")
        return members


@controller_mutant(
    "snapshot-splits-a-write",
    breaks={"CTL-4.b"},
    text="A snapshot does not wait for a business call that is under way, so half of it is seen.",
)
class SnapshotSplitsAWrite(BaseController):
    async def write(self, canary: str, run_id: str) -> bool:
        lease = self.leases.get(run_id)
        if lease is None or not self.lets_in(lease):
            return False
        await self.put(self.shelves[lease.environment_id], canary)
        return True

    async def put(self, shelf: Shelf, text: str) -> None:
        shelf.log(text)
        await asyncio.sleep(0.02)
        shelf.put(text)


@controller_mutant(
    "snapshot-digest-over-other-bytes",
    breaks={"CTL-5.a"},
    text="Its digests are over the state's bytes and a newline.",
    consequences={"RCP-4"},
)
class SnapshotDigestOverOtherBytes(BaseController):
    def digest_of(self, content: bytes) -> str:
        return super().digest_of(content + b"\n")


@controller_mutant(
    "snapshot-bytes-not-canonical",
    breaks={"CTL-5.b"},
    text="Its snapshots are JSON with white space; the digests are over these bytes.",
)
class SnapshotBytesNotCanonical(BaseController):
    def bytes_of(self, state: Mapping[str, Any]) -> bytes:
        return json.dumps(state, indent=1).encode()


@controller_mutant(
    "unknown-snapshot-is-empty",
    breaks={"CTL-5.c"},
    text="A snapshot that nobody took is an empty object.",
)
class UnknownSnapshotIsEmpty(BaseController):
    def content(self, ref: str) -> bytes:
        try:
            return super().content(ref)
        except Refused:
            return b"{}"
