"""The Target registry, `agent-target-registry-v1`: which Deployments exist and how each is reached.

No secret and no address stands in it, only the names of the environment variables that hold them. The
public objects keep unknown members; `state_controller` is ours and strict.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Final, Literal

from pydantic import AfterValidator, Field, StringConstraints, model_validator

from agentbeat_protocol.evaluation.cases import TargetCapability, TargetProfile
from agentbeat_protocol.evaluation.requests import MAX_EVAL_BYTES, Timeouts
from agentbeat_protocol.identifiers import EntityId
from agentbeat_protocol.models import (
    Array,
    Digest,
    JSONObject,
    Name,
    NotNull,
    Public,
    Strict,
    rule_error,
    validated,
)
from agentbeat_protocol.state_receipts import BindingMode
from agentbeat_protocol.strict_json import read_json

__all__ = [
    "Auth",
    "ControllerAuth",
    "ControllerEndpoint",
    "Deployment",
    "Endpoint",
    "PinnedProfile",
    "RegisteredController",
    "RegisteredTarget",
    "Registry",
    "VerifyKey",
    "read_registry",
]

#: The name of an environment variable.
Variable = Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$", max_length=256)]
#: Path characters of RFC 3986 that every client sends as they are; no escapes.
_PATH: Final = r"^/[A-Za-z0-9\-._~!$&'()*+,;=:@/]*$"


def _without_dots(path: str) -> str:
    if not {".", ".."}.isdisjoint(path.split("/")):
        raise rule_error("S-PATTERN", "a path without the segments . and .., which a client would take out")
    return path


#: A path on the endpoint, appended to the base URL.
URLPath = Annotated[str, StringConstraints(pattern=_PATH, max_length=1_024), AfterValidator(_without_dots)]


class Endpoint(Public):
    """Where a Target is reached. The URL is in the environment variable `base_url_env`."""

    endpoint_ref: Name
    base_url_env: Variable
    run_path: URLPath = "/v1/agent/invocations"
    health_path: URLPath = "/healthz"
    allow_insecure_http: bool = False


class Auth(Public):
    """A bearer secret, held by the environment variable `value_env`."""

    secret_ref: Name
    value_env: Variable


class ControllerAuth(Auth, extra="forbid"):
    """The control secret of a State Controller: an object of ours, so strict."""


class PinnedProfile(Strict):
    """The Controller's profile for a scenario, pinned by its digest."""

    profile_id: EntityId
    profile_digest: Digest


class VerifyKey(Strict):
    """A State Controller's registered Ed25519 public key."""

    key_id: Name
    algorithm: Literal["ed25519"]
    #: base64url without padding, 32 bytes.
    public_key: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_-]{43}$")]


class ControllerEndpoint(Strict):
    """Where the control plane is reached. The URL is in the environment variable `base_url_env`."""

    base_url_env: Variable
    allow_insecure_http: bool = False


class RegisteredController(Strict):
    """The independent State Controller of a Deployment."""

    controller_id: EntityId
    endpoint: ControllerEndpoint
    auth: ControllerAuth
    verify_key: Annotated[VerifyKey | None, NotNull] = None
    #: scenario_id → the profile that prepares and judges it.
    profiles: Mapping[str, PinnedProfile]


class Deployment(Public):
    """One deployment of a Target, with its profile and capability as requests must repeat them."""

    deployment_profile_id: Name
    invocation_protocol: Literal["target-invocation-v1"]
    environment_binding_mode: BindingMode
    target_profile: TargetProfile
    target_capability: TargetCapability
    endpoint: Endpoint
    auth: Annotated[Auth | None, NotNull] = None
    public_summary: Annotated[JSONObject | None, NotNull] = None
    state_controller: Annotated[RegisteredController | None, NotNull] = None
    timeouts: Annotated[Timeouts | None, NotNull] = None

    @model_validator(mode="after")
    def _auth_is_whole(self) -> Deployment:
        reference = self.target_profile.auth_secret_ref
        if (self.auth is None) != (reference is None):
            raise rule_error("S-REQUIRED", "auth and target_profile.auth_secret_ref, both or neither")
        if self.auth is not None and self.auth.secret_ref != reference:
            raise rule_error("X-BIND", "auth.secret_ref equal to target_profile.auth_secret_ref")
        if self.endpoint.endpoint_ref != self.target_profile.endpoint_ref:
            raise rule_error("X-BIND", "endpoint.endpoint_ref equal to target_profile.endpoint_ref")
        return self


class RegisteredTarget(Public):
    """A Target and its Deployments."""

    target_id: EntityId
    deployments: Annotated[Array[Deployment], Field(min_length=1)]

    @model_validator(mode="after")
    def _deployments_are_of_this_target(self) -> RegisteredTarget:
        for deployment in self.deployments:
            named = {deployment.target_profile.target_id, deployment.target_capability.target_id}
            if named != {self.target_id}:
                raise rule_error("X-BIND", "one target_id in a Target, its profiles and capabilities")
        return self


class Registry(Public):
    """All Targets that Core may call."""

    schema_version: Literal["agent-target-registry-v1"]
    targets: Annotated[Array[RegisteredTarget], Field(min_length=1)]

    @model_validator(mode="after")
    def _names_are_unique(self) -> Registry:
        targets = [target.target_id for target in self.targets]
        if len(set(targets)) < len(targets):
            raise rule_error("S-UNIQUE", "each target_id once")
        for target in self.targets:
            deployments = [deployment.deployment_profile_id for deployment in target.deployments]
            if len(set(deployments)) < len(deployments):
                raise rule_error("S-UNIQUE", "each deployment_profile_id once")
        return self

    def deployment(self, target_id: str, deployment_profile_id: str) -> Deployment | None:
        """The Deployment of that Target, or None."""
        for target in self.targets:
            for deployment in target.deployments:
                if (target.target_id, deployment.deployment_profile_id) == (target_id, deployment_profile_id):
                    return deployment
        return None


def read_registry(raw: bytes) -> Registry:
    """A registry file.

    Raises:
        ProtocolError: the file has another shape.
    """
    return validated(Registry, read_json(raw, max_bytes=MAX_EVAL_BYTES))
