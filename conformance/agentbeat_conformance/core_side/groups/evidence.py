"""Every line of `evidence_cases.jsonl`, served as this run's evidence.

Some lines bind their document to a run id that no request can hold. Their document is served to an ordinary
run: it is of another run, whatever else is wrong with it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from agentbeat_conformance.core_side.corpus import CASE_ID, RUN_ID, EvidenceCase, evidence_cases
from agentbeat_conformance.core_side.expectations import observed, without_trace
from agentbeat_conformance.core_side.scenarios import Scenario
from agentbeat_conformance.core_side.stages import Stage
from agentbeat_protocol import is_case_id, is_run_id

__all__ = ["SCENARIOS"]


def _served(case: EvidenceCase) -> Scenario:
    def arrange(stage: Stage) -> None:
        raw = case.raw()
        stage.target.document = lambda _: raw

    can_be_asked = is_run_id(case.run_id) and is_case_id(case.case_id)
    return Scenario(
        id=f"core.evidence.{case.id}",
        rule=case.rule,
        tier="L2",
        served=case.what,
        expects=observed("L2") if case.accepted else without_trace(),
        arrange=arrange,
        run_id=case.run_id if can_be_asked else RUN_ID,
        case_id=case.case_id if can_be_asked else CASE_ID,
    )


def _scenarios() -> Iterator[Scenario]:
    for case in evidence_cases():
        yield _served(case)


SCENARIOS: Final = tuple(_scenarios())
