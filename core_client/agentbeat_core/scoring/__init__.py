"""Scoring: the pure half of Core, from observations to `evaluation`.

`project` says what may be judged by, `shown_evidence` what the judge is shown of it, and
`build_evaluation` does the rest: the deterministic component, the judge's component, the cascade and the
metrics.
"""

from agentbeat_core.scoring.evaluation import build_evaluation
from agentbeat_core.scoring.shown import ShownEvidence, shown_evidence
from agentbeat_protocol.scoring import Projection, project

__all__ = ["Projection", "ShownEvidence", "build_evaluation", "project", "shown_evidence"]
