"""A staging system as the control plane drives it: an `Environment`.

The Controller's transaction cannot hold what a system outside it does. What holds instead:

- *Reset* (CTL-3): `prepare` and `state`, until the state is the one that this profile and injection gave when
  it was first read; after some attempts 503, and nothing is leased.
- *Calls* (CTL-4, CTL-8, CTL-12): see `calling`. A snapshot waits for a call that runs.
- *Kill* (CTL-10): leases, snapshots, receipts and the log are in the Controller's database, all or nothing.
  The system keeps what had reached it. A place that was prepared and never leased is prepared anew by the
  next reset, or forgotten by a restart (`spares`). A call that died is marked in the state; a pass that rests
  on the absence of a change is then not given: the dimension is `not_observed`.
- *Unreadable*: 503 `controller_unavailable`; no lease, no snapshot, no verdict of a state that was not read.

    environment = StagedEnvironment(MySystem())
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from agentbeat_controller.asides import aside
from agentbeat_controller.environments import calls
from agentbeat_controller.environments.openapi import openapi_document
from agentbeat_controller.environments.operations import Call, Operation
from agentbeat_controller.environments.plane import business_plane
from agentbeat_controller.environments.profile_checks import check_profile
from agentbeat_controller.refusals import environment_busy
from agentbeat_protocol import canonical_json, digest

from . import journal, spares
from .calling import OutsideCalls
from .failures import attempt, log_failure, unavailable
from .forgetting import Forgetting
from .judgements import judged
from .systems import StagingSystem
from .tools import Tool, as_operation, as_tool

if TYPE_CHECKING:
    from sqlalchemy import Connection
    from starlette.types import ASGIApp

    from agentbeat_controller.environments.base import BusinessDoor, Profile
    from agentbeat_controller.environments.oracles import Oracle
    from agentbeat_protocol import Check, Injection, JSONValue

__all__ = ["STATE_VERSION", "StagedEnvironment"]

STATE_VERSION: Final = "staged-state-v1"

#: How often a reset prepares a place before it gives up.
_ATTEMPTS: Final = 3
#: How many places, on record and given to nobody, one start has the system forget.
_AT_START: Final = 64
#: The wait, in seconds, that a system without a free place suggests.
_RETRY_AFTER: Final = 5


class StagedEnvironment:
    """An `Environment` on a staging system.

    Raises:
        ValueError: two profiles or two tools have one name, a tool's signature cannot be used, or a profile
            cannot be listed, pinned and reset.
    """

    def __init__(self, system: StagingSystem) -> None:
        self.system = system
        self.name: Final = system.name
        own = tuple(system.profiles)
        for each in own:
            check_profile(each)
        tools = tuple(as_tool(each) for each in system.tools())
        _check_unique("profile", [profile.profile_id for profile in own])
        _check_unique("tool", [tool.name for tool in tools])
        self._calls = OutsideCalls()
        self._forgetting = Forgetting(system)
        self._own: Mapping[str, Profile] = {profile.profile_id: profile for profile in own}
        #: The business operations, one for each tool.
        self.operations: tuple[Operation, ...] = tuple(as_operation(tool, _place_of) for tool in tools)
        self._profiles = MappingProxyType(
            {profile.profile_id: _catalogued(profile, system, tools) for profile in own}
        )

    @property
    def profiles(self) -> Mapping[str, Profile]:
        """The catalogue: the system's profiles, with its name, version and tools in their content."""
        return self._profiles

    def create_tables(self, connection: Connection) -> None:
        """Create the tables that are missing, and have the system forget places that were never leased."""
        for module in (calls, journal, spares):
            module.create_tables(connection)
        kept = False
        for place in spares.on_record(connection, most=_AT_START):
            if self._forgetting.forgotten(place):
                spares.remove(connection, place)
            else:
                kept = True
        if not kept:
            spares.add(connection)

    def reset(
        self, connection: Connection, environment_id: str, profile: Profile, *, injection: Injection | None
    ) -> None:
        """Prepare a place for the environment, until it is what it should be (CTL-3).

        Raises:
            ProtocolError: `controller_unavailable`; `environment_busy` where no place is free; what `prepare`
                raises for an injection that it cannot plant.
        """
        own = self._own_of(profile)
        self._forgetting.sweep(connection)
        place = self._take_place(connection, environment_id, profile.profile_id)
        calls.drop(connection, environment_id)
        injected = digest(injection.model_dump() if injection else None)
        for _ in range(_ATTEMPTS):
            found = self._prepared(place, own, injection)
            first = journal.start_digest(
                connection,
                profile_digest=profile.profile_digest,
                injection_digest=injected,
                state_digest=found,
            )
            if found == first:
                return
        error = ValueError("the starting state is another than at the profile's first reset")
        log_failure(f"{self.name}: {profile.profile_id}", error)
        raise unavailable("another starting state than at the first reset")

    def state(self, connection: Connection, environment_id: str) -> JSONValue:
        """The system's state and the Controller's log (CTL-4, CTL-8).

        Raises:
            LookupError: no such environment.
            ProtocolError: `controller_unavailable`: the system could not be read.
        """
        holding = journal.held(connection, environment_id)
        if holding is None:
            raise LookupError("no such environment")
        found: dict[str, Any] = {
            "schema_version": STATE_VERSION,
            "system": self.name,
            "profile_id": holding.profile_id,
            "state": self._read(holding.place),
            "calls": calls.read(connection, environment_id),
            "unfinished": journal.begun(connection, environment_id, but=self._calls.waiting(environment_id)),
        }
        return found

    def drop(self, connection: Connection, environment_id: str) -> None:
        """Let the place go, and have the system forget it now or, if it does not answer, later."""
        holding = journal.held(connection, environment_id)
        calls.drop(connection, environment_id)
        journal.let_go(connection, environment_id)
        if holding is not None and not self._forgetting.forgotten(holding.place):
            journal.add_leftover(connection, holding.place)

    def checks(
        self, profile: Profile, before: JSONValue, after: JSONValue, *, final_response: str
    ) -> tuple[Check, ...]:
        """The system's checks over two states (CTL-8), and what they cannot decide (CTL-11)."""
        return judged(
            self.system,
            self._own_of(profile),
            before,
            after,
            version=STATE_VERSION,
            final_response=final_response,
        )

    def oracles(self, profile: Profile, *, injection: Injection | None = None) -> Sequence[Oracle]:
        """The ground truths that the system knows."""
        return self.system.oracles(self._own_of(profile), injection)

    @cached_property
    def document(self) -> dict[str, Any]:
        """The OpenAPI document of the tools."""
        return openapi_document(title=self.name, version=str(self.system.version), operations=self.operations)

    def business_app(self, door: BusinessDoor) -> ASGIApp:
        """The business plane."""
        return business_plane(
            name=self.name,
            operations=self.operations,
            document=self.document,
            door=door,
            call=self._calls,
        )

    def close(self) -> None:
        """Give back what the system holds, where it has a `close` of its own."""
        close = getattr(self.system, "close", None)
        if callable(close):
            close()

    # Places

    def _take_place(self, connection: Connection, environment_id: str, profile_id: str) -> str:
        """The place of an environment: the one that it holds, a spare one, or a free one."""
        holding = journal.held(connection, environment_id)
        if holding is not None:
            place: str | None = holding.place
        elif (places := self.system.places()) is None:
            place = self._spare_place(connection)
        else:
            place = journal.free_place(connection, places)
        if place is None:
            raise environment_busy(_RETRY_AFTER)
        journal.hold(connection, environment_id, journal.Held(place=place, profile_id=profile_id))
        journal.remove_leftover(connection, place)
        return place

    def _spare_place(self, connection: Connection) -> str | None:
        """A place of the environment's own, on record since before this transaction."""

        def one_more() -> None:
            with attempt(f"{self.name}: one more place"), connection.engine.begin() as another:
                spares.add(another)

        place = spares.take(connection)
        if place is None:  # as many resets are under way as there are places on record
            aside("one more place", one_more)
            place = spares.take(connection)
        return place

    def _prepared(self, place: str, own: Profile, injection: Injection | None) -> str:
        with attempt(f"{self.name}: prepare"):
            self.system.prepare(place, own, injection)
        return digest(self._read(place))

    def _read(self, place: str) -> JSONValue:
        """The system's state, if JSON can hold it: one that it cannot is no snapshot."""
        with attempt(f"{self.name}: state"):
            state = self.system.state(place)
            canonical_json(state)
            return state

    def _own_of(self, profile: Profile) -> Profile:
        known = self._profiles.get(profile.profile_id)
        if known is None or known.profile_digest != profile.profile_digest:
            raise ValueError("the profile is not one of this system's")
        return self._own[profile.profile_id]


def _place_of(call: Call) -> str:
    holding = journal.held(call.connection, call.environment_id)
    if holding is None:
        raise LookupError("no such environment")
    return holding.place


def _catalogued(profile: Profile, system: StagingSystem, tools: Sequence[Tool]) -> Profile:
    """The profile as the catalogue has it: all that decides a run is in its digest."""
    content: dict[str, JSONValue] = {
        "system": system.name,
        "version": system.version,
        "tools": [_described(tool) for tool in tools],
        "profile": dict(profile.content),
    }
    # Places that there are a fixed number of are no environments of a run's own.
    modes = profile.binding_modes if system.places() is None else ("deployment_static",)
    return dataclasses.replace(profile, content=content, binding_modes=modes)


def _described(tool: Tool) -> JSONValue:
    """A tool in words of our own: a schema made by a library would change with that library."""
    return {
        "name": tool.name,
        "arguments": {
            name: "required" if member.is_required() else "optional"
            for name, member in tool.arguments.model_fields.items()
        },
    }


def _check_unique(what: str, names: Sequence[str]) -> None:
    if len(set(names)) != len(names):
        raise ValueError(f"two {what}s have the same name")
