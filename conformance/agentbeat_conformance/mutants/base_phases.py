"""What the base State Controller does in each phase, over an environment in memory.

What it holds in `leases`, `snapshots` and `shelves` stands for what a durable Controller keeps on disk:
`restart()` keeps them. `write` is a business call, as the suite's `--write-command` makes one. Its time goes
on when `pause` says so, so that nobody waits for the end of a lease.
"""

from __future__ import annotations

import asyncio
import json
import secrets
import time
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Final

from agentbeat_conformance.mutants.base_leases import Lease, Signer, Taken, receipt_members
from agentbeat_conformance.mutants.base_shelf import PROFILES, Shelf, ShelfProfile, native_checks
from agentbeat_conformance.mutants.replies import Refused
from agentbeat_protocol import (
    Check,
    Injection,
    Instant,
    RenewRequest,
    ResetRequest,
    VerifyRequest,
    canonical_json,
    digest,
    digest_bytes,
    native_score,
    verdicts_from_checks,
)

__all__ = ["BasePhases"]

_NANOSECONDS: Final = 1_000_000_000


class BasePhases:
    """Leases, environments, snapshots and verdicts; no HTTP.

    Attributes:
        leases: every lease by its run.
        snapshots: the bytes of every snapshot by its ref.
        shelves: the records of every environment.
        holder: the lease that holds the Deployment's one environment, if it has not ended.
        process: another one after each restart.
    """

    controller_id: ClassVar[str] = "controller-conformance"
    lease_seconds: ClassVar[int] = 900
    profiles: ClassVar[Mapping[str, ShelfProfile]] = PROFILES

    def __init__(self) -> None:
        self.leases: dict[str, Lease] = {}
        self.snapshots: dict[str, bytes] = {}
        self.shelves: dict[str, Shelf] = {}
        self.holder: Lease | None = None
        self.signer = Signer()
        self.process = secrets.token_hex(4)
        self.lock = asyncio.Lock()
        self._paused = 0

    async def restart(self) -> None:
        """See `MutantServer`."""
        self.process = secrets.token_hex(4)

    async def pause(self, seconds: float) -> None:
        """Let time go by."""
        self._paused += int(seconds * _NANOSECONDS)

    def now(self) -> int:
        """Nanoseconds since 1970."""
        return time.time_ns() + self._paused

    def has_expired(self, lease: Lease) -> bool:
        """Whether the lease is over by time."""
        return not lease.released and self.now() >= lease.expires_at

    # --- The business plane

    async def write(self, canary: str, run_id: str) -> bool:
        """A business call that puts `canary` on the run's shelf; whether it was accepted."""
        async with self.lock:
            lease = self.leases.get(run_id)
            if lease is None or not self.lets_in(lease):
                return False
            await self.put(self.shelves[lease.environment_id], canary)
            return True

    def lets_in(self, lease: Lease) -> bool:
        """CTL-12: whether the window is open."""
        return lease.is_open and self.now() < lease.expires_at

    async def put(self, shelf: Shelf, text: str) -> None:
        """The call's two halves."""
        shelf.log(text)
        await asyncio.sleep(0)
        shelf.put(text)

    # --- What each phase does

    def reset(self, request: ResetRequest, profile: ShelfProfile) -> tuple[Lease, dict[str, Any]]:
        """CTL-3, CTL-6: the starting state, leased to the run."""
        self.check_profile(request, profile)
        environment_id = self.environment(request)
        self.prepare(environment_id, request.injection)
        lease = Lease(
            request=request,
            environment_id=environment_id,
            injection_digest=self.digest_of_injection(request.injection),
            state_digest=self.digest_of(self.bytes_of(self.state_of(self.shelves[environment_id]))),
            expires_at=self.now() + self.lease_seconds * _NANOSECONDS,
        )
        if request.binding_mode == "deployment_static":
            self.holder = lease
        return lease, {
            "lease_id": lease.lease_id,
            "environment_id": environment_id,
            "state_digest": lease.state_digest,
            "injection_digest": lease.injection_digest,
            "expires_at": self.end_of(lease),
        }

    def check_profile(self, request: ResetRequest, profile: ShelfProfile) -> None:
        """The profile is the one that the registry knows, and offers what is asked for."""
        if request.profile_digest != profile.digest:
            raise Refused("profile_changed", "expected the profile's digest in the catalogue")
        surface = request.injection.surface if request.injection else None
        if request.binding_mode not in profile.binding_modes or surface not in (None, *profile.surfaces):
            raise Refused("invalid_request", "expected a binding mode and a surface of the profile")

    def environment(self, request: ResetRequest) -> str:
        """CTL-6: the environment that the run gets."""
        if request.binding_mode == "catalog":
            return f"env-{secrets.token_hex(8)}"
        self.check_free()
        return "env-of-the-deployment"

    def check_free(self) -> None:
        """CTL-6: nobody holds the Deployment's one environment."""
        if self.holder is not None and not self.holder.released and not self.has_expired(self.holder):
            raise Refused("environment_busy", "expected it to be released first", ("Retry-After", "1"))

    def prepare(self, environment_id: str, injection: Injection | None) -> None:
        """CTL-3: the exact starting state."""
        self.shelves[environment_id] = Shelf(label=injection.text) if injection else Shelf()

    def digest_of_injection(self, injection: Injection | None) -> str | None:
        """RCP-1: the digest of what reset planted."""
        return None if injection is None else digest(injection.model_dump())

    def digest_of(self, content: bytes) -> str:
        """CTL-5: the digest of a state's bytes."""
        return digest_bytes(content)

    def snapshot(self, lease: Lease, phase: str) -> dict[str, Any]:
        """CTL-4, CTL-5: keep the whole state of one instant."""
        content = self.bytes_of(self.state_of(self.shelves[lease.environment_id]))
        taken = Taken(
            ref=f"snapshot-{secrets.token_hex(8)}",
            digest=self.digest_of(content),
            taken_at=self.told(self.now()),
        )
        self.snapshots[taken.ref] = content
        lease.taken[phase] = taken
        lease.stage = phase
        return {
            "snapshot_ref": taken.ref,
            "digest": taken.digest,
            "taken_at": taken.taken_at,
            "phase": phase,
        }

    def state_of(self, shelf: Shelf) -> dict[str, Any]:
        """The whole state."""
        return shelf.state()

    def bytes_of(self, state: Mapping[str, Any]) -> bytes:
        """CTL-5: the bytes that the snapshot route returns."""
        return canonical_json(state)

    def verify(self, lease: Lease, request: VerifyRequest) -> dict[str, Any]:
        """CTL-7, CTL-8: judge the run by its two snapshots."""
        for phase in ("before", "after"):
            self.check_snapshot(lease, phase, getattr(request, phase).model_dump())
        lease.stage = "verify"
        checks = self.checks(lease, request)
        verdicts = self.verdicts(self.profiles[lease.request.profile_id], checks)
        score = self.score(checks)
        members = receipt_members(
            lease,
            request,
            controller_id=self.controller_id,
            checks=checks,
            verdicts=verdicts,
            score=score,
            issued_at=self.told(self.now()),
        )
        receipt = self.seal(self.bound(members))
        return {
            "verdicts": verdicts,
            "checks": checks,
            "native_score": score,
            "receipt": receipt,
        }

    def check_snapshot(self, lease: Lease, phase: str, given: Mapping[str, str]) -> None:
        """CTL-7: the ref and the digest are those of the run's own snapshot."""
        taken = lease.taken[phase]
        if (given["ref"], given["digest"]) != (taken.ref, taken.digest):
            raise Refused("snapshot_mismatch", f"expected the run's own snapshot as {phase}")

    def checks(self, lease: Lease, request: VerifyRequest) -> list[dict[str, Any]]:
        """CTL-8: the native checks over the two snapshots and the final response."""
        before, after = (json.loads(self.snapshots[lease.taken[phase].ref]) for phase in ("before", "after"))
        profile = self.profiles[lease.request.profile_id]
        return native_checks(profile, before, after, final_response=request.final_response)

    def verdicts(self, profile: ShelfProfile, checks: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        """What follows from the checks."""
        read = [Check.model_validate(check) for check in checks]
        return verdicts_from_checks(read, empty=profile.not_applicable).model_dump(mode="json")

    def score(self, checks: Sequence[Mapping[str, Any]]) -> dict[str, Any] | None:
        """The native score."""
        score = native_score(Check.model_validate(check) for check in checks)
        return None if score is None else score.model_dump(mode="json")

    def bound(self, members: dict[str, Any]) -> dict[str, Any]:
        """A receipt's members, before its digest is taken."""
        return members

    def seal(self, members: Mapping[str, Any]) -> dict[str, Any]:
        """The receipt with its digest and its signature."""
        return self.signer.seal(members)

    def renew(self, lease: Lease, request: RenewRequest) -> dict[str, Any]:
        """A later end of the lease."""
        expires_at = request.expires_at.unix_nanoseconds
        if expires_at <= lease.expires_at:
            raise Refused("binding_conflict", "expected an end later than the lease has")
        lease.expires_at = expires_at
        return {"lease_id": lease.lease_id, "expires_at": self.end_of(lease)}

    def end_of(self, lease: Lease) -> str:
        """When the lease expires."""
        return self.told(lease.expires_at)

    def told(self, nanoseconds: int) -> str:
        """A time as it is written."""
        return str(Instant.from_nanoseconds(nanoseconds))

    def release(self, lease: Lease) -> dict[str, Any]:
        """The end of the lease."""
        lease.released = True
        return {"lease_id": lease.lease_id, "status": "released"}
