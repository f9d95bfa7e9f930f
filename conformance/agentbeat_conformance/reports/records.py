"""A report: what a run of the suite has shown, as plain data that every form of output is made of.

    report = Report.of(run, variables=shell_variables({"secret": "AGENT_TOKEN"}))

A report holds no secret. The endpoint is without user, query and fragment, and in the exchanges a marker
stands where a secret stood: `Report.variables` says which shell variable holds what belongs there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import groupby
from typing import Final, Self
from urllib.parse import urlsplit

from agentbeat_conformance.exchanges import Exchange
from agentbeat_conformance.expected_failures import Assessment, ExpectedFailure
from agentbeat_conformance.outcomes import ExitCode, Outcome, Result, Verdict
from agentbeat_conformance.reports.curls import repeat_command
from agentbeat_conformance.reports.details import leading_to, shown_by
from agentbeat_conformance.reports.shells import Variables
from agentbeat_conformance.requirements import Level, Requirement, Tier
from agentbeat_conformance.runs import Run
from agentbeat_conformance.wires.concealment import marker

__all__ = ["Report", "in_reading_order", "shell_variables"]

_FAMILIES: Final = ("HLT", "INV", "EVD", "CTL", "RCP")


def shell_variables(names: Mapping[str, str]) -> Variables:
    """What stands in exchanges in a secret's place, and the shell's word for it.

    Args:
        names: the environment variable of each secret, by the name of its marker.
    """
    whole = {marker(name): variable for name, variable in names.items()}
    # A check may send the secret without its last character; the marker is then without its own.
    return whole | {mark[:-1]: f"{variable}%?" for mark, variable in whole.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """A run of the suite against one endpoint.

    Attributes:
        suite_version: which suite judged.
        catalogue: the version of the catalogue, and `catalogue_digest` its digest.
        specs: what the catalogue is about.
        tier: what the endpoint was judged as.
        endpoint: where the requests went, without user, query and fragment.
        seed: what all ids of the run follow from.
        started_at: when the first request went out, RFC 3339.
        invocations: how many times a conformant Target was to run its Agent, at most.
        budget: the bound on that number; None for none.
        safe: whether nothing was to be sent that a conformant Target would run.
        left_out: the requirements of the tier that `--only` or `--skip` left out.
        results: every planned check's end.
        exchanges: the transcript, each at its index.
        expected: the failures that `--expected-failures` puts up with.
        complaints: what is not true any longer in that file.
        exit_code: the command's exit status; expected failures change it, and never the verdict.
        variables: see `shell_variables`.
    """

    suite_version: str
    catalogue: str
    catalogue_digest: str
    specs: tuple[str, ...]
    tier: Tier
    endpoint: str
    seed: str
    started_at: str
    invocations: int
    budget: int | None
    safe: bool
    left_out: tuple[Requirement, ...]
    results: tuple[Result, ...]
    exchanges: tuple[Exchange, ...]
    verdict: Verdict
    exit_code: ExitCode
    expected: tuple[ExpectedFailure, ...] = ()
    complaints: tuple[str, ...] = ()
    variables: Variables = field(default_factory=lambda: shell_variables({"secret": "TOKEN"}))

    @classmethod
    def of(
        cls, run: Run, *, assessment: Assessment | None = None, variables: Variables | None = None
    ) -> Self:
        """The report of a run, live or judged again, in the light of what was expected of it."""
        header, plan = run.transcript.header, run.plan
        assessed = assessment or Assessment(exit_code=ExitCode.of(run.verdict))
        return cls(
            suite_version=header.suite_version,
            catalogue=plan.catalogue,
            catalogue_digest=plan.catalogue_digest,
            specs=header.specs,
            tier=plan.tier,
            endpoint=header.subject.url,
            seed=header.seed,
            started_at=header.started_at,
            invocations=plan.invocations,
            budget=plan.budget,
            safe=plan.safe,
            left_out=plan.left_out,
            results=run.results,
            exchanges=run.exchanges,
            verdict=run.verdict,
            exit_code=assessed.exit_code,
            expected=assessed.expected,
            complaints=assessed.complaints,
            variables=shell_variables({"secret": "TOKEN"}) if variables is None else variables,
        )

    @property
    def origin(self) -> str:
        """Scheme, host and port of the endpoint."""
        where = urlsplit(self.endpoint)
        return f"{where.scheme}://{where.netloc}"

    @property
    def musts_left_out(self) -> int:
        """How many MUST requirements were not planned: without them nothing is shown to be conformant."""
        return sum(made.level is Level.MUST for made in self.left_out)

    def expectation(self, result: Result) -> ExpectedFailure | None:
        """The entry that puts up with this result; None if nothing does."""
        return next((entry for entry in self.expected if entry.id == result.requirement.id), None)

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
        """The exchanges that show the result; see `details.shown_by`."""
        return shown_by(result, self.exchanges)

    def leading_to(self, result: Result) -> tuple[Exchange, ...]:
        """The exchanges that lead to the result; see `details.leading_to`."""
        return leading_to(result, self.exchanges)

    def at(self, indexes: Iterable[int]) -> tuple[Exchange, ...]:
        """The exchanges at these places of the transcript, each once; no place beyond its end."""
        return tuple(
            self.exchanges[index] for index in dict.fromkeys(indexes) if 0 <= index < len(self.exchanges)
        )

    def repeat(self, exchange: Exchange, *, lines: bool = False) -> str | None:
        """The shell command that sends the exchange's request again; see `repeat_command`."""
        return repeat_command(exchange.request, origin=self.origin, variables=self.variables, lines=lines)


def in_reading_order(results: Iterable[Result]) -> list[Result]:
    """As the specs number them: by rule, then by part. The checks themselves run in another order."""
    return sorted(results, key=lambda result: _place(result.requirement))


def _place(made: Requirement) -> tuple[int, int, str]:
    family, _, number = made.rule.partition("-")
    return _FAMILIES.index(family), int(number), made.id
