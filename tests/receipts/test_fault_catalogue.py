"""Every fault of spec 4 with its verdicts and reasons, beside every benign change; none of these alarms."""

from __future__ import annotations

import doctest
import importlib
from collections.abc import Iterator
from functools import lru_cache

import pytest

from agentbeat_receipts.claims import FAULT_RULES, Fault, Licence
from agentbeat_receipts.keys import PublicKeyring
from agentbeat_receipts.objects import write_document
from agentbeat_receipts.tampering import (
    BENIGN,
    CLAIMS,
    FAULTS,
    BenignCase,
    FaultCase,
    Party,
    Timing,
    Trial,
    combined_trials,
    run_catalogue,
    trial,
)
from agentbeat_receipts.tampering.cases import Expected
from agentbeat_receipts.tampering.makings import HONEST, make
from agentbeat_receipts.tampering.resigning import resealed
from agentbeat_receipts.tampering.spellings import Respelling, Spelling, escaped
from agentbeat_receipts.verification import (
    CAVEAT,
    REPLACEMENT_CAVEAT,
    RULES,
    Level,
    Reason,
    Verdict,
    sorting,
    unsealing,
)

#: The faults that spec 4 lists, by its own words, and the cases that are them.
LISTED = {
    "terminal withheld (also the last one)": ("terminal withheld", "last terminal withheld"),
    "all openings withheld": ("all openings withheld",),
    "one opening missing": ("one opening missing",),
    "opening contradicts commitment": ("opening contradicts commitment", "another opening sealed"),
    "retry shadowing": ("retry shadowing", "retry gap", "more attempts than allowed", "undeclared cause"),
    "cross-arm schema or chooser drift": ("schema drift", "chooser drift"),
    "guardrail flag without its event": (
        "guard event missing, information",
        "guard event missing, conduct",
        "guard applied while off",
        "guard applied in name only",
    ),
    "scorer digest drift": ("scorer drift",),
    "replicates counted as subjects": ("replicates counted as subjects", "profile drift"),
    "selective reporting": ("selective reporting", "cell left out"),
    "incomplete bundle that says so": ("incomplete report that says so", "report missing"),
    "flipped byte in a signed object": (
        "flipped bit, manifest",
        "flipped bit, ticket",
        "flipped bit, checkpoint",
        "flipped bit, receipt",
        "flipped bit, closing record",
    ),
    "wrong-role key": ("wrong-role key, receipt", "wrong-role key, manifest"),
    "chain fork": ("chain fork",),
    "reorder": ("chain reorder",),
    "manifest other than the ticketed one": ("manifest other than the ticketed one", "manifest missing"),
    "closing record contradicting the receipts held": ("closing record contradicts",),
    "receipt whose ticket is not in the checkpoint": (
        "ticket not in the checkpoint",
        "one ticket for two receipts",
    ),
    "receipt of another epoch citing our tickets or chain": (
        "another epoch cites our ticket",
        "another epoch cites our chain",
    ),
    "chain gap": ("chain gap", "a run done again"),
    "ticket object or closing record missing": (
        "ticket missing",
        "checkpoint missing",
        "closing record missing",
    ),
    "no anchor or a late one": ("no anchor", "late anchor"),
    "two different terminals for one assignment": ("two terminals for one assignment",),
    "reported BS, SP, W other than replayed": (
        "told otherwise, buyer's surplus",
        "told otherwise, seller's profit",
        "told otherwise, welfare",
    ),
    "rejected deal with surplus": ("rejected deal with surplus",),
    "clamped first best": ("clamped first best",),
    "non-integral or oversized number": ("non-integral number", "oversized number"),
    "duplicate or NFC-colliding keys": ("duplicate keys", "NFC-colliding keys"),
    "nonce reused or of wrong length": ("nonce reused", "nonce of wrong length"),
    "envelope digest wrong": ("envelope digest wrong",),
    "right but undecryptable": ("envelope undecryptable",),
    "replay starts at the policy for deterministic sellers": ("menu without an answer",),
    "reported seed, draws, order other than the contract's": ("another seed", "other draws", "another order"),
    "boundary inside the envelope": ("boundary inside the envelope, C1", "boundary inside the envelope, C3"),
    "contract absent": ("contract absent", "nothing compared"),
    "a run never ticketed": (
        "a run never ticketed",
        "an attempt never listed",
        "full replacement before closing",
    ),
}
BENIGN_LISTED = {
    "key order",
    "white space",
    "integral number spelling",
    "normal form",
    "set order",
    "repeated delivery",
    "transport timestamps",
    "retained, declared retry",
    "shuffled deliveries",
    "rejected terminals",
    "allowed field differs",
    "escapes",
    "-0 and 0",
    "pending proof upgraded",
    "receipts of another manifest",
    "key hint absent",
    "negative welfare",
    "typed null",
}


@pytest.fixture(scope="module", autouse=True)
def remembered() -> Iterator[None]:
    """Bytes that come again are neither read, nor opened, nor their signatures checked again.

    The table judges over a thousand batches that share most of their documents. What is remembered are pure
    functions of bytes and keys.
    """
    with pytest.MonkeyPatch.context() as patch:
        for module in (sorting, unsealing):
            patch.setattr(module, "read_whole", lru_cache(maxsize=8192)(module.read_whole))
        patch.setattr(unsealing, "unseal", lru_cache(maxsize=8192)(unsealing.unseal))
        patch.setattr(PublicKeyring, "verifies", lru_cache(maxsize=16384)(PublicKeyring.verifies))
        yield


def said(tried: Trial) -> dict[str, str]:
    """Every verdict of a trial, by what it is about."""
    report = tried.report
    return {
        **{claim.claim: str(claim.verdict) for claim in report.claims},
        "coverage": str(report.chain.coverage),
        "licence": str(report.licences.granted),
        "level": str(report.chain.level),
    }


def wanted(expected: Expected) -> dict[str, str]:
    """The same, as expected."""
    return {
        **{claim: str(expected.verdict(claim)) for claim in CLAIMS},
        "coverage": str(expected.coverage),
        "licence": str(expected.licence),
        "level": str(expected.level),
    }


def test_every_fault_and_benign_change_of_the_specification_is_a_case() -> None:
    listed = [name for names in LISTED.values() for name in names]
    assert sorted(listed) == sorted(fault.name for fault in FAULTS)
    assert sorted(change.name for change in BENIGN) == sorted(BENIGN_LISTED)


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_a_fault_has_its_verdicts_and_reasons(fault: FaultCase) -> None:
    tried = trial(fault)
    assert said(tried) == wanted(fault.expected)
    assert tried.codes == set(fault.expected.codes)
    assert tried.as_expected


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_a_fault_has_the_same_verdicts_beside_each_benign_change(fault: FaultCase) -> None:
    tried = {t.benign.name: said(t) for t in combined_trials(fault) if t.benign is not None}
    assert tried == dict.fromkeys((change.name for change in BENIGN), wanted(fault.expected))


@pytest.mark.parametrize("change", BENIGN, ids=lambda change: change.name)
def test_a_benign_change_alarms_nobody(change: BenignCase) -> None:
    tried = trial(benign=change)
    assert said(tried) == wanted(Expected())
    assert tried.codes == set()
    assert tried.report.licences.granted is Licence.CAUSAL


@pytest.mark.parametrize("change", BENIGN, ids=lambda change: change.name)
def test_a_benign_change_is_a_change(change: BenignCase) -> None:
    exhibit = make(HONEST)
    other = change.beside(make(change.making(HONEST)))
    assert change.delivered(other.deliveries()) != exhibit.deliveries()


def test_an_opening_may_have_been_sealed_in_another_spelling() -> None:
    exhibit = make(HONEST)
    run = exhibit.assignments[0]
    sealed = Spelling(reverse=True, comma=" , ", number="{}.0".format, text=escaped)
    content = Respelling(sealed).write(write_document(exhibit.opening_document(run)))
    report = resealed(exhibit, run, content).judged()
    assert report.licences.granted is Licence.CAUSAL


@pytest.mark.parametrize("name", ["blocks", "cases", "makings", "spellings", "tables"])
def test_the_examples_of_a_module_run(name: str) -> None:
    ran = doctest.testmod(importlib.import_module(f"agentbeat_receipts.tampering.{name}"))
    assert (ran.failed, bool(ran.attempted)) == (0, True)


def test_a_catalogue_counts_what_is_as_expected() -> None:
    some = FAULTS[::9]
    results = run_catalogue(some, BENIGN[::6])
    assert results.faults_as_expected == len(results.faults) == len(some)
    assert (results.false_alarms, len(results.benign)) == (0, 3)


def test_a_fault_that_is_judged_otherwise_is_not_as_expected() -> None:
    first, second = (fault for fault in FAULTS if fault.name in ("cell left out", "selective reporting"))
    mistaken = Trial(fault=first, benign=None, report=trial(second).report)
    assert said(mistaken) == wanted(first.expected)
    # The verdicts are the same: only the reasons tell them apart.
    assert not mistaken.as_expected
    assert not Trial(fault=None, benign=None, report=trial(second).report).as_expected


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_a_fault_says_what_a_reader_needs(fault: FaultCase) -> None:
    for code in fault.expected.codes:
        assert code in set(Reason) | set(Fault)
    for text in (fault.done, fault.rule):
        assert text
        assert "|" not in text
    layers = {rule.layer for code, rule in {**RULES, **FAULT_RULES}.items() if code in fault.expected.codes}
    # A fault shows in the layer of one of its reasons; what shows nowhere is L4.
    assert fault.layer in (layers or {"L4"})


def test_what_is_withheld_afterwards_is_never_invalid() -> None:
    withheld = [fault for fault in FAULTS if "not delivered" in fault.done or "no envelope" in fault.done]
    assert len(withheld) >= 10
    for fault in withheld:
        assert fault.timing is Timing.POST
        assert Verdict.INVALID not in fault.expected.verdicts.values()
        assert (fault.by, fault.by.keys) == (Party.HOLDER, ())


def test_what_leaves_no_trace_passes_under_its_caveats() -> None:
    unseen = [fault for fault in FAULTS if fault.layer == "L4"]
    assert unseen
    for fault in unseen:
        report = trial(fault).report
        for claim in report.claims:
            assert claim.verdict is Verdict.PASS
            assert claim.caveats == (CAVEAT, REPLACEMENT_CAVEAT)
        assert any(caveat in fault.rule for caveat in (CAVEAT, REPLACEMENT_CAVEAT))


def test_without_an_anchor_a_batch_reaches_cr_2_at_most() -> None:
    levels = {fault.name: fault.expected.level for fault in FAULTS if "anchor" in fault.name}
    assert levels == dict.fromkeys(("no anchor", "late anchor"), Level.CR_2)
