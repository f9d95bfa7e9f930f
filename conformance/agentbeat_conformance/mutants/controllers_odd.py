"""Legal oddities of State Controllers: none of these breaks a rule."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping, Sequence
from math import gcd
from typing import Any, ClassVar

from agentbeat_conformance.mutants.base_controller import BaseController
from agentbeat_conformance.mutants.base_leases import Lease, Recorded
from agentbeat_conformance.mutants.base_shelf import PROFILES, Shelf, ShelfProfile
from agentbeat_conformance.mutants.registry import oddity
from agentbeat_conformance.mutants.replies import Asked, Refused, Reply
from agentbeat_protocol import ControllerMessage, Ratio
from agentbeat_protocol.state_receipts import BindingMode

__all__: list[str] = []

_NANOSECONDS = 1_000_000_000


def _offering(mode: BindingMode) -> Mapping[str, ShelfProfile]:
    """The profiles with one binding mode."""
    changed = [dataclasses.replace(profile, binding_modes=(mode,)) for profile in PROFILES.values()]
    return {profile.profile_id: profile for profile in changed}


@oddity("controller-pretty-printed", tier="controller", text="Its answers are JSON with line breaks.")
class ControllerPrettyPrinted(BaseController):
    def record(self, lease: Lease, phase: str, request: ControllerMessage, members: dict[str, Any]) -> bytes:
        body = json.dumps(json.loads(super().record(lease, phase, request, members)), indent=2).encode()
        lease.answers[phase] = Recorded(request.model_dump(mode="json"), body)
        return body


@oddity(
    "controller-says-more", tier="controller", text="Its answers have members that the specs do not name."
)
class ControllerSaysMore(BaseController):
    def record(self, lease: Lease, phase: str, request: ControllerMessage, members: dict[str, Any]) -> bytes:
        return super().record(lease, phase, request, {**members, "took": {"seconds": 0.25}})

    def catalogue(self) -> dict[str, Any]:
        members = super().catalogue()
        members["profiles"] = [{**entry, "tools": ["put"]} for entry in members["profiles"]]
        return {**members, "version": 7}

    def health(self, asked: Asked) -> dict[str, Any]:
        return {**super().health(asked), "uptime": 12.5}


@oddity(
    "controller-charset", tier="controller", text="Its media type is Application/JSON with a charset."
)  # fmt: skip
class ControllerCharset(BaseController):
    async def answer(self, asked: Asked) -> Reply:
        reply = await super().answer(asked)
        reply.fields = [field for field in reply.fields if field[0] != "Content-Type"]
        reply.fields.append(("Content-Type", "Application/JSON; charset=UTF-8"))
        return reply


@oddity("controller-retry-after-a-date", tier="controller", text="Its Retry-After is a date.")
class ControllerRetryAfterADate(BaseController):
    def check_free(self) -> None:
        try:
            super().check_free()
        except Refused as refused:
            when = ("Retry-After", "Fri, 01 Jan 2100 00:00:00 GMT")
            raise Refused(refused.code, refused.message, when) from None


@oddity(
    "controller-log-from-the-first-call",
    tier="controller",
    text="Its snapshots have a log of calls only when there was a call.",
)
class ControllerLogFromTheFirstCall(BaseController):
    def state_of(self, shelf: Shelf) -> dict[str, Any]:
        return {name: value for name, value in super().state_of(shelf).items() if name != "calls" or value}


@oddity(
    "controller-log-in-after-only",
    tier="controller",
    text="Its after snapshots have an empty log of calls that the ones before do not have.",
)
class ControllerLogInAfterOnly(BaseController):
    def snapshot(self, lease: Lease, phase: str) -> dict[str, Any]:
        self._phase = phase
        return super().snapshot(lease, phase)

    def state_of(self, shelf: Shelf) -> dict[str, Any]:
        state = super().state_of(shelf)
        if getattr(self, "_phase", "") != "after":
            del state["calls"]
        self._phase = ""
        return state


@oddity(
    "controller-coarse-clock",
    tier="controller",
    text="Its clock counts whole seconds, so that many things happen at one time.",
)
class ControllerCoarseClock(BaseController):
    def now(self) -> int:
        return super().now() // _NANOSECONDS * _NANOSECONDS


@oddity("controller-local-time", tier="controller", text="Its times are those of a place east of Greenwich.")
class ControllerLocalTime(BaseController):
    def told(self, nanoseconds: int) -> str:
        return super().told(nanoseconds + 9 * 3600 * _NANOSECONDS).replace("Z", "+09:00")


@oddity("controller-catalog-only", tier="controller", text="Its profiles offer catalog and no other mode.")
class ControllerCatalogOnly(BaseController):
    profiles: ClassVar[Mapping[str, ShelfProfile]] = _offering("catalog")


@oddity(
    "controller-static-only",
    tier="controller",
    text="Its profiles offer the binding mode deployment_static only.",
)
class ControllerStaticOnly(BaseController):
    profiles: ClassVar[Mapping[str, ShelfProfile]] = _offering("deployment_static")


@oddity(
    "controller-decides-everything",
    tier="controller",
    text="Its one profile decides every dimension and offers no surface.",
)
class ControllerDecidesEverything(BaseController):
    profiles: ClassVar[Mapping[str, ShelfProfile]] = {
        "shelf-whole": ShelfProfile(
            profile_id="shelf-whole",
            title="Put a note on the shelf",
            dimensions=("utility", "security", "attack"),
            not_applicable={"attack": "nothing is injected"},
        )
    }


@oddity(
    "controller-unsigned",
    tier="controller",
    text="It has no key: its receipts are unsigned, and its health route says so.",
)
class ControllerUnsigned(BaseController):
    @property
    def verify_key(self) -> str | None:
        return None

    def health(self, asked: Asked) -> dict[str, Any]:
        return {**super().health(asked), "signing_key_id": None}

    def seal(self, members: Mapping[str, Any]) -> dict[str, Any]:
        return {**super().seal(members), "signature": None}


@oddity(
    "controller-forgets-what-ended",
    tier="controller",
    text="A new step on a released lease is 404; what was recorded is still given.",
)
class ControllerForgetsWhatEnded(BaseController):
    def check_binding(self, lease: Lease, request: ControllerMessage) -> None:
        if lease.released:
            raise Refused("not_found", "expected a lease that is held")
        super().check_binding(lease, request)


@oddity(
    "controller-case-is-part-of-the-lease",
    tier="controller",
    text="A step that was not taken yet is 404 for another case than the reset's.",
)
class ControllerCaseIsPartOfTheLease(BaseController):
    def check_binding(self, lease: Lease, request: ControllerMessage) -> None:
        if request.case_id != lease.request.case_id and request.run_id == lease.request.run_id:
            raise Refused("not_found", "expected a lease of this case")
        super().check_binding(lease, request)


@oddity(
    "controller-unknown-lease-is-a-conflict",
    tier="controller",
    text="A lease that is not the run's is a binding_conflict.",
)
class ControllerUnknownLeaseIsAConflict(BaseController):
    def perform(self, request: ControllerMessage) -> bytes:
        try:
            return super().perform(request)
        except Refused as refused:
            if refused.code != "not_found":
                raise
            raise Refused("binding_conflict", "expected the run's own lease") from None


@oddity(
    "controller-compares-snapshots-first",
    tier="controller",
    text="A verify out of order is a snapshot_mismatch: there is no such snapshot yet.",
)
class ControllerComparesSnapshotsFirst(BaseController):
    def check_phase(self, lease: Lease, phase: str) -> None:
        try:
            super().check_phase(lease, phase)
        except Refused:
            if phase != "verify" or lease.released:
                raise
            raise Refused("snapshot_mismatch", "expected the run's own snapshots") from None


@oddity(
    "controller-lowest-terms",
    tier="controller",
    text="Its native_score is a ratio in lowest terms.",
)
class ControllerLowestTerms(BaseController):
    def score(self, checks: Sequence[Mapping[str, Any]]) -> dict[str, Any] | None:
        score = super().score(checks)
        if score is None:
            return None
        common = gcd(score["numerator"], score["denominator"])
        return Ratio.of(score["numerator"] // common, score["denominator"] // common).model_dump(mode="json")


@oddity(
    "controller-on-a-socket",
    tier="controller",
    on_socket=True,
    text="The base Controller on a real connection.",
)
class ControllerOnASocket(BaseController):
    pass


@oddity(
    "controller-short-leases",
    tier="controller",
    text="Its leases end within seconds unless they are renewed.",
)
class ControllerShortLeases(BaseController):
    lease_seconds: ClassVar[int] = 3
