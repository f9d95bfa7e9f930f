"""The command for Core's side: its options, its exit codes, its table and its JSON."""

from __future__ import annotations

import argparse
import io
import json
import sys
from pathlib import Path

import jsonschema
import pytest
from rich.console import Console

from agentbeat_conformance import core_side
from agentbeat_conformance.commands.options import UsageError
from agentbeat_conformance.core_side.cores import MUTANTS, SmallCore
from agentbeat_conformance.core_side.groups import CONTROLS, SCENARIOS
from agentbeat_conformance.core_side.json_report import generated_schema, report_of, schema_text, to_json
from agentbeat_conformance.core_side.results import Spoken
from agentbeat_conformance.core_side.runner import ScenarioResult, chosen, run_scenarios
from agentbeat_conformance.core_side.scenarios import catalogue_digest
from agentbeat_conformance.core_side.tables import print_results
from agentbeat_conformance.outcomes import Outcome


def cores(name: str) -> str:
    return f'"{sys.executable}" -m agentbeat_conformance.core_side.cores {name}'


def command(*arguments: str) -> int:
    parser = argparse.ArgumentParser()
    core_side.configure(parser)
    return core_side.run(parser.parse_args(arguments))


# --- The command ----------------------------------------------------------------------------------------


def test_a_conformant_core_is_told_so_and_exits_0(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = tmp_path / "report.json"
    assert command("--command", cores("small"), "--only", "evidence-302", "--json", str(file)) == 0
    out, err = capsys.readouterr()
    assert "CONFORMANT  2 pass" in out
    assert err == "agentbeat conformance core: 2 scenarios, 2 at once\n"
    report = json.loads(file.read_text())
    jsonschema.validate(report, json.loads(schema_text()))
    assert (report["verdict"], report["counts"]) == ("conformant", {"pass": 2})
    assert [each["id"] for each in report["scenarios"]] == ["core.control.l2", "core.redirect.evidence-302"]
    assert report["left_out"] == len(SCENARIOS) - 2


def test_a_core_with_a_flaw_exits_1_and_sees_what_it_did(capsys: pytest.CaptureFixture[str]) -> None:
    assert command("--command", cores("follows-redirects"), "--only", "evidence-302") == 1
    out, err = capsys.readouterr()
    assert "NOT CONFORMANT  1 pass, 1 FAIL" in out
    assert "called another origin (GET" in out
    assert "--only core.redirect.evidence-302" in out
    assert "core.redirect.evidence-302: fail" in err


def test_the_json_may_go_to_standard_output_alone(capsys: pytest.CaptureFixture[str]) -> None:
    assert command("--command", cores("small"), "--only", "core.control.l1", "--json", "-") == 0
    assert json.loads(capsys.readouterr().out)["schema_version"] == "core-conformance-report-v1"


@pytest.mark.parametrize(
    ("text", "message"),
    [("no-such-command", "no-such-command: No such file or directory"), ("false", None)],
    ids=["not-there", "says-nothing"],
)
def test_where_nothing_was_tested_the_exit_code_is_4(
    capsys: pytest.CaptureFixture[str], text: str, message: str | None
) -> None:
    assert command("--command", text, "--only", "core.control.l1") == 4
    out, err = capsys.readouterr()
    assert message is None or message in err
    assert message is not None or "NOTHING TESTED" in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "expected --command CMD"),
        (["--command", ""], "expected --command CMD"),
        (["--command", 'a "b'], "no closing quotation"),
        (["--command", "x", "--only", "ev-9999"], "no scenario is named 'ev-9999'"),
        (["--command", "x", "--skip", "core.*"], "nothing is left"),
    ],
)
def test_a_wrong_command_line_is_told(arguments: list[str], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        command(*arguments)


@pytest.mark.parametrize("arguments", [["--jobs", "0"], ["--sample", "x"], ["--deadline", "-1"]])
def test_a_number_that_is_none_is_refused(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        command(*arguments)
    assert ended.value.code == 2
    assert "expected a" in capsys.readouterr().err


def test_the_list_says_what_is_served_and_expected(capsys: pytest.CaptureFixture[str]) -> None:
    assert command("--list", "--only", "digest") == 0
    out = capsys.readouterr().out
    assert "core.digest.response-lies  L2  EVD-11  metadata.evidence_digest of another document\n" in out
    assert out.count("expected: ") == 6


# --- The reports ----------------------------------------------------------------------------------------


async def results_of(name: str, *only: str) -> list[ScenarioResult]:
    core = MUTANTS[name].make() if name in MUTANTS else SmallCore()
    return await run_scenarios(core, chosen(SCENARIOS, only=only), controls=CONTROLS, jobs=4)


def shown(results: list[ScenarioResult], *, width: int = 100, verbose: bool = False) -> str:
    console = Console(file=io.StringIO(), width=width)
    print_results(results, console, command="./core eval-run", verbose=verbose)
    text = console.file.getvalue()  # type: ignore[attr-defined]
    return str(text)


def test_the_schema_in_the_package_is_that_of_the_models() -> None:
    assert json.loads(schema_text()) == generated_schema()


async def test_a_report_with_every_kind_of_outcome_keeps_the_schema() -> None:
    results = await results_of("missing-is-zero", "digest", "core.receipt.unsigned")
    some = results[0].scenario
    results += [
        ScenarioResult(scenario=some, outcome=Outcome.ERROR, reason="ours"),
        ScenarioResult(scenario=some, outcome=Outcome.COULD_NOT_RUN, reason="no control"),
        ScenarioResult(scenario=some, outcome=Outcome.NOT_APPLICABLE, reason="no IPv6"),
    ]
    report = report_of(results, command="x", scenarios=SCENARIOS)
    jsonschema.validate(json.loads(to_json(report)), json.loads(schema_text()))
    assert report.catalogue_digest == catalogue_digest(SCENARIOS)
    failed = [each for each in report.scenarios if each.outcome is Outcome.FAIL]
    assert failed
    assert all(each.findings and each.output for each in failed)
    assert all(each.output is None for each in report.scenarios if each.outcome is Outcome.PASS)


async def test_what_a_core_writes_reaches_no_terminal_as_it_is() -> None:
    (result,) = await results_of("small", "core.control.l1")
    evil = "\x1b[2J[bold]boom[/bold]\u202e"
    bad = ScenarioResult(
        scenario=result.scenario,
        outcome=Outcome.FAIL,
        findings=(f"got {evil}",),
        spoken=Spoken(output=evil.encode(), messages=evil),
        asked=(f"target GET {evil}",),
    )
    text = shown([bad])
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert text.count("[bold]boom[/bold]") == 3
    assert "\x1b" not in to_json(report_of([bad], command="x", scenarios=SCENARIOS))


async def test_a_long_trouble_is_cut_and_says_so() -> None:
    text = shown(await results_of("follows-redirects", "core.redirect.evidence-302"))
    assert "more (--json has them)" in text
    # What matters most comes first.
    assert text.index("called another origin") < text.index("evaluation.evidence.missing_channels")


async def test_verbose_shows_every_scenario() -> None:
    results = await results_of("small", "digest")
    assert "core.digest.both-right" not in shown(results)
    text = shown(results, width=160, verbose=True)
    assert all(result.scenario.id in text for result in results)


def test_the_digest_of_the_catalogue_changes_with_what_is_expected() -> None:
    names = list(SCENARIOS)
    fewer = {name: SCENARIOS[name] for name in names[1:]}
    assert catalogue_digest(fewer) != catalogue_digest(SCENARIOS)
    assert catalogue_digest(dict(SCENARIOS)) == catalogue_digest(SCENARIOS)
