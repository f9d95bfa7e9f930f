"""All scenarios, by group, in the order in which they are run and reported.

control     honest runs at L1, L2 and L3
evidence    every line of evidence_cases.jsonl, served
reference   every line of evidence_refs.jsonl, given as evidence_ref, and references to another origin
redirect    redirects of the evidence route, the invocation, verify
delivery    sizes, times and statuses of the evidence route
digest      digests that lie
absence     channels that are empty, cut short, or missing beside an honest State Controller
invocation  responses that break the Target's contract, and whether the Agent is asked again
receipt     receipts that break a rule each, replays, State Controllers that fall silent
judge       judges that say anything but what was asked
preflight   what is refused before anything is called
"""

from __future__ import annotations

from typing import Final

from agentbeat_conformance.core_side.groups import (
    absences,
    controls,
    deliveries,
    digests,
    evidence,
    invocations,
    judges,
    preflight,
    receipts,
    references,
    silences,
)
from agentbeat_conformance.core_side.scenarios import Scenario

__all__ = ["CONTROLS", "SCENARIOS"]


_MODULES: Final = (
    controls,
    evidence,
    references,
    deliveries,
    digests,
    absences,
    invocations,
    receipts,
    silences,
    judges,
    preflight,
)


def _all() -> dict[str, Scenario]:
    scenarios: dict[str, Scenario] = {}
    for module in _MODULES:
        for scenario in module.SCENARIOS:
            if scenario.id in scenarios:
                raise ValueError(f"two scenarios are called {scenario.id}")
            scenarios[scenario.id] = scenario
    return scenarios


#: Every scenario by its id.
SCENARIOS: Final = _all()
#: The positive control of each tier.
CONTROLS: Final = {scenario.tier: scenario for scenario in SCENARIOS.values() if scenario.control}
