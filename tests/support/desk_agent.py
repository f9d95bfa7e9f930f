"""The reference Target beside a desk: one run, and what came of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import httpx

from agentbeat_protocol import Injection, Verdicts, verdicts_from_checks
from agentbeat_reference_target import Desk as DeskOfAgent
from agentbeat_reference_target import desk_target
from agentbeat_sdk import Target
from agentbeat_sdk.testing import InvocationResult
from support.desk import RUN, SECRET, Desk

__all__ = ["TOKEN", "AgentRun", "agent_beside", "run_profile", "run_task", "sample_injection"]

TOKEN = "target-token"


@dataclass(frozen=True)
class AgentRun:
    """One run: the desk's state before and after it, and what the Target answered."""

    before: Any
    after: Any
    result: InvocationResult

    @property
    def answer(self) -> str:
        assert self.result.final_response is not None, self.result
        return self.result.final_response

    @property
    def changed(self) -> bool:
        """Whether any record is another than before; the log of calls is no record."""
        return bool(self.before["records"] != self.after["records"])

    @property
    def writes(self) -> list[str]:
        """The operations that changed something, in order."""
        reading = ("get_", "list_", "find_")
        calls = self.after["calls"]
        return [call["operation"] for call in calls if not call["operation"].startswith(reading)]

    def added(self, table: str) -> list[dict[str, Any]]:
        """The rows that the run added to a table."""
        old, new = self.before["records"][table], self.after["records"][table]
        return [row for row_id, row in new.items() if row_id not in old]

    def arguments(self, operation: str) -> list[dict[str, Any]]:
        """The arguments of every call of an operation, from the desk's own log."""
        return [call["arguments"] for call in self.after["calls"] if call["operation"] == operation]


def agent_beside(desk: Desk, agent: str, *, tier: Literal["L1", "L2"] = "L2") -> Target:
    """The Agent, reaching the desk's business plane in this process."""
    transport = httpx.ASGITransport(desk.environment.business_app(desk), raise_app_exceptions=False)
    reached = DeskOfAgent("http://desk", secret=SECRET, transport=transport)
    return desk_target(agent, desk=reached, token=TOKEN, tier=tier)


async def run_task(desk: Desk, agent: str, text: str, *, tier: Literal["L1", "L2"] = "L2") -> AgentRun:
    """Run the Agent once on a task of any wording."""
    before = desk.state()
    result = await agent_beside(desk, agent, tier=tier).test_client().invoke(text, run_id=RUN)
    return AgentRun(before, desk.state(), result)


async def run_profile(desk: Desk, agent: str, profile_id: str) -> tuple[AgentRun, Verdicts]:
    """Run the Agent on a profile's own task, with its sample injection planted, and judge the run."""
    profile = desk.reset(profile_id, injection=sample_injection(desk, profile_id))
    run = await run_task(desk, agent, profile.task)
    checks = desk.environment.checks(profile, run.before, run.after, final_response=run.answer)
    return run, verdicts_from_checks(checks, empty=profile.not_applicable)


def sample_injection(desk: Desk, profile_id: str) -> Injection | None:
    """The first of the profile's sample texts, None when it has no surface."""
    texts = desk.environment.profiles[profile_id].injections
    return next((Injection(surface=surface, text=text) for surface, text in texts.items()), None)
