"""What Core answers: `eval-run-response-v1` and its parts, shared by `preflight` and `score`.

The shape is public and meant for `jq`; its top members are `eval_run`, `target_invocations`,
`judge_model_calls` and `evaluation`. A run that broke the Target's contract has no `evaluation` at all.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal

from agentbeat_protocol.evaluation.cases import EvidenceChannel, ObservationTier
from agentbeat_protocol.evaluation.scores import Cascade, JudgeCall, JudgeScores, Metrics, RuleOutcome
from agentbeat_protocol.models import (
    Array,
    At,
    Count,
    Digest,
    JSONObject,
    Name,
    Ratio,
    Strict,
)
from agentbeat_protocol.verdicts import Check, Verdicts

__all__ = [
    "TIER_CHANNELS",
    "ChannelState",
    "DocumentKind",
    "EvalRun",
    "EvalRunResponse",
    "Evaluation",
    "EvidenceReport",
    "Failure",
    "KeptDocument",
    "Negotiation",
    "PhaseTiming",
    "PreflightResponse",
    "ScoreResponse",
    "StateReport",
    "Timing",
]

#: The channels that each tier requires, in the order in which they are reported.
TIER_CHANNELS: Final[Mapping[ObservationTier, tuple[EvidenceChannel, ...]]] = {
    "L1": ("final_response",),
    "L2": ("final_response", "message_event", "tool_call", "tool_result"),
    "L3": (
        "final_response",
        "message_event",
        "tool_call",
        "tool_result",
        "state_before_after",
        "native_score",
    ),
}


class Failure(Strict):
    """Why there is no evaluation: a code, and one sentence that says what to do."""

    code: Name
    message: str
    #: The rule that was broken, where one was.
    rule: str | None = None
    #: RFC 6901 pointer into the message that broke it.
    path: str | None = None


class Negotiation(Strict):
    """The tier that was asked for, that the capability declares, and that the evidence supports."""

    requested_tier: ObservationTier
    declared_tier: ObservationTier
    #: Never above the requested one; None when not even the final response was observed.
    observed_tier: ObservationTier | None
    reason_codes: Array[str] = ()


class ChannelState(Strict):
    """What became of one required channel. A missing one is never pass, fail or 0."""

    channel: EvidenceChannel
    state: Literal["observed", "observed_empty", "truncated", "missing"]
    count: Count
    source: Literal["target_response", "target_evidence", "state_controller"]
    reason: str | None = None


#: What a document is: the Target's, an answer of the State Controller (`state_…`), or a snapshot's bytes.
DocumentKind = Literal[
    "invocation_response",
    "target_evidence",
    "state_reset",
    "state_renew",
    "state_snapshot",
    "state_verify",
    "snapshot_before",
    "snapshot_after",
]


class KeptDocument(Strict):
    """A document that was received: kept for the reader, whether or not it was accepted."""

    kind: DocumentKind
    digest: Digest
    size_bytes: Count
    accepted: bool
    #: The broken rule of a document that was refused.
    rule: str | None = None
    reason: str | None = None
    #: The text itself, where it is kept in the result; cut documents say so.
    text: str | None = None
    text_is_cut: bool = False


class EvidenceReport(Strict):
    """Which of the tier's channels were observed."""

    observation_tier: ObservationTier
    channels: Array[EvidenceChannel]
    missing_channels: Array[EvidenceChannel]
    coverage: Ratio
    status: Literal["complete", "partial"]
    observations: Array[ChannelState]
    #: What was odd but allowed, such as `sequence_gap`.
    notes: Array[str] = ()
    documents: Array[KeptDocument] = ()


class StateReport(Strict):
    """What the State Controller said, and which receipt rules held (L3)."""

    accepted: bool
    signature: Literal["verified", "unsigned", "refused"]
    reason_codes: Array[str] = ()
    verdicts: Verdicts | None = None
    checks: Array[Check] = ()
    native_score: Ratio | None = None
    receipt: JSONObject | None = None


class Evaluation(Strict):
    """What was observed and what follows from it."""

    negotiation: Negotiation
    evidence: EvidenceReport
    score: Cascade
    metrics: Metrics
    rules: Array[RuleOutcome] = ()
    judge: JudgeScores | None = None
    judge_calls: Array[JudgeCall] = ()
    state: StateReport | None = None


class PhaseTiming(Strict):
    """How long one phase took."""

    phase: Literal[
        "reset", "snapshot_before", "invoke", "snapshot_after", "evidence", "verify", "release", "judge"
    ]
    started_at: At
    duration_ns: Count
    outcome: Literal["ok", "failed"]


class Timing(Strict):
    """Core's own clock around the run."""

    started_at: At
    finished_at: At
    duration_ns: Count
    phases: Array[PhaseTiming] = ()


class EvalRun(Strict):
    """The run: what it was bound to and how it ended."""

    run_id: str
    case_id: str
    scenario_id: str
    target_id: str
    deployment_profile_id: str
    observation_tier: ObservationTier
    #: `refused`: nothing was called. `failed`: the Target, the Controller or Core itself failed.
    status: Literal["completed", "failed", "refused"]
    timing: Timing


class EvalRunResponse(Strict):
    """The result of one evaluation run."""

    schema_version: Literal["eval-run-response-v1"] = "eval-run-response-v1"
    execution_route: Literal["python_core_business_http"] = "python_core_business_http"
    eval_run: EvalRun
    #: How often the Agent was asked to run, and how often the judge's model was called.
    target_invocations: Count
    judge_model_calls: Count
    evaluation: Evaluation | None = None
    failure: Failure | None = None
    #: What was received in a run that failed.
    documents: Array[KeptDocument] = ()
    #: The Agent's answer, as Core holds it.
    final_response: str | None = None


class PreflightResponse(Strict):
    """Whether a run would start. Nothing was called."""

    schema_version: Literal["agent-preflight-response-v1"] = "agent-preflight-response-v1"
    accepted: bool
    negotiation: Negotiation | None = None
    failure: Failure | None = None


class ScoreResponse(Strict):
    """The score of what was already observed."""

    schema_version: Literal["agent-score-response-v1"] = "agent-score-response-v1"
    run_id: str
    case_id: str
    judge_model_calls: Count
    evaluation: Evaluation
