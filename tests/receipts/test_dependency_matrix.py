"""The 13 x 12 matrix by ablation: what turns Inconclusive without a group is what declares to need it."""

from __future__ import annotations

from functools import cache

import pytest

from agentbeat_receipts.claims import EXPERIMENT_CLAIMS, GROUPS, ClaimReport, Domain, Group
from agentbeat_receipts.claims.judging import judge
from agentbeat_receipts.claims.settling import settle
from agentbeat_receipts.domains.market import DOMAIN
from agentbeat_receipts.tampering import BENIGN, CLAIMS
from agentbeat_receipts.tampering.cases import as_made
from agentbeat_receipts.tampering.makings import HONEST, make
from agentbeat_receipts.verification import ChainReport, Verdict

#: Spec 4's table, with its short names.
TABLE = {
    "I": "C1 C3 C4",
    "A": "IG CG C1 C2 C3 C4",
    "P": "Cmp BS SP W FB MQ C1 C3 C4",
    "K": "SP W FB C1 C3 C4",
    "T": "IG CG C1 C3 C4",
    "O": "Cmp BS SP W FB MQ C1 C3 C4 CG",
    "D": "Cmp BS SP W FB MQ C1 C3 C4",
    "F": "BS SP W FB MQ C1 C3 C4",
    "G": "IG CG",
    "Q": "IG CG C2 C4",
    "J": "C1",
    "R": "C1 C3",
    "B": "C4",
}
NAMES = {
    "Cmp": "completion",
    "BS": "buyer_surplus",
    "SP": "seller_profit",
    "W": "welfare",
    "FB": "first_best",
    "MQ": "match_quality",
    "IG": "information_fidelity",
    "CG": "conduct_fidelity",
    **{claim: claim for claim in EXPERIMENT_CLAIMS},
}
#: What an opened receipt holds, and what the public view lacks.
OPENED = frozenset(map(Group, "PKTODFG"))
PRIVATE = frozenset(map(Group, "PTODG"))


@cache
def control(feature: str = "") -> ChainReport:
    """The chain of an honest market, with or without what a benign change adds to it."""
    makings = {change.name: change.making for change in BENIGN}
    return make(makings[feature](HONEST) if feature else HONEST).judged().chain


def without(chain: ChainReport, *groups: Group, domain: Domain = DOMAIN) -> ClaimReport:
    """The report on a chain when these groups are absent."""
    removed = frozenset(groups)
    return judge(chain, settle(chain, domain, removed=removed), domain, removed=removed)


def undetermined(report: ClaimReport) -> set[str]:
    """The claims that do not pass; none of them is Invalid."""
    found = {claim.claim: claim.verdict for claim in report.claims if claim.verdict is not Verdict.PASS}
    assert Verdict.INVALID not in found.values()
    return set(found)


def needing(group: Group) -> set[str]:
    """The claims that spec 4 says need a group."""
    return {NAMES[short] for short in TABLE[group].split()}


def test_the_matrix_has_66_dots() -> None:
    assert sum(len(needing(group)) for group in GROUPS) == 66
    assert set(TABLE) == set(GROUPS)
    assert set(NAMES.values()) == set(CLAIMS)


def test_all_twelve_claims_of_the_control_pass() -> None:
    assert undetermined(without(control())) == set()
    assert {claim.claim for claim in without(control()).claims} == set(CLAIMS)


@pytest.mark.parametrize("group", GROUPS)
def test_the_market_declares_the_specifications_matrix(group: Group) -> None:
    assert {claim for claim, needs in DOMAIN.needs.items() if group in needs} == needing(group)


@pytest.mark.parametrize("group", GROUPS)
def test_what_turns_inconclusive_without_a_group_is_what_needs_it(group: Group) -> None:
    assert undetermined(without(control(), group)) == needing(group)


@pytest.mark.parametrize("feature", [change.name for change in BENIGN if change.making is not as_made])
def test_the_matrix_is_the_same_for_batches_with_other_features(feature: str) -> None:
    for group in GROUPS:
        assert undetermined(without(control(feature), group)) == needing(group)


@pytest.mark.parametrize("claim", CLAIMS)
def test_a_verdict_names_what_it_depends_on(claim: str) -> None:
    depends = without(control()).claim(claim).depends_on
    assert depends == tuple(group for group in GROUPS if claim in needing(group))


def test_removing_two_groups_leaves_undetermined_what_needs_either() -> None:
    for first in GROUPS:
        for second in GROUPS[::4]:
            removed = undetermined(without(control(), first, second))
            assert removed == needing(first) | needing(second)


def test_an_opened_receipt_determines_six_claims_of_twelve() -> None:
    absent = set(GROUPS) - OPENED
    determined = set(CLAIMS) - undetermined(without(control(), *absent))
    assert determined == {
        "completion",
        "buyer_surplus",
        "seller_profit",
        "welfare",
        "first_best",
        "match_quality",
    }


def test_the_public_view_determines_isolation_only() -> None:
    assert set(CLAIMS) - undetermined(without(control(), *PRIVATE)) == {"C2"}
