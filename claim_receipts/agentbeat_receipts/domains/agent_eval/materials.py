"""What an evaluation run was made with: the materials of an opening, and the nine components of an arm.

| component | material | group | what it is |
|---|---|---|---|
| prompt | `prompt` | K | how the task is put together from a case, and what is sent beside it |
| schema | `schema` | O | the wire formats |
| parser | `parser` | O | the reader of responses and evidence |
| normaliser | `normaliser` | T | the projection of evidence on the tier's channels |
| enforcer | `enforcer` | G | the arm's guardrails, and the stages at which each decides |
| chooser | `chooser` | D | the judge |
| scorer | `scorer` | F | the scoring profile without its rules, which are each case's own |
| model | `model` | K | the Agent under test: Target, Deployment, and the State Controller's public key |
| horizon | `horizon` | K | the limits: time-outs and tries |

and besides, `catalogue` (K), the root over all cases, which the manifest lists; `case` (K), the case's public
document with its way to that root; and `state` (F), the State Controller's word on the terminal attempt.

Numbers that are no integers are decimal strings.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from types import MappingProxyType
from typing import Annotated, Any, Final, Literal

from pydantic import Field, StringConstraints

from agentbeat_protocol.evaluation import ObservationTier, ScoringProfile, VerifyKey
from agentbeat_protocol.identifiers import EntityId
from agentbeat_protocol.models import Array, Digest, Name, Strict, validated
from agentbeat_protocol.state_receipts import BindingMode
from agentbeat_receipts.claims import Group
from agentbeat_receipts.domains.agent_eval.case_documents import PrivatePart
from agentbeat_receipts.objects import COMPONENTS, ComponentName, material_digest
from agentbeat_receipts.objects.base import Base64, Id, SafeInteger, SomeOf

__all__ = [
    "MATERIAL_GROUPS",
    "NORMALISER",
    "PARSER",
    "PROMPT",
    "CaseMaterial",
    "Catalogue",
    "Chooser",
    "Controller",
    "Enforcer",
    "Horizon",
    "Model",
    "Schema",
    "Scorer",
    "StateMaterial",
    "component_digests",
]

#: The group of each material.
MATERIAL_GROUPS: Final[Mapping[str, Group]] = MappingProxyType(
    {
        "catalogue": Group.K,
        "case": Group.K,
        "prompt": Group.K,
        "model": Group.K,
        "horizon": Group.K,
        "schema": Group.O,
        "parser": Group.O,
        "normaliser": Group.T,
        "enforcer": Group.G,
        "chooser": Group.D,
        "scorer": Group.F,
        "state": Group.F,
    }
)

#: A decimal as it was written.
DecimalText = Annotated[str, StringConstraints(pattern=r"^(0|[1-9][0-9]*)(\.[0-9]+)?$", max_length=1_000)]


class Catalogue(Strict):
    """All cases of the batch in one digest (`case_trees`)."""

    root: Digest
    size: Annotated[int, Field(ge=1)]


class CaseMaterial(Strict):
    """The case's public document, and its way to the root."""

    public: Base64
    #: Of the private document, which the opening holds as its profile.
    private: Digest
    place: Annotated[int, Field(ge=0)]
    proof: Annotated[Array[Digest], Field(max_length=64)]


class Controller(Strict):
    """A Deployment's State Controller."""

    controller_id: EntityId
    #: None: its receipts are unsigned, and nothing that rests on them is official.
    verify_key: VerifyKey | None


class Model(Strict):
    """The Agent under test, as it is registered. Digests are over the registry's canonical JSON."""

    target_id: EntityId
    deployment_profile_id: Name
    environment_binding_mode: BindingMode
    target_profile: Digest
    target_capability: Digest
    controller: Controller | None


class Enforcer(Strict):
    """The guardrails of an arm."""

    #: By treatment flag: the stages at which it decides, once each.
    guardrails: dict[Id, SomeOf[Id]]


class Chooser(Strict):
    """The judge: its model's name, or None where none is asked."""

    model: Annotated[str, StringConstraints(min_length=1, max_length=256)] | None


class Schema(Strict):
    """The wire formats of the tier."""

    invocation: Literal["target-invocation-v1"] = "target-invocation-v1"
    evidence: Literal["target-evidence-v1"] | None
    state: Literal["state-receipt-v1"] | None

    @classmethod
    def of(cls, tier: ObservationTier) -> Schema:
        """Those that a run of this tier reads."""
        return cls(
            evidence=None if tier == "L1" else "target-evidence-v1",
            state="state-receipt-v1" if tier == "L3" else None,
        )


class Horizon(Strict):
    """The limits of a run, in seconds, and of its attempts."""

    connect: DecimalText
    invoke: DecimalText
    evidence: DecimalText
    controller: DecimalText
    judge: DecimalText
    max_attempts: Annotated[int, Field(ge=1)]


class Policy(Strict):
    """The metric policy."""

    native_security_gate: bool
    review_band: Annotated[tuple[DecimalText, DecimalText], Field(strict=False)] | None


class Scorer(Strict):
    """A scoring profile without rules."""

    profile_id: Name
    observation_tier: ObservationTier
    score_scope: Name
    deterministic_weight: DecimalText
    llm_judge_weight: DecimalText
    metric_policy: Policy

    @classmethod
    def of(cls, profile: ScoringProfile) -> Scorer:
        """What a scoring profile says to every case alike."""
        band = profile.metric_policy.review_band
        return cls(
            profile_id=profile.profile_id,
            observation_tier=profile.observation_tier,
            score_scope=profile.score_scope,
            deterministic_weight=_text(profile.deterministic_weight),
            llm_judge_weight=_text(profile.llm_judge_weight),
            metric_policy=Policy(
                native_security_gate=profile.metric_policy.native_security_gate,
                review_band=None if band is None else (_text(band[0]), _text(band[1])),
            ),
        )

    def profile_for(self, private: PrivatePart) -> ScoringProfile:
        """The scoring profile of one case: with the case's own rules.

        Raises:
            ProtocolError: together they are none.
        """
        policy: dict[str, Any] = {"native_security_gate": self.metric_policy.native_security_gate}
        if self.metric_policy.review_band is not None:
            policy["review_band"] = [Decimal(end) for end in self.metric_policy.review_band]
        members = {
            "profile_id": self.profile_id,
            "observation_tier": self.observation_tier,
            "score_scope": self.score_scope,
            "deterministic_weight": Decimal(self.deterministic_weight),
            "llm_judge_weight": Decimal(self.llm_judge_weight),
            "metric_policy": policy,
            "rules": list(private.rules),
        }
        return validated(ScoringProfile, members)


class StateMaterial(Strict):
    """The State Controller's word on the terminal attempt, or why there is none.

    Answers are the very bytes that were received. Of the snapshots there are the digests of the bytes that
    were read; what they are held to is signed.
    """

    reason: Annotated[str, StringConstraints(min_length=1, max_length=256)] | None
    before: Base64 | None
    after: Base64 | None
    verify: Base64 | None
    read_before: Digest | None
    read_after: Digest | None
    #: Before held, invoked, invocation ended, after asked: nanoseconds of one clock, from the first.
    order: Annotated[tuple[SafeInteger, SafeInteger, SafeInteger, SafeInteger], Field(strict=False)] | None


#: How a task is put together (spec 3).
PROMPT: Final = MappingProxyType({"task": "prompt, then untrusted_input where injection_point is prompt"})
#: The protocol's reader.
PARSER: Final = MappingProxyType({"reader": "agentbeat_protocol"})
#: The projection.
NORMALISER: Final = MappingProxyType({"projection": "channels of the tier"})


def component_digests(materials: Mapping[str, Any]) -> dict[ComponentName, str]:
    """The digest of each component, from the materials of an arm.

    Raises:
        KeyError: one is missing.
    """
    return {name: material_digest(name, materials[name]) for name in COMPONENTS}


def _text(number: Decimal) -> str:
    """A number that is not negative, without exponent."""
    return format(number, "f")
