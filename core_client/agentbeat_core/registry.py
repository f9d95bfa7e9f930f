"""The Target registry with the environment that it names: who may be called, where, and with which secret.

The file holds names of environment variables, never an address or a secret. A variable that is empty counts
as not set.

    export AIBEAT_AGENT_TARGET_REGISTRY=registry.json DESK_URL=http://127.0.0.1:8091 DESK_TOKEN=…
    registry = TargetRegistry.from_environment()
    core = Core(registry)
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from agentbeat_core.credentials import Redactor, Secret
from agentbeat_core.refusals import RefusedError
from agentbeat_protocol import ProtocolError, cut
from agentbeat_protocol.evaluation import (
    MAX_EVAL_BYTES,
    Auth,
    Registry,
    read_registry,
)

__all__ = ["REGISTRY_VARIABLE", "TargetRegistry"]

#: Names the registry file.
REGISTRY_VARIABLE: Final = "AIBEAT_AGENT_TARGET_REGISTRY"


@dataclass(frozen=True, kw_only=True)
class TargetRegistry:
    """A registry and the environment that its variable names are looked up in.

    Attributes:
        registry: the file's content.
        environ: the environment; `os.environ` unless a test or an embedding program brings its own.
    """

    registry: Registry
    environ: Mapping[str, str] = field(default_factory=lambda: os.environ, repr=False)

    @classmethod
    def from_environment(cls, environ: Mapping[str, str] | None = None) -> TargetRegistry:
        """The registry that `AIBEAT_AGENT_TARGET_REGISTRY` names.

        Raises:
            RefusedError: `registry_not_configured`, `registry_unreadable` or `registry_invalid`.
        """
        environ = os.environ if environ is None else environ
        path = environ.get(REGISTRY_VARIABLE, "")
        if not path:
            message = f"{REGISTRY_VARIABLE} is not set; it names the Target registry file"
            raise RefusedError("registry_not_configured", message)
        return cls.load(Path(path), environ=environ)

    @classmethod
    def load(cls, path: Path, *, environ: Mapping[str, str] | None = None) -> TargetRegistry:
        """The registry in a file.

        Raises:
            RefusedError: `registry_unreadable` or `registry_invalid`.
        """
        try:
            with path.open("rb") as file:
                raw = file.read(MAX_EVAL_BYTES + 1)
        except (OSError, ValueError) as error:
            # A path with a NUL in it is a ValueError.
            why = getattr(error, "strerror", None) or "cannot be read"
            raise RefusedError("registry_unreadable", f"{cut(str(path), 256)}: {why}") from None
        return cls.read(raw, environ=environ)

    @classmethod
    def read(cls, raw: bytes, *, environ: Mapping[str, str] | None = None) -> TargetRegistry:
        """The registry in these bytes.

        Raises:
            RefusedError: `registry_invalid`.
        """
        try:
            registry = read_registry(raw)
        except ProtocolError as error:
            raise RefusedError("registry_invalid", str(error), rule=error.rule) from None
        return cls(registry=registry, environ=os.environ if environ is None else environ)

    def variable(self, name: str) -> str | None:
        """The value of an environment variable; None when it is not set or empty."""
        return self.environ.get(name) or None

    def secret(self, auth: Auth) -> Secret | None:
        """The secret that `auth` names; None when its variable is not set."""
        value = self.variable(auth.value_env)
        return None if value is None else Secret(value)

    def redactor(self) -> Redactor:
        """A redactor of every secret that the registry names and is set."""
        held = map(self.secret, self._auths())
        return Redactor(secret for secret in held if secret is not None)

    def _auths(self) -> Iterator[Auth]:
        for target in self.registry.targets:
            for deployment in target.deployments:
                if deployment.auth is not None:
                    yield deployment.auth
                if deployment.state_controller is not None:
                    yield deployment.state_controller.auth
