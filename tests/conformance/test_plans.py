"""What is chosen to be checked, and what it says beforehand."""

from __future__ import annotations

from typing import Any

import pytest

from agentbeat_conformance.outcomes import Outcome
from agentbeat_conformance.plans import PlanError, make_plan, obstacle, of_tier
from agentbeat_conformance.requirements import Capability, Findings, Level, catalogue_digest
from agentbeat_conformance.target_probes import TargetProbe
from support.conformance import catalogue_of, made


async def never(target: TargetProbe) -> Findings:
    raise AssertionError(target)


CATALOGUE = catalogue_of(
    made("HLT-1", never),
    made("INV-3.a", never, invocations=2),
    made("INV-3.b", never, level=Level.SHOULD),
    made("INV-30.a", never),
    made("INV-4.e", never, needs={Capability.RESTART}, invocations=5),
    made("EVD-1.a", never, tier="target-L2", needs={Capability.TASK}, invocations=1),
    made("CTL-1.a", never, tier="controller"),
    made("CTL-3.a", never, tier="controller", needs={Capability.WRITE}),
)


def ids(tier: Any = "target-L1", **options: Any) -> list[str]:
    return [requirement.id for requirement in make_plan(tier, catalogue=CATALOGUE, **options).requirements]


def test_a_tier_is_asked_what_is_its_own_and_l2_also_what_l1_is() -> None:
    assert ids() == ["HLT-1", "INV-3.a", "INV-3.b", "INV-30.a", "INV-4.e"]
    assert ids("target-L2", tasks=1) == [*ids(), "EVD-1.a"]
    assert ids("controller") == ["CTL-1.a", "CTL-3.a"]
    assert [made.id for made in of_tier(CATALOGUE, "controller")] == ids("controller")


@pytest.mark.parametrize(
    ("options", "chosen"),
    [
        ({"only": ["INV-3.b"]}, ["INV-3.b"]),
        ({"only": ["INV-3"]}, ["INV-3.a", "INV-3.b"]),
        ({"only": ["INV"]}, ["INV-3.a", "INV-3.b", "INV-30.a", "INV-4.e"]),
        ({"only": ["INV-3.b", "HLT-1"]}, ["HLT-1", "INV-3.b"]),
        ({"skip": ["INV-3"]}, ["HLT-1", "INV-30.a", "INV-4.e"]),
        ({"only": ["INV"], "skip": ["INV-3.a", "INV-4"]}, ["INV-3.b", "INV-30.a"]),
    ],
    ids=["part", "rule", "family", "two-in-order", "skip", "both"],
)
def test_names_choose_parts_rules_and_families(options: dict[str, Any], chosen: list[str]) -> None:
    assert ids(**options) == chosen


def test_what_is_left_out_is_part_of_the_plan_and_a_must_among_it_makes_it_partial() -> None:
    plan = make_plan("target-L1", catalogue=CATALOGUE, skip=["INV-3.b"])
    assert [made.id for made in plan.left_out] == ["INV-3.b"]
    assert plan.is_whole
    assert not make_plan("target-L1", catalogue=CATALOGUE, skip=["INV-3.a"]).is_whole
    assert not make_plan("target-L1", catalogue=CATALOGUE, safe=True).is_whole


WRONG: dict[str, tuple[str, dict[str, Any], str]] = {
    "a name that is near": ("target-L1", {"only": ["INV-3.c"]}, "INV-3.c; did you mean INV-3"),
    "a name of another tier": ("target-L1", {"only": ["CTL-1.a"]}, "no requirement CTL-1.a"),
    "a name that is none": ("target-L1", {"skip": ["tea\x1b"]}, "no requirement tea"),
    "nothing left": ("target-L1", {"only": ["HLT-1"], "skip": ["HLT"]}, "nothing is left"),
    "L2 without a task": ("target-L2", {}, "--task"),
    "a budget below 0": ("target-L1", {"budget": -1}, "got a budget of -1"),
}


@pytest.mark.parametrize(("tier", "options", "message"), WRONG.values(), ids=WRONG.keys())
def test_options_that_make_no_plan_are_refused(tier: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(PlanError, match=message):
        make_plan(tier, catalogue=CATALOGUE, **options)


@pytest.mark.parametrize(
    ("tier", "options", "count"),
    [
        ("target-L1", {}, 1 + 2),
        ("target-L1", {"capabilities": {Capability.RESTART}}, 1 + 2 + 5),
        ("target-L2", {"tasks": 3, "capabilities": {Capability.TASK}}, 1 + 3 + 2 + 1),
        ("target-L1", {"only": ["INV-4.e"]}, 0),
        ("target-L1", {"budget": 2}, 2),
        ("target-L1", {"budget": 100}, 3),
        ("target-L1", {"safe": True}, 0),
        ("controller", {}, 0),
    ],
    ids=[
        "shared-and-own",
        "with-restart",
        "L2",
        "none-applies",
        "budget",
        "large-budget",
        "safe",
        "controller",
    ],
)
def test_the_plan_counts_the_invocations_that_it_may_need(
    tier: Any, options: dict[str, Any], count: int
) -> None:
    assert make_plan(tier, catalogue=CATALOGUE, **options).invocations == count


def test_the_plan_names_its_catalogue_by_digest() -> None:
    plan = make_plan("controller", catalogue=CATALOGUE, version="0.9")
    assert (plan.catalogue, plan.catalogue_digest) == ("0.9", catalogue_digest(CATALOGUE))


# --- Capabilities


def test_nothing_stands_in_the_way_of_what_needs_nothing_more() -> None:
    assert obstacle(CATALOGUE["HLT-1"], ()) is None
    assert obstacle(CATALOGUE["INV-4.e"], {Capability.RESTART, Capability.AUTH}) is None


def test_a_capability_that_was_not_declared_is_out_of_the_count() -> None:
    result = obstacle(CATALOGUE["INV-4.e"], ())
    assert result is not None
    assert result.outcome is Outcome.NOT_APPLICABLE
    assert "--restart-command" in (result.reason or "")


def test_what_the_suite_itself_lacks_is_not() -> None:
    result = obstacle(CATALOGUE["CTL-3.a"], ())
    assert result is not None
    assert result.outcome is Outcome.COULD_NOT_RUN
    assert "--write-command" in (result.reason or "")


def test_what_the_endpoint_does_not_offer_need_not_be_tried_for_want_of_a_command() -> None:
    both = made("CTL-6.e", never, tier="controller", needs={Capability.WRITE, Capability.CATALOG})
    result = obstacle(both, ())
    assert result is not None
    assert result.outcome is Outcome.NOT_APPLICABLE


@pytest.mark.parametrize("capability", Capability)
def test_every_capability_that_is_missing_is_named_in_words(capability: Capability) -> None:
    result = obstacle(made("INV-1.a", never, needs={capability}), ())
    assert result is not None
    assert len(result.reason or "") > 10
