"""How scenarios are chosen and run: controls first, and no refusal counts that shows nothing."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from agentbeat_conformance.core_side.cores import SmallCore
from agentbeat_conformance.core_side.expectations import complete
from agentbeat_conformance.core_side.groups import CONTROLS, SCENARIOS
from agentbeat_conformance.core_side.processes import CommandCore, CommandError
from agentbeat_conformance.core_side.results import Spoken
from agentbeat_conformance.core_side.runner import (
    ScenarioResult,
    chosen,
    core_verdict,
    planned,
    run_scenario,
    run_scenarios,
    sampled,
)
from agentbeat_conformance.core_side.scenarios import Place, Scenario
from agentbeat_conformance.core_side.stages import Stage
from agentbeat_conformance.outcomes import Outcome, Verdict
from agentbeat_conformance.requirements import Level

Environment = Mapping[str, str | None]
ALL = list(SCENARIOS.values())


def named(*names: str) -> list[Scenario]:
    return [SCENARIOS[name] for name in names]


async def refuses_everything(request: bytes, environment: Environment) -> Spoken:
    del environment
    run_id = json.loads(request)["run_id"]
    return Spoken(
        output=json.dumps(
            {
                "schema_version": "eval-run-response-v1",
                "eval_run": {"run_id": run_id, "status": "failed"},
                "failure": {"code": "target_contract_failed"},
            }
        ).encode()
    )


# --- Which ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("only", "skip", "found"),
    [
        (["digest"], [], [each.id for each in ALL if each.group == "digest"]),
        (["ev-074"], [], ["core.evidence.ev-074"]),
        (["core.evidence.ev-07[48]"], [], ["core.evidence.ev-074", "core.evidence.ev-078"]),
        (["digest"], ["core.digest.*-lies*", "unknown-algorithm"], ["core.digest.both-right"]),
        ([], ["core.[!c]*"], [control.id for control in CONTROLS.values()]),
    ],
    ids=["group", "last-part", "pattern", "left-out", "all-but"],
)
def test_scenarios_are_named_by_group_id_or_pattern(
    only: list[str], skip: list[str], found: list[str]
) -> None:
    assert [each.id for each in chosen(SCENARIOS, only=only, skip=skip)] == found


@pytest.mark.parametrize("options", [{"only": ["ev-9999"]}, {"skip": ["ev-9999"]}], ids=["only", "skip"])
def test_a_name_of_no_scenario_is_refused(options: dict[str, list[str]]) -> None:
    with pytest.raises(ValueError, match="no scenario is named 'ev-9999'"):
        chosen(SCENARIOS, **options)


@pytest.mark.parametrize("count", [1, 3, 4, 50, 100_000])
def test_a_sample_is_spread_and_has_the_controls(count: int) -> None:
    sample = sampled(ALL, count)
    assert {control.id for control in CONTROLS.values()} <= {each.id for each in sample}
    assert len(sample) == min(max(count, 3), len(ALL))
    if count >= 50:
        assert len({each.group for each in sample}) >= 9


def test_the_controls_of_the_chosen_tiers_come_first() -> None:
    plan = planned(named("core.receipt.replayed", "core.judge.prose"), CONTROLS)
    assert [each.id for each in plan] == [
        "core.control.l1",
        "core.control.l3",
        "core.receipt.replayed",
        "core.judge.prose",
    ]


# --- How they end ---------------------------------------------------------------------------------------


async def test_a_core_that_refuses_everything_has_shown_nothing() -> None:
    listed = chosen(SCENARIOS, only=["core.invocation.http-500", "digest"])
    results = await run_scenarios(refuses_everything, listed, controls=CONTROLS)
    outcomes = {result.scenario.id: result.outcome for result in results}
    assert outcomes.pop("core.control.l1") is Outcome.FAIL
    assert outcomes.pop("core.control.l2") is Outcome.FAIL
    # Its answer to this one would be the right one.
    assert outcomes["core.invocation.http-500"] is Outcome.COULD_NOT_RUN
    assert set(outcomes.values()) == {Outcome.COULD_NOT_RUN}
    assert core_verdict(results) is Verdict.NOT_CONFORMANT


async def test_a_core_that_says_nothing_was_not_tested() -> None:
    async def silent(request: bytes, environment: Environment) -> Spoken:
        return Spoken(output=b"", exit_code=1)

    results = await run_scenarios(silent, named("core.judge.prose"), controls=CONTROLS)
    assert core_verdict(results) is Verdict.NOTHING_TESTED


async def test_a_core_that_takes_too_long_is_ended_and_fails() -> None:
    async def sleeps(request: bytes, environment: Environment) -> Spoken:
        await asyncio.sleep(30)
        raise AssertionError

    result = await run_scenario(sleeps, SCENARIOS["core.control.l1"], deadline=0.05)
    assert result.outcome is Outcome.FAIL
    assert "no result in time; the command was ended" in result.findings


async def test_a_place_that_is_not_to_be_had_is_not_applicable() -> None:
    place = Place(base="http://127.0.0.1:{target}", host="203.0.113.1", needs="another machine")
    result = await run_scenario(SmallCore(), replace(SCENARIOS["core.control.l1"], place=place))
    assert result.outcome is Outcome.NOT_APPLICABLE
    assert result.reason is not None
    assert result.reason.startswith("needs another machine: ")


async def test_a_fault_of_a_server_of_ours_is_no_verdict_about_the_core() -> None:
    def broken(stage: Stage) -> None:
        stage.target.change["invocation"] = lambda answer: 1 / 0  # type: ignore[assignment,return-value]

    result = await run_scenario(SmallCore(), replace(SCENARIOS["core.control.l1"], arrange=broken))
    assert result.outcome is Outcome.ERROR
    assert result.reason == "RuntimeError: target: ZeroDivisionError: division by zero"
    assert core_verdict([result]) is Verdict.ERROR


async def test_a_should_that_is_not_met_warns() -> None:
    should = replace(SCENARIOS["core.control.l1"], level=Level.SHOULD)
    result = await run_scenario(refuses_everything, should)
    assert result.outcome is Outcome.WARN
    assert core_verdict([result]) is Verdict.CONFORMANT


def test_a_gap_is_no_pass() -> None:
    passed = ScenarioResult(scenario=ALL[0], outcome=Outcome.PASS, readable=True)
    gap = ScenarioResult(scenario=ALL[1], outcome=Outcome.COULD_NOT_RUN)
    away = ScenarioResult(scenario=ALL[2], outcome=Outcome.NOT_APPLICABLE)
    assert core_verdict([passed, gap]) is Verdict.INCOMPLETE
    assert core_verdict([passed, away]) is Verdict.CONFORMANT
    assert core_verdict([away]) is Verdict.NOTHING_TESTED


async def test_results_come_in_the_order_of_the_plan_however_they_end() -> None:
    order: list[str] = []
    listed = chosen(SCENARIOS, only=["judge"])
    results = await run_scenarios(
        SmallCore(),
        listed,
        controls=CONTROLS,
        jobs=8,
        on_result=lambda result: order.append(result.scenario.id),
    )
    plan = [each.id for each in planned(listed, CONTROLS)]
    assert [result.scenario.id for result in results] == plan
    assert sorted(order) == sorted(plan)


async def test_every_scene_has_secrets_and_a_registry_of_its_own() -> None:
    scenario = SCENARIOS["core.control.l3"]
    async with Stage(scenario) as one, Stage(scenario) as other:
        assert set(one.secrets.values()).isdisjoint(other.secrets.values())
        file = Path(one.environment["AIBEAT_AGENT_TARGET_REGISTRY"] or "")
        text = file.read_text(encoding="utf-8")
        assert not any(secret in text for secret in one.secrets.values())
        assert "127.0.0.1" not in text
        assert len(json.loads(one.request)["case"]) == 21
    assert not file.exists()


# --- Processes ------------------------------------------------------------------------------------------


def python(code: str) -> CommandCore:
    core = CommandCore("python")
    core.arguments = (sys.executable, "-c", code)
    return core


async def test_a_command_gets_the_request_and_the_scenes_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AIBEAT_JUDGE_API_KEY", "of-the-user")
    monkeypatch.setenv("ELSE", "kept")
    monkeypatch.setenv("GONE", "unset")
    tell = (
        "import os, sys, json; sys.stderr.write('said'); "
        "print(json.dumps([sys.stdin.read(), dict(os.environ)]))"
    )
    spoken = await python(tell)(b"asked", {"AIBEAT_JUDGE_MODEL": "m", "GONE": None})
    request, environment = json.loads(spoken.output)
    assert (request, spoken.messages, spoken.exit_code) == ("asked", "said", 0)
    assert environment["AIBEAT_JUDGE_MODEL"] == "m"
    assert environment["ELSE"] == "kept"
    assert "127.0.0.1" in environment["NO_PROXY"]
    assert {"AIBEAT_JUDGE_API_KEY", "GONE"}.isdisjoint(environment)


async def test_a_command_that_reads_nothing_is_no_fault_of_ours() -> None:
    spoken = await python("print('{}')")(b"x" * 1_000_000, {})
    assert (spoken.output.strip(), spoken.exit_code) == (b"{}", 0)


async def test_only_the_end_of_the_messages_is_kept() -> None:
    spoken = await python("import sys; sys.stderr.write('a' * 100_000 + 'end')")(b"", {})
    assert len(spoken.messages) == 8192
    assert spoken.messages.endswith("end")


async def test_a_run_that_is_ended_leaves_no_process_behind(tmp_path: Path) -> None:
    note = f"open({str(tmp_path / 'pid')!r}, 'w').write(str(os.getpid()))"
    child = f"import os, time; {note}; time.sleep(60)"
    parent = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {child!r}])"
    task = asyncio.ensure_future(python(parent)(b"", {}))
    while not (tmp_path / "pid").exists() or not (tmp_path / "pid").read_text():
        await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    pid = int((tmp_path / "pid").read_text())
    for _ in range(200):
        if not alive(pid):
            break
        await asyncio.sleep(0.01)
    assert not alive(pid)


def alive(pid: int) -> bool:
    """Whether a process runs; one that ended and was not waited for does not."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    stat = Path(f"/proc/{pid}/stat")
    return not stat.exists() or stat.read_text().rpartition(")")[2].split()[0] != "Z"


async def test_a_command_that_is_not_there_says_so() -> None:
    with pytest.raises(CommandError, match="no-such-command: No such file"):
        await CommandCore("no-such-command eval-run")(b"", {})


@pytest.mark.parametrize("command", ["", "  ", 'a "b'])
def test_a_text_that_is_no_command_line_is_refused(command: str) -> None:
    with pytest.raises(CommandError):
        CommandCore(command)


def test_the_expectation_of_a_control_names_its_tier() -> None:
    assert complete("L2").text == CONTROLS["L2"].expects.text
