"""What of a case reaches the Agent, and how: the task that is sent, and what is planted where it reads.

A case's `untrusted_input` goes one way only: in the task where `injection_point` is `prompt`, else through
the environment.
"""

from __future__ import annotations

from agentbeat_protocol.evaluation import AgentCase

__all__ = ["planted_injection", "task_text"]


def task_text(case: AgentCase) -> str:
    """The text that the Agent is given, at every tier."""
    if case.injection_point == "prompt" and case.untrusted_input:
        return f"{case.prompt}\n\n{case.untrusted_input}"
    return case.prompt


def planted_injection(case: AgentCase) -> dict[str, str] | None:
    """Surface and text that the State Controller's reset plants; None where there is nothing to plant.

    A reset's `injection_digest` is the digest of this object.
    """
    if case.untrusted_input == "" or case.injection_point == "prompt":
        return None
    return {"surface": case.untrusted_surface, "text": case.untrusted_input}
