"""Environments of one's own that are not right yet, and systems that only a process of its own survives.

As those of `faulty_environments` they have one fault each, for `agentbeat controller check`.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time

from agentbeat_controller.environments.custom import StagedEnvironment
from support.faulty_environments import Sound, Stop, profile

#: Longer than a test waits for a step.
_LONG = 600

# Environments of one's own


class Own(StagedEnvironment):
    """Nothing is wrong with it."""

    def __init__(self):
        super().__init__(Sound())


class ResetRaises(Own):
    def reset(self, connection, environment_id, profile, *, injection):
        raise Stop


class DropExits(Own):
    def drop(self, connection, environment_id):
        sys.exit(0)


class TablesExit(Own):
    def create_tables(self, connection):
        sys.exit(0)


class WholeStateIsASet(Own):
    def state(self, connection, environment_id):
        return {1, 2}


class NoDocument(Own):
    def business_app(self, door):
        async def app(scope, receive, send):
            await send({"type": "http.response.start", "status": 404, "headers": []})
            await send({"type": "http.response.body", "body": b""})

        return app


class NoApp(Own):
    def business_app(self, door):
        raise NotImplementedError


class SilentApp(Own):
    def business_app(self, door):
        async def app(scope, receive, send):
            pass

        return app


class OddDocument(Own):
    def business_app(self, door):
        async def app(scope, receive, send):
            await send({"type": "http.response.start", "status": 200, "headers": []})
            await send({"type": "http.response.body", "body": b'{"paths": [1]}'})

        return app


class ProfilesAreAList(Own):
    profiles = ("list-put",)


class NameIsANumber(Own):
    def __init__(self):
        super().__init__()
        self.__dict__["name"] = 7


class CloseExits(Sound):
    def close(self):
        sys.exit(0)


class MadeByExiting(Sound):
    def __init__(self):
        sys.exit(0)


class MadeByInterrupting(Sound):
    def __init__(self):
        raise KeyboardInterrupt


# What only a process of its own survives


class ProcessEnds(Sound):
    def state(self, place):
        os._exit(0)


class ProcessIsKilled(Sound):
    profiles = (profile(profile_id="list-first"), profile(), profile(profile_id="list-last"))

    def prepare(self, place, profile, injection):
        if profile.profile_id == "list-put":
            os.kill(os.getpid(), signal.SIGKILL)
        super().prepare(place, profile, injection)


class LoadingEndsTheProcess(Sound):
    def __init__(self):
        os._exit(0)


class ClosesEverything(Sound):
    def state(self, place):
        os.closerange(3, 256)
        return super().state(place)


class PrepareHangs(Sound):
    def prepare(self, place, profile, injection):
        time.sleep(_LONG)


class ToolHangs(Sound):
    def put(self, place: str, key: str) -> str:
        """Put something."""
        threading.Event().wait()
        return key


class LoadingHangs(Sound):
    def __init__(self):
        time.sleep(_LONG)


class CloseHangs(Sound):
    def close(self):
        time.sleep(_LONG)


class Noisy(Sound):
    """Prints, goes elsewhere, reads what nobody types, and leaves a thread and a process behind."""

    def prepare(self, place, profile, injection):
        print("preparing")
        os.system("echo preparing")
        os.chdir("/")
        sys.stdin.read()
        super().prepare(place, profile, injection)

    def close(self):
        threading.Thread(target=time.sleep, args=(_LONG,)).start()
