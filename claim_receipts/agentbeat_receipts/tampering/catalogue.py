"""The catalogue: every fault and every benign change of spec 4, and what the verifier says of each.

    results = run_catalogue()
    results.faults_as_expected, len(results.faults)       # as many
    results.false_alarms, len(results.benign)             # 0

A fault is as expected when every claim, coverage, licence, level and every reason is. A benign change alone
alarms nobody when everything passes; beside a fault it must leave every verdict as it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Final

from agentbeat_receipts.claims.results import ClaimReport
from agentbeat_receipts.tampering.benign import BENIGN
from agentbeat_receipts.tampering.cases import BenignCase, Expected, FaultCase, found_codes
from agentbeat_receipts.tampering.exhibits import Exhibit
from agentbeat_receipts.tampering.faults import (
    ALTERED,
    CHAINED,
    REPLAYED,
    REPORTED,
    SEALED,
    UNSEEN,
    WITHHELD,
)
from agentbeat_receipts.tampering.makings import HONEST, Making, make

__all__ = ["FAULTS", "CatalogueResults", "Trial", "combined_trials", "run_catalogue", "trial"]

#: Every fault.
FAULTS: Final = (*WITHHELD, *ALTERED, *CHAINED, *SEALED, *REPLAYED, *REPORTED, *UNSEEN)

_FAULTS: Final = {fault.name: fault for fault in FAULTS}
_BENIGN: Final = {benign.name: benign for benign in BENIGN}


@dataclass(frozen=True, kw_only=True)
class Trial:
    """What was said of one batch.

    Args:
        fault: what is wrong with it; None where nothing is.
        benign: what is different about it; None where nothing is.
        report: what the verifier said.
    """

    fault: FaultCase | None
    benign: BenignCase | None
    report: ClaimReport

    @property
    def expected(self) -> Expected:
        """What it had to say."""
        return Expected() if self.fault is None else self.fault.expected

    @property
    def codes(self) -> frozenset[str]:
        """The reasons that it gave, notes aside."""
        return found_codes(self.report)

    @property
    def as_expected(self) -> bool:
        """Whether it said so. Beside a fault a benign change may add reasons, and change no verdict."""
        met = self.expected.is_met(self.report)
        if self.fault is not None and self.benign is not None:
            return met
        return met and self.codes == frozenset(self.expected.codes)


@dataclass(frozen=True, kw_only=True)
class CatalogueResults:
    """What came out of a catalogue.

    Args:
        faults: one trial for each fault.
        benign: one trial for each benign change.
    """

    faults: tuple[Trial, ...]
    benign: tuple[Trial, ...]

    @property
    def faults_as_expected(self) -> int:
        """How many faults got their verdicts and reasons."""
        return sum(trial.as_expected for trial in self.faults)

    @property
    def false_alarms(self) -> int:
        """How many benign changes raised an alarm."""
        return sum(not trial.as_expected for trial in self.benign)


def run_catalogue(
    faults: Iterable[FaultCase] = FAULTS, benign: Iterable[BenignCase] = BENIGN
) -> CatalogueResults:
    """Make every batch, verify it, and hold what is said against what is expected."""
    return CatalogueResults(
        faults=tuple(trial(fault) for fault in faults),
        benign=tuple(trial(benign=change) for change in benign),
    )


def combined_trials(fault: FaultCase, benign: Iterable[BenignCase] = BENIGN) -> Iterator[Trial]:
    """One fault beside each benign change."""
    return (trial(fault, change) for change in benign)


def trial(fault: FaultCase | None = None, benign: BenignCase | None = None) -> Trial:
    """One batch with one fault or none, and one benign change or none."""
    making = HONEST if benign is None else _made_with(benign.name)
    exhibit = make(making) if fault is None else _tampered(fault.name, making)
    if benign is None:
        return Trial(fault=fault, benign=None, report=exhibit.judged())
    exhibit = benign.beside(exhibit)
    report = exhibit.judged(benign.delivered(exhibit.deliveries()))
    return Trial(fault=fault, benign=benign, report=report)


@cache
def _made_with(name: str) -> Making:
    """How a batch with a benign change is made: the same each time, so that it is made once."""
    return _BENIGN[name].making(HONEST)


@lru_cache(maxsize=4)
def _tampered(name: str, making: Making) -> Exhibit:
    return _FAULTS[name].make(making)
