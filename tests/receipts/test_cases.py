"""A case hands out one transaction's evidence by group, and says which group is absent."""

from __future__ import annotations

from dataclasses import replace

import pytest

from agentbeat_receipts.claims import Absent, Case, Fault, Group
from agentbeat_receipts.objects import Opening, Receipt
from support.claim_batches import batch, kiosk_manifest
from support.claim_faults import RUN
from support.kiosk import KIOSK, components

READS = {
    "profile": "P",
    "events": "T",
    "offers": "O",
    "choice_inputs": "D",
    "treatments": "G",
    "flags": "A",
    "components": "Q",
    "promised_components": "AQ",
}


def case() -> Case:
    parts, manifest = batch(), kiosk_manifest()
    receipt, opening = parts.receipts[RUN].body, parts.openings[RUN].body
    assert isinstance(receipt, Receipt)
    assert isinstance(opening, Opening)
    entry = next(entry for entry in manifest.assignments if entry.assignment == RUN)
    return Case(
        subject=RUN,
        receipt=receipt,
        opening=opening,
        assignment=entry,
        arm=manifest.arms[1],
        groups=KIOSK.materials,
    )


@pytest.mark.parametrize("group", sorted(Group))
@pytest.mark.parametrize("name", READS)
def test_what_is_read_is_absent_with_its_group_and_with_no_other(name: str, group: Group) -> None:
    lacking = replace(case(), removed=frozenset({group}))
    if group not in READS[name]:
        assert getattr(lacking, name) == getattr(case(), name)
        return
    with pytest.raises(Absent) as caught:
        getattr(lacking, name)
    assert (caught.value.group, caught.value.fault) == (group, Fault.EVIDENCE_ABSENT)


@pytest.mark.parametrize("name", [name for name, groups in READS.items() if groups in "PTODG"])
def test_without_the_opening_nothing_private_is_read(name: str) -> None:
    with pytest.raises(Absent, match="no opening"):
        getattr(replace(case(), opening=None), name)


def test_what_is_recorded_beside_the_evidence_is_in_no_group() -> None:
    stored = replace(case(), removed=frozenset(Group)).stored
    assert (stored.statuses, stored.failures, stored.outputs) == (("accepted",), (None,), ({"buy": True},))
    with pytest.raises(Absent, match="no opening"):
        _ = replace(case(), opening=None).stored


def test_without_a_manifest_there_is_no_arm_to_promise_anything() -> None:
    lone = replace(case(), assignment=None, arm=None)
    for name in ("flags", "components", "promised_components"):
        with pytest.raises(Absent):
            getattr(lone, name)


def test_what_ran_and_what_was_promised_are_two_things() -> None:
    assert case().components == case().promised_components == components()
    ran = case().receipt.model_copy(update={"components": components(model=None)})
    assert replace(case(), receipt=ran).components["model"] is None
