"""The tables of `docs/claim-receipts.md` that are made from code: matrix, faults, benign changes, reasons.

Each stands in the page between two comments with its name, and is written anew by
`python -m agentbeat_receipts.tampering docs/claim-receipts.md`.

>>> verdict_text(Expected.but(Verdict.INVALID, "C4", codes=("cell_differs",)))
'Invalid: C4; no licence'
>>> verdict_text(Expected())
'all pass; causal'
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Final

from agentbeat_receipts.claims.faults import FAULT_RULES
from agentbeat_receipts.claims.groups import GROUPS
from agentbeat_receipts.claims.results import Licence
from agentbeat_receipts.domains.market import DOMAIN
from agentbeat_receipts.tampering.benign import BENIGN
from agentbeat_receipts.tampering.cases import CLAIMS, Expected
from agentbeat_receipts.tampering.catalogue import FAULTS
from agentbeat_receipts.verification.reasons import RULES, Scope, Verdict
from agentbeat_receipts.verification.results import Level

__all__ = ["SHORT", "TABLES", "verdict_text", "with_tables"]

#: The claims' short names.
SHORT: Final[Mapping[str, str]] = MappingProxyType(
    {
        "completion": "Cmp",
        "buyer_surplus": "BS",
        "seller_profit": "SP",
        "welfare": "W",
        "first_best": "FB",
        "match_quality": "MQ",
        "information_fidelity": "IG",
        "conduct_fidelity": "CG",
        "C1": "C1",
        "C2": "C2",
        "C3": "C3",
        "C4": "C4",
    }
)

_LICENCES: Final = {
    Licence.CAUSAL: "causal",
    Licence.DESCRIPTIVE: "descriptive",
    Licence.NONE: "no licence",
}


def verdict_text(expected: Expected) -> str:
    """What is said of a batch, in one line: whatever is not named passes."""
    said: dict[Verdict, list[str]] = {}
    if expected.coverage is not Verdict.PASS:
        said[expected.coverage] = ["coverage"]
    for claim in CLAIMS:
        verdict = expected.verdict(claim)
        if verdict is not Verdict.PASS:
            said.setdefault(verdict, []).append(SHORT[claim])
    if said.get(Verdict.INVALID, []) == ["coverage", *SHORT.values()]:
        return "Invalid: everything"
    parts = [f"{verdict}: {_listed(names)}" for verdict, names in said.items()] or ["all pass"]
    level = [] if expected.level is Level.CR_3 else [str(expected.level)]
    return "; ".join([*parts, *level, _LICENCES[expected.licence]])


def _listed(names: list[str]) -> str:
    """The names; all eight claims about runs as such."""
    runs = [SHORT[claim] for claim in DOMAIN.claims]
    if all(name in names for name in runs):
        names = ["all eight of runs", *(name for name in names if name not in runs)]
    return ", ".join(names)


def _faults() -> Iterator[str]:
    yield "| fault | layer | fault_timing | who | what is done | rule | verdict | reason |"
    yield "|---|---|---|---|---|---|---|---|"
    for fault in FAULTS:
        reason = f"`{fault.expected.codes[0]}`" if fault.expected.codes else ""
        cells = (
            fault.name,
            fault.layer,
            fault.timing,
            fault.by,
            fault.done,
            fault.rule,
            verdict_text(fault.expected),
            reason,
        )
        yield f"| {' | '.join(cells)} |"


def _benign() -> Iterator[str]:
    yield "| benign change | what is different |"
    yield "|---|---|"
    yield from (f"| {change.name} | {change.done} |" for change in BENIGN)


def _matrix() -> Iterator[str]:
    yield f"| group | {' | '.join(SHORT.values())} |"
    yield f"|---|{'---|' * len(SHORT)}"
    for group in GROUPS:
        dots = ("●" if group in DOMAIN.needs[claim] else "" for claim in CLAIMS)
        yield f"| {group} {group.label} | {' | '.join(dots)} |"


def _chain_reasons() -> Iterator[str]:
    yield "| reason | layer | verdict when broken | rule |"
    yield "|---|---|---|---|"
    for reason, rule in RULES.items():
        said = {Scope.NOTE: "none", Scope.INTEGRITY: str(rule.verdict)}.get(
            rule.scope, f"{rule.scope}: {rule.verdict}"
        )
        yield f"| `{reason}` | {rule.layer} | {said} | {rule.text} |"


def _claim_reasons() -> Iterator[str]:
    yield "| reason | layer | verdict of its claim | rule |"
    yield "|---|---|---|---|"
    for fault, rule in FAULT_RULES.items():
        yield f"| `{fault}` | {rule.layer} | {rule.verdict} | {rule.text} |"


#: The tables by name, line by line.
TABLES: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        "matrix": tuple(_matrix()),
        "faults": tuple(_faults()),
        "benign changes": tuple(_benign()),
        "chain reasons": tuple(_chain_reasons()),
        "claim reasons": tuple(_claim_reasons()),
    }
)


def with_tables(page: str) -> str:
    """The page with every table as it is now.

    Raises:
        ValueError: a table has no place in the page, or more than one.
    """
    for name, lines in TABLES.items():
        first, last = f"<!-- {name} -->", f"<!-- /{name} -->"
        place = re.compile(rf"{re.escape(first)}\n.*?{re.escape(last)}", flags=re.DOTALL)
        if len(place.findall(page)) != 1:
            raise ValueError(f"the table {name} has {len(place.findall(page))} places, expected one")
        table = "\n".join((first, *lines, last))
        page = place.sub(lambda _, table=table: table, page)  # type: ignore[misc]  # the table of this round
    return page
