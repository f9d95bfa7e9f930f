"""`docs/claim-receipts.md`: its example runs, what it says comes out, its tables are those of the code."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import agentbeat_receipts
from agentbeat_receipts.bundles import read_bundle
from agentbeat_receipts.claims import GROUPS, ClaimReport, Fault, Group
from agentbeat_receipts.commitments import Tag
from agentbeat_receipts.domains.market import DOMAIN
from agentbeat_receipts.objects import SIGNER
from agentbeat_receipts.tampering import BENIGN, FAULTS
from agentbeat_receipts.tampering.tables import SHORT, TABLES, verdict_text, with_tables
from agentbeat_receipts.verification import CAVEAT, REPLACEMENT_CAVEAT, Level, Reason
from support.claim_commands import claims

PAGE = Path(__file__).parents[2] / "docs" / "claim-receipts.md"
TEXT = PAGE.read_text()
CODE = re.findall(r"^```python\n(.*?)^```$", TEXT, flags=re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    """The page's code, run from top to bottom in a folder of its own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("page"))
        namespace: dict[str, Any] = {"__name__": "claim_receipts_page"}
        for place, block in enumerate(CODE, 1):
            exec(compile(block, f"claim-receipts.md, block {place}", "exec"), namespace)
        yield namespace


def verdicts(report: ClaimReport) -> dict[str, str]:
    return {claim.claim: str(claim.verdict) for claim in report.claims}


def test_the_example_comes_out_as_the_page_says(played: dict[str, Any]) -> None:
    found: ClaimReport = played["found"]
    rows = re.findall(r"^\| `(\w+)` \| (\w+) \| (?:(\d+), (\d+) )?\|$", TEXT, flags=re.MULTILINE)
    assert rows == [
        (c.claim, str(c.verdict), *(("", "") if c.value is None else map(str, c.value.pair)))
        for c in found.claims
    ]
    assert (found.chain.coverage, found.chain.level) == ("INCONCLUSIVE_COVERAGE", Level.CR_2)
    assert found.chain.reasons == {Reason.ANCHOR_MISSING}
    assert found.licences.granted == "descriptive"
    assert found.statuses == {"accepted": 3, "rejected": 1}


def test_what_is_held_back_in_the_example_shows_as_the_page_says(played: dict[str, Any]) -> None:
    withheld, unopened = verdicts(played["withheld"]), verdicts(played["unopened"])
    assert (withheld["C4"], withheld["C2"]) == ("INCONCLUSIVE_COVERAGE", "Pass")
    assert {unopened[claim] for claim in (*DOMAIN.claims, "C4")} == {"I_E"}
    assert unopened["C2"] == "Pass"


@pytest.mark.usefixtures("played")
def test_the_commands_of_the_example_work_in_their_order() -> None:
    commands = re.findall(r"^\$ agentbeat claims (\w+)(.*)$", TEXT, flags=re.MULTILINE)
    assert [name for name, _ in commands] == ["verify", "explain", "open", "keygen", "manifest", "ticket"]
    for name, options in commands:
        ran = claims(name, *options.split())
        assert (ran.code, bool(ran.out)) == ({"verify": 3}.get(name, 0), True), ran.err
    promised = read_bundle(Path("promised"))
    assert len([file for file in promised if file.path.startswith("tickets/")]) == 4


def test_every_table_that_is_made_from_code_is_up_to_date() -> None:
    assert with_tables(TEXT) == TEXT, "python -m agentbeat_receipts.tampering docs/claim-receipts.md"


def test_a_page_without_a_table_is_refused() -> None:
    with pytest.raises(ValueError, match="faults has 0 places"):
        with_tables(TEXT.replace("<!-- faults -->", ""))


@pytest.mark.parametrize("name", ["chain reasons", "claim reasons"])
def test_every_reason_has_its_row(name: str) -> None:
    kind = Reason if name == "chain reasons" else Fault
    assert [row.split("`")[1] for row in TABLES[name][2:]] == list(kind)


def test_every_fault_has_its_row_with_layer_time_rule_and_verdict() -> None:
    rows = [[cell.strip() for cell in row.strip("|").split("|")] for row in TABLES["faults"][2:]]
    assert [row[0] for row in rows] == [fault.name for fault in FAULTS]
    for fault, row in zip(FAULTS, rows, strict=True):
        assert row[1:3] == [fault.layer, fault.timing]
        assert row[5:7] == [fault.rule, verdict_text(fault.expected)]
    assert [row.split(" | ")[0] for row in TABLES["benign changes"][2:]] == [
        f"| {change.name}" for change in BENIGN
    ]


@pytest.mark.parametrize("group", GROUPS)
def test_the_matrix_has_the_dots_of_the_market(group: Group) -> None:
    (row,) = [row for row in TABLES["matrix"] if row.startswith(f"| {group} ")]
    cells = row.strip("|").split("|")[1:]
    dots = {claim for claim, cell in zip(SHORT, cells, strict=True) if cell.strip()}
    assert dots == {claim for claim, needs in DOMAIN.needs.items() if group in needs}


@pytest.mark.parametrize("kind", SIGNER, ids=lambda kind: kind.__name__)
def test_every_kind_is_listed_with_its_members(kind: type) -> None:
    name = kind.TYPE.split(".claims.")[1].split(".v1")[0]
    row = next(line for line in TEXT.splitlines() if line.startswith(f"| `{name}` |"))
    assert re.findall(r"`([a-z_]+)`", row.split("|")[2]) == list(kind.model_fields)


def test_tags_and_caveats_are_named() -> None:
    said = [tag.value.rsplit("/", 1)[1] for tag in Tag if tag is not Tag.DERIVED_NONCE]
    assert all(f"`{name}`" in TEXT for name in [*said, CAVEAT, REPLACEMENT_CAVEAT])


def test_the_pages_that_it_links_to_exist() -> None:
    linked = re.findall(r"\]\(([\w.-]+)\)", TEXT.replace("\n", " "))
    assert {"claim-domains.md", "claim-anchors.md", "claim-reproduction.md", "claim-campaigns.md"} == set(
        linked
    )
    assert all((PAGE.parent / name).exists() for name in linked)


def test_the_rooms_public_names_are_there_and_sorted_once() -> None:
    names = agentbeat_receipts.__all__
    assert len(set(names)) == len(names)
    assert all(hasattr(agentbeat_receipts, name) for name in names)
    imported = re.search(r"from agentbeat_receipts import (.+)", TEXT)
    assert imported is not None
    assert set(imported[1].split(", ")) <= set(names)
