"""Two runs in any order over HTTP: what fails is found, shrunk, and told by the commands that lead there."""

from __future__ import annotations

import asyncio
import io
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from rich.console import Console

from agentbeat_conformance import state_machine
from agentbeat_conformance.controller_probes import ControllerProbe
from agentbeat_conformance.exchanges import Exchange, Failure
from agentbeat_conformance.mutants import load
from agentbeat_conformance.mutants.base_controller import DEPLOYMENT, BaseController
from agentbeat_conformance.mutants.controllers_repeats import VerifyTakesAnotherResponse
from agentbeat_conformance.mutants.registry import SECRET
from agentbeat_conformance.mutants.replies import Refused
from agentbeat_conformance.outcomes import Outcome
from agentbeat_conformance.reports.records import Report
from agentbeat_conformance.reports.table import render_table
from agentbeat_conformance.sessions import Session
from agentbeat_conformance.state_machine import first_failure, play, shrink
from agentbeat_conformance.trials import run_of
from agentbeat_conformance.wires import AsgiWire
from support.controller_suites import CATALOGUE, result_of
from support.controllers import CONTROL_SECRET, rig_in
from support.state_moves import any_moves, moves_of

ANY_ORDER = {"CTL-1.z": CATALOGUE["CTL-1.z"]}
MODES = ("catalog", "deployment_static")

#: Broken Controllers, and the shortest sequence that shows it.
SHORTEST = {
    "after-without-before": "A reset, A after",
    "reset-again-is-a-new-lease": "A reset, A reset",
    "release-again-is-refused": "A reset, A release, A release",
    "release-needs-verify": "A reset, A release",
    "renew-once-only": "A reset, A renew, A renew",
    "renew-sets-the-phase-back": "A reset, A before, A renew, A after",
    "refusals-are-recorded": "A reset, A after, A before, A after",
    "catalog-run-is-refused": "A reset, B reset",
    "late-release-ends-the-next-run": "A reset, A release, B reset, A release, B before",
    "verify-takes-another-response": "A reset, A before, A after, A verify, A verify response",
}


def probe(app, *, secret=SECRET, deployment=DEPLOYMENT):
    """A probe in process, with a session of its own."""
    session = Session(wire=AsgiWire(app), seed="0", scope="CTL-1.z")
    return ControllerProbe(session, host="c", secret=secret, deployment_id=deployment)


# What is found


@pytest.mark.parametrize(("name", "text"), SHORTEST.items(), ids=SHORTEST)
async def test_a_failure_is_shrunk_to_its_shortest(name, text):
    run = await run_of(load()[name], ANY_ORDER)
    (finding,) = result_of(run, "CTL-1.z").findings
    assert finding.message.endswith(": " + ", ".join(map(str, moves_of(text))))
    assert len(finding.before) == len(moves_of(text)) - 1
    shown = [run.exchanges[index] for index in (*finding.before, finding.exchange)]
    assert len({exchange.index for exchange in shown}) == len(shown)


async def test_the_report_has_a_curl_command_for_each_step():
    run = await run_of(load()["late-release-ends-the-next-run"], ANY_ORDER)
    written = io.StringIO()
    render_table(Report.of(run), Console(file=written, width=120))
    routes = [line.partition("/v1/environment/")[2].split(" ")[0] for line in written.getvalue().splitlines()]
    commands = [route for route in routes if route]
    assert commands[-4:] == ["reset", "release", "reset", "release"]
    assert "snapshot" in commands


async def test_the_base_controller_fails_in_no_sequence():
    controller = probe(BaseController().app)
    await controller.control()
    for mode in MODES:
        assert await first_failure(controller, mode) is None


# Model, base and reference are of one mind, in sequences that nobody wrote down


@settings(max_examples=60)
@given(moves=any_moves())
@pytest.mark.parametrize("mode", MODES)
def test_the_base_controller_does_as_the_model_says(mode, moves):
    async def found():
        controller = probe(BaseController().app)
        await controller.control()
        return await play(controller, mode, moves)

    assert asyncio.run(found()) is None


@settings(max_examples=12)
@given(moves=any_moves())
@pytest.mark.parametrize("mode", MODES)
def test_the_reference_controller_does_as_the_model_says(mode, moves):
    async def found(rig):
        controller = probe(rig.control_app, secret=CONTROL_SECRET, deployment="deployment-a")
        await controller.control()
        return await play(controller, mode, moves)

    with tempfile.TemporaryDirectory() as folder, rig_in(folder) as rig:
        assert asyncio.run(found(rig)) is None


# Shrinking


async def failing(controller):
    """A failure of twelve moves, of which five are needed."""
    await controller.control()
    text = "A reset, B reset, A renew, A before, B before, A after, B release, A verify, A before, A reset"
    failure = await play(controller, "catalog", moves_of(f"{text}, A renew, A verify response"))
    assert failure is not None
    assert len(failure.moves) == 12
    return failure


async def test_shrinking_sends_a_bounded_number_of_sequences(monkeypatch):
    monkeypatch.setattr(state_machine, "ATTEMPTS", 3)
    controller = probe(VerifyTakesAnotherResponse().app)
    failure = await failing(controller)
    played = []
    monkeypatch.setattr(state_machine, "play", lambda *told: played.append(told[2]) or play(*told))
    shorter = await shrink(controller, failure)
    assert len(played) <= 3
    assert len(shorter.moves) <= len(failure.moves)


async def test_where_shrinking_cannot_go_on_the_failure_stands_as_it_was():
    """The endpoint goes away, or the transcript of another version of Hypothesis ends there."""
    controller = probe(VerifyTakesAnotherResponse().app)
    failure = await failing(controller)

    class Gone:
        has_sockets = False

        async def exchange(self, request, *, scope):
            return Exchange(request=request, answer=None, failure=Failure.UNREACHABLE)

    controller.session.wire = Gone()
    assert await shrink(controller, failure) == failure


async def test_a_different_failure_does_not_take_the_place_of_the_first():
    """Once it failed it fails at everything: what is told is still what failed first."""

    class Broken(VerifyTakesAnotherResponse):
        is_gone = False

        def perform(self, request):
            if self.is_gone:
                raise Refused("internal_error", "the Controller failed")
            return super().perform(request)

    server = Broken()
    controller = probe(server.app)
    failure = await failing(controller)
    server.is_gone = True
    assert await shrink(controller, failure) == failure


async def test_a_check_that_is_given_up_sends_nothing_more():
    controller = probe(VerifyTakesAnotherResponse().app)
    failure = await failing(controller)
    inner, waits, holds = controller.session.wire, asyncio.Event(), asyncio.Event()

    class Slow:
        has_sockets = False
        sent = 0

        async def exchange(self, request, *, scope):
            Slow.sent += 1
            waits.set()
            await holds.wait()
            return await inner.exchange(request, scope=scope)

    controller.session.wire = Slow()
    shrinking = asyncio.create_task(shrink(controller, failure))
    await waits.wait()
    shrinking.cancel()
    await asyncio.gather(shrinking, return_exceptions=True)
    # The thread has nothing to wait for, although the endpoint has not answered yet.
    await asyncio.get_running_loop().shutdown_default_executor()
    holds.set()
    await asyncio.gather(*(asyncio.all_tasks() - {asyncio.current_task()}), return_exceptions=True)
    # What was under way, and the release of what it held.
    assert Slow.sent <= 3


def test_shrinking_leaves_no_folder_behind(tmp_path):
    """Hypothesis keeps examples in the working directory where it may."""
    code = (
        "import asyncio\n"
        "from agentbeat_conformance.catalogues import load_catalogue\n"
        "from agentbeat_conformance.mutants import load\n"
        "from agentbeat_conformance.trials import run_of\n"
        "made = load_catalogue()['CTL-1.z']\n"
        "run = asyncio.run(run_of(load()['renew-sets-the-phase-back'], {made.id: made}))\n"
        "print(run.verdict)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert (done.stdout.strip(), done.stderr) == ("not_conformant", "")
    assert list(Path(tmp_path).iterdir()) == []


async def test_a_controller_that_cannot_be_led_through_one_run_is_not_judged_by_sequences():
    run = await run_of(load()["controller-after-reset-nothing"], ANY_ORDER)
    assert result_of(run, "CTL-1.z").outcome is Outcome.COULD_NOT_RUN
