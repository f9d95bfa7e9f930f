"""Which runs the benchmark's command plans, what it expects of each, and how it tells what came of them."""

from __future__ import annotations

import importlib.util
import io
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from agentbeat_core.agentdojo import expectations
from agentbeat_core.agentdojo.expectations import Verdicts, expected, published
from agentbeat_core.agentdojo.plays import Entry, Play, planned, read_entries
from agentbeat_core.agentdojo.report import print_report
from agentbeat_core.agentdojo.tally import Seen, lines_of
from agentbeat_protocol import Injection

INJECTION = Injection(surface="seen_vectors", text="Do that.")
#: Suite → its user tasks and its injection tasks, in numbers.
SIZES = {"workspace": (40, 14), "travel": (20, 7), "banking": (16, 9), "slack": (21, 5)}
#: The published figures of the Agent that obeys first: utility passes, attacks that succeed.
OBEYING = {"workspace": (14, 543), "travel": (28, 138), "banking": (126, 143), "slack": (103, 105)}


def entry(name: str) -> Entry:
    return Entry(
        profile_id=f"agentdojo-v1.2.2-{name}",
        profile_digest="sha256:" + "0" * 64,
        case_id=f"case-{name}".replace("_", "-"),
        task="Do it.",
        injection=INJECTION if "injection" in name else None,
    )


def catalogue() -> list[Entry]:
    """All profiles: first the tasks, then the pairs, as the Controller has them."""
    # The injection tasks of slack begin with 1.
    injections = {
        name: range(name == "slack", count + (name == "slack")) for name, (_, count) in SIZES.items()
    }
    tasks = [entry(f"{name}-user_task_{user}") for name, (users, _) in SIZES.items() for user in range(users)]
    return tasks + [
        entry(f"{name}-user_task_{user}-injection_task_{injection}")
        for name, (users, _) in SIZES.items()
        for user in range(users)
        for injection in injections[name]
    ]


def counted(plays: tuple[Play, ...]) -> dict[str, tuple[int, int]]:
    """Agent → how many tasks and how many pairs it plays."""
    found: dict[str, tuple[int, int]] = {}
    for play in plays:
        tasks, pairs = found.get(play.agent, (0, 0))
        pair = bool(play.entry.injection_task)
        found[play.agent] = (tasks + (not pair), pairs + pair)
    return found


# The plan


def test_the_short_plan_has_every_task_and_one_pair_for_each_injection_task() -> None:
    agents = ("ground-truth", "resisting", "obeying-first", "idle")
    plays = planned(catalogue(), agents=agents, full=False)
    assert counted(plays) == {
        "ground-truth": (97, 0),
        "resisting": (0, 35),
        "obeying-first": (0, 35),
        "idle": (97, 35),
    }
    played = {(play.entry.suite, play.entry.injection_task) for play in plays if play.agent == "resisting"}
    assert len(played) == 35


def test_the_full_plan_has_every_pair() -> None:
    agents = ("ground-truth", "resisting", "obeying-first", "obeying-last", "idle")
    assert counted(planned(catalogue(), agents=agents, full=True)) == {
        "ground-truth": (97, 0),
        "resisting": (0, 949),
        "obeying-first": (0, 949),
        "obeying-last": (0, 949),
        "idle": (97, 35),
    }


def test_the_file_of_ground_truths_is_read_whole_or_not_at_all() -> None:
    profile = {
        "profile_id": "agentdojo-v1.2.2-slack-user_task_0",
        "profile_digest": "sha256:" + "0" * 64,
        "case_id": "case-agentdojo-v1-2-2-slack-user-task-0",
        "title": "…",
        "task": "Do it.",
        "injection": None,
        "oracles": [],
    }
    file = {"schema_version": "oracles-v1", "environment": "agentdojo", "profiles": [profile]}
    (read,) = read_entries(json.dumps(file).encode())
    assert (read.suite, read.user_task, read.injection_task) == ("slack", "user_task_0", "")
    del profile["case_id"]
    for broken in (file, {**file, "schema_version": "oracles-v2"}, [], "x"):
        with pytest.raises(ValueError, match="no file of ground truths"):
            read_entries(json.dumps(broken).encode())


def test_a_profile_of_another_benchmark_is_refused() -> None:
    with pytest.raises(ValueError, match="expected one of agentdojo"):
        entry("slack-user_task_1-injection_task_1-more").suite  # noqa: B018 - looking is what raises


# What is expected


@pytest.mark.parametrize("suite", SIZES)
def test_what_is_expected_of_an_obeying_agent_comes_to_the_published_figures(suite: str) -> None:
    plays = planned(catalogue(), agents=["obeying-first"], full=True)
    verdicts = [expected(play) for play in plays if play.entry.suite == suite]
    users, injections = SIZES[suite]
    assert len(verdicts) == users * injections
    passes = sum(each.utility is True for each in verdicts)
    assert (passes, sum(each.attack is True for each in verdicts)) == OBEYING[suite]


def test_resisting_passes_everywhere_and_895_of_949_are_published_as_decided() -> None:
    plays = planned(catalogue(), agents=["resisting"], full=True)
    assert {(expected(play).utility, expected(play).attack) for play in plays} == {(True, False)}
    words = [published(play.entry, expected(play)).utility for play in plays]
    assert (words.count("pass"), words.count("not_observed")) == (895, 54)


def test_91_of_97_ground_truths_are_published_as_decided() -> None:
    plays = planned(catalogue(), agents=["ground-truth"], full=False)
    words = [published(play.entry, expected(play)).utility for play in plays]
    assert (words.count("pass"), words.count("not_observed")) == (91, 6)


def test_a_check_that_raises_is_expected_to_be_published_as_not_observed() -> None:
    """Eighteen of the pairs of the Agent that obeys last, all in the workspace."""
    plays = planned(catalogue(), agents=["obeying-last"], full=True)
    raised = [play for play in plays if expected(play).attack is None]
    assert len(raised) == 18
    assert {play.entry.suite for play in raised} == {"workspace"}
    assert {published(play.entry, expected(play)).attack for play in raised} == {"not_observed"}


@pytest.mark.parametrize("suite", ["banking", "slack"])
def test_what_is_expected_is_what_the_benchmark_says_alone(suite: str) -> None:
    """Played anew in a process with the benchmark and nothing around it."""
    if importlib.util.find_spec("agentdojo") is None:
        (pytest.fail if os.environ.get("CI") else pytest.skip)("needs the package agentdojo")
    done = subprocess.run(
        [sys.executable, "-m", "support.agentdojo_plays", suite],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )
    kept = json.loads((Path(expectations.__file__).parent / "expected.json").read_text())
    alone = json.loads(done.stdout)
    assert {agent: alone[agent][suite] for agent in alone} == {agent: kept[agent][suite] for agent in kept}


# What is told


def seen(agent: str, name: str, **differing: Any) -> Seen:
    play = Play(agent=agent, entry=entry(name))
    said = differing.get("said", expected(play))
    shown = said and published(play.entry, said)
    return Seen(play=play, said=said, published=shown, problems=tuple(differing.get("problems", ())))


def told(runs: list[Seen]) -> str:
    file = io.StringIO()
    print_report(Console(file=file, width=120, highlight=False), runs, seconds=1.0)
    return file.getvalue()


def test_two_errors_that_cancel_out_in_a_sum_are_both_told() -> None:
    pairs = ("slack-user_task_0-injection_task_1", "slack-user_task_1-injection_task_1")
    runs = [
        seen("resisting", pairs[0], said=Verdicts(utility=True, attack=True), problems=["attack: …"]),
        seen("resisting", pairs[1], said=Verdicts(utility=False, attack=False), problems=["utility: …"]),
    ]
    text = told(runs)
    assert all(f"not as expected: resisting agentdojo-v1.2.2-{name}" in text for name in pairs)
    assert "2 of 2 runs did not come out as expected" in text


def test_a_run_without_verdicts_counts_as_a_run_and_as_nothing_else() -> None:
    runs = [
        seen("ground-truth", "slack-user_task_0"),
        seen("ground-truth", "slack-user_task_1", said=None, problems=["timeout"]),
    ]
    (line,) = lines_of(runs)
    assert (line.runs, line.wrong, line.utility.seen, line.utility.expected) == (2, 1, 1, 2)
    assert line.attack is None


def test_only_the_first_fifty_runs_that_differ_are_told() -> None:
    runs = [seen("idle", f"workspace-user_task_{number % 40}", problems=["odd"]) for number in range(60)]
    assert told(runs).count("not as expected: ") == 50
    assert "and 10 more runs" in told(runs)
