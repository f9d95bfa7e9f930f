"""C2: what ran under each arm is what was promised, and arms differ only where they may."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from agentbeat_receipts.claims import ClaimFinding, Fault, Group, Tally
from agentbeat_receipts.claims.isolation import compared_arms, isolation_findings, off_everywhere
from agentbeat_receipts.objects import COMPONENTS, Arm, Assignment, ComparisonGroup, Manifest
from support.claim_batches import kiosk_manifest
from support.kiosk import PROFILES, components

OTHER = "sha256:" + "e" * 64
GROUP = ComparisonGroup(group="cap", arms=("free", "capped"), may_differ=("prompt",))


def manifest(*groups: ComparisonGroup, free: Any = None, capped: Any = None) -> Manifest:
    """Both arms, with changes of what each promises."""
    arms = (
        Arm(arm="free", components=components(**(free or {})), treatments=()),
        Arm(arm="capped", components=components(**(capped or {})), treatments=("cap",)),
    )
    return kiosk_manifest(arms=arms, comparison_groups=groups or (GROUP,))


def tally(**ran: list[dict[str, str | None]]) -> Tally:
    """The receipts of each arm, each with its changes of the components."""
    counted = {
        arm: Counter(tuple(components(**changes)[name] for name in COMPONENTS) for changes in runs)
        for arm, runs in ran.items()
    }
    return Tally(components=counted)


def both(free: dict[str, str | None] | None = None, capped: dict[str, str | None] | None = None) -> Tally:
    return tally(free=[free or {}] * 2, capped=[capped or {}] * 2)


def found(of: Manifest | None, sums: Tally, removed: str = "") -> list[ClaimFinding]:
    return list(isolation_findings(of, sums, removed=frozenset(map(Group, removed))))


def test_arms_that_ran_as_promised_are_isolated() -> None:
    assert found(manifest(), both()) == []


def test_without_a_comparison_group_nothing_was_asserted() -> None:
    silent = kiosk_manifest(comparison_groups=())
    assert found(silent, both()) == [ClaimFinding(Fault.CONTRACT_ABSENT, "", "no comparison group")]


def test_a_comparison_group_without_arms_asserts_nothing() -> None:
    hollow = ComparisonGroup(group="hollow", arms=(), may_differ=())
    drifted = both(capped={"chooser": OTHER})
    assert found(manifest(hollow), drifted) == [
        ClaimFinding(Fault.CONTRACT_ABSENT, "", "no comparison group")
    ]
    assert [f.fault for f in found(manifest(hollow, GROUP), drifted)] == [Fault.COMPONENT_DIFFERS]


@pytest.mark.parametrize("component", [name for name in COMPONENTS if name != "scorer"])
def test_a_receipt_with_another_component_than_its_arms_differs(component: str) -> None:
    sums = tally(free=[{}, {component: OTHER}], capped=[{}])
    detail = f"{component}: 1 of 2 receipts"
    assert found(manifest(), sums) == [ClaimFinding(Fault.COMPONENT_DIFFERS, "free", detail)]


def test_a_component_that_may_differ_between_arms_must_still_be_its_own_arms() -> None:
    assert [f.fault for f in found(manifest(), both(free={"prompt": OTHER}))] == [Fault.COMPONENT_DIFFERS]


@pytest.mark.parametrize("component", COMPONENTS)
def test_arms_differ_only_where_they_may(component: str) -> None:
    promised = manifest(capped={component: OTHER})
    findings = found(promised, both(capped={component: OTHER}))
    if component == "prompt":
        assert findings == []
    else:
        detail = f"{component}: capped and free"
        assert findings == [ClaimFinding(Fault.ARMS_DIFFER, "cap", detail)]


def test_of_many_arms_the_first_that_differs_from_the_first_is_named() -> None:
    arms = tuple(
        Arm(arm=name, components=components(model=model), treatments=())
        for name, model in zip("abcd", (OTHER, OTHER, "sha256:" + "d" * 64, OTHER), strict=True)
    )
    assignments = tuple(
        Assignment(assignment=f"p.{arm.arm}", profile=PROFILES[0], arm=arm.arm, replicate=1) for arm in arms
    )
    of = kiosk_manifest(
        arms=arms,
        assignments=assignments,
        replicates=1,
        contracts=(),
        comparison_groups=(ComparisonGroup(group="all", arms=tuple("dcba"), may_differ=()),),
    )
    findings = [f for f in found(of, Tally()) if f.fault is Fault.ARMS_DIFFER]
    assert findings == [ClaimFinding(Fault.ARMS_DIFFER, "all", "model: a and c")]


def test_each_group_allows_its_own_differences() -> None:
    strict = ComparisonGroup(group="strict", arms=("free", "capped"), may_differ=())
    promised = manifest(GROUP, strict, capped={"prompt": OTHER})
    assert [(f.fault, f.subject) for f in found(promised, both(capped={"prompt": OTHER}))] == [
        (Fault.ARMS_DIFFER, "strict")
    ]


def alone(*names: str) -> Manifest:
    """Each of these arms in a group by itself, and no contract."""
    groups = (ComparisonGroup(group=f"{name}-alone", arms=(name,), may_differ=()) for name in names)
    return manifest(*groups).model_copy(update={"contracts": ()})


@pytest.mark.parametrize("names", [("free",), ("free", "capped")], ids=" and ".join)
def test_a_group_of_one_arm_compares_nothing(names: tuple[str, ...]) -> None:
    expected = ClaimFinding(Fault.CONTRACT_ABSENT, "", "no comparison group of two arms")
    assert found(alone(*names), both()) == [expected]


def test_what_the_arms_of_such_groups_ran_with_is_still_their_promise() -> None:
    findings = found(alone("free", "capped"), both(capped={"model": OTHER}))
    assert [f.fault for f in findings] == [Fault.CONTRACT_ABSENT, Fault.COMPONENT_DIFFERS]


def test_an_arm_that_nobody_compares_may_run_as_it_likes() -> None:
    without = alone("free")
    assert compared_arms(without) == {"free"}
    assert {f.fault for f in found(without, both(capped={"model": OTHER}))} == {Fault.CONTRACT_ABSENT}


def test_a_contract_over_arms_that_no_group_holds_together_leaves_no_claim_of_isolation() -> None:
    apart = (
        ComparisonGroup(group="one", arms=("free",), may_differ=()),
        ComparisonGroup(group="other", arms=("capped",), may_differ=()),
    )
    assert {f.fault for f in found(manifest(*apart), both())} == {Fault.CONTRACT_ABSENT}
    assert found(manifest(*apart, GROUP), both()) == []


def test_a_missing_digest_shows_nothing() -> None:
    sums = tally(free=[{"model": None}, {}], capped=[{}])
    assert found(manifest(), sums) == [
        ClaimFinding(Fault.COMPONENT_MISSING, "free", "model: 1 of 2 receipts")
    ]


def test_an_empty_arm_shows_nothing() -> None:
    assert found(manifest(), tally(free=[{}])) == [ClaimFinding(Fault.ARM_EMPTY, "capped", "no receipt")]
    assert [f.fault for f in found(manifest(), Tally())] == [Fault.ARM_EMPTY, Fault.ARM_EMPTY]


def test_a_scorer_that_is_off_everywhere_is_not_isolations_matter() -> None:
    off = {"scorer": OTHER}
    assert found(manifest(), both(free=off, capped=off)) == []


@pytest.mark.parametrize(
    ("free", "capped"),
    [
        ({"scorer": OTHER}, {}),
        ({"scorer": OTHER}, {"scorer": "sha256:" + "d" * 64}),
        ({"scorer": OTHER}, {"scorer": None}),
    ],
    ids=["in one arm only", "another in each arm", "not named in one arm"],
)
def test_a_scorer_that_is_off_in_places_is(free: Any, capped: Any) -> None:
    faults = [f.fault for f in found(manifest(), both(free, capped))]
    assert Fault.COMPONENT_DIFFERS in faults


def test_one_scorer_that_some_arm_promises_is_not_off_everywhere() -> None:
    promised = manifest(capped={"scorer": OTHER})
    sums = both(free={"scorer": OTHER}, capped={"scorer": OTHER})
    assert not off_everywhere("scorer", promised, sums.components)
    assert [(f.fault, f.subject) for f in found(promised, sums)] == [
        (Fault.COMPONENT_DIFFERS, "free"),
        (Fault.ARMS_DIFFER, "cap"),
    ]


@pytest.mark.parametrize(
    ("removed", "said"), [("A", ["A, assignment"]), ("Q", ["Q, protocol"]), ("IPKTODFGJRB", [])]
)
def test_it_needs_assignments_and_protocol_and_nothing_else(removed: str, said: list[str]) -> None:
    findings = found(manifest(), both(), removed)
    assert findings == [ClaimFinding(Fault.EVIDENCE_ABSENT, "", detail) for detail in said]


def test_without_a_manifest_there_is_no_evidence() -> None:
    assert {f.fault for f in found(None, both())} == {Fault.EVIDENCE_ABSENT}
