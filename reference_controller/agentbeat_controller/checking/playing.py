"""The process in which a check loads an environment and plays it: whatever it does there, only this one ends.

    python -m agentbeat_controller.checking.playing DESCRIPTOR FOLDER ENVIRONMENT [PATTERN ...]

`processes` starts it, deletes FOLDER afterwards, and reads JSON objects from the pipe DESCRIPTOR:

    {"step": …}                         a step begins: who reads gives it a time
    {"problem": …}                      there is no such environment, or no such profile; nothing follows
    {"environment": …, "profiles": […]} the catalogue's name and the ids of the profiles that are checked
    {"profile": …}, {"result": {…}}     the check of a profile begins and ends
    {"finding": {…}}                    something that is no single profile's
    {"canary": {…}}                     the call that writes, where there is one
    {"end": true}                       everything has been tried

What the environment prints goes to standard error. When the pipe at standard input closes, the check has been
stopped: a run that is under way is released, or after some seconds the process ends without.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from fnmatch import fnmatchcase
from multiprocessing.connection import Connection
from typing import Any, Final

from agentbeat_controller.catalogue_names import EnvironmentNameError, environment_named
from agentbeat_controller.environments.base import Environment, Profile
from agentbeat_protocol import cut

from .canaries import canary_call
from .findings import Finding
from .oracle_checks import ProfileChecker
from .players import player_on
from .processes import GRACE_SECONDS, pack
from .steps import PlayError, Steps, UnfitError, told

__all__ = ["Playing", "main"]

_INTERRUPTED: Final = 130
_FAILED: Final = 1
_NO_PROFILES: Final = Finding(
    severity="untried",
    code="no_profiles",
    tried="the catalogue",
    found="got no profile, expected one at least",
)


def main(arguments: Sequence[str]) -> int:
    """Check the profiles and say what was found; the exit code means nothing but 130, stopped."""
    descriptor, folder, environment_name, *patterns = arguments
    os.set_inheritable(int(descriptor), False)
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    stopped = _stopped_with_its_parent()
    # A failure is a finding here; told in the log as well it would hide the others.
    logging.getLogger("agentbeat.controller").propagate = False
    try:
        send = _to(Connection(int(descriptor), readable=False))
        Playing(send, stopped.is_set, folder).run(environment_name, patterns)
    except (KeyboardInterrupt, BrokenPipeError):
        return _INTERRUPTED
    except Exception as error:  # noqa: BLE001 - such as one who has closed what is not theirs
        print(f"the process of the check: {told(error)}", file=sys.stderr, flush=True)
        os._exit(_FAILED)  # what is tidied up at an end would fail again
    return 0


def _stopped_with_its_parent() -> threading.Event:
    """Set when standard input, which is closed to the environment, ends; then the main thread is interrupted.

    Ctrl-C's signal is taken over: asyncio's own handler lets a system that hangs hang on.
    """
    stopped = threading.Event()
    alive = os.dup(sys.stdin.fileno())
    os.dup2(os.open(os.devnull, os.O_RDONLY), sys.stdin.fileno())

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    def watch() -> None:
        os.read(alive, 1)
        stopped.set()
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
        time.sleep(GRACE_SECONDS)
        os._exit(_INTERRUPTED)

    signal.signal(signal.SIGINT, interrupt)
    threading.Thread(target=watch, daemon=True).start()
    return stopped


def _to(channel: Connection) -> Callable[[dict[str, Any]], None]:
    def send(message: dict[str, Any]) -> None:
        if "end" in message or "problem" in message:
            signal.signal(signal.SIGINT, signal.SIG_IGN)  # nothing is left that could be stopped
        channel.send_bytes(pack(message))

    return send


class Playing:
    """Plays, and says what came of it.

    Args:
        send: takes each message.
        stopped: whether the check has been stopped.
        folder: where the database is kept meanwhile.
    """

    def __init__(
        self, send: Callable[[dict[str, Any]], None], stopped: Callable[[], bool], folder: str
    ) -> None:
        self._send = send
        self._folder = folder
        self._steps = Steps(lambda step: send({"step": step}), stopped)

    def run(self, environment_name: str, patterns: Sequence[str]) -> None:
        """Load the environment, check the profiles, close it."""
        try:
            environment = self._loaded(environment_name)
            with self._steps.step(f"{environment_name}, its name", expected="a text"):
                name, profiles = _catalogue(environment)
            chosen = _chosen(profiles, patterns)
        except (PlayError, _ProblemError) as error:
            self._send({"problem": str(error)})
            return
        self._send({"environment": name, "profiles": list(chosen)})
        try:
            if not chosen:
                raise PlayError(_NO_PROFILES)
            asyncio.run(self._check(environment, list(chosen.values())))
        except PlayError as error:
            self._found(error)
        self._close(environment)
        self._send({"end": True})

    def _loaded(self, environment_name: str) -> Environment:
        missing: EnvironmentNameError | None = None
        with self._steps.step(environment_name, expected="an environment"):
            try:
                return environment_named(environment_name)
            except EnvironmentNameError as error:
                missing = error
        raise _ProblemError(str(missing))

    async def _check(self, environment: Environment, chosen: Sequence[Profile]) -> None:
        async with player_on(environment, self._steps, within=self._folder) as player:
            for profile in chosen:
                self._send({"profile": profile.profile_id})
                result = await ProfileChecker(environment, player, profile).check()
                self._send({"result": asdict(result)})
            canary = await canary_call(environment, player, list(chosen))
            self._send({"canary": None if canary is None else asdict(canary)})

    def _close(self, environment: Environment) -> None:
        self._steps.trying = ""
        try:
            with self._steps.step("close", expected="an end"):
                close = getattr(environment, "close", None)
                if callable(close):
                    close()
        except PlayError as error:
            self._found(error)

    def _found(self, error: PlayError) -> None:
        self._send({"finding": asdict(error.finding)})


class _ProblemError(Exception):
    """There is nothing to check; the message says why."""


def _catalogue(environment: Any) -> tuple[str, Mapping[str, Profile]]:
    name, profiles = environment.name, dict(environment.profiles)
    if not isinstance(name, str):
        raise UnfitError(f"a value of the type {type(name).__name__}")
    return name, profiles


def _chosen(profiles: Mapping[str, Profile], patterns: Sequence[str]) -> dict[str, Profile]:
    for pattern in patterns:
        if not any(fnmatchcase(name, pattern) for name in profiles):
            raise _ProblemError(f"{cut(pattern, 100)}: the catalogue has no such profile")
    return {
        name: profile
        for name, profile in profiles.items()
        if not patterns or any(fnmatchcase(name, pattern) for pattern in patterns)
    }


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
