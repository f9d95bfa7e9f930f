"""The support desk as the control plane drives it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from agentbeat_controller.environments.openapi import openapi_document
from agentbeat_controller.environments.plane import business_plane
from agentbeat_protocol import Check

from .checks import evaluate
from .customer_profiles import CUSTOMER_PROFILES
from .operations import OPERATIONS
from .oracles import DESK_ATTACKS, DESK_TASKS
from .order_profiles import ORDER_PROFILES
from .pairs import StatePair
from .profiles import DeskProfile, planted
from .states import create_tables, drop, read_state, write_state
from .ticket_profiles import TICKET_PROFILES
from .world import OPENED_AT

if TYPE_CHECKING:
    from sqlalchemy import Connection
    from starlette.types import ASGIApp

    from agentbeat_controller.environments.base import BusinessDoor, Profile
    from agentbeat_controller.environments.oracles import Oracle
    from agentbeat_protocol import Injection, JSONValue

__all__ = ["DESK_PROFILES", "DeskEnvironment"]

#: Every profile of the desk, in the order of the catalogue.
DESK_PROFILES: Final[tuple[DeskProfile, ...]] = (*ORDER_PROFILES, *TICKET_PROFILES, *CUSTOMER_PROFILES)

#: The weight of the check that stands for a dimension which a profile cannot decide; it is never counted.
_UNDECIDED_WEIGHT: Final = 1


class DeskEnvironment:
    """The support desk: an `Environment`."""

    name: Final = "desk"

    def __init__(self, profiles: tuple[DeskProfile, ...] = DESK_PROFILES) -> None:
        self._own: Mapping[str, DeskProfile] = {profile.profile_id: profile for profile in profiles}
        if len(self._own) != len(profiles):
            raise ValueError("two profiles have the same id")

    @cached_property
    def profiles(self) -> Mapping[str, Profile]:
        """The catalogue."""
        return MappingProxyType({name: profile.entry() for name, profile in self._own.items()})

    def create_tables(self, connection: Connection) -> None:
        """Create the desk's tables where they are missing."""
        create_tables(connection)

    def reset(
        self, connection: Connection, environment_id: str, profile: Profile, *, injection: Injection | None
    ) -> None:
        """Write the profile's exact starting state (CTL-3).

        Raises:
            SchemaError: `invalid_request`, for an injection that the profile cannot plant.
        """
        records = planted(self._of(profile), injection)
        write_state(
            connection,
            environment_id,
            profile_id=profile.profile_id,
            opened_at=OPENED_AT,
            records=records,
        )

    def state(self, connection: Connection, environment_id: str) -> JSONValue:
        """The whole state (CTL-4).

        Raises:
            LookupError: no such environment.
        """
        return read_state(connection, environment_id)

    def drop(self, connection: Connection, environment_id: str) -> None:
        """Delete everything that the environment holds."""
        drop(connection, environment_id)

    def checks(
        self, profile: Profile, before: JSONValue, after: JSONValue, *, final_response: str
    ) -> tuple[Check, ...]:
        """The profile's checks over two states (CTL-8); one for each dimension it cannot decide (CTL-11)."""
        own = self._of(profile)
        pair = StatePair.of(profile.profile_id, before, after, final_response=final_response)
        return (
            *(evaluate(check, pair) for check in own.checks),
            *(
                Check(
                    check_id=f"{dimension}_not_decided",
                    dimension=dimension,
                    weight=_UNDECIDED_WEIGHT,
                    passed=None,
                    reason=reason,
                    expected=None,
                    actual=None,
                    path=None,
                )
                for dimension, reason in own.not_observed.items()
            ),
        )

    def oracles(self, profile: Profile, *, injection: Injection | None = None) -> Sequence[Oracle]:
        """The profile's ground truths: its task, and what its sample injection asks for.

        What another text asks for is not known.
        """
        own = self._of(profile)
        found = [DESK_TASKS[own.profile_id]] if own.profile_id in DESK_TASKS else []
        known = injection is not None and own.injections.get(injection.surface) == injection.text
        if known and own.profile_id in DESK_ATTACKS:
            found.append(DESK_ATTACKS[own.profile_id])
        return tuple(found)

    @cached_property
    def document(self) -> dict[str, Any]:
        """The OpenAPI document of the business API."""
        return openapi_document(title="Support desk", version="1", operations=OPERATIONS)

    def business_app(self, door: BusinessDoor) -> ASGIApp:
        """The business plane."""
        return business_plane(name=self.name, operations=OPERATIONS, document=self.document, door=door)

    def _of(self, profile: Profile) -> DeskProfile:
        own = self._own.get(profile.profile_id)
        if own is None or self.profiles[profile.profile_id].profile_digest != profile.profile_digest:
            raise ValueError("the profile is not one of this desk's")
        return own
