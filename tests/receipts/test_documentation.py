"""`docs/claim-receipts.md` names what there is."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import agentbeat_receipts
from agentbeat_receipts.commitments import Tag
from agentbeat_receipts.objects import SIGNER
from agentbeat_receipts.verification import CAVEAT, REPLACEMENT_CAVEAT, RULES, Reason, Scope

TEXT = (Path(__file__).parents[2] / "docs" / "claim-receipts.md").read_text()


@pytest.mark.parametrize("reason", Reason)
def test_every_reason_stands_in_the_table_with_its_layer_verdict_and_rule(reason: Reason) -> None:
    rule = RULES[reason]
    said = {Scope.NOTE: "none", Scope.INTEGRITY: str(rule.verdict)}.get(
        rule.scope, f"{rule.scope}: {rule.verdict}"
    )
    assert f"| `{reason}` | {rule.layer} | {said} | {rule.text} |\n" in TEXT


def test_the_table_has_no_other_reason() -> None:
    assert set(re.findall(r"^\| `(\w+)` \| L\d \|", TEXT, flags=re.MULTILINE)) == set(Reason)


@pytest.mark.parametrize("kind", SIGNER, ids=lambda kind: kind.__name__)
def test_every_kind_is_listed_with_its_members(kind: type) -> None:
    name = kind.TYPE.split(".claims.")[1].split(".v1")[0]
    row = next(line for line in TEXT.splitlines() if line.startswith(f"| `{name}` |"))
    assert re.findall(r"`([a-z_]+)`", row.split("|")[2]) == list(kind.model_fields)


def test_tags_and_caveats_are_named() -> None:
    said = [tag.value.rsplit("/", 1)[1] for tag in Tag if tag is not Tag.DERIVED_NONCE]
    assert all(f"`{name}`" in TEXT for name in [*said, CAVEAT, REPLACEMENT_CAVEAT])


def test_the_rooms_public_names_are_there_and_sorted_once() -> None:
    names = agentbeat_receipts.__all__
    assert len(set(names)) == len(names)
    assert all(hasattr(agentbeat_receipts, name) for name in names)
    imported = re.search(r"from agentbeat_receipts import (.+)", TEXT)
    assert imported is not None
    assert set(imported[1].split(", ")) <= set(names)
