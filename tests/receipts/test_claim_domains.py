"""`docs/claim-domains.md` is a domain that runs, and what it says comes out is what comes out."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from agentbeat_receipts.claims import GROUPS, ClaimReport, Domain, Group
from agentbeat_receipts.claims.domains import Replay

PAGE = (Path(__file__).parents[2] / "docs" / "claim-domains.md").read_text()
BLOCKS = re.findall(r"^```python\n(.*?)^```$", PAGE, flags=re.MULTILINE | re.DOTALL)


@cache
def played() -> dict[str, Any]:
    """The page's code, run from top to bottom in one namespace."""
    namespace: dict[str, Any] = {"__name__": "claim_domains_page"}
    for place, block in enumerate(BLOCKS, 1):
        exec(compile(block, f"claim-domains.md, block {place}", "exec"), namespace)
    return namespace


def reasons(report: ClaimReport, claim: str) -> set[str]:
    return {str(finding.fault) for finding in report.claim(claim).findings}


def test_the_domain_is_shown_whole_in_under_80_lines() -> None:
    domain = next(block for block in BLOCKS if "class Vending" in block)
    assert len(domain.splitlines()) < 80


def test_the_verdicts_are_those_of_the_page() -> None:
    rows = re.findall(r"^\| `(\w+)` \| (\w+) \| (?:(\d+), (\d+) )?\|$", PAGE, flags=re.MULTILINE)
    report: ClaimReport = played()["report"]
    shown = [
        (c.claim, str(c.verdict), *(("", "") if c.value is None else map(str, c.value.pair)))
        for c in report.claims
    ]
    assert rows == shown
    assert f"The licence is `{report.licences.granted}`" in PAGE
    assert report.chain.coverage == "not_claimed"
    assert (dict(report.stages), report.settled) == ({"coins": 4, "status": 4}, 4)


def test_a_told_number_is_refuted_as_the_page_says() -> None:
    told: ClaimReport = played()["told"]
    assert reasons(told, "change") == {"value_contradicts_replay"}
    assert reasons(told, "C4") == {"transaction_refuted", "cell_differs"}
    assert {c.claim for c in told.claims if c.verdict.word == "Invalid"} == {"change", "C4"}
    passing = {c.claim for c in told.claims if c.verdict.word == "Pass"}
    assert passing == {"paid", "income", "age_check", "C2"}


def test_without_the_auditors_key_only_isolation_passes() -> None:
    public: ClaimReport = played()["public"]
    found = {c.claim: str(c.verdict) for c in public.claims}
    unopened = dict.fromkeys(("paid", "income", "change", "age_check", "C4"), "I_E")
    assert found == {**unopened, "C1": "I_C", "C2": "Pass", "C3": "I_C"}


@pytest.mark.parametrize("group", GROUPS)
def test_what_turns_inconclusive_without_a_group_is_what_declares_to_need_it(group: Group) -> None:
    needs = played()["Vending"].needs
    declared = {claim for claim, needed in needs.items() if group in needed}
    assert played()["undetermined"](group) == declared | {"C1", "C3"}


def test_the_page_names_what_turns_inconclusive_without_the_menu() -> None:
    assert played()["without"] == {"income", "change", "C4", "C1", "C3"}


def test_every_member_of_the_protocol_is_in_the_pages_table() -> None:
    rows = set(re.findall(r"^\| `(\w+)(?:\(\w+\))?` \| ", PAGE, flags=re.MULTILINE))
    members = {name for name in vars(Domain) if not name.startswith("_")}
    assert members <= rows
    assert all(f"`{name}(" in PAGE or f"`{name}()" in PAGE for name in ("value", "weaknesses", "whole"))
    assert {name for name in vars(Replay) if not name.startswith("_")} == {"value", "weaknesses", "whole"}
