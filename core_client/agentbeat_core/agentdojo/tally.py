"""What came of the runs, beside what must come of them.

A run's verdicts are read twice from its response: what the benchmark said (`checks[].actual`, unchanged), and
what the State Controller publishes (the metrics' verdicts). Each is compared with what is expected of this
very run, so that two errors never cancel out in a sum.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace
from typing import Final

from agentbeat_core.agentdojo.expectations import Verdicts, expected, published
from agentbeat_core.agentdojo.plays import SUITES, Play
from agentbeat_protocol.evaluation import EvalRunResponse

__all__ = ["ALL_SUITES", "Count", "Line", "Seen", "lines_of", "seen_in"]

#: In the place of a suite's name: the sum of all of them.
ALL_SUITES: Final = "all"

_DECIDED: Final = frozenset({"pass", "fail"})


@dataclass(frozen=True, kw_only=True)
class Seen:
    """One run that has ended.

    Attributes:
        said: the benchmark's own verdicts; None when the run gave none.
        published: the Controller's; None likewise.
        problems: what is not as expected, in words.
    """

    play: Play
    said: Verdicts | None
    published: Verdicts | None
    problems: tuple[str, ...]


def seen_in(play: Play, response: EvalRunResponse) -> Seen:
    """What a response tells of a run."""
    failure, evaluation = response.failure, response.evaluation
    if failure is not None or evaluation is None:
        what = "no evaluation" if failure is None else f"{failure.code}: {failure.message}"
        return Seen(play=play, said=None, published=None, problems=(what,))
    state, metrics = evaluation.state, evaluation.metrics
    if state is None or not state.accepted:
        reasons = "no report" if state is None else ", ".join(state.reason_codes) or "refused"
        return Seen(play=play, said=None, published=None, problems=(f"no accepted state report: {reasons}",))
    actual = {check.dimension: check.actual for check in state.checks}
    said = Verdicts(utility=_boolean(actual.get("utility")), attack=_boolean(actual.get("attack")))
    shown = Verdicts(utility=metrics.utility.verdict, attack=metrics.asr.verdict)
    should = expected(play)
    problems = [
        *_differences("the benchmark", should, said),
        *_differences("published", published(play.entry, should), shown),
    ]
    # Where nothing is decided there is no native score, and without it the evidence is partial.
    should_be = "partial" if state.native_score is None else "complete"
    if evaluation.evidence.status != should_be:
        problems.append(f"evidence: expected {should_be}, got {evaluation.evidence.status}")
    if state.signature != "verified":
        problems.append(f"signature: expected verified, got {state.signature}")
    return Seen(play=play, said=said, published=shown, problems=tuple(problems))


def _boolean(value: object) -> bool | None:
    return value if isinstance(value, bool) else None


def _differences(whose: str, should: Verdicts, got: Verdicts) -> list[str]:
    return [
        f"{field.name}, {whose}: expected {wanted}, got {found}"
        for field in fields(Verdicts)
        if (wanted := getattr(should, field.name)) != (found := getattr(got, field.name))
    ]


@dataclass(frozen=True, kw_only=True)
class Count:
    """How often something was seen, and how often it is expected."""

    seen: int
    expected: int

    def __add__(self, other: Count) -> Count:
        return Count(seen=self.seen + other.seen, expected=self.expected + other.expected)


@dataclass(frozen=True, kw_only=True)
class Line:
    """A line of the table: one Agent in one suite, at user tasks alone or at pairs.

    Attributes:
        suite: its name, or `all`: the sum of the lines before.
        utility: passes, as the benchmark says.
        attack: attacks that succeed, as the benchmark says; None at user tasks alone.
        decided: utilities that the Controller publishes as decided.
        passes: utilities that it publishes as passed.
        succeeded: attacks that it publishes as succeeded; None at user tasks alone.
        wrong: runs that did not come out as expected.
    """

    agent: str
    suite: str
    pairs: bool
    runs: int
    utility: Count
    attack: Count | None
    decided: Count
    passes: Count
    succeeded: Count | None
    wrong: int


def lines_of(runs: Sequence[Seen]) -> tuple[Line, ...]:
    """The table's lines: Agent by Agent in the order of the runs, suite by suite."""
    found = []
    for agent in dict.fromkeys(seen.play.agent for seen in runs):
        for pairs in (False, True):
            for suite in SUITES:
                mine = [
                    seen
                    for seen in runs
                    if (seen.play.agent, seen.play.entry.suite) == (agent, suite)
                    and bool(seen.play.entry.injection_task) is pairs
                ]
                if mine:
                    found.append(_line(agent, suite, pairs, mine))
            found += _sum([line for line in found if (line.agent, line.pairs) == (agent, pairs)])
    return tuple(found)


def _sum(lines: list[Line]) -> list[Line]:
    """One more line, where there are several."""
    if len(lines) < 2:
        return []
    first, *others = lines
    total = replace(first, suite=ALL_SUITES)
    for line in others:
        total = replace(
            total,
            runs=total.runs + line.runs,
            utility=total.utility + line.utility,
            attack=total.attack and line.attack and total.attack + line.attack,
            decided=total.decided + line.decided,
            passes=total.passes + line.passes,
            succeeded=total.succeeded and line.succeeded and total.succeeded + line.succeeded,
            wrong=total.wrong + line.wrong,
        )
    return [total]


def _line(agent: str, suite: str, pairs: bool, runs: Sequence[Seen]) -> Line:
    said = [seen.said for seen in runs if seen.said]
    shown = [seen.published for seen in runs if seen.published]
    should = [expected(seen.play) for seen in runs]
    should_show = [published(seen.play.entry, expected(seen.play)) for seen in runs]
    return Line(
        agent=agent,
        suite=suite,
        pairs=pairs,
        runs=len(runs),
        utility=_count(_utilities(said), _utilities(should), {True}),
        attack=_count(_attacks(said), _attacks(should), {True}) if pairs else None,
        decided=_count(_utilities(shown), _utilities(should_show), _DECIDED),
        passes=_count(_utilities(shown), _utilities(should_show), {"pass"}),
        succeeded=_count(_attacks(shown), _attacks(should_show), {"attack_succeeded"}) if pairs else None,
        wrong=sum(bool(seen.problems) for seen in runs),
    )


def _utilities(verdicts: Iterable[Verdicts]) -> list[object]:
    return [each.utility for each in verdicts]


def _attacks(verdicts: Iterable[Verdicts]) -> list[object]:
    return [each.attack for each in verdicts]


def _count(seen: list[object], should: list[object], wanted: set[object] | frozenset[str]) -> Count:
    return Count(seen=sum(each in wanted for each in seen), expected=sum(each in wanted for each in should))
