"""What was run or told otherwise than promised, under right signatures: only a replay can show it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Final

from agentbeat_receipts.claims.cases import ClaimValue
from agentbeat_receipts.claims.results import Licence
from agentbeat_receipts.domains.market import Chooser, Schema, Scorer
from agentbeat_receipts.objects import Attempt, Opening, Pair, TreatmentEvent
from agentbeat_receipts.tampering.benign import LOSING, REJECTING, LateSeller, with_profile
from agentbeat_receipts.tampering.cases import Expected, FaultCase, Party, Timing
from agentbeat_receipts.tampering.exhibits import Exhibit, changed
from agentbeat_receipts.tampering.makings import GUARDED, PLAIN, Making, make
from agentbeat_receipts.verification.reasons import Verdict

__all__ = ["REPLAYED"]

_RUN: Final = "p-1.guarded.1"
_UNGUARDED: Final = "p-1.plain.1"
_REJECTED: Final = "p-2.guarded.1"
_LOST: Final = "p-3.guarded.1"

_TOLD: Final = ("value_contradicts_replay", "transaction_refuted", "cell_differs")


def _invalid(*claims: str, codes: tuple[str, ...], licence: Licence = Licence.NONE) -> Expected:
    return Expected.but(Verdict.INVALID, *claims, codes=codes, licence=licence)


def _other_schema(making: Making) -> Exhibit:
    """One arm promises, and uses, another form of offers."""
    itemised = replace(making.promised[GUARDED], schema=Schema(form="itemised"))
    return make(replace(making, promised={**making.promised, GUARDED: itemised}))


def _other_chooser(making: Making) -> Exhibit:
    """One arm ran with another chooser than it promised."""
    subset = replace(making.promised[GUARDED], chooser=Chooser(chooser="subset"))
    return make(replace(making, ran={**making.ran, GUARDED: subset}))


def _other_buyer(making: Making) -> Exhibit:
    """One run was made with a buyer to whom a room is worth more."""
    buyer = making.profiles["p-1"]
    richer = changed(buyer, values={**buyer.values, "room": buyer.values["room"] + 50})
    return make(replace(making, buyers={**making.buyers, _RUN: richer}))


def _other_scorer(making: Making) -> Exhibit:
    """Every run was scored in tenths of what was promised."""
    tenths = Scorer(scale=10)
    ran = {arm: replace(making.promised[arm], scorer=tenths) for arm in (PLAIN, GUARDED)}
    return make(replace(making, ran=ran))


def _one_scorer(making: Making) -> Exhibit:
    """The runs of one arm name another scorer than it promised; its values are the same."""
    run = replace(making.promised[GUARDED], scorer=Scorer(scale=10))
    return make(replace(making, ran={**making.ran, GUARDED: run}))


def _treated(
    making: Making, run: str, change: Callable[[tuple[TreatmentEvent, ...]], tuple[TreatmentEvent, ...]]
) -> Exhibit:
    """One run's guards are on record with other decisions."""

    def attempt(made: Attempt) -> Attempt:
        return changed(made, treatments=change(made.treatments))

    def opening(made: Opening) -> Opening:
        return changed(made, attempts=tuple(map(attempt, made.attempts)))

    return make(replace(making, openings={**making.openings, run: opening}))


def _without(flag: str) -> Callable[[tuple[TreatmentEvent, ...]], tuple[TreatmentEvent, ...]]:
    return lambda treatments: tuple(event for event in treatments if event.flag != flag)


def _applied(treatments: tuple[TreatmentEvent, ...]) -> tuple[TreatmentEvent, ...]:
    event = TreatmentEvent(flag="conduct", stage="offers", decision="applied", data={"changes": 1})
    return (*treatments, event)


def _idle_guard(making: Making) -> Exhibit:
    """The conduct guard did nothing in one run, and is on record as applied."""
    return _treated(
        replace(making, guards={**making.guards, _RUN: frozenset({"info"})}),
        _RUN,
        _applied,
    )


def _silent(making: Making) -> Exhibit:
    """One run's seller is on record as having timed out until no attempt was left."""
    return make(replace(making, sellers={**making.sellers, _RUN: LateSeller(_RUN, silences=2)}))


def _told(making: Making, run: str, values: Mapping[str, ClaimValue]) -> Exhibit:
    """Something else is told of one run, in opening, receipt and report alike."""
    return make(replace(making, told={**making.told, run: values}))


def _more(making: Making, value: str) -> Exhibit:
    told = make(making).receipt(_RUN).values[value]
    return _told(making, _RUN, {value: int(str(told)) + 500})


def _clamped(making: Making) -> Exhibit:
    """First best of a deal at a loss is told as if its welfare were 0."""
    losing = with_profile(making, "p-3", LOSING)
    found = make(losing).receipt(_LOST).values["first_best"]
    if not isinstance(found, Pair):
        raise TypeError(f"a first best of {type(found).__name__}, expected a pair")
    return _told(losing, _LOST, {"first_best": Pair(pair=(0, found.pair[1]))})


REPLAYED: Final = (
    FaultCase(
        name="schema drift",
        layer="L2",
        timing=Timing.PRE,
        by=Party.MANIFEST,
        done="one arm promises and uses another schema of offers, which may not differ",
        rule="arms that are compared agree outside the allowed fields",
        expected=_invalid("C2", codes=("arms_differ",)),
        make=_other_schema,
    ),
    FaultCase(
        name="chooser drift",
        layer="L2",
        timing=Timing.PRE,
        by=Party.RUNNER,
        done="one arm's runs used another chooser than the arm promises",
        rule="a receipt's components are its arm's",
        expected=_invalid("C2", codes=("component_differs",)),
        make=_other_chooser,
    ),
    FaultCase(
        name="profile drift",
        layer="L2",
        timing=Timing.PRE,
        by=Party.RUNNER,
        done="one run's buyer values a room 0.50 more than the same buyer does in the other runs",
        rule="a profile is the same in each of its runs, or its cells and contrasts are of no one profile",
        expected=_invalid("C1", "C3", "C4", codes=("profile_differs",)),
        make=_other_buyer,
    ),
    FaultCase(
        name="scorer drift",
        layer="L2",
        timing=Timing.PRE,
        by=Party.RUNNER,
        done="every run was scored with one other scorer than promised",
        rule="a scorer that is off everywhere still compares like with like: C4 only",
        expected=_invalid("C4", codes=("scorer_differs",)),
        make=_other_scorer,
    ),
    FaultCase(
        name="guard event missing, information",
        layer="L2",
        timing=Timing.PRE,
        by=Party.RUNNER,
        done="the information guard is on, and has no decision in one run",
        rule="with its flag on, a guard decides once at each stage; fidelity feeds the causal licence only",
        expected=_invalid("information_fidelity", codes=("decision_missing",), licence=Licence.DESCRIPTIVE),
        make=lambda making: _treated(making, _RUN, _without("info")),
    ),
    FaultCase(
        name="guard event missing, conduct",
        layer="L2",
        timing=Timing.PRE,
        by=Party.RUNNER,
        done="the conduct guard is on, and has no decision in one run",
        rule="with its flag on, a guard decides once at each stage; fidelity feeds the causal licence only",
        expected=_invalid("conduct_fidelity", codes=("decision_missing",), licence=Licence.DESCRIPTIVE),
        make=lambda making: _treated(making, _RUN, _without("conduct")),
    ),
    FaultCase(
        name="guard applied while off",
        layer="L2",
        timing=Timing.PRE,
        by=Party.RUNNER,
        done="the conduct guard is off, and is on record as applied",
        rule="with its flag off, a guard applies nowhere",
        expected=_invalid("conduct_fidelity", codes=("applied_while_off",), licence=Licence.DESCRIPTIVE),
        make=lambda making: _treated(making, _UNGUARDED, _applied),
    ),
    FaultCase(
        name="guard applied in name only",
        layer="L2",
        timing=Timing.PRE,
        by=Party.RUNNER,
        done="the conduct guard is on record as applied, and the surcharge was let through",
        rule="what is let through is what the enforcer makes of the raw offer",
        expected=_invalid("conduct_fidelity", codes=("enforcement_differs",), licence=Licence.DESCRIPTIVE),
        make=_idle_guard,
    ),
    FaultCase(
        name="menu without an answer",
        layer="L2",
        timing=Timing.PRE,
        by=Party.RUNNER,
        done="a run of the fixed menu is on record as unanswered in both attempts; its values are 0",
        rule="a policy always answers: a run that ends in silence is not what the policy makes of it",
        expected=Expected.but(
            Verdict.NO_EVIDENCE,
            *("C1", "C3", "C4"),
            codes=("policy_silent", "transaction_undetermined", "bound_not_beyond", "interval_crosses"),
        ),
        make=_silent,
    ),
    *(
        FaultCase(
            name=f"told otherwise, {name}",
            layer="L2",
            timing=Timing.PRE,
            by=Party.RUNNER,
            done=f"{name} of one run is told 5.00 higher in opening, receipt and report",
            rule="a value that is told comes out again; so do C4, and the contract that analyses it",
            expected=_invalid(
                value, *contracted, "C4", codes=(*_TOLD, *(("analysis_differs",) if contracted else ()))
            ),
            make=partial(_more, value=value),
        )
        for name, value, contracted in (
            ("buyer's surplus", "buyer_surplus", ("C1",)),
            ("seller's profit", "seller_profit", ()),
            ("welfare", "welfare", ("C3",)),
        )
    ),
    FaultCase(
        name="rejected deal with surplus",
        layer="L2",
        timing=Timing.PRE,
        by=Party.RUNNER,
        done="a run ended rejected, and a buyer's surplus of 5.00 is told of it",
        rule="without a deal every value is 0",
        expected=_invalid("buyer_surplus", "C1", "C4", codes=(*_TOLD, "analysis_differs")),
        make=lambda making: _told(with_profile(making, "p-2", REJECTING), _REJECTED, {"buyer_surplus": 500}),
    ),
    FaultCase(
        name="clamped first best",
        layer="L2",
        timing=Timing.PRE,
        by=Party.RUNNER,
        done="a deal at a loss is told with (0, W*) for first best",
        rule="first best is the exact pair (W, W*), never clamped",
        expected=_invalid("first_best", "C4", codes=("value_contradicts_replay", "transaction_refuted")),
        make=_clamped,
    ),
)
