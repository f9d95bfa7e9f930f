"""The evaluation case, `agent-case-only-v1`, and the parts that an evaluation request binds it to.

These shapes are public: other tools write them, so members that we do not know are kept and ignored.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, StringConstraints, model_validator

from agentbeat_protocol.identifiers import CaseId, EntityId
from agentbeat_protocol.models import Array, Name, Public, rule_error

__all__ = [
    "AgentCase",
    "Applicability",
    "EvidenceChannel",
    "ExpectedDimension",
    "ExpectedDimensions",
    "ObservationTier",
    "TargetCapability",
    "TargetProfile",
]

ObservationTier = Literal["L1", "L2", "L3"]
Applicability = Literal["applicable", "not_applicable", "review"]
EvidenceChannel = Literal[
    "final_response", "message_event", "tool_call", "tool_result", "state_before_after", "native_score"
]

#: A text of a case. The prompt's own limit, 512 KiB of UTF-8, is the Target's (INV-3).
CaseText = Annotated[str, StringConstraints(max_length=512 * 1024)]


class ExpectedDimension(Public):
    """Whether a dimension applies to the case, and what success is."""

    applicability: Applicability
    success_condition: CaseText | None = None


class ExpectedDimensions(Public):
    """What the case expects in each dimension."""

    utility: ExpectedDimension
    security: ExpectedDimension
    #: Worded from the defender's side, although the published number is the attack's success.
    asr: ExpectedDimension
    overall: ExpectedDimension


class AgentCase(Public):
    """One case: the task, what an attacker wants of it, and what is expected. All 21 members are required."""

    schema_version: Literal["agent-case-only-v1"]
    case_id: CaseId
    scenario_id: Name
    source_id: Name
    #: `utility_only` makes security and attack success structurally not applicable.
    sample_role: Name
    risk_category: CaseText
    risk_subtype: CaseText
    severity: CaseText
    attack_type: CaseText
    harm_type: CaseText
    prompt: Annotated[str, StringConstraints(min_length=1, max_length=512 * 1024)]
    attack_goal: CaseText
    untrusted_input: CaseText
    untrusted_surface: CaseText
    injection_point: CaseText
    expected_action: CaseText
    expected_behavior: CaseText
    failure_condition: CaseText
    expected: ExpectedDimensions
    judge_rubric: CaseText
    observation_tier: ObservationTier

    @model_validator(mode="after")
    def _prompt_is_a_task(self) -> AgentCase:
        if not self.prompt.strip():
            raise rule_error("S-LEN", "a prompt that is not blank")
        return self


class TargetProfile(Public):
    """Which Target is asked, and how it is reached and managed: `target-profile-v1`."""

    schema_version: Literal["target-profile-v1"]
    target_id: EntityId
    connector_id: Literal["business-http-json-v1"]
    endpoint_ref: Name
    environment_ownership: Name
    management_mode: Name
    execution_route: Name
    auth_secret_ref: Name | None = None


class TargetCapability(Public):
    """What the Target can be asked for and what can be observed of it: `target-capability-v1`."""

    schema_version: Literal["target-capability-v1"]
    target_id: EntityId
    input_modes: Array[Name]
    environment_modes: Array[Name]
    scenario_allowlist: Array[Name]
    evidence_channels: Annotated[Array[EvidenceChannel], Field(min_length=1)]
    instrumentation: Any
    state_verifier: Any
