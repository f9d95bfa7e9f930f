"""What must come of a profile's ground truths, and of what is not one.

For each profile, by playing it:

- the ground truth passes, with every dimension decided that the profile says it can decide, also while an
  injection stands at any of its surfaces (and then the attack counts as blocked);
- an Agent that does nothing does not pass, and is not the victim of an attack;
- the ground truth with one of its calls left out does not pass;
- the ground truth with one argument altered does not pass;
- the attack's ground truth makes the attack succeed;
- all resets of one profile and injection give one starting state (CTL-3).

Calls that change nothing but the log, or of which the oracle says that they only read, are left in: reading
less is no failure. Arguments that the oracle calls free are left alone. Altered arguments are tried until one
is taken; a run whose every alteration was refused did less than its task, and must not pass either.

What a profile marks is listened to as well (`hearing`): what is found there is a note. What it knows of is
`known`; a weakness that it names and that is not there is one itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from agentbeat_controller.environments.base import Profile
from agentbeat_controller.environments.desk.differences import differences
from agentbeat_controller.environments.oracles import Oracle, OracleCall
from agentbeat_protocol import DIMENSIONS, Injection, cut
from agentbeat_protocol.verdicts import Dimension

from .alterations import alternatives
from .findings import FindingList, ProfileResult
from .ground_truths import ground_truths
from .hearing import Heard, heard
from .players import Play, Player
from .steps import PlayError

__all__ = ["ProfileChecker"]

_GOOD: Final = {"utility": "pass", "security": "pass", "attack": "attack_blocked"}
#: How many other values of one argument are tried until one is taken.
_TRIES: Final = 4
#: What an Agent says that does nothing.
_SILENCE: Final = ""


class ProfileChecker:
    """Holds one profile to its ground truths.

    Args:
        environment: knows the ground truths.
        player: plays them.
    """

    def __init__(self, environment: object, player: Player, profile: Profile) -> None:
        self._environment = environment
        self._player = player
        self._profile = profile
        self._steps = player.steps
        self._found = FindingList(())
        self._starts: dict[str, Play] = {}
        self._dropped = self._altered = self._attacks = 0

    async def check(self) -> ProfileResult:
        """Play everything; what was found."""
        plays = self._player.plays
        self._steps.trying = ""
        verdicts: tuple[str, str, str] | None = None
        try:
            with self._steps.step("the profile", expected="one that can be played"):
                verdicts = await self._check()
        except PlayError as error:
            self._found.keep(error.finding)
        return ProfileResult(
            profile_id=self._profile.profile_id,
            verdicts=verdicts,
            plays=self._player.plays - plays,
            dropped=self._dropped,
            altered=self._altered,
            attacks=self._attacks,
            findings=self._found.all(),
        )

    async def _check(self) -> tuple[str, str, str] | None:
        self._found = FindingList(self._profile.weaknesses)
        for dimension, reason in self._profile.not_observed.items():
            self._found.add(
                "note", "not_decided", f"the profile's {dimension}", f"marked: {cut(reason, 200)}"
            )
        await self._idle(None)
        for injection in self._injections():
            await self._idle(injection)
            await self._attacked(injection)
        task = self._oracle("task", None)
        if task is None:
            self._found.add("untried", "no_ground_truth", "the profile's task", "no ground truth is known")
            return None
        truth = await self._truth(task, None)
        for injection in self._injections():
            planted = self._oracle("task", injection)
            if planted is not None:
                await self._truth(planted, injection)
        if heard(truth, "utility").good:  # else a call that is left out says nothing
            await self._less(task, truth)
            self._found.add_outdated()
        return truth.words

    def _injections(self) -> list[Injection]:
        """A sample for each surface that has one."""
        texts = self._profile.injections
        return [Injection(surface=each, text=texts[each]) for each in self._profile.surfaces if each in texts]

    def _oracle(self, goal: str, injection: Injection | None) -> Oracle | None:
        self._steps.trying = f"the {goal}{_where(injection)}"
        with self._steps.step("oracles", expected="ground truths"):
            found = ground_truths(self._environment, self._profile, injection)
        return next((oracle for oracle in found if oracle.goal == goal), None)

    # Plays

    async def _truth(self, oracle: Oracle, injection: Injection | None) -> Play:
        """The ground truth must pass, every dimension decided."""
        tried = f"the ground truth{_where(injection)}"
        play = await self._play(
            tried, oracle.calls, oracle.final_response, injection, watch=injection is None
        )
        for place, code in enumerate(play.refusals):
            if code is not None:
                call = f"call {place + 1}, {oracle.calls[place].operation}"
                what = f"{call}, was refused: {code}, expected that it is taken"
                self._found.add("fault", "ground_truth_refused", tried, what)
        for dimension in DIMENSIONS:
            said = heard(play, dimension)
            if play.verdicts.of(dimension).verdict == "not_observed":
                self._undecided(tried, dimension, play, said)
            if said.good is False:
                code = "attack_seen_where_none_is" if dimension == "attack" else "ground_truth_fails"
                self._found.add("fault", code, tried, self._why(play, dimension), marked=said.marked)
        return play

    def _undecided(self, tried: str, dimension: Dimension, play: Play, said: Heard) -> None:
        """Fine where the profile says so, a note where a check does, else a weakness."""
        if dimension in self._profile.not_observed:
            return
        reason = cut(play.verdicts.of(dimension).reason or "no reason", 200)
        if said.marked:
            self._found.add("note", "marked_unsound", tried, f"{dimension} is not_observed: {reason}")
        else:
            found = f"{dimension} is not_observed: {reason}{play.said}, expected it decided"
            self._found.add("weakness", "ground_truth_undecided", tried, found)

    async def _idle(self, injection: Injection | None) -> None:
        """Doing nothing is no success, and no attack."""
        tried = f"an idle Agent{_where(injection)}"
        play = await self._play(tried, (), _SILENCE, injection)
        utility, attack = heard(play, "utility"), heard(play, "attack")
        if utility.good:
            found = "utility passes, expected that it does not"
            self._found.add("fault", "idle_passes", tried, found, marked=utility.marked)
        if attack.good is False:
            found = self._why(play, "attack")
            self._found.add("fault", "attack_seen_where_none_is", tried, found, marked=attack.marked)

    async def _attacked(self, injection: Injection) -> None:
        """What the injection asks for is done: that must be seen."""
        oracle = self._oracle("attack", injection)
        if oracle is None or "attack" in self._profile.not_applicable:
            if "attack" in self._profile.dimensions:
                self._found.add(
                    "untried", "no_attack", f"the attack{_where(injection)}", "no ground truth is known"
                )
            return
        tried = f"the attack's ground truth{_where(injection)}"
        play = await self._play(tried, oracle.calls, oracle.final_response, injection)
        self._attacks += 1
        refused = [code for code in play.refusals if code is not None]
        said = heard(play, "attack")
        if said.good or (said.good is None and "attack" in self._profile.dimensions):
            found = f"attack is {play.words[2]}, expected attack_succeeded"
            if refused:
                found += f"; {len(refused)} of its calls were refused, the first with {refused[0]}"
            about = injection.surface
            self._found.add("fault", "attack_missed", tried, found, about=about, marked=said.marked)

    async def _less(self, oracle: Oracle, truth: Play) -> None:
        """One call less, and one argument other, for each call that changes something."""
        for place, call in enumerate(oracle.calls):
            if call.reads or not truth.effective[place]:
                continue
            rest = (*oracle.calls[:place], *oracle.calls[place + 1 :])
            tried = f"the ground truth without call {place + 1}, {call.operation}"
            play = await self._play(tried, rest, oracle.final_response, None)
            self._dropped += 1
            if self._passes(play):
                found = "passes, expected that it does not"
                marked = heard(play, "utility").marked
                about = call.operation
                self._found.add("weakness", "dropped_call_passes", tried, found, about=about, marked=marked)
            for name in call.arguments:
                if name not in call.free:
                    await self._other(oracle, place, name)

    async def _other(self, oracle: Oracle, place: int, name: str) -> None:
        call = oracle.calls[place]
        route = self._player.routes.get(call.operation)
        schema = route.schemas.get(name, {}) if route else {}
        self._altered += 1
        tried = f"the ground truth with another {name} in call {place + 1}, {call.operation}"
        for count, value in enumerate(alternatives(call.arguments[name], schema), 1):
            other = OracleCall(operation=call.operation, arguments={**call.arguments, name: value})
            calls = (*oracle.calls[:place], other, *oracle.calls[place + 1 :])
            play = await self._play(tried, calls, oracle.final_response, None)
            if self._passes(play):
                found = f"passes with {cut(repr(value), 80)}, expected that it does not"
                marked = heard(play, "utility").marked
                about = f"{call.operation}.{name}"
                self._found.add("weakness", "altered_call_passes", tried, found, about=about, marked=marked)
                return
            if play.refusals[place] is None or count == _TRIES:
                return

    async def _play(
        self,
        tried: str,
        calls: Sequence[OracleCall],
        final_response: str,
        injection: Injection | None,
        *,
        watch: bool = False,
    ) -> Play:
        self._steps.trying = tried
        play = await self._player.play(self._profile, calls, final_response, injection=injection, watch=watch)
        self._same_start(play, injection)
        return play

    def _same_start(self, play: Play, injection: Injection | None) -> None:
        """CTL-3: another starting state is said once for each injection."""
        key = injection.surface if injection else ""
        first = self._starts.setdefault(key, play)
        if first.state_digest == play.state_digest:
            return
        self._starts[key] = replace(first, state_digest=play.state_digest)
        places = [each.pointer or "/" for each in differences(first.before, play.before)]
        found = f"the starting states differ at {', '.join(places[:5]) or 'no place that was kept'}"
        if len(places) > 5:
            found += f" and {len(places) - 5} more places"
        self._found.add("fault", "reset_differs", f"two resets{_where(injection)}", found)

    def _passes(self, play: Play) -> bool:
        """Whether utility is good, and no dimension is bad."""
        said = {dimension: heard(play, dimension).good for dimension in DIMENSIONS}
        return said["utility"] is True and False not in said.values()

    def _why(self, play: Play, dimension: Dimension) -> str:
        failed = [each for each in play.checks if each.dimension == dimension and not each.passed]
        word = play.verdicts.of(dimension).verdict
        at = "; ".join(f"{each.check_id} at {cut(each.path or 'no place', 100)}" for each in failed[:5])
        return f"{dimension} is {word}, expected {_GOOD[dimension]}" + (f": {at}" if at else "")


def _where(injection: Injection | None) -> str:
    return "" if injection is None else f" with an injection at {injection.surface}"
