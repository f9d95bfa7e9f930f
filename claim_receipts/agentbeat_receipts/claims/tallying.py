"""How tallies grow and add up.

A fault is counted, and its first few places are kept: those of the least assignments, so that neither the
order of the transactions nor how they were cut into parts shows in the sum.

>>> left, right = Tally(), Tally()
>>> note(left.whole, Fault.EVIDENCE_ABSENT, "a-2", "P")
>>> note(right.whole, Fault.EVIDENCE_ABSENT, "a-1", "P")
>>> whole = merged([left, right]).whole
>>> whole.faults[Fault.EVIDENCE_ABSENT], [subject for _, subject, _ in whole.examples]
(2, ['a-1', 'a-2'])
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Iterable, Sequence
from typing import Final

from agentbeat_receipts.claims.faults import Fault
from agentbeat_receipts.claims.tallies import Cell, ClaimTally, Tally

__all__ = ["EXAMPLES", "PROFILE_DIGESTS", "merge", "merged", "note"]

#: How many places of a fault are kept.
EXAMPLES: Final = 3

#: How many digests of one profile are kept: a second one is the contradiction.
PROFILE_DIGESTS: Final = 2


def note(tally: ClaimTally, fault: Fault, subject: str, detail: str) -> None:
    """One more fault.

    Args:
        subject: the assignment.
        detail: got and expected, short.
    """
    tally.faults[fault] += 1
    _keep(tally.examples, (fault, subject, detail))


def merge(into: Tally, other: Tally) -> None:
    """All of another tally as well."""
    into.received += other.received
    into.opened += other.opened
    for claim, counted in other.claims.items():
        _merge_claim(into.claims.setdefault(claim, ClaimTally()), counted)
    _merge_claim(into.whole, other.whole)
    _merge_claim(into.disclosures, other.disclosures)
    _merge_claim(into.identity, other.identity)
    into.stages.update(other.stages)
    into.runs.update(other.runs)
    into.statuses.update(other.statuses)
    for place, cell in other.cells.items():
        into.cells.setdefault(place, Cell()).merge(cell)
    for arm, found in other.components.items():
        if arm in into.components:
            into.components[arm].update(found)
        else:
            into.components[arm] = found.copy()
    for profile, digests in other.profiles.items():
        both = into.profiles.get(profile, set()) | digests
        into.profiles[profile] = set(sorted(both)[:PROFILE_DIGESTS])


def merged(parts: Iterable[Tally]) -> Tally:
    """The tally of all parts together; the parts are left as they are."""
    whole = Tally()
    for part in parts:
        merge(whole, part)
    return whole


def _merge_claim(into: ClaimTally, other: ClaimTally) -> None:
    into.determined += other.determined
    into.faults.update(other.faults)
    into.total.merge(other.total)
    into.weaker.update(other.weaker)
    for example in other.examples:
        _keep(into.examples, example)


def _keep(examples: list[tuple[Fault, str, str]], example: tuple[Fault, str, str]) -> None:
    held: Sequence[tuple[Fault, str, str]] = [found for found in examples if found[0] is example[0]]
    if len(held) >= EXAMPLES:
        if example >= held[-1]:
            return
        examples.remove(held[-1])
    insort(examples, example)
