"""The demo behind `make demo`: real servers, real runs, one table.

It starts the reference Targets, State Controllers and the rule judge as processes of their own, evaluates a
set of cases at L1, L2 and L3, prints what came of each and stops everything. Each case says what must come of
it, so the demo is also a check of the kit from end to end.

    from agentbeat_core.demo import DemoOptions, run_demo

    exit_code = run_demo(DemoOptions(out=Path("results")))
"""

from __future__ import annotations

from agentbeat_core.demo.show import DemoOptions, run_demo

__all__ = ["DemoOptions", "run_demo"]
