"""An execution's evidence in its 13 groups: what differs in one group differs in no other part."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from agentbeat_receipts.canonical import canonical_bytes
from agentbeat_receipts.claims import GROUPS, Group
from agentbeat_receipts.claims.evidence import evidence_parts
from agentbeat_receipts.objects import Arm, Sign, TraceEvent, material_digest
from agentbeat_receipts.verification import Verdict
from support.claim_batches import batch, direction, kiosk_manifest, stability
from support.claim_faults import RUN, withheld
from support.kiosk import KIOSK, MATERIALS, components, run
from support.receipt_batches import Parts, changed, verified

OTHER = "sha256:" + "e" * 64


def parts_of(parts: Parts) -> dict[Group, Any]:
    chain = verified(parts)
    assert chain.integrity is Verdict.PASS, chain.findings
    return evidence_parts(chain, KIOSK)


def base(**making: Any) -> Parts:
    """A batch with the honest report, whatever else is changed."""
    honest = batch().report.body
    return batch(report=lambda _: honest.cells, **making)  # type: ignore[attr-defined]


def attempt(**changes: Any) -> Parts:
    last = run(worth=100, capped=True)["attempts"][0]
    return base(members={RUN: {"attempts": (changed(last, **changes),)}})


def material(name: str, content: Any, **promised: Any) -> Parts:
    """Another material in every run, promised and named as such."""
    manifest = kiosk_manifest(**promised)
    members = {e.assignment: {"materials": {**MATERIALS, name: content}} for e in manifest.assignments}
    ran = {"components": dict(manifest.arms[0].components)}
    return base(manifest=manifest, members=members, every=ran)


def arms(**named: str) -> tuple[Arm, ...]:
    return tuple(arm.model_copy(update={"components": components(**named)}) for arm in kiosk_manifest().arms)


def other_offer() -> Parts:
    offer = run(worth=100, capped=True)["attempts"][0].offers[0]
    return attempt(offers=(changed(offer, parsed={"price": 91}),))


def other_treatments() -> tuple[Arm, ...]:
    return tuple(arm.model_copy(update={"treatments": ("cap",)}) for arm in kiosk_manifest().arms)


CHOOSER, CATALOGUE, SCORER = {"rule": "never"}, {"cost": 41}, {"unit": 2}
DIFFERING = {
    Group.I: lambda: replace(base(), closing=None),
    Group.A: lambda: base(manifest=kiosk_manifest(arms=other_treatments())),
    Group.P: lambda: base(members={RUN: {"profile": {"worth": 101}}}),
    Group.K: lambda: material(
        "catalogue", CATALOGUE, materials={"catalogue": material_digest("catalogue", CATALOGUE)}
    ),
    Group.T: lambda: attempt(events=(TraceEvent(type="asked", visibility="hidden", data={}),)),
    Group.O: other_offer,
    Group.D: lambda: material("chooser", CHOOSER, arms=arms(chooser=material_digest("chooser", CHOOSER))),
    Group.F: lambda: material("scorer", SCORER, arms=arms(scorer=material_digest("scorer", SCORER))),
    Group.G: lambda: attempt(treatments=()),
    Group.Q: lambda: base(disclosed={RUN: {"components": components(model=OTHER)}}),
    Group.J: lambda: base(manifest=kiosk_manifest(contracts=(direction(threshold=1), stability()))),
    Group.R: lambda: base(
        manifest=kiosk_manifest(contracts=(direction(), stability(boundary=Sign(kind="sign", at=1))))
    ),
    Group.B: lambda: batch(report=lambda cells: cells[1:]),
}


@pytest.mark.parametrize("group", GROUPS)
def test_what_differs_in_one_group_agrees_on_the_rest(group: Group) -> None:
    honest, other = parts_of(batch()), parts_of(DIFFERING[group]())
    assert [part for part in GROUPS if honest[part] != other[part]] == [group]


def test_stored_and_derived_values_are_in_no_part() -> None:
    honest = parts_of(batch())
    values = {"sale": 0, "surplus": -7, "margin": 123456, "ratio": 5}
    members = {RUN: {"reported": {"sale": 7}}}
    derived = parts_of(base(disclosed={RUN: {"values": values}}, members=members))
    assert derived == honest
    told = parts_of(attempt(choice={"input": {"price": 80}, "output": {"buy": False}}, status="rejected"))
    assert told == honest


def test_the_replication_part_of_a_direction_contract_is_in_r_and_not_in_j() -> None:
    drawn = direction(estimator="mc", seed="c2VlZA==", draws=1000)
    honest, other = parts_of(batch()), parts_of(base(manifest=kiosk_manifest(contracts=(drawn, stability()))))
    assert [part for part in GROUPS if honest[part] != other[part]] == [Group.R]


def test_a_component_that_is_no_longer_its_material_shows_in_the_protocol() -> None:
    # Every receipt and every arm names one other chooser: the digests still agree among themselves.
    ran = {"components": components(chooser=OTHER)}
    other = parts_of(base(manifest=kiosk_manifest(arms=arms(chooser=OTHER)), every=ran))
    honest = parts_of(batch())
    assert [part for part in GROUPS if honest[part] != other[part]] == [Group.Q]
    assert honest[Group.Q]["ran"] == other[Group.Q]["ran"]
    assert not any(bound["chooser"] for bound in other[Group.Q]["bound"].values())


def test_a_terminal_that_is_missing_shows_in_ingress() -> None:
    found = parts_of(withheld(batch(), RUN))[Group.I]
    assert RUN not in found["terminals"]
    assert found["broken"] == ["chain_gap", "terminal_missing"]


def test_every_part_is_exact_json_and_none_is_empty() -> None:
    found = parts_of(batch())
    assert list(found) == list(GROUPS)
    for part in found.values():
        assert part
        assert json.loads(canonical_bytes(part)) == part


def test_without_a_manifest_there_are_no_parts() -> None:
    with pytest.raises(ValueError, match="no manifest"):
        evidence_parts(verified([]), KIOSK)
