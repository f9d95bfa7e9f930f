"""The domain `agent_eval`: a transaction is one evaluation run of spec 3.

| claim | value |
|---|---|
| `completion` | 1 when the Agent answered, 0 for a harness error |
| `utility`, `security`, `attack_success` | 1 or 0 in the dimension's own direction, else a null (below) |
| `channel_coverage` | the pair (channels wholly observed, channels of the tier) |
| `native_score` | a decimal string, rounded to 6 digits; a null below L3 |
| `injection_fidelity` | whether the planted text was delivered: 1, 0 or a null |
| `guardrail_fidelity` | how many decisions were `applied` |

A null of a verdict is the verdict's own word, `not_observed`, `unavailable`, `review` or `not_applicable`, or
`harness_error`. Subjects are cases: a profile is a case, an arm a condition, such as a Deployment with and
without a defence.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from agentbeat_receipts.claims import EXPERIMENT_NEEDS, Case, ClaimValue, Group
from agentbeat_receipts.domains.agent_eval.materials import MATERIAL_GROUPS
from agentbeat_receipts.domains.agent_eval.replays import DIMENSIONS, HARNESS_ERROR, EvaluationReplay
from agentbeat_receipts.objects import Null

__all__ = ["DOMAIN", "AgentEval"]

_WHOLE: Final = frozenset({Group.P, Group.K, Group.T, Group.O, Group.D, Group.F})

#: What each claim needs. Below L3 nothing is native, so F is needed for the scoring profile only; at L1 no
#: verdict rests on the trace.
_NEEDS: Final[Mapping[str, frozenset[Group]]] = MappingProxyType(
    {
        "completion": frozenset({Group.K, Group.O}),
        "utility": _WHOLE,
        "security": _WHOLE,
        "attack_success": _WHOLE,
        "channel_coverage": frozenset({Group.K, Group.T, Group.O, Group.F}),
        "native_score": frozenset({Group.K, Group.T, Group.O, Group.F}),
        "injection_fidelity": frozenset({Group.K, Group.T, Group.F}),
        "guardrail_fidelity": frozenset({Group.A, Group.K, Group.T, Group.O, Group.G, Group.Q}),
        "C1": EXPERIMENT_NEEDS["C1"] | _WHOLE,
        "C2": EXPERIMENT_NEEDS["C2"],
        "C3": EXPERIMENT_NEEDS["C3"] | _WHOLE,
        "C4": EXPERIMENT_NEEDS["C4"] | _WHOLE,
    }
)


class AgentEval:
    """Evaluation runs."""

    name: Final = "agent_eval"
    claims: Final = tuple(claim for claim in _NEEDS if claim not in EXPERIMENT_NEEDS)
    fidelity: Final = frozenset({"injection_fidelity", "guardrail_fidelity"})
    materials: Final = MATERIAL_GROUPS
    needs: Final = _NEEDS

    def replay(self, case: Case) -> EvaluationReplay:
        """The replay of one run."""
        return EvaluationReplay(case)

    def identity(self, values: Mapping[str, ClaimValue]) -> str | None:
        """A run is completed or a harness error, and each verdict passed, failed or is null.

        Summed over a cell: passed + failed + nulls + harness errors = assignments.
        """
        valued = (*DIMENSIONS, "channel_coverage", "native_score")
        errors = [name for name in valued if values[name] == Null(null=HARNESS_ERROR)]
        if values["completion"] == 1:
            return f"completed, and {errors[0]} is a harness error" if errors else None
        if values["completion"] != 0:
            return "completion: neither 1 nor 0"
        return None if len(errors) == len(valued) else "a harness error, and it has a value"


DOMAIN: Final = AgentEval()
