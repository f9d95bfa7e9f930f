"""Each dot of the matrix has its witness: executions that differ in a claim and agree on all other groups."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest

from agentbeat_receipts.claims import GROUPS, ClaimReport, Group
from agentbeat_receipts.claims.evidence import evidence_parts
from agentbeat_receipts.domains.market import DOMAIN
from agentbeat_receipts.verification import Verdict
from support.executions import WITNESSES, Change, executed

DOTS = [(group, claim) for group in GROUPS for claim, needs in DOMAIN.needs.items() if group in needs]


@cache
def judged(place: tuple[str, int, int]) -> ClaimReport:
    """The report on one execution of a pair."""
    group, pair, which = place
    change = WITNESSES[group][pair][1 + which]
    assert isinstance(change, Change)
    return executed(change).judged()


@cache
def parts(place: tuple[str, int, int]) -> dict[Group, Any]:
    """Its evidence, group by group."""
    return evidence_parts(judged(place).chain, DOMAIN)


def said(report: ClaimReport, claim: str) -> tuple[Any, ...]:
    """The verdict on a claim, and its exact value."""
    found = report.claim(claim)
    return found.verdict, found.value, dict(found.nulls), found.analyses


def test_the_control_passes() -> None:
    report = executed(Change()).judged()
    assert {claim.verdict for claim in report.claims} == {Verdict.PASS}
    assert report.chain.coverage is Verdict.PASS


def test_there_are_66_dots_and_a_witness_of_each() -> None:
    named = [
        (group, claim) for group, pairs in WITNESSES.items() for names, *_ in pairs for claim in names.split()
    ]
    assert sorted(named) == sorted((str(group), claim) for group, claim in DOTS)
    assert len(DOTS) == 66


@pytest.mark.parametrize(("group", "claim"), DOTS, ids=lambda part: str(part))
def test_a_dot_has_its_witness(group: Group, claim: str) -> None:
    """Without this group nobody could tell the two executions apart, and the claim tells them apart."""
    (pair,) = [place for place, (names, *_) in enumerate(WITNESSES[group]) if claim in names.split()]
    one, other = (group, pair, 0), (group, pair, 1)
    differing = [part for part in GROUPS if parts(one)[part] != parts(other)[part]]
    assert differing == [group]
    assert said(judged(one), claim) != said(judged(other), claim)
    for place in (one, other):
        assert judged(place).chain.integrity is Verdict.PASS


@pytest.mark.parametrize("group", GROUPS)
def test_a_claim_that_does_not_need_a_group_does_not_see_what_differs_in_it(group: Group) -> None:
    for place, (_, first, _) in enumerate(WITNESSES[group]):
        if first != Change():
            continue
        one, other = judged((group, place, 0)), judged((group, place, 1))
        for claim, needs in DOMAIN.needs.items():
            if group not in needs:
                assert said(one, claim) == said(other, claim)
