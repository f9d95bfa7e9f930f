"""What one run yielded, as scoring sees it: the seam between Core's I/O and its pure half.

The network side fills these records; nothing in them is judged yet, and nothing missing is made up.
"""

from __future__ import annotations

from dataclasses import dataclass

from agentbeat_protocol.evaluation import JudgeCall, JudgeScores, KeptDocument, StateReport
from agentbeat_protocol.evidence import EvidenceDocument

__all__ = ["JudgeOutcome", "Observations"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Observations:
    """Everything that was observed of a run.

    Attributes:
        final_response: the Agent's answer; None only in a `score` request without one.
        evidence: the accepted evidence document; None with `evidence_reason` when L2 channels are missing.
        state: the checked word of the State Controller; None with `state_reason` when L3 has none.
        documents: everything received, accepted or not.
    """

    final_response: str | None
    evidence: EvidenceDocument | None = None
    evidence_reason: str | None = None
    state: StateReport | None = None
    state_reason: str | None = None
    documents: tuple[KeptDocument, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class JudgeOutcome:
    """What came of asking the judge: its scores, or the reason why there are none.

    Attributes:
        scores: the judge's numbers; None with `reason` (such as `judge_not_configured`).
        calls: every call that was made, also the failed ones.
        answer: the text of the last answer, without secrets; None where there was none, or it is not kept.
    """

    scores: JudgeScores | None
    reason: str | None = None
    calls: tuple[JudgeCall, ...] = ()
    answer: str | None = None
