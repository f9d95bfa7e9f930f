"""What a judgement says beside its verdicts, and how these come about."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from agentbeat_receipts.claims import ClaimFinding, Fault, Group, Licence
from agentbeat_receipts.claims.judging import PRECEDENCE, judge, precedence
from agentbeat_receipts.claims.settling import settle
from agentbeat_receipts.claims.verifier import verify
from agentbeat_receipts.objects import Document, Pair, ReportedAnalysis
from agentbeat_receipts.verification import Level, Verdict
from support.claim_batches import batch, direction, judged, kiosk_manifest, stability, unopened
from support.claim_faults import LAST, RUN, SILENT, grid, shadowed, values, withheld
from support.kiosk import KIOSK, Kiosk
from support.receipt_batches import Parts, keyring, verified


class _Beside(Parts):
    """Nothing but what is delivered beside."""

    def documents(self) -> list[Document]:
        return list(self.beside)


def only(*documents: Document) -> Parts:
    return _Beside(**{**vars(batch()), "beside": documents})


def test_a_verdict_says_how_many_receipts_it_is_about_and_what_it_was_made_from() -> None:
    parts = withheld(batch(), RUN)
    report = judged(parts)
    isolation, sale = report.claim("C2"), report.claim("sale")
    assert (isolation.received, isolation.expected) == (19, 20)
    assert (sale.received, sale.expected, sale.level) == (19, 20, Level.CR_3)
    assert sale.value == Pair(pair=(15, 19))
    manifest = parts.manifest.body.digest()
    assert isolation.evidence == (manifest, *sorted(made.body.digest() for made in parts.receipts.values()))
    assert set(sale.evidence) > set(isolation.evidence)
    assert parts.closing is not None
    assert parts.closing.body.digest() in report.claim("C4").evidence
    assert isolation.depends_on == (Group.A, Group.Q)


def test_a_long_batch_is_named_by_its_head() -> None:
    many = kiosk_manifest(
        replicates=4,
        assignments=tuple(
            entry.model_copy(update={"replicate": n, "assignment": f"{entry.profile}.{entry.arm}.{n}"})
            for entry in SILENT.assignments
            if entry.replicate == 1
            for n in (1, 2, 3, 4)
        ),
    )
    parts = batch(manifest=many)
    head = parts.receipts["v-5.capped.4"].body.digest()
    report = judged(parts)
    assert report.claim("C2").evidence == (parts.manifest.body.digest(), head)
    assert len(report.claim("C4").evidence) == 5
    assert report.claim("C4").evidence[-1] == head


def test_values_and_nulls_are_shown() -> None:
    report = judged(batch())
    assert report.claim("ratio").value is None
    assert report.claim("ratio").nulls == {"unsold": 4}
    assert report.claim("surplus").nulls == {}
    assert (dict(report.stages), report.settled) == ({"trace": 20, "choice": 20}, 20)
    assert (report.domain, report.title) == ("kiosk", "A kiosk")
    assert report.statuses == {"accepted": 16, "rejected": 4}


def test_many_findings_are_summed_up() -> None:
    findings = judged(batch(report=lambda cells: ())).claim("C4").findings
    assert len(findings) == 4
    assert ClaimFinding(Fault.CELL_MISSING, "", "32 in all", 32) in findings
    unseen = judged(unopened(batch())).claim("sale").findings
    assert len(unseen) == 4
    assert ClaimFinding(Fault.EVIDENCE_ABSENT, "", "20 transactions", 20) in unseen


@pytest.mark.parametrize("gravest", range(len(PRECEDENCE)))
def test_the_gravest_finding_is_the_verdict(gravest: int) -> None:
    faults = {
        Verdict.INVALID: Fault.CELL_DIFFERS,
        Verdict.NO_CONTRACT: Fault.CONTRACT_ABSENT,
        Verdict.INCONCLUSIVE_COVERAGE: Fault.TERMINALS_MISSING,
        Verdict.NO_EVIDENCE: Fault.REPORT_ABSENT,
    }
    findings = [ClaimFinding(faults[verdict]) for verdict in PRECEDENCE[gravest:]]
    assert precedence(findings) is precedence(findings[::-1]) is PRECEDENCE[gravest]
    assert precedence([]) is Verdict.PASS


def test_several_contracts_for_one_claim_conjoin() -> None:
    steep = direction(contract="steep", threshold=1000)
    report = judged(batch(manifest=kiosk_manifest(contracts=(direction(), steep, stability()))))
    assert grid(report) == "PPPPP EPPP"
    assert {finding.subject for finding in report.claim("C1").findings} == {"steep"}
    assert [analysis.contract for analysis in report.claim("C1").analyses] == ["cap-helps", "steep"]


def test_a_refuted_outcome_reaches_only_the_contract_that_analyses_it() -> None:
    report = judged(batch(disclosed=values(margin=41)))
    finding = ClaimFinding(Fault.TRANSACTION_REFUTED, "margin", "1 of 20: value_contradicts_replay")
    assert finding in report.claim("C3").findings
    assert finding in report.claim("C4").findings
    assert report.claim("C1").findings == ()


def said(**changes: Any) -> ReportedAnalysis:
    members: dict[str, Any] = {
        "contract": "cap-helps",
        "subjects": 5,
        "seed": None,
        "draws": None,
        "input_order": "manifest",
        "estimate": None,
        "lower": None,
        "upper": None,
    }
    return ReportedAnalysis(**{**members, **changes})


def test_no_numbers_are_given_for_a_part_of_the_runs_but_how_they_were_made_is_judged() -> None:
    for parts in (withheld(batch(), RUN), unopened(batch(), RUN)):
        claim = judged(parts).claim("C1")
        assert claim.analyses == ()
        assert {f.fault for f in claim.findings} <= {Fault.TERMINALS_MISSING, Fault.TRANSACTION_UNDETERMINED}
    for wrong, fault in (
        (said(input_order="other"), Fault.ANALYSIS_CONTRADICTS_CONTRACT),
        (said(subjects=20), Fault.SUBJECTS_DIFFER),
    ):
        report = judged(unopened(batch(analyses=(wrong,)), RUN))
        assert grid(report) == "EEEEE XPEE"
        assert fault in {finding.fault for finding in report.claim("C1").findings}


def test_a_shadowed_retry_is_named_by_its_run() -> None:
    for claim in ("C1", "C3"):
        (finding,) = judged(shadowed()).claim(claim).findings[:1]
        assert (finding.fault, finding.subject) == (Fault.RETRIES_INVALID, RUN)


def test_without_an_anchor_nothing_but_coverage_changes() -> None:
    report = judged(batch(), anchored=False)
    assert grid(report) == "PPPPP PPPP"
    assert report.claim("C4").level is Level.CR_2
    assert report.licences.granted is Licence.DESCRIPTIVE


def test_sealed_openings_leave_isolation_standing() -> None:
    assert grid(judged(batch(), opened=False)) == "EEEEE EPEE"


def test_one_receipt_without_its_manifest_determines_its_transaction_claims() -> None:
    parts = batch()
    report = judged(only(parts.receipts[RUN], parts.envelopes[RUN]))
    assert (report.chain.level, report.domain, report.title) == (Level.CR_1, "kiosk", None)
    # Whether the cap was to be applied stands in the manifest.
    assert grid(report) == "PPPPE -E-E"
    assert (report.claim("sale").received, report.claim("sale").expected) == (1, None)


def test_receipts_without_manifest_of_two_domains_are_of_none() -> None:
    parts = batch(members={RUN: {"domain": "market"}})
    two = only(*(held[name] for name in (RUN, LAST) for held in (parts.receipts, parts.envelopes)))
    report = judged(two)
    assert (report.domain, grid(report)) == (None, "-E-E")


def test_of_nothing_nothing_passes() -> None:
    report = verify([], keyring().public, domains=(KIOSK,))
    assert (report.domain, report.chain.level, grid(report)) == (None, None, "-E-E")
    assert report.licences.granted is Licence.NONE


def test_a_manifest_alone_passes_nothing() -> None:
    assert grid(judged(only(batch().manifest))) == "EEEEE CECC"


def test_an_unknown_domain_leaves_isolation_standing() -> None:
    report = judged(batch(), domain=None)
    assert (report.domain, grid(report)) == (None, "EPEE")
    assert ClaimFinding(Fault.DOMAIN_UNKNOWN, "", "no domain to replay with") in report.claim("C1").findings
    # Retries and bytes are no matter of a domain.
    assert grid(judged(shadowed(), domain=None)) == "XPXE"


def test_of_several_manifests_the_caller_names_one() -> None:
    ours, theirs = batch(), batch(manifest=kiosk_manifest(title="Another kiosk"))
    together = ours.beside_also(*theirs.documents())
    assert grid(judged(together)) == "-E-E"
    named = judged(together, manifest=ours.manifest.body.digest())
    assert grid(named) == "PPPPP PPPP"
    assert named.title == "A kiosk"


def test_receipts_of_another_manifest_beside_ours_change_nothing() -> None:
    theirs = batch(manifest=kiosk_manifest(title="Another kiosk"), disclosed=values(surplus=99))
    ours = batch()
    beside = ours.beside_also(*theirs.receipts.values(), *theirs.envelopes.values())
    assert judged(beside).claims == judged(ours).claims


def test_two_domains_of_one_name_are_refused() -> None:
    with pytest.raises(ValueError, match="two domains of one name"):
        verify([], keyring().public, domains=(KIOSK, Kiosk()))


def test_a_tally_of_other_receipts_is_refused() -> None:
    chain = verified(batch())
    tally = settle(verified(withheld(batch(), RUN)), KIOSK)
    with pytest.raises(ValueError, match="a tally of 19 receipts, expected 20"):
        judge(chain, tally, KIOSK)


def test_a_tally_that_was_settled_without_the_domain_passes_no_transaction_claim() -> None:
    chain = verified(batch())
    assert grid(judge(chain, settle(chain, None), KIOSK)) == "EEEEE EPEE"


@pytest.mark.parametrize("group", list(Group))
def test_what_turns_inconclusive_without_a_group_is_what_declares_to_need_it(group: Group) -> None:
    chain, removed = verified(batch()), frozenset({group})
    report = judge(chain, settle(chain, KIOSK, removed=removed), KIOSK, removed=removed)
    inconclusive = {claim.claim for claim in report.claims if claim.verdict is not Verdict.PASS}
    assert all(claim.verdict.word != "Invalid" for claim in report.claims)
    assert inconclusive == {claim for claim, groups in KIOSK.needs.items() if group in groups}


def test_without_ingress_completeness_cannot_be_shown() -> None:
    chain, removed = verified(batch()), frozenset({Group.I})
    assert grid(judge(chain, settle(chain, KIOSK), KIOSK, removed=removed)) == "PPPPP CPCC"


def test_a_report_is_judged_with_the_analysis_that_it_names() -> None:
    honest = judged(batch()).claim("C1").analyses[0]
    told = said(estimate=honest.estimate, lower=honest.lower)
    assert grid(judged(batch(analyses=(told,)))) == "PPPPP PPPP"
    better = told.model_copy(update={"estimate": Pair(pair=(999, 5))})
    assert grid(judged(batch(analyses=(better,)))) == "PPPPP XPPP"


def test_a_batch_that_lacks_its_closing_record_has_no_coverage_and_all_its_claims() -> None:
    report = judged(replace(batch(), closing=None))
    assert (grid(report), report.chain.coverage) == ("PPPPP PPPP", Verdict.INCONCLUSIVE_COVERAGE)
