"""The broken servers that the suite is measured with, and the odd ones that it must not accuse.

    @target_mutant(
        "serves-without-secret",
        breaks={"INV-2.a"},
        text="It takes requests that carry no secret.",
    )
    class ServesWithoutSecret(BaseTarget):
        def authorise(self, asked: Asked) -> None: ...

A mutant breaks one rule. Its own check must catch it, and no other MUST check may fail on it but the declared
consequences. A degenerate server breaks everything and must never be found conformant. An oddity is legal and
must stay green. Registering fails when a part is missing; `cross_check` compares it with the catalogue.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Iterable, Mapping, MutableMapping
from dataclasses import dataclass
from typing import Any, Final, Literal, Protocol, TypeAlias, TypeVar

from agentbeat_conformance.requirements import Requirement, Tier

__all__ = [
    "MUTANTS",
    "SECRET",
    "ASGIApp",
    "Kind",
    "Mutant",
    "MutantServer",
    "Stream",
    "controller_mutant",
    "cross_check",
    "degenerate",
    "oddity",
    "target_mutant",
]

Message: TypeAlias = MutableMapping[str, Any]
ASGIApp: TypeAlias = Callable[
    [Message, Callable[[], Awaitable[Message]], Callable[[Message], Awaitable[None]]], Awaitable[None]
]
#: Serves one connection, as `asyncio.start_server` calls it, and closes it.
Stream: TypeAlias = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]

Kind = Literal["target", "controller", "degenerate", "oddity"]

#: The bearer secret of every server here that asks for one; nothing else that is sent holds this text.
SECRET: Final = "conformance-secret-5f0c1b7e"  # noqa: S105 - it guards nothing


class MutantServer(Protocol):
    """A server as a mutant makes it: an ASGI application, a connection handler, or both."""

    @property
    def app(self) -> ASGIApp | None:
        """The application; None for a server that only makes sense on a connection."""
        ...

    @property
    def stream(self) -> Stream | None:
        """The same server for a real connection; None when it runs in process only."""
        ...

    async def restart(self) -> None:
        """End the process and start it anew: only what a durable server keeps is kept."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutant:
    """A server to try the suite on.

    Attributes:
        name: lower-case words with hyphens; what `Requirement.kills` names.
        kind: `target` and `controller` break one rule, `degenerate` all, `oddity` none.
        tier: what it is judged as. A Target of `target-L1` serves no evidence that would matter.
        breaks: the ids of the requirements whose checks must catch it; empty for the other kinds.
        consequences: ids of further MUST requirements that may fail on it, for a reason that `text` gives.
        text: what it does, in one sentence.
        secret: the bearer secret that the suite is given for it; None for a server without one.
        on_socket: whether it is judged over a real connection, `stream`; else in process, `app`.
        make: makes a new server, with nothing in its store.
    """

    name: str
    kind: Kind
    tier: Tier
    breaks: frozenset[str]
    consequences: frozenset[str]
    text: str
    secret: str | None
    on_socket: bool
    make: Callable[[], MutantServer]


#: Every mutant by its name, in the order of registration.
MUTANTS: Final[dict[str, Mutant]] = {}

MakeT = TypeVar("MakeT", bound=Callable[[], MutantServer])

_NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_REQUIREMENT = re.compile(r"(INV|EVD|HLT|CTL|RCP)-[1-9][0-9]*(\.[a-z])?")


def target_mutant(
    name: str,
    *,
    breaks: Iterable[str],
    text: str,
    tier: Tier = "target-L1",
    consequences: Iterable[str] = (),
    secret: str | None = SECRET,
    on_socket: bool = False,
) -> Callable[[MakeT], MakeT]:
    """Register the decorated class or function as a Target that breaks one rule; see `Mutant`.

    Raises:
        ValueError: a part is missing or wrong, or the name is taken. Importing the suite fails then.
    """
    return _registering(
        name, "target", tier, breaks, text, consequences=consequences, secret=secret, on_socket=on_socket
    )


def controller_mutant(
    name: str,
    *,
    breaks: Iterable[str],
    text: str,
    consequences: Iterable[str] = (),
    secret: str | None = SECRET,
    on_socket: bool = False,
) -> Callable[[MakeT], MakeT]:
    """Register the decorated class or function as a State Controller that breaks one rule.

    Raises:
        ValueError: as `target_mutant`.
    """
    return _registering(
        name,
        "controller",
        "controller",
        breaks,
        text,
        consequences=consequences,
        secret=secret,
        on_socket=on_socket,
    )


def degenerate(
    name: str,
    *,
    text: str,
    tier: Tier = "target-L1",
    secret: str | None = SECRET,
    on_socket: bool = False,
) -> Callable[[MakeT], MakeT]:
    """Register a server that must never be found conformant, whichever checks say so.

    Raises:
        ValueError: as `target_mutant`.
    """
    return _registering(name, "degenerate", tier, (), text, secret=secret, on_socket=on_socket)


def oddity(
    name: str,
    *,
    text: str,
    tier: Tier = "target-L2",
    secret: str | None = SECRET,
    on_socket: bool = False,
) -> Callable[[MakeT], MakeT]:
    """Register a legal server, however odd: no MUST check may fail on it.

    Raises:
        ValueError: as `target_mutant`.
    """
    return _registering(name, "oddity", tier, (), text, secret=secret, on_socket=on_socket)


def cross_check(catalogue: Mapping[str, Requirement], mutants: Mapping[str, Mutant] = MUTANTS) -> list[str]:
    """What the two registers say of each other that is not so; empty when they agree.

    Every mutant that a requirement `kills` breaks it, and the other way round; every id exists.
    """
    claimed = {(made.id, name) for made in catalogue.values() for name in made.kills}
    broken = {(id, mutant.name) for mutant in mutants.values() for id in mutant.breaks}
    faults = [f"{id} kills {name}, which does not break it" for id, name in claimed - broken]
    faults += [f"{name} breaks {id}, which does not kill it" for id, name in broken - claimed]
    faults += [
        f"{mutant.name} has {id} as a consequence, and there is no such requirement"
        for mutant in mutants.values()
        for id in mutant.consequences - catalogue.keys()
    ]
    return sorted(faults)


def _registering(
    name: str,
    kind: Kind,
    tier: Tier,
    breaks: Iterable[str],
    text: str,
    *,
    consequences: Iterable[str] = (),
    secret: str | None,
    on_socket: bool,
) -> Callable[[MakeT], MakeT]:
    def register(make: MakeT) -> MakeT:
        mutant = Mutant(
            name=name,
            kind=kind,
            tier=tier,
            breaks=frozenset(breaks),
            consequences=frozenset(consequences),
            text=text,
            secret=secret,
            on_socket=on_socket,
            make=make,
        )
        _refuse_half(mutant)
        MUTANTS[name] = mutant
        return make

    return register


def _refuse_half(mutant: Mutant) -> None:
    ids = mutant.breaks | mutant.consequences
    faults = {
        "name of lower-case words with hyphens": not _NAME.fullmatch(mutant.name),
        "name that is not taken": mutant.name in MUTANTS,
        "text in one sentence that ends in a full stop": not mutant.text.strip().endswith("."),
        "id of the requirement that it breaks": mutant.kind in ("target", "controller") and not mutant.breaks,
        "requirement for each id": not all(_REQUIREMENT.fullmatch(id) for id in ids),
        "consequence that is not what it breaks": bool(mutant.breaks & mutant.consequences),
    }
    missing = [part for part, fault in faults.items() if fault]
    if missing:
        raise ValueError(f"mutant {mutant.name}: expected an {'; an '.join(missing)}")
