"""How a planned run is carried out: the steps, their clock, the lease and the State Controller's word."""

from agentbeat_core.runs.procedure import observe
from agentbeat_core.runs.timeline import PhaseName, Timeline

__all__ = ["PhaseName", "Timeline", "observe"]
