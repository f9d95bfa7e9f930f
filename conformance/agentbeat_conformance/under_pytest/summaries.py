"""What the items of a session come to, from their reports alone: other processes may have run them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Final

import pytest

from agentbeat_conformance.catalogues import load_catalogue
from agentbeat_conformance.outcomes import Outcome, Result, Verdict, verdict_of
from agentbeat_conformance.plans import of_tier
from agentbeat_conformance.pytest_plugin import OUTCOME
from agentbeat_conformance.reports.wording import VERDICTS
from agentbeat_conformance.requirements import Level, Tier

__all__ = ["FINDING", "REQUIREMENT", "TIER", "nothing_shown", "summary_lines"]

#: The names under which an item's report keeps what it is about, beside its outcome.
REQUIREMENT: Final = "agentbeat_requirement"
TIER: Final = "agentbeat_tier"
FINDING: Final = "agentbeat_finding"


def nothing_shown(reports: Iterable[pytest.TestReport]) -> bool:
    """Whether a Target had requirements of which none was shown to hold or not to hold."""
    return any(verdict is Verdict.NOTHING_TESTED for _, _, verdict, _ in _verdicts(reports))


def summary_lines(reports: Sequence[pytest.TestReport]) -> list[str]:
    """The verdict on each Target, and the SHOULDs that are not met."""
    lines = []
    for where, tier, verdict, results in _verdicts(reports):
        counts = [(outcome, sum(result.outcome is outcome for result in results)) for outcome in Outcome]
        told = ", ".join(f"{count} {outcome.replace('_', ' ')}" for outcome, count in counts if count)
        lines.append(f"{VERDICTS[verdict]}  {where} as {tier}: {told}")
    for report in reports:
        told_of = _properties(report)
        if told_of[OUTCOME] == [str(Outcome.WARN)]:
            findings = "; ".join(told_of.get(FINDING, ()))
            lines.append(f"SHOULD not met: {told_of[REQUIREMENT][0]}: {findings}")
    return lines


def _verdicts(
    reports: Iterable[pytest.TestReport],
) -> list[tuple[str, Tier, Verdict, list[Result]]]:
    catalogue = load_catalogue()
    found = []
    ordered = sorted(reports, key=_target_of)
    for where, group in groupby(ordered, key=_target_of):
        told = [_properties(report) for report in group]
        tier = _as_tier(told[0][TIER][0])
        results = [
            Result(requirement=catalogue[one[REQUIREMENT][0]], outcome=Outcome(one[OUTCOME][0]))
            for one in told
        ]
        shown = {result.requirement.id for result in results}
        musts = {made.id for made in of_tier(catalogue, tier) if made.level is Level.MUST}
        verdict = verdict_of(results, reachable=True)
        partial = verdict is Verdict.CONFORMANT and not musts <= shown
        found.append((where, tier, Verdict.INCOMPLETE if partial else verdict, results))
    return found


def _target_of(report: pytest.TestReport) -> str:
    """What stands in front of the requirement in the item's id."""
    return report.nodeid.rpartition("::")[0]


def _as_tier(name: str) -> Tier:
    return "target-L2" if name == "target-L2" else "target-L1"


def _properties(report: pytest.TestReport) -> dict[str, list[str]]:
    told: dict[str, list[str]] = {}
    for name, value in report.user_properties:
        told.setdefault(name, []).append(str(value))
    return told
