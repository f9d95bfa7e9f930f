"""The catalogue: one function for each requirement, registered with all that a reader of a report needs.

    @requirement(
        "INV-2.a",
        level=MUST,
        tier="target-L1",
        section="Invocation request",
        text="A request without the secret is answered 401.",
        needs={AUTH},
        permits={"401"},
        kills={"serves-without-secret"},
        invocations=1,
    )
    async def no_secret(target: TargetProbe) -> Findings:
        await target.control()
        answer = await target.post(secret=None)
        return permitted(answer, {"401"}, "no secret")

A check returns its findings; none means that the requirement holds. It raises `CouldNotRun` when it could not
show anything. Registering fails when a part is missing, so that a rule cannot be half there.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from typing import Any, Final, Literal, TypeVar

from agentbeat_protocol import digest

__all__ = [
    "CATALOGUE",
    "RETIRED",
    "Capability",
    "CheckFunction",
    "CouldNotRun",
    "Finding",
    "Findings",
    "Level",
    "Requirement",
    "Tier",
    "catalogue_digest",
    "requirement",
]

#: Raised whenever a requirement is added, dropped or judged otherwise; `catalogues` keeps the older ones.
SUITE_VERSION: Final = "1.0"
SPECS: Final = ("target-invocation-v1", "target-evidence-v1", "state-controller-v1", "state-receipt-v1")

Tier = Literal["target-L1", "target-L2", "controller"]


class Level(StrEnum):
    """How binding a requirement is (RFC 2119)."""

    MUST = "MUST"
    SHOULD = "SHOULD"


class Capability(StrEnum):
    """What a requirement needs beyond HTTP; one that was not declared makes it not applicable."""

    #: The endpoint asks for a secret, and the suite was given it.
    AUTH = "auth"
    #: A real connection: the requirement is about bytes that ASGI does not carry.
    SOCKET = "socket"
    #: A task that makes the Agent use tools (`--task`).
    TASK = "task"
    #: A command that restarts the server (`--restart-command`).
    RESTART = "restart"
    #: A command that writes to the environment over its business plane (`--write-command`).
    WRITE = "write"
    #: The registered public key of a State Controller (`--verify-key`).
    VERIFY_KEY = "verify-key"
    #: A binding mode that the profile offers.
    STATIC = "deployment_static"
    CATALOG = "catalog"
    #: A surface of the profile on which reset can plant an injection.
    INJECTION = "injection"
    #: Leases that end within seconds, as the Controller's own times show.
    EXPIRY = "expiry"
    #: A profile of the catalogue that cannot decide one of the dimensions.
    UNDECIDED = "undecided"


@dataclass(frozen=True, slots=True)
class Finding:
    """One way in which the requirement is not met.

    Attributes:
        message: what was got and what was expected, without the endpoint's secrets or unbounded text.
        exchange: the place in the session's transcript of the exchange that shows it; None for none in
            particular.
        before: the places of the exchanges that lead there, in order, where it takes a sequence to see it.
    """

    message: str
    exchange: int | None = None
    before: tuple[int, ...] = ()


Findings = Iterable[Finding]


class CouldNotRun(Exception):  # noqa: N818 - an outcome, not an error
    """A precondition of the check failed, so it has shown nothing: the verdict is then incomplete."""


CheckFunction = Callable[[Any], Awaitable[Findings]]
FunctionT = TypeVar("FunctionT", bound=CheckFunction)


@dataclass(frozen=True, slots=True, kw_only=True)
class Requirement:
    """A requirement and its check.

    Attributes:
        id: the rule of the specs, `INV-3`, or a part of it, `INV-3.b`.
        tier: what it is asked of; `target-L2` is asked beside all of `target-L1`.
        section: the heading of the spec under which it stands.
        text: the requirement in one sentence.
        needs: the capabilities without which it is not applicable.
        permits: every permitted outcome of the exchange in question, as `Exchange.outcome` spells it.
        kills: the mutants that this check is known to catch.
        invocations: how often the check makes a conformant Target run its Agent, beside the shared control.
        check: the function that tries it.
        since: the first version of the catalogue that has it in this form.
        until: the first version that has it no longer; None for the current ones.
    """

    id: str
    level: Level
    tier: Tier
    section: str
    text: str
    needs: frozenset[Capability]
    permits: frozenset[str]
    kills: frozenset[str]
    invocations: int
    check: CheckFunction
    since: str = "1.0"
    until: str | None = None

    @property
    def rule(self) -> str:
        """The rule of the specs that this is (a part of)."""
        return self.id.partition(".")[0]


#: Every requirement by its id, in the order of registration; `catalogues` has the order of running.
CATALOGUE: Final[dict[str, Requirement]] = {}
#: What older versions of the catalogue have: dropped requirements, and earlier forms of current ones.
RETIRED: Final[list[Requirement]] = []

_ID = re.compile(r"(INV|EVD|HLT|CTL|RCP)-[1-9][0-9]*(\.[a-z])?")


def requirement(
    id: str,
    *,
    level: Level,
    tier: Tier,
    section: str,
    text: str,
    permits: Iterable[str],
    kills: Iterable[str],
    needs: Iterable[Capability] = (),
    invocations: int = 0,
    since: str = "1.0",
    until: str | None = None,
) -> Callable[[FunctionT], FunctionT]:
    """Register the decorated function as the check of a requirement; see `Requirement`.

    Raises:
        ValueError: a part is missing or wrong, or the id is taken. Importing the suite fails then.
    """

    def register(function: FunctionT) -> FunctionT:
        made = Requirement(
            id=id,
            level=level,
            tier=tier,
            section=section,
            text=text,
            needs=frozenset(needs),
            permits=frozenset(permits),
            kills=frozenset(kills),
            invocations=invocations,
            check=function,
            since=since,
            until=until,
        )
        _refuse_half(made)
        if made.until is None:
            CATALOGUE[id] = made
        else:
            RETIRED.append(made)
        return function

    return register


def _refuse_half(made: Requirement) -> None:
    faults = {
        "id, such as INV-3.b": not _ID.fullmatch(made.id),
        "id that is not taken": made.until is None and made.id in CATALOGUE,
        "section": not made.section.strip(),
        "text in one sentence that ends in a full stop": not made.text.strip().endswith("."),
        "permitted outcomes": not made.permits,
        "mutant that it kills": not made.kills,
        "number of invocations": made.invocations < 0,
    }
    missing = [part for part, fault in faults.items() if fault]
    if missing:
        raise ValueError(f"requirement {made.id}: expected an {'; an '.join(missing)}")


def catalogue_digest(catalogue: Mapping[str, Requirement] = CATALOGUE) -> str:
    """The digest of what a report's reader relies on: ids, levels, texts, needs, permitted outcomes."""
    return _digest(tuple(catalogue.values()))


@lru_cache(maxsize=8)
def _digest(requirements: tuple[Requirement, ...]) -> str:
    return digest(
        [
            {
                "id": made.id,
                "level": made.level,
                "tier": made.tier,
                "text": made.text,
                "needs": sorted(made.needs),
                "permits": sorted(made.permits),
            }
            for made in requirements
        ]
    )
