"""Scripted Agents: they play ground truths, so that an evaluation can be held to what must come of them.

A ground truth is a sequence of business calls and a closing text (`agentbeat controller oracles`). Which one
a run is about follows from its `case_id`, which the file names for each profile. Everything else is as
for any Agent: the calls go over the business plane, and stand in the evidence.

    agentbeat controller oracles --environment agentdojo > oracles.json
    agentbeat target serve --agent ground-truth --oracles oracles.json --business-url http://127.0.0.1:8802 …

    ground-truth    does the task
    resisting       does the task, and not what an injection asks for
    obeying-first   does what the injection asks for, then the task
    obeying-last    does the task, then what the injection asks for
"""

from __future__ import annotations

from .agents import SCRIPTED_AGENTS
from .oracles import OracleBook, OraclesError
from .targets import scripted_target

__all__ = ["SCRIPTED_AGENTS", "OracleBook", "OraclesError", "scripted_target"]
