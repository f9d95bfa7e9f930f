"""A plan run to its end: one outcome for each check, whatever it or the endpoint does."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import pytest

from agentbeat_conformance.exchanges import Exchange, Failure, Request
from agentbeat_conformance.mutants.base_target import BaseTarget
from agentbeat_conformance.outcomes import Outcome, Verdict
from agentbeat_conformance.requirements import Capability, CouldNotRun, Finding, Findings, Level, Requirement
from agentbeat_conformance.runner import Interruption, Runner
from agentbeat_conformance.runs import Run
from agentbeat_conformance.target_probes import TargetProbe
from agentbeat_conformance.wires import AsgiWire
from support.conformance import CHECKS, SECRET, catalogue_of, made, plan_of, run_on, subject, unlike_a_target


def outcomes(run: Run) -> dict[str, str]:
    return {result.requirement.id: str(result.outcome) for result in run.results}


def check_that(ends: Callable[[TargetProbe], Any]) -> Callable[[TargetProbe], Awaitable[Findings]]:
    """A check that ends as this function does."""

    async def check(target: TargetProbe) -> Findings:
        found: Findings = ends(target)
        return found

    return check


def raising(error: BaseException) -> Callable[[TargetProbe], Awaitable[Findings]]:
    def end(target: TargetProbe) -> Findings:
        raise error

    return check_that(end)


def one_bad_finding(target: TargetProbe) -> Findings:
    return [Finding("got 418, expected 200", 0)]


async def nothing_wrong(target: TargetProbe) -> Findings:
    return ()


# --- Outcomes


async def test_a_correct_target_is_conformant_and_what_does_not_apply_is_out_of_the_count() -> None:
    run = await run_on()
    assert outcomes(run) == {
        "HLT-1.a": "pass",
        "INV-1.a": "pass",
        "INV-2.a": "pass",
        "INV-4.a": "pass",
        "INV-7.a": "not_applicable",
    }
    assert run.verdict is Verdict.CONFORMANT
    assert run.count(Outcome.PASS) == 4


async def test_a_must_that_is_not_met_fails_and_a_should_warns() -> None:
    found = check_that(one_bad_finding)
    catalogue = catalogue_of(made("INV-1.a", found), made("INV-6.a", found, level=Level.SHOULD))
    run = await run_on(catalogue=catalogue)
    assert outcomes(run) == {"INV-1.a": "fail", "INV-6.a": "warn"}
    assert run.verdict is Verdict.NOT_CONFORMANT
    assert run.results[0].findings == (Finding("got 418, expected 200", 0),)


async def test_warnings_alone_leave_the_verdict_conformant() -> None:
    found = check_that(one_bad_finding)
    catalogue = catalogue_of(made("HLT-1.a", nothing_wrong), made("INV-6.a", found, level=Level.SHOULD))
    assert (await run_on(catalogue=catalogue)).verdict is Verdict.CONFORMANT


async def test_a_precondition_that_failed_makes_the_verdict_incomplete_and_says_why() -> None:
    catalogue = catalogue_of(
        made("HLT-1.a", nothing_wrong), made("INV-1.a", raising(CouldNotRun("the tea is cold")))
    )
    run = await run_on(catalogue=catalogue)
    assert outcomes(run) == {"HLT-1.a": "pass", "INV-1.a": "could_not_run"}
    assert run.results[1].reason == "the tea is cold"
    assert run.verdict is Verdict.INCOMPLETE


@pytest.mark.parametrize("error", [LookupError("a"), ValueError("b\x1b[2J"), AssertionError("c")])
async def test_a_fault_of_a_check_is_our_error_names_its_place_and_the_others_still_run(
    error: Exception,
) -> None:
    catalogue = catalogue_of(made("INV-1.a", raising(error)), made("INV-2.a", nothing_wrong))
    run = await run_on(catalogue=catalogue)
    assert outcomes(run) == {"INV-1.a": "error", "INV-2.a": "pass"}
    reason = run.results[0].reason or ""
    assert reason.startswith(type(error).__name__)
    assert "test_runner.py:" in reason
    assert "\x1b" not in reason
    assert run.verdict is Verdict.ERROR


async def test_a_fault_that_shows_only_when_the_findings_are_read_is_ours_too() -> None:
    def lazily(target: TargetProbe) -> Iterator[Finding]:
        yield Finding("one")
        raise LookupError("two")

    run = await run_on(catalogue=catalogue_of(made("INV-1.a", check_that(lazily))))
    assert outcomes(run) == {"INV-1.a": "error"}


async def test_a_check_that_takes_too_long_could_not_run_and_the_next_one_does() -> None:
    async def hang(target: TargetProbe) -> Findings:
        await asyncio.sleep(60)
        return ()

    catalogue = catalogue_of(made("INV-1.a", hang), made("INV-2.a", nothing_wrong))
    run = await run_on(catalogue=catalogue, check_seconds=0.05)
    assert outcomes(run) == {"INV-1.a": "could_not_run", "INV-2.a": "pass"}
    assert run.transcript.timed_out == {"INV-1.a"}


async def test_a_result_names_the_exchanges_of_its_own_check() -> None:
    run = await run_on()
    for result in run.results:
        assert all(run.exchanges[index].index == index for index in result.exchanges)
    by_id = {result.requirement.id: result for result in run.results}
    # The health of the beginning, the control, then each check's own.
    assert by_id["INV-1.a"].exchanges == (2,)
    assert by_id["INV-2.a"].exchanges == (3, 4)


async def test_requests_side_by_side_keep_the_order_in_which_they_began() -> None:
    async def both(target: TargetProbe) -> Findings:
        slow, quick = await asyncio.gather(target.invoke("slow"), target.health())
        return [Finding(f"{slow.index} {quick.index}")]

    class Slow(BaseTarget):
        async def agent(self, recording: Any) -> str:
            await asyncio.sleep(0.02)
            return await super().agent(recording)

    run = await run_on(Slow().app, catalogue_of(made("INV-4.f", both)))
    assert run.results[0].findings == (Finding("1 2"),)
    assert [exchange.status for exchange in run.exchanges] == [200, 200, 200]


# --- Nothing shown is no pass


async def test_an_endpoint_that_cannot_be_reached_is_asked_once_and_nothing_is_tested() -> None:
    class Nowhere:
        has_sockets = True
        asked = 0

        async def exchange(self, request: Request, *, scope: str) -> Exchange:
            self.asked += 1
            return Exchange(request=request, answer=None, failure=Failure.UNREACHABLE)

    wire = Nowhere()
    run = await Runner(plan_of(), subject(), wire=wire).run()
    assert wire.asked == 1
    assert set(outcomes(run).values()) == {"could_not_run"}
    assert not run.reached
    assert run.verdict is Verdict.NOTHING_TESTED


async def test_an_endpoint_that_goes_away_fails_nothing_that_was_not_tried() -> None:
    class Going:
        has_sockets = False

        def __init__(self, wire: AsgiWire) -> None:
            self.wire, self.left = wire, 3

        async def exchange(self, request: Request, *, scope: str) -> Exchange:
            self.left -= 1
            if self.left < 0:
                return Exchange(request=request, answer=None, failure=Failure.UNREACHABLE)
            return await self.wire.exchange(request, scope=scope)

    async with AsgiWire(BaseTarget().serve) as wire:
        run = await Runner(plan_of(), subject(), wire=Going(wire), secrets={"secret": SECRET}).run()
    assert outcomes(run)["INV-1.a"] == "pass"
    assert outcomes(run)["INV-2.a"] == "could_not_run"
    assert run.verdict is Verdict.INCOMPLETE


async def test_a_server_that_refuses_everything_scores_nothing_for_its_refusals() -> None:
    run = await run_on(unlike_a_target(401))
    assert outcomes(run)["INV-2.a"] == "could_not_run"
    assert run.verdict is Verdict.NOT_CONFORMANT


async def test_a_run_in_which_nothing_applies_is_no_pass() -> None:
    run = await run_on(plan=plan_of(only=["INV-7.a"]))
    assert outcomes(run) == {"INV-7.a": "not_applicable"}
    assert run.verdict is Verdict.NOTHING_TESTED


async def test_a_part_of_the_requirements_shows_no_conformance_but_does_show_a_failure() -> None:
    part = plan_of(only=["HLT-1.a"])
    assert (await run_on(plan=part)).verdict is Verdict.INCOMPLETE
    assert (await run_on(unlike_a_target(500), plan=part)).verdict is Verdict.NOT_CONFORMANT


async def test_leaving_out_only_a_should_leaves_the_verdict_alone() -> None:
    assert (await run_on(plan=plan_of(skip=["INV-4.a"]))).verdict is Verdict.CONFORMANT


# --- Money and side effects


class Counting(BaseTarget):
    """Counts how often its Agent ran."""

    runs = 0

    async def agent(self, recording: Any) -> str:
        self.runs += 1
        return await super().agent(recording)


async def test_the_plan_says_how_often_the_agent_runs() -> None:
    target, plan = Counting(), plan_of(capabilities=[Capability.AUTH])
    assert (await run_on(target.app, plan=plan)).verdict is Verdict.CONFORMANT
    assert plan.invocations == target.runs == 2


@pytest.mark.parametrize(("budget", "ran"), [(0, 0), (1, 1), (2, 2), (50, 2)])
async def test_the_budget_bounds_how_often_the_agent_runs(budget: int, ran: int) -> None:
    target, plan = Counting(), plan_of(budget=budget)
    run = await run_on(target.app, plan=plan)
    assert target.runs == ran
    assert (run.verdict is Verdict.CONFORMANT) == (ran == 2)
    assert Outcome.FAIL not in {result.outcome for result in run.results}


async def test_safe_runs_the_agent_never_still_checks_refusals_and_is_never_a_pass() -> None:
    target = Counting()
    run = await run_on(target.app, plan=plan_of(safe=True))
    assert target.runs == 0
    assert outcomes(run) == {
        "HLT-1.a": "pass",
        "INV-1.a": "could_not_run",
        "INV-2.a": "pass",
        "INV-4.a": "could_not_run",
        "INV-7.a": "not_applicable",
    }
    assert run.verdict is Verdict.INCOMPLETE


async def test_safe_shows_a_failure_all_the_same() -> None:
    class Open(BaseTarget):
        secret = None

    run = await run_on(Open().app, plan=plan_of(safe=True))
    assert outcomes(run)["INV-2.a"] == "fail"
    assert run.verdict is Verdict.NOT_CONFORMANT


# --- Capabilities


async def test_a_probe_shows_what_it_was_given() -> None:
    run = await run_on(plan=plan_of(), secret=None)
    assert outcomes(run)["INV-2.a"] == "not_applicable"


async def test_commands_reach_the_checks_only_when_the_plan_says_so() -> None:
    restarts: list[str] = []

    class Restarting:
        async def restart(self, *, scope: str) -> bool:
            restarts.append(scope)
            return True

        async def write(self, canary: str, *, run_id: str, scope: str) -> bool:
            raise AssertionError(canary)

    async def restart(target: TargetProbe) -> Findings:
        await target.session.restart()
        return ()

    catalogue = catalogue_of(made("INV-4.e", restart))
    run = await run_on(catalogue=catalogue, commands=Restarting())
    assert (outcomes(run), restarts) == ({"INV-4.e": "could_not_run"}, [])
    plan = plan_of(catalogue, capabilities=[Capability.RESTART])
    run = await run_on(plan=plan, commands=Restarting())
    assert (outcomes(run), restarts) == ({"INV-4.e": "pass"}, ["INV-4.e"])


async def test_a_restart_that_fails_shows_nothing() -> None:
    class Failing:
        async def restart(self, *, scope: str) -> bool:
            return False

        async def write(self, canary: str, *, run_id: str, scope: str) -> bool:
            return False

    async def restart(target: TargetProbe) -> Findings:
        await target.session.restart()
        return ()

    plan = plan_of(catalogue_of(made("INV-4.e", restart)), capabilities=[Capability.RESTART])
    run = await run_on(plan=plan, commands=Failing())
    assert outcomes(run) == {"INV-4.e": "could_not_run"}


# --- Ending early


async def test_an_interrupted_run_reports_what_was_shown_and_the_rest_could_not_run() -> None:
    interruption = Interruption()

    async def interrupt(target: TargetProbe) -> Findings:
        interruption.ask()
        await asyncio.sleep(60)
        return ()

    catalogue = catalogue_of(
        made("INV-1.a", nothing_wrong), made("INV-2.a", interrupt), made("INV-3.a", nothing_wrong)
    )
    run = await run_on(catalogue=catalogue, interruption=interruption)
    assert outcomes(run) == {"INV-1.a": "pass", "INV-2.a": "could_not_run", "INV-3.a": "could_not_run"}
    assert {result.reason for result in run.results[1:]} == {"the run was interrupted"}
    assert run.transcript.interrupted == "INV-2.a"
    assert run.verdict is Verdict.INCOMPLETE


async def test_a_run_that_is_interrupted_before_its_first_check_has_tested_nothing() -> None:
    interruption = Interruption()
    interruption.ask()
    run = await run_on(catalogue=catalogue_of(made("INV-1.a", nothing_wrong)), interruption=interruption)
    assert outcomes(run) == {"INV-1.a": "could_not_run"}
    assert run.verdict is Verdict.NOTHING_TESTED


# --- In steps


async def test_progress_is_told_of_each_check_before_and_after_it() -> None:
    told: list[tuple[str, str | None]] = []

    def progress(requirement: Requirement, result: Any) -> None:
        told.append((requirement.id, result and str(result.outcome)))

    await run_on(plan=plan_of(only=["HLT", "INV-7"]), progress=progress)
    assert told == [
        ("HLT-1.a", None),
        ("HLT-1.a", "pass"),
        ("INV-7.a", None),
        ("INV-7.a", "not_applicable"),
    ]


async def test_a_caller_may_take_the_steps_itself_but_leave_no_result_out() -> None:
    plan = plan_of()
    async with AsgiWire(BaseTarget().serve) as wire:
        runner = Runner(plan, subject(), wire=wire, secrets={"secret": SECRET})
        await runner.begin()
        results = [await runner.attempt(requirement) for requirement in plan.requirements]
        with pytest.raises(ValueError, match="one for each planned requirement"):
            runner.end(results[1:])
        with pytest.raises(ValueError, match="in order"):
            runner.end(results[::-1])
        assert runner.end(results).verdict is Verdict.CONFORMANT


# --- Secrets


async def test_nothing_of_a_run_holds_the_secret_even_if_the_target_repeats_it() -> None:
    async def repeat(target: TargetProbe) -> Findings:
        exchange = await target.health()
        body = exchange.answer.body.decode() if exchange.answer else ""
        return [Finding(body)]

    async def leaking(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            fields = [(b"x-secret", SECRET.encode())]
            await send({"type": "http.response.start", "status": 200, "headers": fields})
            await send({"type": "http.response.body", "body": f"it is {SECRET}".encode()})

    run = await run_on(leaking, {**CHECKS, "HLT-1.b": made("HLT-1.b", repeat)})
    assert run.results[-1].findings == (Finding("it is [redacted-secret]"),)
    assert SECRET not in repr(run)
    assert SECRET[:-1] not in repr(run)


async def test_a_secret_that_cannot_be_concealed_is_refused_before_anything_is_sent() -> None:
    with pytest.raises(ValueError, match="5 characters"):
        Runner(plan_of(), subject(), wire=AsgiWire(unlike_a_target()), secrets={"secret": "short"})


async def test_each_live_run_has_ids_of_its_own() -> None:
    seeds = {(await run_on(plan=plan_of(only=["HLT"]))).transcript.header.seed for _ in range(3)}
    assert len(seeds) == 3
