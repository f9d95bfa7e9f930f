"""State Controllers that take what they should refuse, or refuse it in the wrong way (CTL-9)."""

from __future__ import annotations

import json
from typing import Any

from agentbeat_conformance.mutants.base_controller import MAX_BODY, BaseController, LeaseRequest
from agentbeat_conformance.mutants.base_leases import Lease
from agentbeat_conformance.mutants.base_shelf import PROFILES, ShelfProfile
from agentbeat_conformance.mutants.registry import controller_mutant
from agentbeat_conformance.mutants.replies import Asked, Refused, Reply
from agentbeat_protocol import ControllerMessage, JSONError, ResetRequest, is_case_id, is_run_id, read_json

__all__: list[str] = []


class _Tolerant(BaseController):
    """Repairs the members of a request before it judges them."""

    def read(self, route: str, raw: bytes) -> ControllerMessage:
        members = read_json(raw)
        if isinstance(members, dict):
            raw = json.dumps(self.repaired(route, dict(members))).encode()
        return super().read(route, raw)

    def repaired(self, route: str, members: dict[str, Any]) -> dict[str, Any]:  # noqa: ARG002 - for mutants
        return members


class _TakesSurplus(_Tolerant):
    """Drops an unknown member of one route's requests."""

    takes: str

    def repaired(self, route: str, members: dict[str, Any]) -> dict[str, Any]:
        if route == self.takes:
            members.pop("surplus", None)
        return members


@controller_mutant(
    "reset-takes-unknown-members", breaks={"CTL-9.c"}, text="Reset overlooks members that it does not know.",
    consequences={"CTL-2.n"},
)  # fmt: skip
class ResetTakesUnknownMembers(_TakesSurplus):
    takes = "reset"


@controller_mutant(
    "snapshot-takes-unknown-members",
    breaks={"CTL-9.d"},
    text="Snapshot overlooks members that it does not know.",
)
class SnapshotTakesUnknownMembers(_TakesSurplus):
    takes = "snapshot"


@controller_mutant(
    "verify-takes-unknown-members", breaks={"CTL-9.e"}, text="Verify overlooks members that it does not know."
)
class VerifyTakesUnknownMembers(_TakesSurplus):
    takes = "verify"


@controller_mutant(
    "renew-takes-unknown-members", breaks={"CTL-9.f"}, text="Renew overlooks members that it does not know."
)
class RenewTakesUnknownMembers(_TakesSurplus):
    takes = "renew"


@controller_mutant(
    "release-takes-unknown-members",
    breaks={"CTL-9.g"},
    text="Release overlooks members that it does not know.",
)
class ReleaseTakesUnknownMembers(_TakesSurplus):
    takes = "release"


@controller_mutant(
    "references-take-unknown-members",
    breaks={"CTL-9.h"},
    text="Verify overlooks unknown members inside its snapshot references.",
)
class ReferencesTakeUnknownMembers(_Tolerant):
    def repaired(self, route: str, members: dict[str, Any]) -> dict[str, Any]:
        for phase in ("before", "after"):
            if isinstance(members.get(phase), dict):
                members[phase].pop("surplus", None)
        return super().repaired(route, members)


@controller_mutant(
    "schema-version-is-ignored", breaks={"CTL-9.i"}, text="It takes requests of any schema_version."
)
class SchemaVersionIsIgnored(_Tolerant):
    def repaired(self, route: str, members: dict[str, Any]) -> dict[str, Any]:
        return {**super().repaired(route, members), "schema_version": "state-controller-v1"}


@controller_mutant(
    "missing-members-have-defaults",
    breaks={"CTL-9.i"},
    text="A reset without attempt_nonce gets one of the Controller's own.",
)
class MissingMembersHaveDefaults(_Tolerant):
    def repaired(self, route: str, members: dict[str, Any]) -> dict[str, Any]:
        if route == "reset":
            members.setdefault("attempt_nonce", "0" * 32)
        return super().repaired(route, members)


@controller_mutant(
    "ids-are-any-text", breaks={"CTL-9.i"}, text="It takes a run_id or a case_id that is off its pattern."
)
class IdsAreAnyText(_Tolerant):
    def repaired(self, route: str, members: dict[str, Any]) -> dict[str, Any]:
        for name, fits, other in (("run_id", is_run_id, "run-x"), ("case_id", is_case_id, "case-x")):
            if isinstance(members.get(name), str) and not fits(members[name]):
                members[name] = other
        return super().repaired(route, members)


@controller_mutant(
    "syntax-error-is-500", breaks={"CTL-9.j"}, text="A body that is no JSON is its internal error."
)
class SyntaxErrorIs500(BaseController):
    def read(self, route: str, raw: bytes) -> ControllerMessage:
        try:
            return super().read(route, raw)
        except JSONError:
            raise Refused("internal_error", "the Controller failed") from None


@controller_mutant("any-media-type-is-taken", breaks={"CTL-9.q"}, text="It takes JSON under any media type.")
class AnyMediaTypeIsTaken(BaseController):
    async def admitted(self, asked: Asked, route: str) -> ControllerMessage:
        self.authorise(asked, route)
        return self.read(route, await asked.body.read(MAX_BODY))


@controller_mutant(
    "unknown-profile-is-400",
    breaks={"CTL-9.a"},
    text="An unknown profile is 400.",
    consequences={"CTL-2.o"},
)
class UnknownProfileIs400(BaseController):
    def profile(self, request: ControllerMessage) -> ShelfProfile:
        if request.profile_id not in PROFILES:
            raise Refused("invalid_request", "expected a profile of the catalogue")
        return super().profile(request)


@controller_mutant(
    "profile-digest-is-ignored", breaks={"CTL-9.b"}, text="It resets a profile under any profile_digest."
)
class ProfileDigestIsIgnored(BaseController):
    def check_profile(self, request: ResetRequest, profile: ShelfProfile) -> None:
        super().check_profile(request.model_copy(update={"profile_digest": profile.digest}), profile)


@controller_mutant(
    "lease-id-is-ignored",
    breaks={"CTL-9.k"},
    text="It finds a lease by its run and never looks at lease_id.",
    consequences={"CTL-1.z", "CTL-9.l"},
)
class LeaseIdIsIgnored(BaseController):
    def find(self, request: ControllerMessage) -> Lease | None:
        return self.leases.get(request.run_id)


@controller_mutant(
    "lease-of-another-run-is-taken",
    breaks={"CTL-9.l"},
    text="It finds a lease by its id, whichever run asks.",
    consequences={"CTL-1.z"},
)
class LeaseOfAnotherRunIsTaken(BaseController):
    def find(self, request: ControllerMessage) -> Lease | None:
        if not isinstance(request, LeaseRequest):
            return super().find(request)
        return next((each for each in self.leases.values() if each.lease_id == request.lease_id), None)

    def check_binding(self, lease: Lease, request: ControllerMessage) -> None:
        if request.run_id == lease.request.run_id:
            super().check_binding(lease, request)


@controller_mutant("catalogue-is-refused", breaks={"CTL-9.m"}, text="It has no catalogue to read.")
class CatalogueIsRefused(BaseController):
    def catalogue(self) -> dict[str, Any]:
        raise Refused("not_found", "expected another route")


@controller_mutant("catalogue-without-titles", breaks={"CTL-9.m"}, text="Its profiles have no title.")
class CatalogueWithoutTitles(BaseController):
    def catalogue(self) -> dict[str, Any]:
        members = super().catalogue()
        for entry in members["profiles"]:
            del entry["title"]
        return members


@controller_mutant("refusals-are-plain-text", breaks={"CTL-9.o"}, text="Its refusals are a line of text.")
class RefusalsArePlainText(BaseController):
    def refusal(self, refused: Refused) -> Reply:
        fields = [("Content-Type", "text/plain"), *refused.fields]
        return Reply(refused.status, refused.message.encode(), fields)


@controller_mutant(
    "refusals-repeat-values", breaks={"CTL-9.p"}, text="Its refusals repeat the profile that was asked for."
)
class RefusalsRepeatValues(BaseController):
    def profile(self, request: ControllerMessage) -> ShelfProfile:
        if request.profile_id not in PROFILES:
            raise Refused("profile_not_found", f"there is no {request.profile_id}")
        return super().profile(request)
