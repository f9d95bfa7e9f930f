"""A minimal, correct State Controller, of which each mutant breaks one rule.

Every step is a method of its own; a mutant overrides one. A subclass without overrides is conformant.

    class SecondRunNotRefused(BaseController):
        def check_free(self) -> None:
            pass

HTTP, secrets and the order of checks are here; what the phases do is in `base_phases`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, ClassVar, Final, TypeAlias

from agentbeat_conformance.mutants.base_leases import Lease, Recorded
from agentbeat_conformance.mutants.base_phases import BasePhases
from agentbeat_conformance.mutants.base_shelf import ShelfProfile
from agentbeat_conformance.mutants.registry import SECRET, ASGIApp, Stream
from agentbeat_conformance.mutants.replies import JSON_TYPE, Asked, Refused, Reply, json_reply
from agentbeat_conformance.mutants.streams import Connections, Reading
from agentbeat_protocol import (
    CONTROL_PATH,
    HEALTH_PATH,
    ControllerMessage,
    ProtocolError,
    ReleaseRequest,
    RenewRequest,
    ResetRequest,
    SnapshotRequest,
    VerifyRequest,
    check_media_type,
    error_envelope,
    read_controller_request,
)

__all__ = ["DEPLOYMENT", "MAX_BODY", "BaseController", "LeaseRequest"]

#: The Deployment that resets name.
DEPLOYMENT: Final = "deployment-conformance"

LeaseRequest: TypeAlias = SnapshotRequest | VerifyRequest | RenewRequest | ReleaseRequest

_MODELS: Final[Mapping[str, type[ControllerMessage]]] = {
    "reset": ResetRequest,
    "snapshot": SnapshotRequest,
    "verify": VerifyRequest,
    "renew": RenewRequest,
    "release": ReleaseRequest,
}
_STAGE_BEFORE: Final = {"before": "reset", "after": "before", "verify": "after"}
MAX_BODY: Final = 1024 * 1024


class BaseController(BasePhases):
    """The correct Controller."""

    secret: ClassVar[str] = SECRET
    deployment: ClassVar[str] = DEPLOYMENT

    @property
    def app(self) -> ASGIApp | None:
        """See `MutantServer`."""
        return self.serve

    @property
    def stream(self) -> Stream | None:
        """See `MutantServer`."""
        return Connections(app=self.serve)

    @property
    def verify_key(self) -> str | None:
        """The public key of its receipts; None where they are unsigned."""
        return self.signer.verify_key

    # --- From request to answer

    async def serve(self, scope: Any, receive: Any, send: Any) -> None:
        """The ASGI application of the control plane."""
        if scope["type"] != "http":
            return
        fields = tuple((name.decode("latin-1"), value.decode("latin-1")) for name, value in scope["headers"])
        asked = Asked(method=scope["method"], path=scope["path"], fields=fields, body=Reading(receive))
        reply = await self.answer(asked)
        head = [*reply.fields, ("Content-Length", str(len(reply.body)))]
        raw = [(name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in head]
        await send({"type": "http.response.start", "status": reply.status, "headers": raw})
        await send({"type": "http.response.body", "body": reply.body})

    async def answer(self, asked: Asked) -> Reply:
        """The answer to a request, a refusal too."""
        try:
            return await self.route(asked)
        except ProtocolError as error:
            return self.refusal(Refused(error.code, error.envelope()["error"]["message"]))
        except Refused as refused:
            return self.refusal(refused)

    def refusal(self, refused: Refused) -> Reply:
        """The error envelope."""
        return json_reply(refused.status, error_envelope(refused.code, refused.message), *refused.fields)

    async def route(self, asked: Asked) -> Reply:
        """The answer of the route that is asked for."""
        if asked.path == HEALTH_PATH:
            return json_reply(200, self.health(asked))
        route = asked.path.removeprefix(CONTROL_PATH)
        if route in _MODELS and asked.method == "POST":
            request = await self.admitted(asked, route)
            async with self.lock:
                return Reply(200, self.perform(request), [JSON_TYPE])
        self.authorise(asked, route)
        if route == "profiles" and asked.method == "GET":
            return json_reply(200, self.catalogue())
        if route.startswith("snapshots/") and asked.method == "GET":
            return Reply(200, self.content(route.removeprefix("snapshots/")), [JSON_TYPE])
        raise Refused("not_found", "no such route")

    async def admitted(self, asked: Asked, route: str) -> ControllerMessage:
        """CTL-2: 401, then 400."""
        self.authorise(asked, route)
        self.check_media_type(asked)
        return self.read(route, await asked.body.read(MAX_BODY))

    def authorise(self, asked: Asked, route: str) -> None:  # noqa: ARG002 - for mutants
        """CTL-9: the secret, before anything else is looked at."""
        scheme, _, given = (asked.value("authorization") or "").partition(" ")
        if scheme.lower() != "bearer" or not self.is_secret(given):
            raise Refused("unauthorized", "expected the bearer secret", ("WWW-Authenticate", "Bearer"))

    def is_secret(self, given: str) -> bool:
        """Whether this is the control secret."""
        return given == self.secret

    def check_media_type(self, asked: Asked) -> None:
        """JSON only."""
        check_media_type(asked.value("content-type"))

    def read(self, route: str, raw: bytes) -> ControllerMessage:
        """CTL-9: the request in the body, strictly."""
        return read_controller_request(raw, _MODELS[route])

    def health(self, asked: Asked) -> dict[str, Any]:  # noqa: ARG002 - for mutants
        """The health document."""
        return {
            "status": "ok",
            "controller_id": self.controller_id,
            "protocol": "state-controller-v1",
            "active_leases": sum(not lease.released for lease in self.leases.values()),
            "signing_key_id": self.signer.key_id,
        }

    def catalogue(self) -> dict[str, Any]:
        """The catalogue."""
        entries = [
            {**profile.entry(), "profile_digest": profile.digest} for profile in self.profiles.values()
        ]
        return {
            "schema_version": "state-controller-v1",
            "controller_id": self.controller_id,
            "profiles": entries,
        }

    def content(self, ref: str) -> bytes:
        """CTL-5: the bytes of a snapshot."""
        if ref not in self.snapshots:
            raise Refused("not_found", "expected a snapshot of this Controller")
        return self.snapshots[ref]

    # --- The phases, in the order of CTL-2

    def perform(self, request: ControllerMessage) -> bytes:
        """The recorded answer, or what this phase does now."""
        phase = self.phase(request)
        profile = self.profile(request)
        lease = self.find(request)
        if lease is None:
            if not isinstance(request, ResetRequest):
                raise Refused("not_found", "expected a lease of this run")
            lease, members = self.reset(request, profile)
            self.leases[request.run_id] = lease
            return self.record(lease, phase, request, members)
        self.check_expiry(lease)
        recorded = self.recorded(lease, phase, request)
        if recorded is not None:
            return recorded
        self.check_binding(lease, request)
        self.check_phase(lease, phase)
        return self.record(lease, phase, request, self.act(lease, phase, request))

    def phase(self, request: ControllerMessage) -> str:
        """What the answer is recorded under."""
        match request:
            case SnapshotRequest():
                return request.phase
            case RenewRequest():
                return f"renew {request.expires_at.unix_nanoseconds}"
        return next(route for route, model in _MODELS.items() if isinstance(request, model))

    def profile(self, request: ControllerMessage) -> ShelfProfile:
        """CTL-9: the profile of the catalogue."""
        profile = self.profiles.get(request.profile_id)
        if profile is None:
            raise Refused("profile_not_found", "expected a profile of the catalogue")
        return profile

    def find(self, request: ControllerMessage) -> Lease | None:
        """The run's lease; None where the run has none, or not this one."""
        lease = self.leases.get(request.run_id)
        if isinstance(request, LeaseRequest) and lease is not None and lease.lease_id != request.lease_id:
            return None
        return lease

    def check_expiry(self, lease: Lease) -> None:
        """CTL-2: an expired lease fails closed; a released one no longer expires."""
        if self.has_expired(lease):
            raise Refused("lease_expired", "expected a lease that has not ended")

    def recorded(self, lease: Lease, phase: str, request: ControllerMessage) -> bytes | None:
        """CTL-2: the answer that this very request had."""
        recorded = lease.answers.get(phase)
        if recorded is None:
            return None
        if not self.is_same(recorded.request, request.model_dump(mode="json")):
            raise Refused("binding_conflict", "expected the request that was answered for this run and phase")
        return recorded.body

    def is_same(self, first: Mapping[str, Any], again: Mapping[str, Any]) -> bool:
        """Whether two requests of one phase are the same."""
        return first == again

    def check_binding(self, lease: Lease, request: ControllerMessage) -> None:
        """CTL-2: the case and the profile are the reset's."""
        asked = lease.request
        bound = (request.case_id, request.profile_id) == (asked.case_id, asked.profile_id)
        if isinstance(request, ResetRequest) or not bound:
            raise Refused("binding_conflict", "expected the case and the profile of the run's reset")

    def check_phase(self, lease: Lease, phase: str) -> None:
        """CTL-1: the order."""
        wanted = _STAGE_BEFORE.get(phase)
        planned = wanted is None or lease.request.snapshots
        if lease.released or not planned or (wanted is not None and lease.stage != wanted):
            raise Refused("phase_out_of_order", "expected another step now")

    def record(self, lease: Lease, phase: str, request: ControllerMessage, members: dict[str, Any]) -> bytes:
        """CTL-2: keep the 200 answer."""
        common = ("schema_version", "run_id", "case_id", "profile_id")
        body = json.dumps({**{name: getattr(request, name) for name in common}, **members}).encode()
        lease.answers[phase] = Recorded(request.model_dump(mode="json"), body)
        return body

    def act(self, lease: Lease, phase: str, request: ControllerMessage) -> dict[str, Any]:
        """Do the phase; its answer's own members."""
        match request:
            case SnapshotRequest():
                return self.snapshot(lease, phase)
            case VerifyRequest():
                return self.verify(lease, request)
            case RenewRequest():
                return self.renew(lease, request)
        return self.release(lease)
