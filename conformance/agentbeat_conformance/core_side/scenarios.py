"""A scenario: what is served to a Core, and what its result must then say.

    Scenario(
        id="core.delivery.html-500",
        rule="EVD-1",
        tier="L2",
        served="the evidence route answers 500 with an HTML page",
        expects=without_trace(),
        arrange=evidence(lambda answer: html_error(500)),
    )

Half of what is expected is the same for all: see `conduct`. Here stands what a scenario has of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal

from agentbeat_conformance.requirements import Level
from agentbeat_protocol import digest
from agentbeat_protocol.evaluation import ObservationTier

if TYPE_CHECKING:
    from agentbeat_conformance.core_side.results import CoreResult
    from agentbeat_conformance.core_side.stages import Stage

__all__ = ["CORE_SUITE_VERSION", "Expectation", "Place", "Reads", "Scenario", "catalogue_digest"]

#: How often the evidence may be read: never, or as often as the Core likes.
Reads = Literal["never", "any"]


@dataclass(frozen=True, slots=True)
class Expectation:
    """What a result must say.

    Attributes:
        text: in a few words, for the table.
        findings: what of a result is against it.
        hides_trace: whether the evidence document must not be shown to the judge.
    """

    text: str
    findings: Callable[[CoreResult], Iterator[str]]
    hides_trace: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where the Target stands, when it is not at a free port of 127.0.0.1.

    Attributes:
        host, port: where it listens; a place that is not to be had makes the scenario not applicable.
        base: the registered base URL; `{target}` is the port.
        loopback: whether the host is this machine by its spelling. Else plain HTTP to it is allowed by name.
        needs: what the place asks of the machine, in a few words.
    """

    base: str
    host: str = "127.0.0.1"
    port: int = 0
    prefix: str = ""
    loopback: bool = True
    needs: str | None = None


def _nothing(stage: Stage) -> None:
    del stage


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """One scenario.

    Attributes:
        id: `core.<group>.<name>`.
        rule: the rule of the specs that it is about.
        served: what is hostile or odd about the other side.
        arrange: makes the servers so; it is called once, before the first run.
        control: whether it is itself a positive control.
        request, registry: changes to the request, and to the registry's Deployment, by dotted path.
        environment: changes to the environment; None unsets a variable.
        absent: the servers that nobody runs: a connection to them is refused.
        runs: how often the command is run in the same scene; the last run's result is judged.
        posts: the fewest and the most invocations that may arrive in one run.
        reads: how often the evidence may be read.
        controller: whether a State Controller is registered; by default at L3 alone.
    """

    id: str
    rule: str
    tier: ObservationTier
    served: str
    expects: Expectation
    arrange: Callable[[Stage], Any] = _nothing
    level: Level = Level.MUST
    control: bool = False
    run_id: str | None = None
    case_id: str | None = None
    request: Mapping[str, Any] = field(default_factory=dict)
    registry: Mapping[str, Any] = field(default_factory=dict)
    environment: Mapping[str, str | None] = field(default_factory=dict)
    place: Place | None = None
    absent: frozenset[str] = frozenset()
    runs: int = 1
    posts: tuple[int, int] = (1, 1)
    reads: Reads = "any"
    controller: bool | None = None

    @property
    def group(self) -> str:
        """The second part of the id."""
        return self.id.split(".")[1]

    @property
    def has_controller(self) -> bool:
        """Whether a State Controller is registered."""
        return self.tier == "L3" if self.controller is None else self.controller


#: The version of the scenarios; raised when one is added, dropped or judged otherwise.
CORE_SUITE_VERSION: Final = "1.0"


def catalogue_digest(scenarios: Mapping[str, Scenario]) -> str:
    """The digest of what a report's reader relies on: ids, rules, what is served, what is expected."""
    return digest(
        [
            {
                "id": scenario.id,
                "rule": scenario.rule,
                "level": scenario.level,
                "tier": scenario.tier,
                "served": scenario.served,
                "expected": scenario.expects.text,
            }
            for scenario in scenarios.values()
        ]
    )
