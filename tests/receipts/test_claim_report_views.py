"""Coverage matrix, chain and reasoning: what the reports show of a batch of any size."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from agentbeat_receipts.claims import ClaimReport
from agentbeat_receipts.objects import Arm, Assignment, Manifest
from agentbeat_receipts.reports.chains import Gap, Link, Loose, Run, chain_view
from agentbeat_receipts.reports.findings import chain_reasons, claim_reasons
from agentbeat_receipts.reports.html import to_html
from agentbeat_receipts.reports.json_report import to_json
from agentbeat_receipts.reports.matrices import coverage_matrix
from agentbeat_receipts.reports.reasoning import reasoning_lines
from agentbeat_receipts.streams.gathering import Gathering
from agentbeat_receipts.verification import Finding, Reason, Verdict
from support.claim_batches import Making, batch, judged, kiosk_manifest
from support.claim_faults import other_scorer
from support.kiosk import PROFILES, run
from support.receipt_batches import COMPONENT_DIGESTS, Parts, changed, deliveries, honest, manifest, verified
from support.receipt_tampering import fork, rival_terminal
from support.streamed import streamed

MISSING = "v-3.capped.1"
PLAIN = Making(manifest=kiosk_manifest(contracts=()))


@pytest.fixture(scope="module")
def sound() -> ClaimReport:
    return judged(batch(PLAIN))


@pytest.fixture(scope="module")
def short() -> ClaimReport:
    return judged(batch(PLAIN).without("receipts", MISSING))


# Coverage.


def wide(profiles: int, arms: int) -> Manifest:
    names = [f"p-{place:04d}" for place in range(profiles)]
    conditions = [f"arm-{place}" for place in range(arms)]
    changes: dict[str, Any] = {
        "profiles": tuple(names),
        "arms": tuple(Arm(arm=arm, components=COMPONENT_DIGESTS, treatments=()) for arm in conditions),
        "assignments": tuple(
            Assignment(assignment=f"{name}.{arm}", profile=name, arm=arm, replicate=1)
            for name in names
            for arm in conditions
        ),
        "comparison_groups": (),
        "replicates": 1,
    }
    return manifest(**changes)


def test_of_a_long_matrix_the_profiles_that_lack_something_are_kept(sound: ClaimReport) -> None:
    promised = wide(300, 20)
    held = {entry.assignment for entry in promised.assignments} - {"p-0299.arm-0", "p-0150.arm-19"}
    receipt = next(iter(sound.chain.terminals.values()))
    chain = replace(
        sound.chain,
        manifest=promised,
        terminals=dict.fromkeys(held, receipt),
        arrived=len(held),
        expected=6000,
    )
    runs = {(entry.profile, entry.arm): 1 for entry in promised.assignments if entry.assignment in held}
    matrix = coverage_matrix(replace(sound, chain=chain, runs=runs), rows=10)
    assert matrix is not None
    assert [row.profile for row in matrix.rows][-2:] == ["p-0150", "p-0299"]
    assert (len(matrix.rows), matrix.more_rows, len(matrix.arms), matrix.more_arms) == (10, 290, 16, 4)
    assert (matrix.missing_count, matrix.whole_rows) == (2, 298)
    assert set(matrix.missing) == {"p-0299.arm-0", "p-0150.arm-19"}


def test_terminals_that_were_only_counted_are_told_from_the_findings(short: ClaimReport) -> None:
    streamed = replace(short, chain=replace(short.chain, terminals={}))
    assert coverage_matrix(streamed) == coverage_matrix(short)
    assert not chain_view(streamed.chain).listed
    assert "19 receipts are held" in to_html(streamed)


def without_two_visitors() -> Parts:
    """Eight terminals are missing."""
    parts = batch(PLAIN)
    held = {name: made for name, made in parts.receipts.items() if not name.startswith(("v-2.", "v-4."))}
    return replace(parts, receipts=held)


def test_where_a_stream_does_not_keep_every_finding_the_missing_are_still_counted_exactly(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(Gathering.__init__.__kwdefaults__, "limit", 3)
    parts = without_two_visitors()
    held, counted = judged(parts), streamed(deliveries(parts.documents()))
    (group,) = [group for group in chain_reasons(counted.chain) if group.code == "terminal_missing"]
    assert (group.count, group.at_least) == (3, True)

    whole, matrix = coverage_matrix(held), coverage_matrix(counted)
    assert whole is not None
    assert matrix is not None
    assert replace(matrix, missing=whole.missing) == whole
    assert (matrix.missing_count, matrix.whole_rows) == (8, 3)
    assert set(matrix.missing) == {place.subject for place in group.places} < set(whole.missing)


def test_reports_say_of_what_was_not_kept_that_there_is_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(Gathering.__init__.__kwdefaults__, "limit", 3)
    parts = without_two_visitors()
    report = streamed(deliveries(parts.documents()))
    page, written = to_html(report), json.loads(to_json(report))
    assert "and 5 more, which are not listed here" in page
    (reason,) = [reason for reason in written["reasons"] if reason["code"] == "terminal_missing"]
    assert (reason["count"], reason["at_least"], len(reason["places"])) == (3, True, 3)
    assert (written["coverage"]["missing_count"], len(written["coverage"]["missing"])) == (8, 3)
    assert "terminal_missing ×3 or more" in "\n".join(reasoning_lines(report, "coverage"))


def test_a_claim_says_so_too_and_counts_no_finding_that_stands_for_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(Gathering.__init__.__kwdefaults__, "limit", 5)
    twice = tuple(changed(run(worth=100, capped=True)["attempts"][0], number=number) for number in (1, 3))
    runs = [entry.assignment for entry in kiosk_manifest().assignments]
    parts = batch(members={name: {"attempts": twice} for name in runs[:8]}, manifest=PLAIN.manifest)
    held, counted = judged(parts).claim("C3"), streamed(deliveries(parts.documents())).claim("C3")
    reasons = {reason for reason in judged(parts).chain.reasons if reason.startswith("retry_")}
    assert len(reasons) == 3

    (of_all, _), (of_some, _) = claim_reasons(held), claim_reasons(counted)
    assert (of_all.code, of_all.count, of_all.at_least) == ("retries_invalid", 8 * 3, False)
    assert (of_some.code, of_some.count, of_some.at_least) == ("retries_invalid", 5 * 3, True)
    assert [place.subject for place in of_some.places] == [place.subject for place in of_all.places]
    assert counted.verdict is held.verdict is Verdict.INVALID
    assert [finding.detail for finding in counted.findings if finding.more] == ["more than 15"]


def test_without_a_manifest_nobody_knows_who_is_missing(sound: ClaimReport) -> None:
    chain = replace(sound.chain, manifest=None, expected=None)
    bare = replace(sound, chain=chain, title=None)
    assert coverage_matrix(bare) is None
    assert "nobody knows what was promised" in to_html(bare)


# The chain.


def test_a_short_chain_is_shown_link_by_link(sound: ClaimReport) -> None:
    view = chain_view(sound.chain)
    assert (view.follows, view.more, view.held) == ("checkpoint", 0, 20)
    assert [entry.place for entry in view.entries if isinstance(entry, Link)] == list(range(1, 21))
    first = view.entries[0]
    assert isinstance(first, Link)
    assert first.digest == sound.chain.terminals["v-1.free.1"].digest()


def test_a_missing_receipt_is_a_gap_also_the_last_one(short: ClaimReport) -> None:
    entries = chain_view(short.chain).entries
    place = short_place(short)
    assert Gap(place, place) in entries
    after = entries[entries.index(Gap(place, place)) + 1]
    assert isinstance(after, Link)
    assert after.reasons == ("chain_gap",)
    last = judged(batch(PLAIN).without("receipts", f"{PROFILES[-1]}.capped.2"))
    assert chain_view(last.chain).entries[-1] == Gap(20, 20)


def short_place(report: ClaimReport) -> int:
    held = {receipt.sequence for receipt in report.chain.terminals.values()}
    return next(place for place in range(1, 21) if place not in held)


def test_a_long_sound_chain_is_runs_between_its_gaps() -> None:
    made = honest(wide(70, 1))
    chain = verified(made.without("receipts", "p-0030.arm-0"))
    before, gap, after, rest = chain_view(chain).entries
    assert isinstance(before, Run)
    assert (before.first.place, before.last.place, before.count) == (1, 30, 30)
    assert gap == Gap(31, 31)
    assert isinstance(after, Link)
    assert isinstance(rest, Run)
    assert (rest.first.place, rest.last.place) == (33, 70)
    assert rest.last.digest == chain.terminals["p-0069.arm-0"].digest()
    assert [type(entry) for entry in chain_view(verified(made)).entries] == [Run]


@pytest.mark.parametrize("made", [fork(), rival_terminal()], ids=["fork", "rival-terminal"])
def test_forks_and_rivals_are_shown_with_their_reasons(made: Parts) -> None:
    chain = verified(made)
    named = {finding.subject for finding in chain.findings if finding.reason is Reason.CHAIN_FORK}
    shown = {
        entry.digest
        for entry in chain_view(chain).entries
        if isinstance(entry, Link | Loose) and "chain_fork" in entry.reasons
    }
    assert named
    assert shown == named


def test_a_chain_of_faults_is_cut(sound: ClaimReport) -> None:
    findings = tuple(Finding(Reason.CHAIN_FORK, f"sha256:{place:064x}") for place in range(900))
    view = chain_view(replace(sound.chain, findings=findings))
    assert (len(view.entries), view.more) == (200, 720)


# Why.


def test_the_reasoning_of_a_claim_gives_rule_place_and_what_to_do(short: ClaimReport) -> None:
    text = "\n".join(reasoning_lines(short, "C4"))
    for part in (
        "C4 is INCONCLUSIVE_COVERAGE",
        "Accounting.",
        "every assignment has its one terminal",
        MISSING,
        "ask the operator for the receipts that are missing",
        "19 of 20 receipts",
    ):
        assert part in text, part


def test_the_reasoning_of_a_claim_that_passes_holds_no_faults_of_others(short: ClaimReport) -> None:
    text = "\n".join(reasoning_lines(short, "C2"))
    assert "C2 is Pass" in text
    assert MISSING not in text


def test_under_another_scorer_the_reasoning_of_c4_says_what_the_values_are_that_pass() -> None:
    report = judged(other_scorer())
    assert report.claim("surplus").verdict is Verdict.PASS
    assert "read each value as the scorer's that ran" in " ".join(reasoning_lines(report, "C4"))


def test_the_reasoning_of_a_question_holds_its_own_reasons(short: ClaimReport) -> None:
    text = "\n".join(reasoning_lines(short, "coverage"))
    assert "terminal_missing" in text
    assert "opening" not in text
    with pytest.raises(KeyError):
        list(reasoning_lines(short, "C9"))
