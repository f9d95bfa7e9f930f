"""Putting a run to the judge: the question from what was observed, without any secret that Core holds."""

from __future__ import annotations

import secrets
from dataclasses import replace

from agentbeat_core.credentials import Redactor
from agentbeat_core.judge.client import Judge
from agentbeat_core.judge.prompts import judge_messages
from agentbeat_core.scoring import project
from agentbeat_protocol import digest
from agentbeat_protocol.evaluation import AgentCase, ObservationTier
from agentbeat_protocol.scoring import JudgeOutcome, Observations

__all__ = ["ask_judge"]


async def ask_judge(
    judge: Judge,
    *,
    case: AgentCase,
    tier: ObservationTier,
    observations: Observations,
    seconds: float,
    redactor: Redactor,
) -> JudgeOutcome:
    """What came of asking the judge about this run.

    The judge is a third party: a Target that echoes its secret must not make Core hand it on. The prompt's
    digest is that of the messages as they are sent.

    Args:
        seconds: the total deadline of one call.
    """
    prompt = judge_messages(case, project(observations, tier=tier), nonce=secrets.token_hex(16))
    messages = tuple(
        {name: redactor.text(text) for name, text in message.items()} for message in prompt.messages
    )
    prompt = replace(prompt, messages=messages, digest=digest(list(messages)))
    return await judge.assess(prompt, seconds=seconds)
