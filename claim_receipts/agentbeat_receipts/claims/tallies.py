"""Sums over transactions: all that the claims of a batch need to know of them.

A `Tally` holds no transaction, so a batch of any length is verified in the memory that its cells take, and
tallies of parts add up to the tally of the whole in any order.

>>> left, right = Cell(), Cell()
>>> left.add(3); right.add(4); right.add(Null(null="rejected"))
>>> left.merge(right)
>>> left.sum, left.count, left.squares, dict(left.nulls)
(7, 2, 25, {'rejected': 1})
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from agentbeat_receipts.claims.cases import ClaimValue
from agentbeat_receipts.claims.faults import Fault
from agentbeat_receipts.objects import Null

__all__ = ["Cell", "ClaimTally", "Tally"]

#: The name of one fault at one place: fault, assignment, detail.
Found = tuple[Fault, str, str]


@dataclass(slots=True)
class Cell:
    """One value over the runs of one profile under one arm.

    Args:
        sum: of the integers.
        count: how many integers.
        squares: the sum of their squares.
        nulls: how many typed nulls of each reason.
        others: how many values that are no integers: decimal strings and pairs.
    """

    sum: int = 0
    count: int = 0
    squares: int = 0
    nulls: Counter[str] = field(default_factory=Counter)
    others: int = 0

    def add(self, value: ClaimValue) -> None:
        """One more value."""
        if isinstance(value, Null):
            self.nulls[value.null] += 1
        elif isinstance(value, int):
            self.sum += value
            self.count += 1
            self.squares += value * value
        else:
            self.others += 1

    def merge(self, other: Cell) -> None:
        """All of another cell's values as well."""
        self.sum += other.sum
        self.count += other.count
        self.squares += other.squares
        self.nulls.update(other.nulls)
        self.others += other.others


@dataclass(slots=True)
class ClaimTally:
    """One transaction claim over a batch.

    Args:
        determined: how many transactions have a value that nothing contradicts.
        faults: how many have not, by fault.
        examples: the first few of each fault by assignment, sorted.
        total: the values as they were replayed, as one cell.
        weaker: how many of its integers rest on less evidence than was promised, by what is missing.
    """

    determined: int = 0
    faults: Counter[Fault] = field(default_factory=Counter)
    examples: list[Found] = field(default_factory=list)
    total: Cell = field(default_factory=Cell)
    weaker: Counter[str] = field(default_factory=Counter)


@dataclass(slots=True)
class Tally:
    """Everything summed over the transactions that were settled.

    Args:
        received: how many receipts.
        opened: how many of them with their opening.
        claims: by transaction claim.
        whole: the exact replay that C1, C3 and C4 rest on; its cell is empty.
        stages: how many transactions had each stage come out again.
        cells: by profile, arm and value.
        runs: how many transactions by profile and arm.
        components: how many receipts by arm and by their component digests, in the order of COMPONENTS.
        profiles: by profile, the digests of its private content in its runs; two are a contradiction, and
            more than two are not kept.
        statuses: how many terminals by status.
        disclosures: faults of what receipts disclose as such.
        identity: transactions whose values are no account, by the domain's identity.
    """

    received: int = 0
    opened: int = 0
    claims: dict[str, ClaimTally] = field(default_factory=dict)
    whole: ClaimTally = field(default_factory=ClaimTally)
    stages: Counter[str] = field(default_factory=Counter)
    cells: dict[tuple[str, str, str], Cell] = field(default_factory=dict)
    runs: Counter[tuple[str, str]] = field(default_factory=Counter)
    components: dict[str, Counter[tuple[str | None, ...]]] = field(default_factory=dict)
    profiles: dict[str, set[str]] = field(default_factory=dict)
    statuses: Counter[str] = field(default_factory=Counter)
    disclosures: ClaimTally = field(default_factory=ClaimTally)
    identity: ClaimTally = field(default_factory=ClaimTally)
