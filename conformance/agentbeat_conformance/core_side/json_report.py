"""The report on a Core as JSON, `core-conformance-report-v1`, with a schema that the package ships.

After a change of the models `python -m agentbeat_conformance.core_side.json_report` writes the schema anew; a
test fails while the two differ.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field

from agentbeat_conformance.core_side.runner import ScenarioResult, core_verdict
from agentbeat_conformance.core_side.scenarios import CORE_SUITE_VERSION, Scenario, catalogue_digest
from agentbeat_conformance.outcomes import Outcome, Verdict
from agentbeat_conformance.reports.excerpts import shortened, visible
from agentbeat_conformance.requirements import Level
from agentbeat_protocol.evaluation import ObservationTier

__all__ = ["SCHEMA_NAME", "CoreReport", "generated_schema", "report_of", "schema_text", "to_json"]

SCHEMA_NAME: Final = "core-conformance-report-v1"

#: How much is shown of what a Core wrote, in characters.
_EXCERPT: Final = 2000


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class ScenarioPart(_Part):
    """One scenario and how it ended."""

    id: str
    group: str
    tier: ObservationTier
    level: Level
    rule: str = Field(description="The rule or the section of the specs that it is about.")
    served: str = Field(description="What was hostile or odd about the other side.")
    expected: str
    outcome: Outcome
    findings: tuple[str, ...] = Field(description="What was got and what was expected.")
    reason: str | None = Field(description="Why it could not run or is not applicable; null otherwise.")
    seconds: Annotated[float, Field(ge=0)]
    exit_code: int | None = Field(description="The command's; null where it was not run or was ended.")
    asked: tuple[str, ...] = Field(description="What the Core asked for, and of whom, in order.")
    output: str | None = Field(description="The begin of the result, where the scenario did not pass.")
    messages: str | None = Field(description="The end of its messages, where the scenario did not pass.")


class CoreReport(_Part):
    """What the suite found of one Core."""

    schema_version: Literal["core-conformance-report-v1"] = "core-conformance-report-v1"
    suite_version: str
    catalogue_digest: Annotated[str, Field(pattern=r"^sha256:[0-9a-f]{64}$")]
    command: str
    verdict: Verdict
    counts: dict[Outcome, Annotated[int, Field(ge=1)]]
    left_out: Annotated[int, Field(ge=0, description="How many scenarios were not chosen.")]
    scenarios: tuple[ScenarioPart, ...]


def report_of(
    results: Sequence[ScenarioResult], *, command: str, scenarios: Mapping[str, Scenario]
) -> CoreReport:
    """The report on these results; `scenarios` are all there are."""
    return CoreReport(
        suite_version=CORE_SUITE_VERSION,
        catalogue_digest=catalogue_digest(scenarios),
        command=command,
        verdict=core_verdict(results),
        counts=dict(Counter(result.outcome for result in results)),
        left_out=len(scenarios) - len(results),
        scenarios=tuple(map(_part, results)),
    )


def _part(result: ScenarioResult) -> ScenarioPart:
    scenario, spoken = result.scenario, result.spoken
    shown = spoken if result.outcome is not Outcome.PASS else None
    return ScenarioPart(
        id=scenario.id,
        group=scenario.group,
        tier=scenario.tier,
        level=scenario.level,
        rule=scenario.rule,
        served=scenario.served,
        expected=scenario.expects.text,
        outcome=result.outcome,
        findings=tuple(map(visible, result.findings)),
        reason=result.reason,
        seconds=round(result.seconds, 3),
        exit_code=spoken.exit_code if spoken else None,
        asked=tuple(map(visible, result.asked)),
        output=None if shown is None else _excerpt(shown.output.decode("utf-8", "replace")),
        messages=None if shown is None else _excerpt(shown.messages),
    )


def _excerpt(text: str) -> str:
    return visible(shortened(text, _EXCERPT), lines=True)


def to_json(report: CoreReport) -> str:
    """The report as text, with a line feed at its end."""
    return report.model_dump_json(indent=2) + "\n"


def generated_schema() -> dict[str, Any]:
    """The schema of the models."""
    schema = CoreReport.model_json_schema(mode="serialization")
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "$id": SCHEMA_NAME, **schema}


def schema_text() -> str:
    """The schema that the package ships."""
    return resources.files(__package__).joinpath(f"{SCHEMA_NAME}.json").read_text(encoding="utf-8")


if __name__ == "__main__":
    file = Path(__file__).with_name(f"{SCHEMA_NAME}.json")
    file.write_text(json.dumps(generated_schema(), indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
