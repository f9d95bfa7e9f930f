"""Tables of the whole corpus: counts, the grid of verdicts with its reasons, and what replays.

What no verdict hangs on is shown too: the epochs' names are changed around, and those epochs that must come
out so for every seed are made from further seeds.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from agentbeat_receipts.claims import EXPERIMENT_CLAIMS, ClaimReport, Fault
from agentbeat_receipts.corpus import OURS, corpus_seed, pressure_epoch, stability_epoch
from agentbeat_receipts.domains.market import BundleStress, FixedMenu, ProfitMaximum
from agentbeat_receipts.reproduction.verifying import Bench, Verified
from agentbeat_receipts.reproduction.wordings import amount_text, letters, reasons_text, verdict_letter
from agentbeat_receipts.verification import Verdict

__all__ = [
    "FURTHER_SEEDS",
    "RETROSPECTIVE",
    "control_rows",
    "corpus_rows",
    "grid_rows",
    "reason_rows",
    "rename_rows",
    "repaired_rows",
    "replay_rows",
    "seed_rows",
]

RETROSPECTIVE: Final = ("E1", "E2", "E3", "E4", "E5", "E6")
_PROSPECTIVE: Final = "E7"
_SCRIPTED: Final = ("E5", "E6")
_GENERATED: Final = ("E1", "E2", "E3", "E4")

#: From how many other seeds E3 and E4 are made.
FURTHER_SEEDS: Final = 4

Rows = Iterator[tuple[str, str]]


def corpus_rows(found: Mapping[str, Verified]) -> Rows:
    """How many sound receipts each epoch has, as the verifier counted them."""
    counts = {place: verified.report.chain.arrived for place, verified in found.items()}
    yield from ((key, str(counts[key])) for key in RETROSPECTIVE)
    yield "E1 to E6", str(sum(counts[key] for key in RETROSPECTIVE))
    yield _PROSPECTIVE, str(counts[_PROSPECTIVE])
    manifests = {verified.report.chain.manifest_digest for verified in found.values()}
    yield "manifests", str(len(manifests))
    ours = sum(str(verified.report.title).startswith(OURS) for verified in found.values())
    yield "titles that say whose corpus it is", f"{ours} of {len(found)}"


def grid_rows(found: Mapping[str, Verified]) -> Rows:
    """C1 to C4 of each epoch; of the prospective one coverage too."""
    for key in (*RETROSPECTIVE, _PROSPECTIVE):
        report = found[key].report
        coverage = report.chain.coverage
        claimed = "" if coverage is Verdict.NOT_CLAIMED else f", coverage {verdict_letter(coverage)}"
        yield key, letters(report, EXPERIMENT_CLAIMS) + claimed


def reason_rows(found: Mapping[str, Verified]) -> Rows:
    """The reasons of the grid's three verdicts that are neither Pass nor for want of a contract."""
    isolation = found["E1"].report.claim("C2")
    differing = sorted(
        finding.detail.partition(":")[0]
        for finding in isolation.findings
        if finding.fault is Fault.ARMS_DIFFER
    )
    yield "E1 C2", f"{reasons_text(isolation)}: {', '.join(differing)}"
    yield "E3 C3", reasons_text(found["E3"].report.claim("C3"))
    yield "E4 C1", reasons_text(found["E4"].report.claim("C1"))


def repaired_rows(found: Mapping[str, Verified]) -> Rows:
    """The repaired twins."""
    for key, claim in (("E1", "C2"), ("E3", "C3"), ("E4", "C1")):
        verdict = found[f"repaired/{key}-repaired"].report.claim(claim).verdict
        yield f"{key} repaired", f"{claim} {verdict_letter(verdict)}"


def control_rows(found: Mapping[str, Verified]) -> Rows:
    """The controls, with their exact numbers."""
    direction = found["controls/control-direction"].report.claim("C1")
    for analysis in direction.analyses:
        estimate, lower = amount_text(analysis.estimate), amount_text(analysis.lower)
        yield "C1", f"{verdict_letter(direction.verdict)}, +{estimate}, lower bound {lower}"
    stability = found["controls/control-stability"].report.claim("C3")
    for analysis in stability.analyses:
        estimate, bounds = amount_text(analysis.estimate), (analysis.lower, analysis.upper)
        interval = ", ".join(amount_text(bound) for bound in bounds)
        yield "C3", f"{verdict_letter(stability.verdict)}, +{estimate} in [{interval}]"
    whole = found["controls/control-whole"].report
    passed = sum(verdict.verdict is Verdict.PASS for verdict in whole.claims)
    coverage = verdict_letter(whole.chain.coverage)
    yield (
        "all twelve",
        (f"{passed} of {len(whole.claims)} P, coverage {coverage}, licence {whole.licences.granted}"),
    )


def replay_rows(found: Mapping[str, Verified]) -> Rows:
    """How many transactions had each stage come out again, of those that have it."""
    scripted, generated = _stages(found, _SCRIPTED), _stages(found, _GENERATED)
    runs = {keys: sum(found[key].made.epoch.size for key in keys) for keys in (_SCRIPTED, _GENERATED)}
    yield "scripted: policy", f"{scripted['policy']}/{_policy_runs(found, _SCRIPTED)}"
    yield "scripted: choice", f"{scripted['choice']}/{runs[_SCRIPTED]}"
    yield "scripted: metrics", f"{scripted['metrics']}/{runs[_SCRIPTED]}"
    yield "generated: policy of fixed menus", f"{generated['policy']}/{_policy_runs(found, _GENERATED)}"
    yield "generated: choice", f"{generated['choice']}/{runs[_GENERATED]}"
    yield "generated: metrics", f"{generated['metrics']}/{runs[_GENERATED]}"
    parsed = scripted["parser"] + generated["parser"]
    yield "raw output read again", f"{parsed}/{sum(runs.values())}"


def rename_rows(bench: Bench, found: Mapping[str, Verified]) -> Rows:
    """Every epoch under the next one's name: what is claimed of it must stay as it is."""
    keys = (*RETROSPECTIVE, _PROSPECTIVE)
    same = 0
    for key, name in zip(keys, (*keys[1:], keys[0]), strict=True):
        renamed = bench.verified(key, found[key].made.epoch, name=name)
        same += _said(renamed.report) == _said(found[key].report)
    yield "epochs with the same verdicts under another's name", f"{same} of {len(keys)}"


def seed_rows(number: int) -> Rows:
    """E3 and E4 from further seeds."""
    seeds = range(number + 1, number + 1 + FURTHER_SEEDS)
    for key, claim, make in (("E3", "C3", stability_epoch), ("E4", "C1", pressure_epoch)):
        verdicts = [
            Bench.of(other).verified(key, make(corpus_seed(other))).report.claim(claim) for other in seeds
        ]
        count = sum(verdict.verdict is Verdict.NO_EVIDENCE for verdict in verdicts)
        yield f"{key} {claim} from {len(seeds)} further seeds", f"{count} of {len(seeds)} I_E"


def _stages(found: Mapping[str, Verified], keys: Iterable[str]) -> dict[str, int]:
    stages: dict[str, int] = dict.fromkeys(("policy", "parser", "choice", "metrics"), 0)
    for key in keys:
        for stage, count in found[key].report.stages.items():
            stages[stage] = stages.get(stage, 0) + count
    return stages


def _policy_runs(found: Mapping[str, Verified], keys: Iterable[str]) -> int:
    """How many runs have a deterministic seller."""
    deterministic = (FixedMenu, ProfitMaximum, BundleStress)
    return sum(
        len(epoch.profiles) * epoch.replicates
        for epoch in (found[key].made.epoch for key in keys)
        for plan in epoch.plans.values()
        if isinstance(plan.setting.model, deterministic)
    )


def _said(report: ClaimReport) -> tuple[Any, ...]:
    """All that a report says, but for the digests of the objects that it says it of."""
    claims = tuple(
        (v.claim, v.verdict, v.findings, v.received, v.expected, v.value, dict(v.nulls), v.analyses)
        for v in report.claims
    )
    chain = report.chain
    layers = (chain.level, chain.integrity, chain.coverage, chain.openings, chain.retries, chain.arrived)
    return claims, layers, report.licences, dict(report.stages), dict(report.statuses)
