"""Core's side: both Cores keep every scenario, and each with a flaw is caught by the scenarios for it."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

import pytest

from agentbeat_conformance.core_side.cores import MUTANTS, CoreMutant, SmallCore
from agentbeat_conformance.core_side.corpus import evidence_cases, evidence_refs
from agentbeat_conformance.core_side.groups import CONTROLS, SCENARIOS
from agentbeat_conformance.core_side.processes import CommandCore
from agentbeat_conformance.core_side.runner import (
    Core,
    ScenarioResult,
    chosen,
    core_verdict,
    run_scenarios,
    sampled,
)
from agentbeat_conformance.outcomes import Outcome, Verdict
from support.cases import DATA
from support.cores import kit_core

GROUPS = list(dict.fromkeys(scenario.group for scenario in SCENARIOS.values()))
#: Served where the machine has the place for it: the default port, or a name of its own.
PLACED = {f"core.reference.ref-{number}" for number in ("003", "004", "005", "012", "013", "014")}
PLACED |= {"core.reference.ref-010", "core.reference.ref-011"}
SHIPPED = Path(sys.modules["agentbeat_conformance.core_side.corpus"].__file__ or "").parent / "data"


async def run(core: Core, *names: str, jobs: int = 8) -> dict[str, ScenarioResult]:
    results = await run_scenarios(core, chosen(SCENARIOS, only=names), controls=CONTROLS, jobs=jobs)
    return {result.scenario.id: result for result in results}


def amiss(results: dict[str, ScenarioResult]) -> dict[str, object]:
    """Everything that is neither a pass nor for want of a place."""
    return {
        name: (result.outcome, result.reason, result.findings)
        for name, result in results.items()
        if result.outcome is not Outcome.PASS
        and not (result.outcome is Outcome.NOT_APPLICABLE and name in PLACED)
    }


# --- The scenarios --------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["evidence_cases.jsonl", "evidence_refs.jsonl"])
def test_the_package_ships_the_case_files_of_the_tests(name: str) -> None:
    assert (SHIPPED / name).read_bytes() == (DATA / name).read_bytes()


def test_every_line_of_the_case_files_is_served() -> None:
    served = {f"core.evidence.{case.id}" for case in evidence_cases()}
    for reference in evidence_refs():
        served.add(f"core.{'redirect' if reference.redirect else 'reference'}.{reference.id}")
    assert len(served) == 187 + 102
    assert served <= set(SCENARIOS)


def test_every_scenario_says_what_it_is_about() -> None:
    for scenario in SCENARIOS.values():
        assert scenario.id.startswith(f"core.{scenario.group}.")
        assert scenario.rule
        assert scenario.served
        assert scenario.expects.text
    assert [control.tier for control in CONTROLS.values()] == ["L1", "L2", "L3"]


@pytest.mark.parametrize("group", GROUPS)
async def test_the_kits_core_keeps_every_scenario(group: str) -> None:
    assert amiss(await run(kit_core, group)) == {}


@pytest.mark.parametrize("group", GROUPS)
async def test_a_core_that_shares_no_code_with_it_keeps_them_too(group: str) -> None:
    assert amiss(await run(SmallCore(), group)) == {}


@pytest.mark.long
async def test_the_command_keeps_a_sample_over_real_processes() -> None:
    core = CommandCore(f'"{sys.executable}" -m agentbeat_core eval-run')
    listed = sampled(list(SCENARIOS.values()), 12)
    results = await run_scenarios(core, listed, controls=CONTROLS, jobs=2)
    assert {result.scenario.group for result in results} >= {"control", "evidence", "reference", "receipt"}
    assert core_verdict(results) is Verdict.CONFORMANT
    assert amiss({result.scenario.id: result for result in results}) == {}
    assert Counter(result.spoken.exit_code for result in results if result.spoken).keys() <= {0, 2, 3}


# --- The mutants ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("flawed", MUTANTS.values(), ids=MUTANTS)
async def test_a_core_with_a_flaw_is_caught_by_the_scenarios_for_it(flawed: CoreMutant) -> None:
    assert set(flawed.caught_by) <= set(SCENARIOS)
    results = await run(flawed.make(), *flawed.caught_by, *(control.id for control in CONTROLS.values()))
    escaped = [name for name in flawed.caught_by if results[name].outcome is not Outcome.FAIL]
    accused = [
        control.id
        for control in CONTROLS.values()
        if control.id not in flawed.caught_by and results[control.id].outcome is not Outcome.PASS
    ]
    # A scenario whose control is broken could not run, and that is no catch either.
    assert (escaped, accused) == ([], [])
    assert core_verdict(results.values()) is Verdict.NOT_CONFORMANT


def test_every_group_catches_some_mutant() -> None:
    caught = {SCENARIOS[name].group for flawed in MUTANTS.values() for name in flawed.caught_by}
    assert caught == set(GROUPS)


@pytest.mark.parametrize(
    ("name", "scenario", "finding"),
    [
        (
            "follows-redirects",
            "core.redirect.evidence-302",
            "called another origin (GET /v1/evidence/run-core",
        ),
        ("follows-redirects", "core.redirect.invocation-307", "sent the target's secret to the canary"),
        ("follows-redirects", "core.judge.redirect", "sent the judge's secret to the canary"),
        ("follows-the-reference", "core.reference.userinfo", "sent the target's secret to the canary"),
        ("follows-the-reference", "core.reference.localhost", "called the Target as localhost"),
        ("reads-all-the-same", "core.reference.absent", "expected no fallback"),
        ("compares-the-beginning", "core.reference.other-run", "asked the Target for GET"),
        ("retries-after-5xx", "core.invocation.http-502", "invoked the Agent 2 times, expected 1"),
        ("missing-is-zero", "core.evidence.ev-074", "got 0.075, expected 0.25 (the judge's alone)"),
        ("missing-is-absent", "core.delivery.http-500", "security.verdict: got pass"),
        ("final-without-evidence", "core.reference.absent", "final_score: got 0.25, expected null"),
        ("gives-no-reason", "core.delivery.hang-up", "missing without a reason"),
        ("official-without-a-key", "core.receipt.unsigned", "official_benchmark: got true, expected false"),
        ("one-nonce-for-all", "core.receipt.honest-twice", "have the same attempt_nonce"),
        ("before-afterwards", "core.control.l3", "before it held the snapshot before (RCP-3)"),
        ("after-beforehand", "core.control.l3", "before the invocation had ended (RCP-3)"),
        ("sends-no-correlation", "core.control.l1", "the invocation breaks INV-6"),
        ("shares-the-secret", "core.control.l3", "sent the target's secret to the controller"),
        ("shows-what-it-refused", "core.delivery.other-run", "showed the judge a document"),
        ("crashes-on-refusal", "core.evidence.ev-253", "got nothing on standard output"),
        ("talks-on-standard-output", "core.control.l2", "got no JSON (J-SYNTAX) on standard output"),
    ],
)
async def test_a_finding_says_what_is_wrong(name: str, scenario: str, finding: str) -> None:
    result = (await run(MUTANTS[name].make(), scenario))[scenario]
    assert any(finding in each for each in result.findings), result.findings
