"""AgentDojo as the control plane drives it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from agentbeat_controller.asides import aside
from agentbeat_controller.environments.openapi import openapi_document
from agentbeat_controller.environments.operations import Operation
from agentbeat_controller.environments.oracles import Oracle, OracleCall, OracleGoal
from agentbeat_controller.environments.plane import business_plane
from agentbeat_controller.refusals import RetryLaterError, invalid_request
from agentbeat_protocol import Check

from . import states
from .arguments import free_arguments, only_reads
from .calling import WorkerCalls
from .catalogue import Catalogue, TaskPair, read_catalogue
from .judging import checks_of, judge_request
from .operations import read_operations
from .package import check_package
from .pool import WorkerPool
from .processes import WorkerError
from .surfaces import SURFACES

if TYPE_CHECKING:
    from sqlalchemy import Connection
    from starlette.types import ASGIApp

    from agentbeat_controller.environments.base import BusinessDoor, Profile
    from agentbeat_protocol import Injection, JSONValue

__all__ = ["AgentDojoEnvironment"]


class AgentDojoEnvironment:
    """The benchmark's four suites: an `Environment` and an `OracleEnvironment`, to be closed.

    The first look at the catalogue, a reset or a call starts a worker.

    Args:
        pool: the worker processes; the environment closes them.

    Raises:
        ModuleNotFoundError, ValueError: the package is not installed, or in another version.
    """

    name: Final = "agentdojo"

    def __init__(self, pool: WorkerPool | None = None) -> None:
        check_package()
        self.pool = pool or WorkerPool()
        self._calls = WorkerCalls()

    @property
    def profiles(self) -> Mapping[str, Profile]:
        """The catalogue: 97 tasks and 949 pairs.

        Raises:
            ProtocolError: `controller_unavailable`: the benchmark cannot be loaded.
        """
        return self._catalogue.profiles

    @cached_property
    def _described(self) -> dict[str, Any]:
        return self._ask({"op": "describe"})

    @cached_property
    def _catalogue(self) -> Catalogue:
        return read_catalogue(self._described)

    @cached_property
    def _operations(self) -> dict[str, tuple[Operation, ...]]:
        return read_operations(self._described, self._ask)

    @property
    def operations(self) -> tuple[Operation, ...]:
        """The tools of all suites."""
        return tuple(operation for suite in self._operations.values() for operation in suite)

    def operations_of(self, profile: Profile) -> tuple[Operation, ...]:
        """The tools of the profile's suite: all others are 404 in a run of this profile."""
        return self._operations[self._pair(profile).suite]

    def create_tables(self, connection: Connection) -> None:
        """Create the environment's tables where they are missing."""
        states.create_tables(connection)

    def reset(
        self, connection: Connection, environment_id: str, profile: Profile, *, injection: Injection | None
    ) -> None:
        """Write the state in which the profile's task begins (CTL-3).

        Raises:
            ProtocolError: `invalid_request`, for an injection that the profile cannot plant;
                `controller_unavailable`.
        """
        pair = self._pair(profile)
        request = {
            "op": "start",
            "suite": pair.suite,
            "user_task": pair.user_task,
            "injection": _planted(pair, injection),
        }
        answer = self._ask(request)
        states.write_state(
            connection,
            environment_id,
            profile_id=profile.profile_id,
            suite=pair.suite,
            state=answer["state"],
        )

    def state(self, connection: Connection, environment_id: str) -> JSONValue:
        """The whole state (CTL-4).

        Raises:
            LookupError: no such environment.
        """
        return states.read_state(connection, environment_id)

    def drop(self, connection: Connection, environment_id: str) -> None:
        """Delete everything that the environment holds."""
        states.drop(connection, environment_id)

    def checks(
        self, profile: Profile, before: JSONValue, after: JSONValue, *, final_response: str
    ) -> tuple[Check, ...]:
        """The benchmark's own verdicts over two states (CTL-8).

        Raises:
            ProtocolError: `controller_unavailable`.
        """
        pair = self._pair(profile)
        request = judge_request(pair, profile.profile_id, before, after, final_response=final_response)
        return checks_of(pair, None if request is None else self._ask(request))

    def oracles(self, profile: Profile, *, injection: Injection | None = None) -> Sequence[Oracle]:
        """The task's ground truth and, for a pair, the attack's; see `OracleEnvironment`.

        Raises:
            ProtocolError: as `reset`.
        """
        pair = self._pair(profile)
        request = {
            "op": "truths",
            "suite": pair.suite,
            "user_task": pair.user_task,
            "injection_task": pair.injection_task,
            "injection": _planted(pair, injection),
        }
        answer = self._ask(request)
        goals: tuple[OracleGoal, ...] = ("task", "attack")
        return tuple(_oracle(goal, pair, answer[goal]) for goal in goals if answer[goal] is not None)

    @cached_property
    def document(self) -> dict[str, Any]:
        """The OpenAPI document of all suites' tools."""
        return openapi_document(title="AgentDojo", version="1", operations=self.operations)

    def business_app(self, door: BusinessDoor) -> ASGIApp:
        """The business plane."""
        return business_plane(
            name=self.name,
            operations=self.operations,
            document=self.document,
            door=door,
            call=self._calls,
            operations_of=lambda profile_id: self.operations_of(self.profiles[profile_id]),
        )

    def close(self) -> None:
        """End the worker processes."""
        self.pool.close()

    def _pair(self, profile: Profile) -> TaskPair:
        own = self._catalogue.profiles.get(profile.profile_id)
        if own is None or own.profile_digest != profile.profile_digest:
            raise ValueError("the profile is not one of this benchmark's")
        return self._catalogue.pairs[profile.profile_id]

    def _ask(self, request: dict[str, Any]) -> dict[str, Any]:
        return aside(request, lambda: self._answer(request))

    def _answer(self, request: dict[str, Any]) -> dict[str, Any]:
        try:
            return self.pool.ask(request)
        except WorkerError as error:
            raise RetryLaterError(
                "CTL-10",
                code="controller_unavailable",
                got="no answer from the benchmark's process",
                expected="a process that answers; nothing has changed",
                retry_after=1,
            ) from error


def _planted(pair: TaskPair, injection: Injection | None) -> dict[str, str] | None:
    """An injection that the profile can plant, as a worker takes it."""
    if injection is None:
        return None
    if pair.injection_task is None or injection.surface not in SURFACES:
        expected = " or ".join(SURFACES) if pair.injection_task else "no injection"
        raise invalid_request("/injection/surface", got="another surface", expected=expected)
    if "\0" in injection.text:
        raise invalid_request("/injection/text", got="a NUL character", expected="a text without NUL")
    return {"surface": injection.surface, "text": injection.text}


def _oracle(goal: OracleGoal, pair: TaskPair, truth: tuple[list[tuple[str, dict[str, Any]]], str]) -> Oracle:
    calls, final_response = truth
    return Oracle(
        goal=goal,
        calls=tuple(
            OracleCall(
                operation=f"{pair.suite}_{tool}",
                arguments=arguments,
                free=free_arguments(pair.suite, pair.user_task, tool) if goal == "task" else (),
                reads=only_reads(pair.suite, tool),
            )
            for tool, arguments in calls
        ),
        final_response=final_response,
    )
