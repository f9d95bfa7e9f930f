"""From what was observed of a run to the verdict on each dimension: pure, the same for whoever computes it.

Core publishes these verdicts, and who holds a run's evidence recomputes them (spec 4), both with these
functions. What a result adds to them, the cascade, `overall` and whether it is official, is Core's.

    view = project(observations, tier="L2")
    outcomes = rule_outcomes(rules, view, applicable=judged_dimensions(case))
    components = rules_component(outcomes, weight=…), judge_component(judge, weight=…, …)
    dimension_result("utility", applies, state=None, components=components, policy=policy).verdict
"""

from agentbeat_protocol.scoring.applicability import (
    RULE_DIMENSIONS,
    Applies,
    applicability,
    judged_dimensions,
)
from agentbeat_protocol.scoring.components import (
    ComponentScore,
    DimensionScore,
    total_weight,
    weighted_mean,
)
from agentbeat_protocol.scoring.deterministic import native_component, native_verdict, rules_component
from agentbeat_protocol.scoring.dimensions import GATE_CODES, DimensionResult, dimension_result
from agentbeat_protocol.scoring.judge_answers import (
    MAX_ANSWER,
    MAX_REASON,
    SCORE_MEMBERS,
    JudgeRefusal,
    parse_judge_answer,
)
from agentbeat_protocol.scoring.judged import judge_component
from agentbeat_protocol.scoring.observations import JudgeOutcome, Observations
from agentbeat_protocol.scoring.projection import PROJECTED, Projection, project
from agentbeat_protocol.scoring.receipt_checks import SignatureCheck, receipt_failures, state_report
from agentbeat_protocol.scoring.receipt_records import (
    RECEIPT_CODES,
    UNSIGNED,
    Expected,
    ReceiptFailure,
    RunOrder,
    SnapshotDigests,
)
from agentbeat_protocol.scoring.tasks import planted_injection, task_text

__all__ = [
    "GATE_CODES",
    "MAX_ANSWER",
    "MAX_REASON",
    "PROJECTED",
    "RECEIPT_CODES",
    "RULE_DIMENSIONS",
    "SCORE_MEMBERS",
    "UNSIGNED",
    "Applies",
    "ComponentScore",
    "DimensionResult",
    "DimensionScore",
    "Expected",
    "JudgeOutcome",
    "JudgeRefusal",
    "Observations",
    "Projection",
    "ReceiptFailure",
    "RunOrder",
    "SignatureCheck",
    "SnapshotDigests",
    "applicability",
    "dimension_result",
    "judge_component",
    "judged_dimensions",
    "native_component",
    "native_verdict",
    "parse_judge_answer",
    "planted_injection",
    "project",
    "receipt_failures",
    "rules_component",
    "state_report",
    "task_text",
    "total_weight",
    "weighted_mean",
]
