"""What is withheld after it was committed to: it is missed, and nothing is Invalid for it."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from agentbeat_receipts.claims.results import Licence
from agentbeat_receipts.domains.market import DOMAIN
from agentbeat_receipts.tampering.cases import Expected, FaultCase, Party, Timing
from agentbeat_receipts.tampering.exhibits import Exhibit
from agentbeat_receipts.tampering.makings import Making, make
from agentbeat_receipts.verification.reasons import Verdict
from agentbeat_receipts.verification.results import Level

__all__ = ["WITHHELD"]

_MIDDLE: Final = "p-2.guarded.1"
_ECONOMIC: Final = tuple(claim for claim in DOMAIN.claims if claim not in DOMAIN.fidelity)

#: A terminal is missed: coverage, and what needs all terminals.
_INCOMPLETE: Final = Expected(
    verdicts=dict.fromkeys(("C1", "C3", "C4"), Verdict.INCONCLUSIVE_COVERAGE),
    coverage=Verdict.INCONCLUSIVE_COVERAGE,
    licence=Licence.NONE,
)
#: Nothing is wrong with the runs, but nobody can say that these are all.
_UNCOVERED: Final = Expected(coverage=Verdict.INCONCLUSIVE_COVERAGE, licence=Licence.DESCRIPTIVE)
#: What is private cannot be replayed; digests and coverage stand.
_UNOPENED: Final = Expected.but(Verdict.NO_EVIDENCE, *DOMAIN.claims, "C1", "C3", "C4")


def _first(making: Making) -> str:
    return make(making).assignments[0]


def _last(making: Making) -> str:
    return make(making).assignments[-1]


def _terminal(making: Making, name: str) -> Exhibit:
    return make(making).without("receipts", name).without("envelopes", name)


def _codes(expected: Expected, *codes: str, level: Level = Level.CR_3) -> Expected:
    return replace(expected, codes=codes, level=level)


WITHHELD: Final = (
    FaultCase(
        name="terminal withheld",
        layer="L3",
        timing=Timing.POST,
        by=Party.HOLDER,
        done="a run's receipt and envelope are not delivered",
        rule="each assignment has its terminal; the next receipt cites one that is missing",
        expected=_codes(_INCOMPLETE, "terminal_missing", "chain_gap", "terminals_missing"),
        make=lambda making: _terminal(making, _MIDDLE),
    ),
    FaultCase(
        name="last terminal withheld",
        layer="L3",
        timing=Timing.POST,
        by=Party.HOLDER,
        done="the last run's receipt and envelope are not delivered",
        rule="the expected set is the manifest's; the closing record counts one receipt more",
        expected=_codes(_INCOMPLETE, "terminal_missing", "terminals_missing"),
        make=lambda making: _terminal(making, _last(making)),
    ),
    FaultCase(
        name="chain gap",
        layer="L3",
        timing=Timing.POST,
        by=Party.HOLDER,
        done="the first receipt is not delivered; its envelope is",
        rule="a predecessor that is missing is withheld, not forged",
        expected=_codes(_INCOMPLETE, "chain_gap", "terminal_missing", "terminals_missing"),
        make=lambda making: make(making).without("receipts", _first(making)),
    ),
    FaultCase(
        name="all openings withheld",
        layer="L2",
        timing=Timing.POST,
        by=Party.HOLDER,
        done="no envelope is delivered",
        rule="what needs private fields is undetermined; coverage and C2 need public ones only",
        expected=_codes(_UNOPENED, "opening_missing", "evidence_absent", "transaction_undetermined"),
        make=lambda making: make(making).without("envelopes", *make(making).assignments),
    ),
    FaultCase(
        name="one opening missing",
        layer="L2",
        timing=Timing.POST,
        by=Party.HOLDER,
        done="one run's envelope is not delivered",
        rule="a claim about a batch is about each of its transactions",
        expected=_codes(_UNOPENED, "opening_missing", "evidence_absent", "transaction_undetermined"),
        make=lambda making: make(making).without("envelopes", _MIDDLE),
    ),
    FaultCase(
        name="ticket missing",
        layer="L3",
        timing=Timing.POST,
        by=Party.HOLDER,
        done="one ticket is not delivered",
        rule="tickets feed coverage only",
        expected=_codes(_UNCOVERED, "ticket_missing", level=Level.CR_2),
        make=lambda making: make(making).without("tickets", _MIDDLE),
    ),
    FaultCase(
        name="checkpoint missing",
        layer="L3",
        timing=Timing.POST,
        by=Party.HOLDER,
        done="the checkpoint is not delivered",
        rule="the checkpoint feeds coverage only",
        expected=_codes(_UNCOVERED, "checkpoint_missing", level=Level.CR_2),
        make=lambda making: replace(make(making), checkpoint=None),
    ),
    FaultCase(
        name="closing record missing",
        layer="L3",
        timing=Timing.POST,
        by=Party.HOLDER,
        done="the closing record is not delivered",
        rule="the closing record feeds coverage only",
        expected=_codes(_UNCOVERED, "closing_missing"),
        make=lambda making: replace(make(making), closing=None),
    ),
    FaultCase(
        name="no anchor",
        layer="L3",
        timing=Timing.POST,
        by=Party.HOLDER,
        done="the time anchor that tickets cite is not delivered",
        rule="without a proven anchor there is no CR-3, and coverage is not shown",
        expected=_codes(_UNCOVERED, "anchor_missing", level=Level.CR_2),
        make=lambda making: replace(make(making), anchors={"beside": make(making).anchors["beside"]}),
    ),
    FaultCase(
        name="late anchor",
        layer="L3",
        timing=Timing.PRE,
        by=Party.INGRESS,
        done="tickets were signed before the token was made, and do not cite it",
        rule="a ticket that cites no token may be older than the manifest's anchor",
        expected=_codes(_UNCOVERED, "anchor_late", level=Level.CR_2),
        make=lambda making: make(replace(making, cited=False)),
    ),
    FaultCase(
        name="manifest missing",
        layer="L3",
        timing=Timing.POST,
        by=Party.HOLDER,
        done="the manifest is not delivered; the verifier knows its digest",
        rule="without a manifest (CR-1) nothing is contracted or assigned; each opening can be replayed",
        expected=replace(
            Expected.but(Verdict.NO_EVIDENCE, *sorted(DOMAIN.fidelity), "C2", "C4").also(
                Verdict.NO_CONTRACT, "C1", "C3"
            ),
            coverage=Verdict.INCONCLUSIVE_COVERAGE,
            level=Level.CR_1,
            codes=("manifest_missing", "contract_absent", "evidence_absent"),
        ),
        make=lambda making: replace(make(making), manifest=None, named=make(making).promised().digest()),
    ),
    FaultCase(
        name="report missing",
        layer="L2",
        timing=Timing.POST,
        by=Party.HOLDER,
        done="the report is not delivered",
        rule="only C4 is about what was reported",
        expected=Expected.but(Verdict.NO_EVIDENCE, "C4", codes=("report_absent",)),
        make=lambda making: replace(make(making), report=None),
    ),
)
