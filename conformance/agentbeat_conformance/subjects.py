"""Whom the checks talk to: a probe is made of a subject and a session, live and in a replay alike."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, Protocol

from agentbeat_conformance.exchanges import Exchange
from agentbeat_conformance.requirements import Capability
from agentbeat_conformance.sessions import Session
from agentbeat_conformance.transcript_records import Subject

__all__ = ["Probe", "Subject", "probe_of"]


class Probe(Protocol):
    """What the runner asks of a probe; the checks ask for more."""

    session: Session

    async def health(self) -> Exchange:
        """A read of the health route, without a secret."""
        ...

    async def capabilities(self) -> frozenset[Capability]:
        """What the probe was given and what the endpoint shows of itself."""
        ...


def probe_of(subject: Subject, session: Session) -> Probe:
    """The probe for a subject.

    Raises:
        ValueError, TypeError: its options are none of the probe's.
    """
    return _MAKERS[subject.kind](session, subject.options)


def _target(session: Session, options: Mapping[str, Any]) -> Probe:
    from agentbeat_conformance.target_probes import TargetProbe

    return TargetProbe(session, **{**options, "tasks": tuple(options.get("tasks", ()))})


def _controller(session: Session, options: Mapping[str, Any]) -> Probe:
    from agentbeat_conformance.controller_probes import ControllerProbe

    return ControllerProbe(session, **options)


_MAKERS: Final[Mapping[str, Callable[[Session, Mapping[str, Any]], Probe]]] = {
    "target": _target,
    "controller": _controller,
}
