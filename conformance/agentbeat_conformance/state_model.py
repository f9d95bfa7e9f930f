"""A small model of a State Controller: what each step of two runs must be answered, in any order.

CTL-1, CTL-2 and CTL-6 as a pure machine: moves go in, expectations come out. The model holds per run
how far it has come, whether it was released and which answers are recorded; nothing of what they say.

>>> model = Model("catalog")
>>> reset, after = Move("A", "reset"), Move("A", "after")
>>> model.expect(reset).outcome
'granted'
>>> model.note(reset)
>>> model.expect(after).outcome, sorted(model.expect(after).codes)
('refused', ['phase_out_of_order'])
>>> model.expect(reset).outcome
'repeated'
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final, Literal, TypeVar

from agentbeat_protocol.state_receipts import BindingMode

__all__ = ["Expectation", "Model", "Move", "RunName", "from_a", "programs"]

ChoiceT = TypeVar("ChoiceT")

RunName = Literal["A", "B"]
#: `renew` asks for a later end than any before; `renew-again` for the first one that was granted, once more.
ModelStep = Literal["reset", "before", "after", "verify", "renew", "renew-again", "release"]
#: What is different from the run's own request: its case, nonce, final_response, or the lease it names.
Twist = Literal["", "case", "nonce", "response", "lease"]

_STEPS: Final[tuple[ModelStep, ...]] = (
    "reset",
    "before",
    "after",
    "verify",
    "renew",
    "renew-again",
    "release",
)
_TWISTS: Final[tuple[Twist, ...]] = ("", "", "", "case", "nonce", "response", "lease")
_RUNS: Final[tuple[RunName, ...]] = ("A", "B")
_NEXT: Final[dict[str | None, ModelStep]] = {
    None: "reset",
    "reset": "before",
    "before": "after",
    "after": "verify",
    "verify": "release",
}
_STAGE_BEFORE: Final[dict[str, str]] = {"before": "reset", "after": "before", "verify": "after"}
_TWIST_WORDS: Final[dict[Twist, str]] = {
    "": "",
    "case": " of another case",
    "nonce": " with another attempt_nonce",
    "response": " with another final_response",
    "lease": " with a lease that is not its own",
}


#: What is tried with what outcome; how far its run has come, whether it is released, how often it was
#: renewed; whether the other run holds a lease.
Situation = tuple[str, str, bool, int, bool]

#: Two runs after each other, and one in which everything is repeated.
_SCRIPTS: Final = (
    "A reset, A release, B reset, A release, A reset, B before, A release, B after, B verify, B release",
    "A reset, A renew, A before, A renew, A before, A after, A renew-again, A after, A verify, A release,"
    " A verify, A reset",
)
#: How many sequences are looked at for those that are taken.
_CANDIDATES: Final = 600


@dataclass(frozen=True, slots=True)
class Move:
    """One request of one run."""

    run: RunName
    step: ModelStep
    twist: Twist = ""

    def __str__(self) -> str:
        """Such as `A verify with another final_response`."""
        return f"{self.run} {self.step}{_TWIST_WORDS[self.twist]}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Expectation:
    """What a move must be answered.

    Attributes:
        outcome: a new 200 answer, the recorded one, or a refusal.
        key: what the answer is recorded under.
        twist: the move's twist, where it makes a difference.
        permits: the permitted outcomes of the exchange.
        codes: the permitted error codes of a refusal; none for any.
    """

    outcome: Literal["granted", "repeated", "refused"]
    key: str
    twist: Twist = ""
    permits: frozenset[str] = frozenset({"200"})
    codes: frozenset[str] = frozenset()


@dataclass(slots=True)
class _Run:
    stage: str | None = None
    released: bool = False
    recorded: set[str] = field(default_factory=set)
    renewals: int = 0

    @property
    def is_active(self) -> bool:
        return self.stage is not None and not self.released


class Model:
    """Two runs and what they share.

    Args:
        mode: `deployment_static`: one of them at a time; `catalog`: both.
    """

    def __init__(self, mode: BindingMode) -> None:
        self._mode = mode
        self._runs: dict[RunName, _Run] = {"A": _Run(), "B": _Run()}

    def expect(self, move: Move) -> Expectation:
        """What the move must be answered now, in the order of CTL-2's checks."""
        run = self._runs[move.run]
        key, twist = self._key(move), self._effective(move)
        if move.step == "reset":
            return self._reset(move, key, twist)
        if run.stage is None or twist == "lease":
            return _refused(key, twist, "400", "404", "409")
        if key in run.recorded:
            if not twist:
                return Expectation(outcome="repeated", key=key)
            return _refused(key, twist, "409", codes={"binding_conflict"})
        if twist == "case":
            return _refused(key, twist, "404", "409", codes={"binding_conflict", "not_found"})
        if run.released:
            return _refused(key, twist, "404", "409")
        if run.stage != _STAGE_BEFORE.get(move.step, run.stage):
            codes = {"phase_out_of_order"} | ({"snapshot_mismatch"} if move.step == "verify" else set())
            return _refused(key, twist, "409", codes=codes)
        return Expectation(outcome="granted", key=key)

    def plain(self, move: Move) -> Move:
        """The move as it acts now: without a twist that changes nothing, or a repeat of nothing."""
        again = move.step == "renew-again" and self._runs[move.run].renewals
        step: ModelStep = "renew" if move.step == "renew-again" and not again else move.step
        return Move(move.run, step, self._effective(move))

    def note(self, move: Move) -> None:
        """The move was answered as expected."""
        expected, run = self.expect(move), self._runs[move.run]
        if expected.outcome != "granted":
            return
        run.recorded.add(expected.key)
        if move.step in ("reset", "before", "after", "verify"):
            run.stage = move.step
        elif move.step == "release":
            run.released = True
        else:
            run.renewals += 1

    def situation(self, move: Move) -> Situation:
        """What is tried, and what must become of it."""
        run, other, expected = self._runs[move.run], self._other(move.run), self.expect(move)
        how = f"{move.step} {expected.outcome} {expected.twist}"
        return (how, run.stage or "", run.released, min(run.renewals, 2), other.is_active)

    def next_step(self, run: RunName) -> ModelStep | None:
        """The step that leads the run on; None once it is released."""
        return None if self._runs[run].released else _NEXT[self._runs[run].stage]

    def _other(self, run: RunName) -> _Run:
        return self._runs["B" if run == "A" else "A"]

    def _reset(self, move: Move, key: str, twist: Twist) -> Expectation:
        if self._runs[move.run].stage is not None:
            if not twist:
                return Expectation(outcome="repeated", key=key)
            return _refused(key, twist, "409", codes={"binding_conflict"})
        if self._mode == "deployment_static" and self._other(move.run).is_active:
            return _refused(key, twist, "409", codes={"environment_busy"})
        return Expectation(outcome="granted", key=key)

    def _key(self, move: Move) -> str:
        run = self._runs[move.run]
        if move.step == "renew-again" and run.renewals:
            return "renew 1"
        return f"renew {run.renewals + 1}" if move.step.startswith("renew") else move.step

    def _effective(self, move: Move) -> Twist:
        """The twist, where the step has what it changes and there is something that it differs from."""
        run = self._runs[move.run]
        fits = {
            "": True,
            "case": run.stage is not None,
            "nonce": move.step == "reset" and run.stage is not None,
            "response": move.step == "verify" and "verify" in run.recorded,
            "lease": move.step != "reset" and run.stage is not None,
        }
        return move.twist if fits[move.twist] else ""


def _refused(key: str, twist: Twist, *permits: str, codes: set[str] | None = None) -> Expectation:
    return Expectation(
        outcome="refused",
        key=key,
        twist=twist,
        permits=frozenset(permits),
        codes=frozenset(codes or ()),
    )


def from_a(moves: tuple[Move, ...]) -> tuple[Move, ...]:
    """The same moves, with the run that moves first called A."""
    if not moves or moves[0].run == "A":
        return moves
    return tuple(Move("B" if move.run == "A" else "A", move.step, move.twist) for move in moves)


@lru_cache
def programs(mode: BindingMode, *, count: int, length: int) -> tuple[tuple[Move, ...], ...]:
    """Sequences of moves, the same ones in every process and with every version of every library.

    The first ones are written out. Of many others they are those that together meet the most situations.
    """
    candidates = [_program(mode, number, length) for number in range(_CANDIDATES)]
    chosen = [_scripted(script) for script in _SCRIPTS]
    met: set[Situation] = set()
    for _ in range(count - len(_SCRIPTS)):
        moves, situations = max(candidates, key=lambda candidate: len(candidate[1] - met))
        chosen.append(moves)
        met |= situations
    return tuple(chosen)


def _scripted(script: str) -> tuple[Move, ...]:
    words = [move.split(" ") for move in script.split(", ")]
    return tuple(
        Move(run, step) for given in words for run in _RUNS for step in _STEPS if [run, step] == given
    )


def _program(mode: BindingMode, number: int, length: int) -> tuple[tuple[Move, ...], frozenset[Situation]]:
    """A sequence, half of it leading a run on so that it comes to its end, half of it any moves."""
    model, draws = Model(mode), _draws(f"{mode} {number}")
    moves: list[Move] = []
    situations: set[Situation] = set()
    for _ in range(length):
        move = model.plain(_any(draws) if next(draws) % 2 else _leading_on(model, draws))
        situations.add(model.situation(move))
        model.note(move)
        moves.append(move)
    return tuple(moves), frozenset(situations)


def _draws(name: str) -> Iterator[int]:
    """Numbers that follow from the name alone."""
    block = name.encode()
    while True:
        block = hashlib.sha256(block).digest()
        yield from (int.from_bytes(block[at : at + 4]) for at in range(0, len(block), 4))


def _pick(draws: Iterator[int], choices: Sequence[ChoiceT]) -> ChoiceT:
    return choices[next(draws) % len(choices)]


def _any(draws: Iterator[int]) -> Move:
    return Move(_pick(draws, _RUNS), _pick(draws, _STEPS), _pick(draws, _TWISTS))


def _leading_on(model: Model, draws: Iterator[int]) -> Move:
    """The next step of a run that has one; any move where none has."""
    steps = [Move(run, step) for run in _RUNS if (step := model.next_step(run)) is not None]
    granted = [move for move in steps if model.expect(move).outcome == "granted"]
    return _pick(draws, granted) if granted else _any(draws)
