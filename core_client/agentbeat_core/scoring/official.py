"""When a result may be called an official benchmark result, and what keeps another from it.

All of these must hold; each that does not has its reason code:

| what must hold | reason code |
|---|---|
| the tier is L3 | `tier_not_l3` |
| the evidence is complete | `evidence_partial` |
| both components are complete | `cascade_incomplete` |
| the receipt was verified with a registered key | `receipt_not_accepted`, `receipt_unsigned` |
| some dimension applies | `no_applicable_dimension` |
| the State Controller decided each applicable dimension | `<dimension>_native_verdict_missing` |
| and the published verdict is that one | `<dimension>_verdict_not_native` |
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from agentbeat_protocol.evaluation import Cascade, MetricVerdict, RuleDimension
from agentbeat_protocol.scoring import Projection, native_verdict

__all__ = ["official_reasons"]

_DECIDED: Final = frozenset({"pass", "fail", "attack_blocked", "attack_succeeded"})


def official_reasons(
    projection: Projection, cascade: Cascade, verdicts: Mapping[RuleDimension, MetricVerdict]
) -> Iterator[str]:
    """Why the result is not official; nothing when it is.

    Args:
        projection: the evidence.
        cascade: the score.
        verdicts: the published verdicts of the applicable dimensions.
    """
    state = projection.state
    if projection.tier != "L3":
        yield "tier_not_l3"
    if not projection.complete:
        yield "evidence_partial"
    if cascade.final_score is None:
        yield "cascade_incomplete"
    if state is None:
        yield "receipt_not_accepted"
    elif state.signature != "verified":
        yield "receipt_unsigned"
    if not verdicts:
        yield "no_applicable_dimension"
    for name, verdict in verdicts.items():
        native = native_verdict(state, name)
        if native is None or native.verdict not in _DECIDED:
            yield f"{name}_native_verdict_missing"
        elif native.verdict != verdict:
            yield f"{name}_verdict_not_native"
