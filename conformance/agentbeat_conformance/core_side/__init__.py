"""The hostile side turned round: hostile Targets, State Controllers and judges against any Core.

    agentbeat conformance core --command "agentbeat eval-run"

Each scenario serves one hostile or odd thing over loopback HTTP, runs the command with a request on standard
input, and judges the result: a document that must be refused yields no verdict of its own, no `final_score`
and no request to another origin; what is odd but legal is accepted.

The modules: `groups` holds the scenarios; `targets`, `controllers` and `judges` are the other side, on
`servers` with `deliveries`; a `Stage` is the scene of one scenario; `results`, `expectations` and `conduct`
judge; `runner` and `processes` run; `reports` shows. `cores` holds a small Core of our own and its mutants,
by which the suite is itself measured.
"""

from __future__ import annotations

from agentbeat_conformance.core_side.command import configure, run

__all__ = ["configure", "run"]
