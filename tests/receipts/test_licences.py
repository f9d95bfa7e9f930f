"""What may be said of a batch."""

from __future__ import annotations

import pytest

from agentbeat_receipts.claims import Blocker, Licence
from agentbeat_receipts.claims.licences import COVERAGE, licences
from agentbeat_receipts.verification import Verdict

PASSING = dict.fromkeys(("guard", "C1", "C2", "C3", "C4"), Verdict.PASS)
INCONCLUSIVE = [Verdict.INCONCLUSIVE_COVERAGE, Verdict.NO_CONTRACT, Verdict.NO_EVIDENCE]


def test_all_that_passes_is_causal() -> None:
    found = licences(PASSING, Verdict.PASS, {"guard"})
    assert (found.granted, found.blockers) == (Licence.CAUSAL, ())


@pytest.mark.parametrize("verdict", [Verdict.INVALID, *INCONCLUSIVE])
@pytest.mark.parametrize("claim", ["C2", "C4"])
def test_isolation_and_accounting_must_pass_for_any_licence(claim: str, verdict: Verdict) -> None:
    found = licences({**PASSING, claim: verdict}, Verdict.PASS, {"guard"})
    assert found.granted is Licence.NONE
    assert found.blockers == (
        Blocker(Licence.DESCRIPTIVE, claim, verdict),
        Blocker(Licence.CAUSAL, claim, verdict),
    )


@pytest.mark.parametrize("verdict", INCONCLUSIVE)
@pytest.mark.parametrize("claim", ["C1", "C3"])
def test_a_contract_that_is_only_inconclusive_leaves_the_description(claim: str, verdict: Verdict) -> None:
    found = licences({**PASSING, claim: verdict}, Verdict.PASS, {"guard"})
    assert found.granted is Licence.DESCRIPTIVE
    assert found.blockers == (Blocker(Licence.CAUSAL, claim, verdict),)


@pytest.mark.parametrize("claim", ["C1", "C3"])
def test_a_contract_that_is_invalid_blocks_every_licence(claim: str) -> None:
    found = licences({**PASSING, claim: Verdict.INVALID}, Verdict.PASS, {"guard"})
    assert found.granted is Licence.NONE
    assert {blocker.licence for blocker in found.blockers} == {Licence.DESCRIPTIVE, Licence.CAUSAL}


@pytest.mark.parametrize("verdict", [Verdict.INVALID, Verdict.NO_EVIDENCE])
def test_fidelity_blocks_the_causal_licence_only(verdict: Verdict) -> None:
    found = licences({**PASSING, "guard": verdict}, Verdict.PASS, {"guard"})
    assert found.granted is Licence.DESCRIPTIVE
    assert found.blockers == (Blocker(Licence.CAUSAL, "guard", verdict),)


@pytest.mark.parametrize("coverage", [Verdict.NOT_CLAIMED, Verdict.INCONCLUSIVE_COVERAGE])
def test_without_coverage_nothing_is_causal(coverage: Verdict) -> None:
    found = licences(PASSING, coverage, ())
    assert found.granted is Licence.DESCRIPTIVE
    assert found.blockers == (Blocker(Licence.CAUSAL, COVERAGE, coverage),)


def test_a_claim_of_transactions_that_is_no_fidelity_blocks_nothing_by_itself() -> None:
    assert licences({**PASSING, "sale": Verdict.INVALID}, Verdict.PASS, ()).granted is Licence.CAUSAL
