"""Runs scenarios against a Core and says how each ended.

A Core is one asynchronous function, from the request's bytes and the environment to what was said; a process
is one kind of it (`processes`), a Core in this process another. The positive controls come first: a Core that
refuses everything has shown nothing, so the scenarios of a tier whose control failed could not run.

    results = await run_scenarios(core, chosen(SCENARIOS, only=["receipt"]), jobs=2)
"""

from __future__ import annotations

import asyncio
import fnmatch
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Final

from agentbeat_conformance.core_side.conduct import conduct_findings
from agentbeat_conformance.core_side.processes import CommandError
from agentbeat_conformance.core_side.results import Spoken, UnreadableResultError, read_result
from agentbeat_conformance.core_side.scenarios import Scenario
from agentbeat_conformance.core_side.stages import NotHereError, Stage
from agentbeat_conformance.outcomes import Outcome, Verdict
from agentbeat_conformance.requirements import Level
from agentbeat_protocol.evaluation import ObservationTier

__all__ = [
    "Core",
    "ScenarioResult",
    "chosen",
    "core_verdict",
    "planned",
    "run_scenario",
    "run_scenarios",
    "sampled",
]

#: A Core: the request on standard input, and the environment (None unsets); its answer.
Core = Callable[[bytes, Mapping[str, str | None]], Awaitable[Spoken]]

#: How long one run of the command may take, in seconds.
DEADLINE: Final = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ScenarioResult:
    """How a scenario ended.

    Attributes:
        findings: what is wrong.
        reason: why it could not run or is not applicable, or what our fault was.
        readable: whether the Core gave a result that can be read.
        asked: what reached the servers, `target POST /v1/agent/invocations`.
    """

    scenario: Scenario
    outcome: Outcome
    findings: tuple[str, ...] = ()
    reason: str | None = None
    seconds: float = 0.0
    spoken: Spoken | None = None
    readable: bool = False
    asked: tuple[str, ...] = ()


def chosen(
    scenarios: Mapping[str, Scenario], *, only: Sequence[str] = (), skip: Sequence[str] = ()
) -> list[Scenario]:
    """The scenarios that the patterns name: an id, its last parts, a group, or a glob over ids.

    Raises:
        ValueError: a pattern names none.
    """
    named = _named(scenarios, only) if only else set(scenarios)
    named -= _named(scenarios, skip)
    return [scenario for scenario in scenarios.values() if scenario.id in named]


def sampled(scenarios: Sequence[Scenario], count: int) -> list[Scenario]:
    """About `count` scenarios spread evenly over the list; the controls are always among them."""
    controls = [each for each in scenarios if each.control]
    others = [each for each in scenarios if not each.control]
    wanted = min(max(count - len(controls), 0), len(others))
    picked = {others[index * len(others) // wanted].id for index in range(wanted)} if wanted else set()
    return [each for each in scenarios if each.control or each.id in picked]


async def run_scenarios(
    core: Core,
    scenarios: Iterable[Scenario],
    *,
    controls: Mapping[ObservationTier, Scenario],
    jobs: int = 1,
    deadline: float = DEADLINE,
    on_result: Callable[[ScenarioResult], None] = lambda _: None,
) -> list[ScenarioResult]:
    """Run the scenarios, the controls of their tiers first; the results in the order of the list.

    Args:
        controls: the positive control of each tier; those that are needed are run in any case.
        jobs: how many runs go on at once.
        on_result: told each result as it comes.
    """
    listed = planned(scenarios, controls)
    first = [scenario for scenario in listed if scenario.control]
    rest = [scenario for scenario in listed if not scenario.control]
    limit = asyncio.Semaphore(jobs)

    # Two scenes at one port would be in each other's way.
    ports: defaultdict[int, asyncio.Lock] = defaultdict(asyncio.Lock)

    async def one(scenario: Scenario, broken: frozenset[str]) -> ScenarioResult:
        port = scenario.place.port if scenario.place else 0
        async with ports[port] if port else nullcontext(), limit:
            if scenario.tier in broken and not scenario.control:
                result = ScenarioResult(
                    scenario=scenario,
                    outcome=Outcome.COULD_NOT_RUN,
                    reason=f"the positive control {controls[scenario.tier].id} did not pass",
                )
            else:
                result = await run_scenario(core, scenario, deadline=deadline)
        on_result(result)
        return result

    shown = await asyncio.gather(*(one(scenario, frozenset()) for scenario in first))
    broken = frozenset(result.scenario.tier for result in shown if result.outcome is not Outcome.PASS)
    return [*shown, *await asyncio.gather(*(one(scenario, broken) for scenario in rest))]


def planned(scenarios: Iterable[Scenario], controls: Mapping[ObservationTier, Scenario]) -> list[Scenario]:
    """What is run for these scenarios: first the controls of their tiers, then they themselves."""
    listed = list(scenarios)
    tiers = {scenario.tier for scenario in listed}
    first = [control for tier, control in controls.items() if tier in tiers]
    return [*first, *(scenario for scenario in listed if not scenario.control)]


async def run_scenario(core: Core, scenario: Scenario, *, deadline: float = DEADLINE) -> ScenarioResult:
    """Run one scenario, and judge it."""
    start = time.monotonic()
    try:
        async with Stage(scenario) as stage:
            for _ in range(scenario.runs):
                try:
                    async with asyncio.timeout(deadline):
                        spoken = await _spoken(core, stage)
                except TimeoutError:
                    spoken = Spoken(output=b"", overdue=True)
            if stage.journal.faults:
                raise RuntimeError("; ".join(stage.journal.faults))
            return _judged(scenario, stage, spoken, time.monotonic() - start)
    except CommandError:
        raise
    except NotHereError as error:
        return ScenarioResult(scenario=scenario, outcome=Outcome.NOT_APPLICABLE, reason=str(error))
    except Exception as error:  # noqa: BLE001  our own fault is an outcome, and no verdict about the Core
        reason = f"{type(error).__name__}: {error}"
        return ScenarioResult(scenario=scenario, outcome=Outcome.ERROR, reason=reason)


async def _spoken(core: Core, stage: Stage) -> Spoken:
    """What the Core says; one in this process that raises has crashed, as a process would."""
    try:
        return await core(stage.request, stage.environment)
    except CommandError:
        raise
    except Exception as error:  # noqa: BLE001  the Core's fault, not ours
        return Spoken(output=b"", messages=f"{type(error).__name__}: {error}")


def _judged(scenario: Scenario, stage: Stage, spoken: Spoken, seconds: float) -> ScenarioResult:
    findings: list[str] = [*conduct_findings(stage)]
    readable = False
    try:
        result = read_result(spoken)
        readable = True
        findings += scenario.expects.findings(result)
    except UnreadableResultError as error:
        findings.append(str(error))
    bad = Outcome.FAIL if scenario.level is Level.MUST else Outcome.WARN
    return ScenarioResult(
        scenario=scenario,
        outcome=bad if findings else Outcome.PASS,
        findings=tuple(dict.fromkeys(findings)),
        seconds=seconds,
        spoken=spoken,
        readable=readable,
        asked=tuple(f"{each.server} {each.method} {each.path}" for each in stage.journal.arrivals),
    )


def core_verdict(results: Iterable[ScenarioResult]) -> Verdict:
    """The verdict: our own fault first, then that nothing was shown, then a failure, then what is missing."""
    listed = list(results)
    outcomes = {result.outcome for result in listed}
    if Outcome.ERROR in outcomes:
        return Verdict.ERROR
    # A command that neither answers nor asks for anything is no Core that was tried.
    if not any(result.readable or result.asked for result in listed):
        return Verdict.NOTHING_TESTED
    if Outcome.FAIL in outcomes:
        return Verdict.NOT_CONFORMANT
    if Outcome.COULD_NOT_RUN in outcomes:
        return Verdict.INCOMPLETE
    return Verdict.CONFORMANT


def _named(scenarios: Mapping[str, Scenario], patterns: Sequence[str]) -> set[str]:
    named: set[str] = set()
    for pattern in patterns:
        found = {
            scenario.id
            for scenario in scenarios.values()
            if pattern in (scenario.group, scenario.id)
            or scenario.id.endswith(f".{pattern}")
            or fnmatch.fnmatchcase(scenario.id, pattern)
        }
        if not found:
            raise ValueError(f"no scenario is named {pattern[:80]!r}")
        named |= found
    return named
