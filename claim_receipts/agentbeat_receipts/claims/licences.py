"""What may be said of a batch: that its numbers describe it, or that the arms made the difference.

Descriptive: C2 and C4 pass, and neither C1 nor C3 is Invalid. Causal: C1 to C4, every fidelity claim and
coverage pass.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from agentbeat_receipts.claims.groups import EXPERIMENT_CLAIMS
from agentbeat_receipts.claims.results import Blocker, Licence, Licences
from agentbeat_receipts.verification.reasons import Verdict

__all__ = ["COVERAGE", "licences"]

#: How coverage is named among the blockers.
COVERAGE = "coverage"


def licences(verdicts: Mapping[str, Verdict], coverage: Verdict, fidelity: Collection[str]) -> Licences:
    """The highest licence, and what stands against each that is not granted.

    Args:
        verdicts: by claim, C1 to C4 among them.
        coverage: the verdict of layer 3.
        fidelity: the claims about guardrails and injections.

    >>> passing = dict.fromkeys(("C1", "C2", "C3", "C4"), Verdict.PASS)
    >>> licences(passing, Verdict.PASS, ()).granted
    <Licence.CAUSAL: 'causal'>
    >>> licences({**passing, "C1": Verdict.NO_CONTRACT}, Verdict.NOT_CLAIMED, ()).granted
    <Licence.DESCRIPTIVE: 'descriptive'>
    """
    descriptive = [
        Blocker(Licence.DESCRIPTIVE, claim, verdicts[claim])
        for claim in EXPERIMENT_CLAIMS
        if (
            verdicts[claim] is Verdict.INVALID
            if claim in ("C1", "C3")
            else verdicts[claim] is not Verdict.PASS
        )
    ]
    needed = {claim: verdicts[claim] for claim in (*EXPERIMENT_CLAIMS, *sorted(fidelity))}
    needed[COVERAGE] = coverage
    causal = [
        Blocker(Licence.CAUSAL, claim, found) for claim, found in needed.items() if found is not Verdict.PASS
    ]
    if not causal:
        return Licences(granted=Licence.CAUSAL, blockers=())
    granted = Licence.NONE if descriptive else Licence.DESCRIPTIVE
    return Licences(granted=granted, blockers=(*descriptive, *causal))
