"""A report: what a run of the suite has shown, as plain data that every form of output is made of.

A report holds no secret. The endpoint is without user, query and fragment, and in the exchanges a mark stands
where a secret stood: `Report.variables` says which shell variable holds what belongs there.

>>> report = Report(
...     tier="target-L1",
...     endpoint="http://127.0.0.1:8080",
...     seed="a1",
...     results=(),
...     exchanges=(),
...     verdict=Verdict.NOTHING_TESTED,
... )
>>> report.exit_code, report.count(Outcome.PASS)
(<ExitCode.NOTHING_TESTED: 4>, 0)
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import groupby
from types import MappingProxyType
from typing import Final
from urllib.parse import urlsplit, urlunsplit

from agentbeat_conformance.exchanges import Exchange
from agentbeat_conformance.outcomes import ExitCode, Outcome, Result, Verdict
from agentbeat_conformance.reports.curls import repeat_command
from agentbeat_conformance.reports.shells import Variables
from agentbeat_conformance.requirements import SPECS, SUITE_VERSION, Requirement, Tier, catalogue_digest

__all__ = ["Plan", "Report", "bare_url", "in_reading_order"]

_FAMILIES: Final = ("INV", "HLT", "EVD", "CTL", "RCP")


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What was announced before the first request.

    Attributes:
        requirements: how many checks were planned.
        invocations: how many times a conformant Target runs its Agent for them.
        budget: the bound on that number; None for none.
        safe: whether nothing was to be sent that a conformant Target would run.
    """

    requirements: int
    invocations: int
    budget: int | None = None
    safe: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """A run of the suite against one endpoint.

    Attributes:
        endpoint: where the requests went, without user, query and fragment.
        seed: what all ids of the run follow from.
        results: every planned check's end.
        exchanges: the transcript, each at its index, redacted.
        plan: what was announced; None when a transcript was judged.
        variables: what stands in the exchanges in a secret's place, and the shell variable for the secret.
    """

    tier: Tier
    endpoint: str
    seed: str
    results: tuple[Result, ...]
    exchanges: tuple[Exchange, ...]
    verdict: Verdict
    plan: Plan | None = None
    variables: Variables = field(default_factory=lambda: MappingProxyType({}))
    suite_version: str = SUITE_VERSION
    specs: tuple[str, ...] = SPECS
    catalogue_digest: str = field(default_factory=catalogue_digest)

    @property
    def exit_code(self) -> ExitCode:
        """The command's exit status."""
        return ExitCode.of(self.verdict)

    @property
    def origin(self) -> str:
        """Scheme, host and port of the endpoint."""
        where = urlsplit(self.endpoint)
        return f"{where.scheme}://{where.netloc}"

    def count(self, *outcomes: Outcome) -> int:
        """How many checks ended so."""
        return sum(result.outcome in outcomes for result in self.results)

    def ended(self, *outcomes: Outcome) -> tuple[Result, ...]:
        """The results with one of these outcomes, in the order of reading."""
        return tuple(result for result in in_reading_order(self.results) if result.outcome in outcomes)

    def rules(self) -> Mapping[str, tuple[Result, ...]]:
        """The results by rule of the specs, in the order of reading."""
        ordered = in_reading_order(self.results)
        return {rule: tuple(group) for rule, group in groupby(ordered, key=lambda r: r.requirement.rule)}

    def shown_by(self, result: Result) -> tuple[Exchange, ...]:
        """The exchanges that the result's findings point at; without findings all of the check's."""
        named = [finding.exchange for finding in result.findings if finding.exchange is not None]
        return self.at(named if result.findings else result.exchanges)

    def at(self, indexes: Iterable[int]) -> tuple[Exchange, ...]:
        """The exchanges at these places of the transcript, each once; no place beyond its end."""
        return tuple(
            self.exchanges[index] for index in dict.fromkeys(indexes) if 0 <= index < len(self.exchanges)
        )

    def repeat(self, exchange: Exchange, *, lines: bool = False) -> str | None:
        """The shell command that sends the exchange's request again; see `repeat_command`."""
        return repeat_command(exchange.request, origin=self.origin, variables=self.variables, lines=lines)


def bare_url(url: str) -> str:
    """`url` without user, query and fragment: what may stand in a report."""
    parts = urlsplit(url)
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))


def in_reading_order(results: Iterable[Result]) -> list[Result]:
    """As the specs number them: by rule, then by part. The checks themselves run in another order."""
    return sorted(results, key=lambda result: _place(result.requirement))


def _place(made: Requirement) -> tuple[int, int, str]:
    family, _, number = made.rule.partition("-")
    return _FAMILIES.index(family), int(number), made.id
