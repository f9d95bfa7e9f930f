"""What preflight hands to the run: everything resolved, nothing called yet.

A `Plan` is complete: whoever carries it out looks at no registry and no environment variable again.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from agentbeat_core.credentials import Secret
from agentbeat_protocol import Injection
from agentbeat_protocol.evaluation import (
    AgentCase,
    Deployment,
    Negotiation,
    ObservationTier,
    PinnedProfile,
    ScoringProfile,
    Timeouts,
    VerifyKey,
)
from agentbeat_protocol.origins import Origin
from agentbeat_protocol.state_receipts import BindingMode

__all__ = ["DEFAULT_TIMEOUTS", "ControllerPlan", "Endpoint", "Plan", "Seconds"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Seconds:
    """How long Core waits, in seconds. Each is a total: a peer that drips a byte a second gains nothing.

    Attributes:
        connect: for a TCP and TLS connection, within the phase that needs it.
        invoke: for the invocation, until the last byte of its answer, its repetitions included.
        evidence: for reading the evidence document.
        controller: for each step with the State Controller, its retries included.
        judge: for one call of the judge.
    """

    connect: float = 5.0
    invoke: float = 300.0
    evidence: float = 30.0
    controller: float = 30.0
    judge: float = 60.0

    @classmethod
    def resolve(cls, *choices: Timeouts | None) -> Seconds:
        """For each phase the first of `choices` that names it, else Core's own."""
        chosen: dict[str, float] = {}
        for timeouts in reversed(choices):
            if timeouts is not None:
                chosen |= {phase: float(value) for phase, value in timeouts if value is not None}
        return cls(**chosen)


#: What holds where neither the request nor the registry says otherwise.
DEFAULT_TIMEOUTS: Final = Seconds()


@dataclass(frozen=True, kw_only=True, slots=True)
class Endpoint:
    """Where a peer is reached, and the secret that it takes.

    Attributes:
        base: origin and path prefix, without a slash at the end.
        secret: None for a Target that is registered without `auth`; then no Authorization is sent.
    """

    base: str
    origin: Origin
    secret: Secret | None


@dataclass(frozen=True, kw_only=True, slots=True)
class ControllerPlan:
    """The State Controller's part in a run: it prepares at every tier, and judges at L3."""

    controller_id: str
    endpoint: Endpoint
    profile: PinnedProfile
    binding_mode: BindingMode
    injection: Injection | None
    verify_key: VerifyKey | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Plan:
    """A run that preflight has accepted.

    Attributes:
        task: the text that the Agent is given, the same at every tier.
        run_path: the invocation route, appended to `target.base`.
        controller: None where the run needs no State Controller.
    """

    case: AgentCase
    tier: ObservationTier
    scoring_profile: ScoringProfile
    deployment: Deployment
    task: str
    target: Endpoint
    run_path: str
    controller: ControllerPlan | None
    seconds: Seconds
    negotiation: Negotiation
