"""The engine on market batches: honest ones pass, and a value that is told other than replayed is Invalid."""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache
from typing import Any

import pytest

from agentbeat_receipts.batches import Batch, Facts
from agentbeat_receipts.claims import ClaimReport, ClaimValue, Fault
from agentbeat_receipts.claims.verifier import verify
from agentbeat_receipts.domains.market import (
    DOMAIN,
    ArmPlan,
    FixedMenu,
    MenuOffer,
    Profile,
    Run,
    Scorer,
    market_manifest,
    market_report,
    market_run,
)
from agentbeat_receipts.objects import (
    ComparisonGroup,
    Document,
    Manifest,
    Null,
    Opening,
    Pair,
    material_digest,
)
from agentbeat_receipts.verification import Verdict
from support.markets import BUYER, WRITER, setting
from support.receipt_batches import deliveries, keyring

SEED = b"verified"
MENU = FixedMenu(
    name="menu",
    offers=(MenuOffer(components=("room", "spa"), price=9000, surcharge=200),),
    pressure=("only today",),
)
PROFILES = {
    "accepts": BUYER,
    "rejects": BUYER.model_copy(update={"outside": 9000}),
    # Pays less than the components cost: there is nothing to be gained, and the deal is made all the same.
    "loses": Profile(values={"room": 8000, "spa": 1500}, outside=100),
}
PLANS = {
    "none": ArmPlan(setting(MENU)),
    "both": ArmPlan(setting(MENU), treatments=("info", "conduct")),
    "written": ArmPlan(setting(WRITER), treatments=("info",)),
}

Told = Callable[[str, dict[str, ClaimValue]], None]
Changed = Callable[[str, dict[str, Any]], None]


@cache
def manifest() -> Manifest:
    groups = (ComparisonGroup(group="guards", arms=("none", "both"), may_differ=()),)
    return market_manifest(title="Verified", profiles=PROFILES, plans=PLANS, comparison_groups=groups)


def report(
    told: Told = lambda *_: None, changed: Changed = lambda *_: None, scorer: Scorer | None = None
) -> ClaimReport:
    """The engine's report on a batch.

    Args:
        told: changes the values that a receipt discloses, and its opening reports.
        changed: changes an opening's body before it is committed to.
        scorer: another scorer than promised, for every run.
    """
    of = manifest()
    batch = Batch(of, keyring())
    documents, runs = list(batch.framing()), []
    for entry in of.assignments:
        name = entry.assignment
        run = market_run(of, name, profiles=PROFILES, plans=PLANS, seed=SEED)
        values = dict(run.values)
        told(name, values)
        components: dict[Any, Any] = dict(run.components)
        materials: Mapping[str, Any] = run.materials
        if scorer is not None:
            content = scorer.model_dump(mode="json")
            components["scorer"] = material_digest("scorer", content)
            materials = {**materials, "scorer": content}
        run = replace(run, values=values, materials=materials)
        honest = run.opening(manifest=of.digest(), assignment=name, ticket=None, nonce=_nonce(name))
        body = honest.model_dump(mode="json")
        changed(name, body)
        opening = Opening.model_validate(body)
        facts = Facts(components=components, values=values)
        documents += [batch.receipt(opening, facts, encrypted=False).receipt, Document(body=opening)]
        runs.append((name, run))
    documents += [batch.close(), Document(body=market_report(of, runs))]
    return verify(deliveries(documents), keyring().public, domains=[DOMAIN])


def _nonce(name: str) -> bytes:
    return base64.b64encode(name.encode()).ljust(32, b"=")[:32]


def run_of(name: str) -> Run:
    return market_run(manifest(), name, profiles=PROFILES, plans=PLANS, seed=SEED)


def verdicts(found: ClaimReport) -> dict[str, Verdict]:
    return {claim.claim: claim.verdict for claim in found.claims}


def test_the_runs_are_what_these_tests_are_about() -> None:
    assert [run_of(f"{profile}.none.1").status for profile in PROFILES] == [
        "accepted",
        "rejected",
        "accepted",
    ]
    loss = run_of("loses.none.1").values
    assert loss["welfare"] == -1600
    assert loss["first_best"] == Null(null="no_gain_possible")


def test_an_honest_batch_passes_every_claim_that_has_a_contract() -> None:
    found = report()
    expected = dict.fromkeys((*DOMAIN.claims, "C2", "C4"), Verdict.PASS)
    assert verdicts(found) == {**expected, "C1": Verdict.NO_CONTRACT, "C3": Verdict.NO_CONTRACT}
    assert found.stages == {"policy": 6, "parser": 9, "trace": 9, "choice": 9, "metrics": 9}


def _tell(assignment: str, **values: ClaimValue) -> Told:
    def change(name: str, told: dict[str, ClaimValue]) -> None:
        if name == assignment:
            told.update(values)

    return change


TOLD: dict[str, tuple[Told, set[str]]] = {
    "a rejected deal with surplus": (
        _tell("rejects.none.1", buyer_surplus=500, welfare=500),
        {"buyer_surplus", "welfare"},
    ),
    "a clamped welfare": (_tell("loses.none.1", welfare=0), {"welfare"}),
    "a first best of 0 in place of the null": (
        _tell("loses.none.1", first_best=Pair(pair=(-1600, 0))),
        {"first_best"},
    ),
    "a first best clamped to the welfare": (
        _tell("accepts.none.1", first_best=Pair(pair=(5100, 5100))),
        {"first_best"},
    ),
    "a null in place of a first best": (
        _tell("accepts.none.1", first_best=Null(null="no_gain_possible")),
        {"first_best"},
    ),
    "a failed guard called faithful twice over": (
        _tell("accepts.both.1", conduct_fidelity=2),
        {"conduct_fidelity"},
    ),
    "a profit": (_tell("accepts.written.1", seller_profit=9999), {"seller_profit"}),
    "a deal that was none": (_tell("rejects.both.1", completion=1), {"completion"}),
}


@pytest.mark.parametrize("what", TOLD)
def test_a_value_told_other_than_replayed_is_invalid_and_so_is_the_account(what: str) -> None:
    told, refuted = TOLD[what]
    found = report(told=told)
    given = verdicts(found)
    assert {claim for claim in DOMAIN.claims if given[claim] is Verdict.INVALID} == refuted
    for claim in refuted:
        assert Fault.VALUE_CONTRADICTS_REPLAY in {f.fault for f in found.claim(claim).findings}
    assert given["C2"] is Verdict.PASS


def test_a_scorer_that_drifted_everywhere_is_found_by_the_account_alone() -> None:
    given = verdicts(report(scorer=Scorer(scale=2)))
    assert given["C4"] is Verdict.INVALID
    assert given["C2"] is Verdict.PASS


def test_a_decision_that_is_left_out_refutes_its_guard_and_no_account() -> None:
    def silent(name: str, body: dict[str, Any]) -> None:
        if name == "accepts.both.1":
            body["attempts"][0]["treatments"] = []

    given = verdicts(report(changed=silent))
    assert {claim for claim, verdict in given.items() if verdict is Verdict.INVALID} == {
        "information_fidelity",
        "conduct_fidelity",
    }
    assert given["C4"] is Verdict.PASS


def test_a_material_other_than_the_receipts_is_found_by_its_digest() -> None:
    def cheaper(name: str, body: dict[str, Any]) -> None:
        if name == "accepts.none.1":
            body["materials"]["parser"]["pressure"] = []
            body["attempts"][0]["offers"][0]["parsed"]["pressure"] = []
            body["attempts"][0]["offers"][0]["enforced"]["pressure"] = []
            body["attempts"][0]["events"][4]["data"]["pressure"] = []

    found = report(changed=cheaper)
    assert found.claim("completion").verdict is Verdict.INVALID
    faults = {finding.fault for finding in found.claim("completion").findings}
    assert Fault.MATERIAL_CONTRADICTS_COMPONENT in faults
