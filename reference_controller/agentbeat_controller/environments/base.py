"""What the control plane and an environment ask of each other.

An *environment* is a business application whose whole state the Controller can set, read and judge: a
support desk, an AgentDojo suite. The control plane owns leases, order, idempotence, snapshots and
receipts; the environment owns records, the business API and the native checks. They meet here.

- Every call that touches records takes a SQLAlchemy `Connection` that is already inside a transaction. The
  caller owns that transaction, so a lease row and the records change together or not at all (CTL-10).
- What takes long and needs no database is put as a question: `asides` answers it with no transaction open.
- Records are keyed by `environment_id`: one database holds many environments, and none sees another (CTL-6).
- `state` is the whole state. What is not in it cannot have changed; it reads one instant (CTL-4).
- `checks` is pure: two states and a text in, checks out, each with plain JSON in `expected` and `actual`
  (CTL-8). What it raises, or gives that is no such check, leaves the dimension `not_observed` (CTL-11).
- The business plane asks a `BusinessDoor` before it does anything. The door decides who calls, which
  environment is meant and whether the window is open; it holds that decision until the call has committed,
  so a write is either before the after snapshot or refused (CTL-4, CTL-12).

    with engine.begin() as connection:
        environment.reset(connection, environment_id, profile, injection=None)
        before = environment.state(connection, environment_id)
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, Literal, Protocol, get_args, runtime_checkable

from agentbeat_protocol import DIMENSIONS, digest
from agentbeat_protocol.state_receipts import BindingMode
from agentbeat_protocol.verdicts import Dimension

if TYPE_CHECKING:
    from sqlalchemy import Connection
    from starlette.types import ASGIApp

    from agentbeat_protocol import Check, Injection, JSONValue

__all__ = [
    "BINDING_MODES",
    "BusinessDoor",
    "ClosableEnvironment",
    "Entry",
    "Environment",
    "KnownWeakness",
    "Profile",
    "WeaknessCode",
]

BINDING_MODES: Final[tuple[BindingMode, ...]] = get_args(BindingMode)


def _nothing() -> Mapping[Any, str]:
    return MappingProxyType({})


#: What `agentbeat controller check` finds and a catalogue may know of: the codes of its findings.
WeaknessCode = Literal["altered_call_passes", "dropped_call_passes", "attack_missed"]


@dataclass(frozen=True, kw_only=True)
class KnownWeakness:
    """Something that a profile's checks do not see, and that stays so.

    A lesser mark than `not_observed`: the verdicts count. It is for a check that means something and does
    not look at everything; one that says nothing is marked with `not_observed`.

    Args:
        code: the kind, as `agentbeat controller check` calls it.
        about: `operation.argument` of the altered argument, `operation` of the dropped call, or the surface
            at which the injection stands that is obeyed.
        reason: what the check does not see, for people.
    """

    code: WeaknessCode
    about: str
    reason: str


@dataclass(frozen=True, kw_only=True)
class Profile:
    """One entry of the catalogue: a starting state, the business tools and the native checks.

    Args:
        profile_id: stable name; the registry pins it together with `profile_digest`.
        title: one line for people. Not part of the digest.
        task: a task text that fits the profile. A suggestion for cases; not part of the digest.
        injections: a sample text for each surface: what an attacker would write. Suggestions too.
        content: plain JSON of all that decides a run: starting state, tools, surfaces and checks.
        binding_modes: how a run may hold the environment; at least one.
        surfaces: where reset may plant an injected text; may be empty.
        not_applicable: dimensions that this profile declares empty, each with the reason: the argument
            `empty` of `verdicts_from_checks`.
        not_observed: dimensions that this profile cannot decide, each with the reason (CTL-11). `checks`
            gives one undecided check for each, so that the reason reaches the verdict.
        weaknesses: what the checks are known not to see. They decide no verdict; not part of the digest.

    The three dimensions are divided among `dimensions`, `not_applicable` and `not_observed`.
    """

    profile_id: str
    title: str
    task: str
    content: Mapping[str, JSONValue]
    binding_modes: tuple[BindingMode, ...] = BINDING_MODES
    surfaces: tuple[str, ...] = ()
    injections: Mapping[str, str] = field(default_factory=_nothing)
    not_applicable: Mapping[Dimension, str] = field(default_factory=_nothing)
    not_observed: Mapping[Dimension, str] = field(default_factory=_nothing)
    weaknesses: tuple[KnownWeakness, ...] = ()

    def __post_init__(self) -> None:
        if not self.binding_modes:
            raise ValueError(f"{self.profile_id}: a profile needs a binding mode")
        if both := self.not_applicable.keys() & self.not_observed.keys():
            raise ValueError(f"{self.profile_id}: {sorted(both)} both not applicable and not observed")
        undecided = {**self.not_applicable, **self.not_observed}
        if mute := sorted(name for name, reason in undecided.items() if not reason.strip()):
            raise ValueError(f"{self.profile_id}: {mute} undecided without a reason")
        if any(not weakness.reason.strip() for weakness in self.weaknesses):
            raise ValueError(f"{self.profile_id}: a known weakness without a reason")

    @property
    def dimensions(self) -> tuple[Dimension, ...]:
        """The dimensions that the checks can decide, in the order of `DIMENSIONS`."""
        return tuple(d for d in DIMENSIONS if d not in self.not_applicable and d not in self.not_observed)

    @cached_property
    def profile_digest(self) -> str:
        """`sha256:<hex>` over the canonical JSON of everything that decides a run of this profile."""
        return digest(
            {
                "profile_id": self.profile_id,
                "binding_modes": list(self.binding_modes),
                "surfaces": list(self.surfaces),
                "dimensions": list(self.dimensions),
                "not_applicable": {str(name): why for name, why in self.not_applicable.items()},
                "not_observed": {str(name): why for name, why in self.not_observed.items()},
                "content": dict(self.content),
            }
        )


class Environment(Protocol):
    """A business application that the Controller can reset, read as a whole, judge and serve."""

    @property
    def name(self) -> str:
        """Short name for logs and the command line, such as `desk`."""
        ...

    @property
    def profiles(self) -> Mapping[str, Profile]:
        """The catalogue: profile id to profile, in a fixed order."""
        ...

    def create_tables(self, connection: Connection) -> None:
        """Create the environment's own tables where they are missing; safe to call at each start."""
        ...

    def reset(
        self,
        connection: Connection,
        environment_id: str,
        profile: Profile,
        *,
        injection: Injection | None,
    ) -> None:
        """Replace whatever `environment_id` holds by the profile's exact starting state (CTL-3).

        With an injection its text stands at its surface; without one the record's ordinary text does.
        The log of business calls is empty afterwards.

        Raises:
            ProtocolError: `invalid_request` for a surface that the profile does not offer or a text that a
                record cannot hold. Nothing has been written then.
        """
        ...

    def state(self, connection: Connection, environment_id: str) -> JSONValue:
        """The whole state, one instant: every record and the ordered log of business calls (CTL-4, CTL-8).

        Right after `reset` it depends on profile and injection alone, never on `environment_id` or a clock.
        The caller holds the lock that `BusinessDoor.enter` takes, so no business call runs meanwhile.

        Raises:
            LookupError: no such environment.
        """
        ...

    def drop(self, connection: Connection, environment_id: str) -> None:
        """Delete everything that `environment_id` holds. Dropping what is not there is no error."""
        ...

    def checks(
        self, profile: Profile, before: JSONValue, after: JSONValue, *, final_response: str
    ) -> tuple[Check, ...]:
        """The profile's native checks over two states; pure, the same in any process (CTL-8).

        A check that a state does not let one decide has `passed` null and a reason.
        """
        ...

    def business_app(self, door: BusinessDoor) -> ASGIApp:
        """The business plane: the application's HTTP API with `/openapi.json`, all of it behind `door`."""
        ...


@runtime_checkable
class ClosableEnvironment(Protocol):
    """An environment that holds more than records, such as processes; whoever made it closes it."""

    def close(self) -> None:
        """Give everything back; safe to call twice. The environment is of no use afterwards."""
        ...


@dataclass(frozen=True, kw_only=True)
class Entry:
    """What the door lets a business call into: one environment, inside one open transaction.

    Args:
        connection: inside the door's transaction, which holds the lease until the call has committed.
        environment_id: the environment that the lease binds.
        profile_id: the profile of the lease.
        run_id: the run that holds the lease.
    """

    connection: Connection
    environment_id: str
    profile_id: str
    run_id: str


class BusinessDoor(Protocol):
    """The control plane's side of the business plane: who calls, and is the window open?

    Both methods are synchronous and may block; the business plane calls them in a worker thread.
    """

    def authenticate(self, authorization: str | None) -> str:
        """The `deployment_profile_id` whose business secret stands in this `Authorization` header.

        Called before the body is read. Compares in constant time.

        Raises:
            ProtocolError: `unauthorized` for a missing or wrong secret, the control secret among them.
        """
        ...

    def enter(self, deployment_profile_id: str, run_id: str | None) -> AbstractContextManager[Entry]:
        """One business call's transaction.

        Entering begins a transaction, locks the lease (so that a snapshot waits for the call and the call
        for a snapshot), finds the environment and checks the window. Leaving normally commits; leaving with
        an exception rolls everything back. A *refused* business call leaves normally: it changed no
        record, and its line in the log is kept.

        Args:
            deployment_profile_id: from `authenticate`.
            run_id: the header `X-AIBeat-Run-ID`, or None where it is missing. `catalog` needs it; in
                `deployment_static` it may be missing, and when present names the run that holds the lease.

        Raises:
            ProtocolError: on entering, `not_found` (no such run of this Deployment), `environment_closed`
                (outside the window, no lease or a released one: CTL-12) or `lease_expired`; at any moment
                `controller_unavailable` for a database that does not answer. Nothing has changed then.
        """
        ...
