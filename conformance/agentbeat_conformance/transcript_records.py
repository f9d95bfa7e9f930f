"""What a transcript is made of: who was asked what, by which suite, and everything that was said."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

from agentbeat_conformance.exchanges import Answer, Failure, Request
from agentbeat_conformance.requirements import Capability, Tier

__all__ = ["VERSION", "CommandEntry", "Entry", "ExchangeEntry", "Header", "Subject", "Transcript"]

#: The version of the file format.
VERSION: Final = "agentbeat-transcript-v1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """Whom the checks talk to, and how: all that a probe is made of, beside its session.

    Attributes:
        kind: which probe.
        url: the endpoint, without user, query and fragment.
        options: the probe's other arguments by name, as JSON values, markers in the place of secrets.
    """

    kind: Literal["target", "controller"]
    url: str
    options: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Header:
    """What has to be known to judge a transcript again.

    Attributes:
        catalogue: the version of the catalogue.
        catalogue_digest: its digest, `sha256:<hex>`.
        planned: the ids of the requirements in the order in which they were checked.
        left_out: the ids of those of the tier that `--only` or `--skip` left out.
        seed: what all ids of the session follow from.
        budget: the bound on invocations; None is unbounded.
        started_at: when, RFC 3339.
    """

    suite_version: str
    catalogue: str
    catalogue_digest: str
    specs: tuple[str, ...]
    tier: Tier
    subject: Subject
    seed: str
    planned: tuple[str, ...]
    left_out: tuple[str, ...]
    capabilities: frozenset[Capability]
    budget: int | None
    safe: bool
    started_at: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ExchangeEntry:
    """A request and what came of it; neither answer nor failure says that nobody waited for it."""

    scope: str
    request: Request
    answer: Answer | None = None
    failure: Failure | None = None

    @property
    def stopped(self) -> bool:
        """Whether nobody waited for the end."""
        return self.answer is None and self.failure is None


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandEntry:
    """A command that was run and whether it succeeded; None says that nobody waited for it."""

    scope: str
    command: Literal["restart", "write"]
    run_id: str | None = None
    canary: str | None = None
    done: bool | None = None

    @property
    def stopped(self) -> bool:
        """Whether nobody waited for the end."""
        return self.done is None


Entry: TypeAlias = ExchangeEntry | CommandEntry


@dataclass(frozen=True, slots=True, kw_only=True)
class Transcript:
    """A whole session.

    Attributes:
        entries: what was said and done, in the order in which it began.
        timed_out: the requirements whose checks took too long.
        interrupted: the requirement whose check was running when somebody ended the run; None if nobody did.
    """

    header: Header
    entries: tuple[Entry, ...]
    timed_out: frozenset[str] = frozenset()
    interrupted: str | None = None
