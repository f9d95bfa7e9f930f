"""The test items: one for each requirement, ended as its check ends."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import pytest

from agentbeat_conformance.catalogues import load_catalogue
from agentbeat_conformance.outcomes import Outcome
from agentbeat_conformance.plans import of_tier
from agentbeat_conformance.pytest_plugin import OUTCOME
from agentbeat_conformance.reports.excerpts import visible
from agentbeat_conformance.requirements import Requirement
from agentbeat_conformance.under_pytest.subjects import Conformance, given_tier
from agentbeat_conformance.under_pytest.summaries import FINDING, REQUIREMENT, TIER

__all__ = ["ApplicationItem", "TargetItem", "TargetNode", "announced", "application_items", "target_node"]


class TargetNode(pytest.Collector):
    """The Target at the URL: its items are the requirements."""

    def __init__(self, *, conformance: Conformance, **options: Any) -> None:
        super().__init__(**options)
        self.conformance = conformance

    def collect(self) -> Iterator[pytest.Item | pytest.Collector]:
        """An item for each requirement."""
        for made in self.conformance.plan().requirements:
            item = TargetItem.from_parent(self, name=made.id, requirement=made)
            item.add_marker(pytest.mark.agentbeat)
            yield item


class TargetItem(pytest.Item):
    """A requirement of the Target at the URL."""

    parent: TargetNode

    def __init__(self, *, requirement: Requirement, **options: Any) -> None:
        super().__init__(**options)
        self.requirement = requirement

    def runtest(self) -> None:
        """Check it."""
        _settle(self, self.parent.conformance)

    def reportinfo(self) -> tuple[Any, int | None, str]:
        """See `pytest.Item`."""
        return self.path, None, _title(self.requirement)


class ApplicationItem(pytest.Function):
    """A requirement of a module's application."""

    requirement: Requirement

    def reportinfo(self) -> tuple[Any, int | None, str]:
        """See `pytest.Item`."""
        return self.path, None, _title(self.requirement)


def target_node(session: pytest.Session, conformance: Conformance) -> TargetNode:
    """The collector of the Target at the URL."""
    node: TargetNode = TargetNode.from_parent(
        session, name="agentbeat", nodeid="agentbeat", conformance=conformance
    )
    return node


def application_items(module: pytest.Module) -> list[pytest.Item]:
    """An item for each requirement of the module's application."""
    items: list[pytest.Item] = []
    for made in of_tier(load_catalogue(), given_tier(module.config)):
        item: ApplicationItem = ApplicationItem.from_parent(module, name=made.id, callobj=_check)
        item.requirement = made
        item.add_marker(pytest.mark.agentbeat)
        items.append(item)
    return items


def _check(request: pytest.FixtureRequest, _agentbeat_conformance: Conformance) -> None:
    _settle(request.node, _agentbeat_conformance)


def announced(conformance: Conformance, items: Iterable[pytest.Item]) -> list[str]:
    """What will be asked of the Target at the URL, and how often its Agent runs for it."""
    chosen = [item.requirement.id for item in items if isinstance(item, TargetItem)]
    if not chosen:
        return []
    plan = conformance.plan(chosen)
    return [
        f"agentbeat: {len(chosen)} requirements of {plan.tier}, "
        f"at most {plan.invocations} invocations of the Agent"
    ]


def _settle(item: TargetItem | ApplicationItem, conformance: Conformance) -> None:
    """Check the item's requirement, and end as it ends."""
    made = item.requirement
    result = conformance.result(made, _planned_with(item))
    item.user_properties += [
        (REQUIREMENT, made.id),
        (TIER, conformance.tier),
        (OUTCOME, str(result.outcome)),
    ]
    item.user_properties += [(FINDING, visible(finding.message)) for finding in result.findings]
    match result.outcome:
        case Outcome.PASS:
            return
        case Outcome.WARN:
            item.add_report_section("call", "agentbeat", conformance.details(result))
        case Outcome.NOT_APPLICABLE:
            pytest.skip(result.reason or "not applicable")
        case Outcome.FAIL:
            pytest.fail(f"{_title(made)}\n{conformance.details(result)}", pytrace=False)
        case Outcome.COULD_NOT_RUN:
            text = f"{_title(made)}\ncould not run, so nothing is shown: {visible(result.reason or '')}"
            pytest.fail(f"{text}\n{conformance.details(result)}", pytrace=False)
        case Outcome.ERROR:
            pytest.fail(f"a fault of the suite itself: {visible(result.reason or '')}", pytrace=False)


def _planned_with(item: TargetItem | ApplicationItem) -> list[str]:
    """The ids of all items of the same Target that this session runs."""
    return [
        other.requirement.id
        for other in item.session.items
        if isinstance(other, TargetItem | ApplicationItem) and other.parent is item.parent
    ]


def _title(made: Requirement) -> str:
    return f"{made.id} ({made.level}) {made.text}"
