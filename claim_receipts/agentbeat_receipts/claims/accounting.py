"""C4, accounting: every number of the report comes out again, and none that was promised is missing.

It rests on the whole replay of every transaction, on all claims but those of fidelity, on the identity, on
one scorer per arm as promised, on profiles that are the same in each of their runs, and on the report, cell
by cell. A promised cell is a profile under an arm of the assignment matrix with a disclosed value, when all
its runs came out as integers and typed nulls; pairs and decimal strings are not summed. A cell some of whose
runs are missing cannot be recomputed: that is a matter of completeness and of the transactions, and nothing
is said of what was reported for it. So fidelity does not feed C4: a fidelity claim that does not pass leaves
its own cells without a word of C4.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from agentbeat_receipts.claims.domains import Domain
from agentbeat_receipts.claims.faults import Fault
from agentbeat_receipts.claims.groups import Group
from agentbeat_receipts.claims.results import ClaimFinding
from agentbeat_receipts.claims.tallies import Cell, Tally
from agentbeat_receipts.claims.transactions import listed, profile_findings, resting_findings
from agentbeat_receipts.objects import COMPONENTS, Manifest, ReportBundle, ReportedCell

__all__ = ["accounting_findings", "promised_runs", "whole_cell"]


def promised_runs(manifest: Manifest) -> Counter[tuple[str, str]]:
    """How many runs the assignment matrix has for each profile under each arm."""
    return Counter(manifest.cells())


def whole_cell(cell: Cell | None, runs: int) -> bool:
    """Whether each of a cell's runs has come out."""
    return cell is not None and cell.count + cell.others + cell.nulls.total() == runs


def accounting_findings(
    manifest: Manifest | None,
    report: ReportBundle | None,
    tally: Tally,
    domain: Domain | None,
    *,
    removed: frozenset[Group] = frozenset(),
) -> Iterator[ClaimFinding]:
    """Everything that speaks against C4 but completeness.

    Args:
        manifest: None at CR-1.
        report: None where it was not delivered.
        domain: None where it is not known.
        removed: groups that are to be absent.
    """
    absent = [group for group in (Group.A, Group.Q) if manifest is None or group in removed]
    yield from (ClaimFinding(Fault.EVIDENCE_ABSENT, "", f"{group}, {group.label}") for group in absent)
    account = () if domain is None else tuple(c for c in domain.claims if c not in domain.fidelity)
    yield from resting_findings(tally, domain, account)
    yield from listed(tally.identity)
    if manifest is None:
        return
    yield from listed(tally.disclosures)
    yield from profile_findings(tally)
    if domain is not None:
        for name in manifest.disclosed:
            if name not in domain.claims:
                yield ClaimFinding(Fault.EVIDENCE_ABSENT, name, f"no claim of {domain.name}")
    if not absent:
        yield from _scorers(manifest, tally)
    if report is None or Group.B in removed:
        yield ClaimFinding(Fault.REPORT_ABSENT)
    elif Group.A not in removed:
        yield from _cells(manifest, report, tally)


def _scorers(manifest: Manifest, tally: Tally) -> Iterator[ClaimFinding]:
    place = COMPONENTS.index("scorer")
    for arm in manifest.arms:
        counted = tally.components.get(arm.arm, Counter())
        named: Counter[str | None] = Counter()
        for digests, count in counted.items():
            named[digests[place]] += count
        total = named.total()
        missing = named.pop(None, 0)
        other = total - missing - named.pop(arm.components["scorer"], 0)
        if missing:
            yield ClaimFinding(Fault.COMPONENT_MISSING, arm.arm, f"scorer: {missing} of {total} receipts")
        if other:
            yield ClaimFinding(Fault.SCORER_DIFFERS, arm.arm, f"{other} of {total} receipts")


def _cells(manifest: Manifest, report: ReportBundle, tally: Tally) -> Iterator[ClaimFinding]:
    runs = promised_runs(manifest)
    reported = {(cell.profile, cell.arm, cell.value): cell for cell in report.cells}
    missing = Fault.CELL_MISSING if report.complete else Fault.CELL_MISSING_AS_SAID
    for profile, arm in runs:
        for value in manifest.disclosed:
            place = (profile, arm, value)
            said, cell = reported.pop(place, None), tally.cells.get(place)
            if cell is None or not whole_cell(cell, runs[profile, arm]):
                continue
            if cell.others:
                if said is not None:
                    yield ClaimFinding(Fault.CELL_UNPROMISED, _named(place), "not all integers")
            elif said is None:
                yield ClaimFinding(missing, _named(place))
            else:
                yield from _compared(said, cell)
    yield from (ClaimFinding(Fault.CELL_UNPROMISED, _named(place)) for place in reported)
    contracts = {contract.contract for contract in manifest.contracts}
    for analysis in report.analyses:
        if analysis.contract not in contracts:
            yield ClaimFinding(Fault.CELL_UNPROMISED, analysis.contract, "an analysis without its contract")


def _compared(said: ReportedCell, cell: Cell) -> Iterator[ClaimFinding]:
    got = (int(said.sum), said.count, dict(said.nulls))
    expected = (cell.sum, cell.count, {reason: n for reason, n in cell.nulls.items() if n})
    if got != expected:
        detail = f"got {_shown(*got)}, expected {_shown(*expected)}"
        yield ClaimFinding(Fault.CELL_DIFFERS, _named((said.profile, said.arm, said.value)), detail)


def _named(place: tuple[str, str, str]) -> str:
    return "/".join(place)


def _shown(total: int, count: int, nulls: Mapping[str, int]) -> str:
    return f"({total}, {count}) and {sum(nulls.values())} nulls"
