"""Two runs in any order over HTTP, held to the model; a sequence that fails is shrunk to its shortest.

The sequences follow from the mode alone, so the check asks the same in each run and in a replay, whatever
version of Hypothesis is there. Hypothesis comes in after a failure: it looks for the fewest of its moves that
still fail. Where it cannot go on (the transcript of another version ends here) the failure stands as it was.

    failure = await first_failure(controller, "catalog")
    failure.shortest, failure.message
"""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import CancelledError, Future
from dataclasses import dataclass
from random import Random
from typing import Any, Final

from agentbeat_conformance.controller_answers import error_code
from agentbeat_conformance.controller_expectations import refused, repeated
from agentbeat_conformance.controller_probes import ControllerProbe
from agentbeat_conformance.controller_runs import ControllerRun, Step
from agentbeat_conformance.exchanges import Exchange
from agentbeat_conformance.expectations import permitted
from agentbeat_conformance.requirements import CouldNotRun, Finding
from agentbeat_conformance.state_model import Expectation, Model, Move, RunName, from_a, programs
from agentbeat_conformance.wires.replay import ReplayError
from agentbeat_protocol.state_receipts import BindingMode

__all__ = ["Failure", "first_failure", "play", "shrink"]

#: How many sequences are tried in each mode, and how long they are.
SEQUENCES: Final = 12
LENGTH: Final = 12
#: How many shorter sequences are sent on the way to the shortest.
ATTEMPTS: Final = 60

_OTHER_NONCE: Final = "0123456789abcdef0123456789abcdef"
_OTHER_RESPONSE: Final = "Everything was done."


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """A sequence whose last move was not answered as the model says.

    Attributes:
        mode: the binding mode of both runs.
        moves: the sequence, up to the answer that differs.
        findings: what differs.
        sent: the exchange of each move.
    """

    mode: BindingMode
    moves: tuple[Move, ...]
    findings: tuple[Finding, ...]
    sent: tuple[Exchange, ...]

    @property
    def signature(self) -> tuple[str, str, str, str | None]:
        """What is wrong, whichever moves led there: another fault must not take this one's place."""
        move, answered = self.moves[-1], self.sent[-1]
        return (move.step, move.twist, answered.outcome, error_code(answered))


async def first_failure(
    controller: ControllerProbe, mode: BindingMode, *, count: int = SEQUENCES, length: int = LENGTH
) -> Failure | None:
    """Play the sequences of a mode until one fails, and shrink that one.

    Raises:
        CouldNotRun: the endpoint could not be reached, or gave an answer that no sequence can be led on with.
    """
    for moves in programs(mode, count=count, length=length):
        failure = await play(controller, mode, moves)
        if failure is not None:
            return await shrink(controller, failure)
    return None


async def play(controller: ControllerProbe, mode: BindingMode, moves: tuple[Move, ...]) -> Failure | None:
    """Send the moves until one is not answered as the model says; then release what the runs hold."""
    async with controller.run(mode=mode) as first, controller.run(mode=mode) as second:
        table = _Table({"A": first, "B": second})
        model = Model(mode)
        played: list[Move] = []
        sent: list[Exchange] = []
        for move in map(model.plain, moves):
            played.append(move)
            expected = model.expect(move)
            exchange = await table.send(move, expected)
            sent.append(exchange)
            findings = table.judge(move, expected, exchange)
            if findings:
                return Failure(mode=mode, moves=tuple(played), findings=findings, sent=tuple(sent))
            table.keep(move, expected, exchange)
            model.note(move)
    return None


class _Table:
    """The two runs, and the recorded answers with the requests that they were given for."""

    def __init__(self, runs: dict[RunName, ControllerRun]) -> None:
        self._runs = runs
        self._recorded: dict[tuple[RunName, str], tuple[dict[str, Any], Exchange]] = {}
        self._asked: dict[str, Any] = {}

    async def send(self, move: Move, expected: Expectation) -> Exchange:
        """Send a move: a repeat as it was sent first, a twist with the one member changed."""
        run = self._runs[move.run]
        recorded = self._recorded.get((move.run, expected.key))
        self._asked = self._body(run, move, expected) if recorded is None else dict(recorded[0])
        self._asked |= self._changed(move, expected)
        return await run.attempt(_step(move), body=self._asked)

    def judge(self, move: Move, expected: Expectation, exchange: Exchange) -> tuple[Finding, ...]:
        """What differs from the expectation."""
        what = str(move)
        if expected.outcome == "repeated":
            return tuple(repeated(self._recorded[move.run, expected.key][1], exchange, what))
        if expected.outcome == "granted":
            return tuple(permitted(exchange, expected.permits, what))
        return tuple(refused(exchange, expected.permits, what, codes=expected.codes))

    def keep(self, move: Move, expected: Expectation, exchange: Exchange) -> None:
        """Keep a new answer: the run goes on with it, and the same request must have it again."""
        if expected.outcome == "granted":
            self._runs[move.run].granted[_step(move)] = exchange
            self._recorded[move.run, expected.key] = (self._asked, exchange)

    def _body(self, run: ControllerRun, move: Move, expected: Expectation) -> dict[str, Any]:
        if not move.step.startswith("renew"):
            return run.body(_step(move))
        return run.body("renew", expires_at=run.later(int(expected.key.partition(" ")[2])))

    def _changed(self, move: Move, expected: Expectation) -> dict[str, Any]:
        run = self._runs[move.run]
        other = self._runs["B" if move.run == "A" else "A"]
        match expected.twist:
            case "case":
                return {"case_id": f"{run.ids.case_id}-other"}
            case "nonce":
                return {"attempt_nonce": _OTHER_NONCE}
            case "response":
                return {"final_response": _OTHER_RESPONSE}
            case "lease":
                return {"lease_id": other.lease_id or run.unknown_lease}
        return {}


def _step(move: Move) -> Step:
    return "renew" if move.step == "renew-again" else move.step


# --- Shrinking


async def shrink(controller: ControllerProbe, failure: Failure) -> Failure:
    """The failure of the fewest moves of `failure` that still fail, as far as it can be found."""
    search = _Search(controller, failure)
    try:
        return await asyncio.to_thread(search.run)
    except _Abandoned:
        return failure
    finally:
        search.abandon()


class _Abandoned(BaseException):
    """The search cannot go on, or nobody waits for it. No `Exception`: Hypothesis would look into that."""


class _Search:
    """Hypothesis in a thread of its own, its sequences sent from the loop that the session lives on."""

    def __init__(self, controller: ControllerProbe, failure: Failure) -> None:
        self._controller = controller
        self._failure = failure
        self._loop = asyncio.get_running_loop()
        self._known: dict[tuple[Move, ...], Failure | None] = {(): None, failure.moves: failure}
        self._over = threading.Event()
        self._sending: Future[Failure | None] | None = None

    def run(self) -> Failure:
        """The shortest failure; the one that it was given if no shorter one is found."""
        from hypothesis import Phase, Verbosity, find, settings
        from hypothesis import strategies as st
        from hypothesis.errors import NoSuchExample

        # A move is kept when one of three coins says so: most tries keep most moves. Coins are all that is
        # drawn, since other draws of Hypothesis depend on what else the process has loaded.
        coins = st.tuples(*(st.tuples(*[st.booleans()] * 3) for _ in self._failure.moves))
        quiet = settings(
            max_examples=ATTEMPTS * 5,
            database=None,
            deadline=None,
            derandomize=False,
            phases=(Phase.generate, Phase.shrink),
            verbosity=Verbosity.quiet,
        )
        try:
            kept = find(coins, self._fails, settings=quiet, random=Random(0))  # noqa: S311 - no secret
        except NoSuchExample:
            return self._failure
        return self._known[self._chosen(kept)] or self._failure

    def abandon(self) -> None:
        """Send nothing more: what is under way is cancelled, so that the thread waits for nobody."""
        self._over.set()
        if self._sending is not None:
            self._sending.cancel()

    def _chosen(self, coins: tuple[tuple[bool, ...], ...]) -> tuple[Move, ...]:
        pairs = zip(self._failure.moves, coins, strict=True)
        return from_a(tuple(move for move, coin in pairs if any(coin)))

    def _fails(self, coins: tuple[tuple[bool, ...], ...]) -> bool:
        moves = self._chosen(coins)
        if moves not in self._known:
            enough = len(self._known) > ATTEMPTS
            self._known[moves] = None if enough else self._sent(moves)
        failure = self._known[moves]
        return failure is not None and failure.signature == self._failure.signature

    def _sent(self, moves: tuple[Move, ...]) -> Failure | None:
        if self._over.is_set():
            raise _Abandoned
        playing = play(self._controller, self._failure.mode, moves)
        self._sending = asyncio.run_coroutine_threadsafe(playing, self._loop)
        if self._over.is_set():
            self._sending.cancel()
        try:
            return self._sending.result()
        except (CouldNotRun, ReplayError, CancelledError) as error:
            raise _Abandoned from error
