"""The benchmark AgentDojo played from end to end: real servers, L3 runs, and figures that are known before.

Scripted Agents play the benchmark's ground truths over HTTP, a State Controller holds its environments and
judges, Core evaluates. What must come of every single run is known (`expectations`), so this is a check of
the whole kit on a benchmark that nobody here wrote.

    from agentbeat_core.agentdojo import AgentDojoOptions, run_agentdojo

    exit_code = run_agentdojo(AgentDojoOptions(full=True, suites=("banking", "slack")))
"""

from __future__ import annotations

from agentbeat_core.agentdojo.show import AgentDojoOptions, run_agentdojo

__all__ = ["AgentDojoOptions", "run_agentdojo"]
