"""A whole batch of market runs is written so that the verifier finds it sound, and its report adds up."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from agentbeat_receipts.batches import Batch
from agentbeat_receipts.claims import Case, Group
from agentbeat_receipts.claims.verifier import verify
from agentbeat_receipts.domains.market import (
    DOMAIN,
    ArmPlan,
    Bonus,
    Catalogue,
    FixedMenu,
    MarketBatch,
    MenuOffer,
    Parser,
    Profile,
    Setting,
    market_manifest,
    market_report,
    market_run,
    market_runs,
    write_market,
)
from agentbeat_receipts.domains.market.materials import Normaliser
from agentbeat_receipts.objects import (
    COMPONENTS,
    ComparisonGroup,
    Manifest,
    Null,
    Opening,
    Receipt,
    RetryPolicy,
    material_digest,
    write_document,
)
from agentbeat_receipts.verification import verify_chain
from support.markets import BUYER, MENU, WRITER, found, setting
from support.receipt_batches import ANCHOR, deliveries, keyring, verified

POOR = Profile(values={"room": 900, "spa": 100}, outside=10, required=("room",))
PROFILES = {"p-1": BUYER, "p-2": BUYER.model_copy(update={"outside": 4000}), "p-3": POOR}
PLANS = {
    "menu": ArmPlan(setting(MENU)),
    "none": ArmPlan(setting(WRITER)),
    "both": ArmPlan(setting(WRITER), treatments=("info", "conduct")),
}
SEED = b"batches"


def manifest(**changes: Any) -> Manifest:
    members: dict[str, Any] = {
        "title": "Rooms",
        "profiles": PROFILES,
        "plans": PLANS,
        "replicates": 2,
        "comparison_groups": (ComparisonGroup(group="guards", arms=("none", "both"), may_differ=()),),
    }
    return market_manifest(**{**members, **changes})


def written(of: Manifest | None = None, **changes: Any) -> MarketBatch:
    members: dict[str, Any] = {"profiles": PROFILES, "plans": PLANS, "seed": SEED}
    return write_market(of or manifest(), keyring(), **{**members, **changes})


def test_the_manifest_promises_every_profile_under_every_arm() -> None:
    made = manifest()
    assert len(made.assignments) == 3 * 3 * 2
    assert [entry.assignment for entry in made.assignments[:3]] == ["p-1.menu.1", "p-1.menu.2", "p-1.none.1"]
    assert made.disclosed == tuple(sorted(DOMAIN.claims))
    assert made.materials == {"catalogue": PLANS["menu"].setting.catalogue_digest}
    assert made.retry == RetryPolicy(max_attempts=1, retry_on=())
    assert {arm.arm: arm.treatments for arm in made.arms}["both"] == ("conduct", "info")


def test_arms_with_several_catalogues_or_several_exponents_are_refused() -> None:
    other = replace(setting(MENU), catalogue=Catalogue(costs={**dict.fromkeys("ab", 1), **_costs()}))
    with pytest.raises(ValueError, match="2 catalogues"):
        manifest(plans={**PLANS, "other": ArmPlan(other)})
    with pytest.raises(ValueError, match="2 money exponents"):
        manifest(plans={**PLANS, "other": ArmPlan(setting(MENU, normaliser=Normaliser(exponent=0)))})


def test_costs_that_no_manifest_has_promised_determine_nothing() -> None:
    of = manifest().model_copy(update={"materials": {}})
    report = verify(
        deliveries(written(of).documents()),
        keyring().public,
        domains=(DOMAIN,),
        auditor=keyring().auditor,
    )
    said = {claim.claim: str(claim.verdict) for claim in report.claims}
    needy = {name for name, groups in DOMAIN.needs.items() if Group.K in groups} - {"C1", "C3"}
    assert {name for name, verdict in said.items() if verdict == "I_E"} == needy


def test_a_manifest_of_another_exponent_than_its_arms_read_by_is_refuted() -> None:
    for exponent, verdict in ((-2, "Pass"), (-4, "Invalid")):
        of = manifest().model_copy(update={"money_exponent": exponent})
        report = verify(
            deliveries(written(of).documents()),
            keyring().public,
            domains=(DOMAIN,),
            auditor=keyring().auditor,
        )
        said = {claim.claim: claim.verdict for claim in report.claims}
        assert (said["welfare"], said["C2"], said["C4"]) == (verdict, "Pass", verdict)


def _costs() -> Mapping[str, int]:
    return setting().catalogue.costs


@pytest.mark.parametrize("encrypted", [True, False])
def test_a_retrospective_batch_is_sound(encrypted: bool) -> None:
    batch = written(encrypted=encrypted)
    report = verified(deliveries(batch.documents()), anchored=False)
    assert (report.integrity, report.openings, report.retries) == ("Pass", "Pass", "Pass")
    assert report.findings == ()


def test_a_prospective_batch_is_sound_and_complete() -> None:
    of = manifest(mode="prospective", nonces="fresh")
    batch = written(of, anchor=ANCHOR)
    report = verified(deliveries(batch.documents()), anchored=True)
    assert (report.level, report.coverage, report.findings) == ("CR-3", "Pass", ())


def test_the_same_seed_writes_the_same_bodies_and_another_one_others() -> None:
    def bodies(batch: MarketBatch) -> list[str]:
        return [made.opening.digest() for made in batch.runs]

    assert bodies(written()) == bodies(written())
    assert not set(bodies(written())) & set(bodies(written(seed=b"other")))


def test_fresh_nonces_are_fresh() -> None:
    of = manifest(nonces="fresh")
    nonces = [made.opening.nonce for batch in (written(of), written(of)) for made in batch.runs]
    assert len(set(nonces)) == len(nonces)


def test_every_receipt_of_a_batch_is_replayed_to_what_it_discloses() -> None:
    of = manifest()
    arms = {arm.arm: arm for arm in of.arms}
    entries = {entry.assignment: entry for entry in of.assignments}
    for made in written(of).runs:
        receipt, entry = made.written.receipt.body, entries[made.assignment]
        assert isinstance(receipt, Receipt)
        arm = arms[entry.arm]
        outcome = found(
            Case(
                subject=made.assignment,
                receipt=receipt,
                opening=made.opening,
                assignment=entry,
                arm=arm,
                groups=DOMAIN.materials,
            )
        )
        outcome.pop("whole")
        assert outcome == receipt.values == made.run.values
        assert receipt.components == arm.components


def test_an_opening_carries_what_its_components_digests_are_over() -> None:
    opening = written().runs[-1].opening
    assert set(DOMAIN.materials) == {*COMPONENTS, "catalogue"}
    assert set(opening.materials) == set(DOMAIN.materials) - {"prompt", "horizon"}
    promised = {**PLANS["both"].setting.components, **manifest().materials}
    for name, material in opening.materials.items():
        assert material_digest(name, material) == promised[name]


def test_the_report_has_a_cell_of_every_value_that_is_an_integer_or_null_throughout() -> None:
    of = manifest()
    batch = written(of)
    cells = {(cell.profile, cell.arm, cell.value): cell for cell in batch.report.cells}
    runs = [made.run for made in batch.runs if made.assignment.startswith("p-1.none.")]
    welfare = cells["p-1", "none", "welfare"]
    assert (welfare.sum, welfare.count) == (sum(run.values["welfare"] for run in runs), 2)  # type: ignore[misc]
    assert ("p-1", "none", "first_best") not in cells, "pairs are not summed"
    # Nothing can be gained with the poor buyer, whatever is offered.
    poor = cells["p-3", "menu", "first_best"]
    assert (poor.sum, poor.count, poor.nulls) == (0, 0, {"no_gain_possible": 2})
    assert batch.report.complete
    assert all(cell.count + sum(cell.nulls.values()) == 2 for cell in cells.values())


def test_only_declared_values_are_disclosed_and_reported() -> None:
    of = manifest(disclosed=("welfare", "completion"))
    batch = written(of)
    receipt = batch.runs[0].written.receipt.body
    assert isinstance(receipt, Receipt)
    assert set(receipt.values) == {"welfare", "completion"}
    assert {cell.value for cell in batch.report.cells} == {"welfare", "completion"}
    partial = market_report(of, [(batch.runs[0].assignment, batch.runs[0].run)], complete=False)
    assert (partial.complete, len(partial.cells)) == (False, 2)


def test_runs_can_be_written_one_by_one() -> None:
    of = manifest()
    batch = Batch(of, keyring())
    stream = market_runs(batch, of, profiles=PROFILES, plans=PLANS, seed=SEED)
    first = next(stream)
    assert first.assignment == "p-1.menu.1"
    assert market_run(of, first.assignment, profiles=PROFILES, plans=PLANS, seed=SEED) == first.run
    closing = batch.close().body
    assert closing.model_dump()["count"] == 1


def test_a_plan_other_than_promised_is_refused_before_anything_is_written() -> None:
    of = manifest()
    batch = Batch(of, keyring())
    for changed in (ArmPlan(setting(WRITER), ("info",)), ArmPlan(setting(MENU), ("info", "conduct"))):
        with pytest.raises(ValueError, match="arm both: a plan other than promised"):
            next(market_runs(batch, of, profiles=PROFILES, plans={**PLANS, "both": changed}, seed=SEED))
    assert batch.close().body.model_dump()["count"] == 0


def test_a_value_that_the_market_does_not_have_cannot_be_disclosed() -> None:
    with pytest.raises(KeyError, match="happiness"):
        written(manifest(disclosed=("happiness",)))


def large() -> tuple[Setting, Profile]:
    """Six components, three offers, long names, and everything said that can be."""
    names = ("airport-transfer", "breakfast", "late-checkout", "parking", "room", "spa")
    catalogue = Catalogue(costs={name: 1000 + 700 * place for place, name in enumerate(names)})
    words = [name.replace("-", " ") for name in names]
    parser = Parser(names={n: (f"our finest {w}", f"the {w}") for n, w in zip(names, words, strict=True)})
    writer = WRITER.model_copy(
        update={"bundle": names, "offers": 3, "leak_per_mille": 1000, "pressure_per_mille": 1000}
    )
    profile = Profile(
        values={name: 3000 + 900 * place for place, name in enumerate(names)},
        bonuses=tuple(Bonus(of=(names[place], names[place + 1]), value=400) for place in range(5)),
        outside=1500,
        required=("room",),
        price_cap=80000,
        max_components=6,
    )
    return Setting(catalogue=catalogue, model=writer, parser=parser), profile


def test_objects_keep_to_their_sizes() -> None:
    small = written(manifest(mode="prospective"), anchor=ANCHOR)
    rich, profile = large()
    plans = {"both": ArmPlan(rich, treatments=("info", "conduct"))}
    of = market_manifest(
        title="Large", profiles=("p-1",), plans=plans, mode="prospective", nonces="fresh", replicates=20
    )
    grand = write_market(of, keyring(), profiles={"p-1": profile}, plans=plans, seed=SEED, anchor=ANCHOR)
    for batch in (small, grand):
        tickets = [len(write_document(document)) for document in batch.framing[1:-1]]
        for made, ticket in zip(batch.runs, tickets, strict=True):
            assert made.written.envelope is not None
            receipt = len(write_document(made.written.receipt))
            envelope = len(write_document(made.written.envelope))
            assert len(made.opening.canonical()) <= 6144
            assert receipt <= 3072
            assert receipt + envelope + ticket <= 9_900


def test_a_menu_that_loses_money_is_reported_as_it_is() -> None:
    gift = FixedMenu(name="gift", offers=(MenuOffer(components=("room",), price=10),))
    plans = {"gift": ArmPlan(setting(gift))}
    of = market_manifest(title="Gifts", profiles=("p-3",), plans=plans)
    batch = write_market(of, keyring(), profiles={"p-3": POOR}, plans=plans, seed=SEED, encrypted=False)
    run = batch.runs[0].run
    assert run.values["welfare"] == 900 - 8000 - 10
    assert run.values["first_best"] == Null(null="no_gain_possible")
    assert isinstance(batch.documents()[2].body, Opening)
    assert verify_chain(deliveries(batch.documents()), keyring().public).integrity == "Pass"
