"""The cascade, `evaluation.score`: two weighted components, and what they add up to.

`provisional_score` is the mean of the components that are available, their weights renormalised;
`final_score` is there only when both are complete, and is then the same number. What is missing is
named, never counted as 0.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from agentbeat_protocol.evaluation import Cascade, Component, exact, nearest
from agentbeat_protocol.scoring import ComponentScore, total_weight, weighted_mean

__all__ = ["build_cascade"]


def build_cascade(components: Sequence[ComponentScore]) -> Cascade:
    """The cascade of the components, which are both there, available or not."""
    provisional = weighted_mean((each.weight, each.score) for each in components if each.score is not None)
    final = provisional if all(each.complete for each in components) else None
    return Cascade(
        provisional_score=nearest(provisional),
        provisional_score_exact=exact(provisional),
        final_score=nearest(final),
        final_score_exact=exact(final),
        available_weight=total_weight(each.weight for each in components if each.score is not None),
        evidence_coverage=total_weight(each.weight for each in components if each.complete),
        components=tuple(_published(each) for each in components),
        reason_codes=tuple(_reasons(components)),
    )


def _published(component: ComponentScore) -> Component:
    return Component(
        name=component.name,
        weight=component.weight,
        available=component.score is not None,
        complete=component.complete,
        score=nearest(component.score),
        score_exact=exact(component.score),
        reason_codes=component.reason_codes,
    )


def _reasons(components: Iterable[ComponentScore]) -> Iterator[str]:
    for component in components:
        if component.score is None:
            yield f"{component.name}_unavailable"
        elif not component.complete:
            yield f"{component.name}_incomplete"
