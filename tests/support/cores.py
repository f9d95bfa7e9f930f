"""The kit's Core in this process, as the conformance suite runs a Core: a request in, what was said out."""

from __future__ import annotations

from collections.abc import Mapping

from agentbeat_conformance.core_side.results import Spoken
from agentbeat_core import responses
from agentbeat_core.core import Core
from agentbeat_core.judge.client import judge_from_environment
from agentbeat_core.refusals import RefusedError
from agentbeat_core.registry import TargetRegistry
from agentbeat_core.runs import Timeline
from agentbeat_protocol.evaluation import read_eval_run_request

__all__ = ["kit_core"]


async def kit_core(request: bytes, environment: Mapping[str, str | None]) -> Spoken:
    """What `agentbeat eval-run` does, without a process."""
    asked = read_eval_run_request(request)
    environ = {name: value for name, value in environment.items() if value is not None}
    try:
        registry = TargetRegistry.from_environment(environ)
        core = Core(registry, judge=judge_from_environment(environ))
    except RefusedError as error:
        response = responses.refused(asked, Timeline(), error)
    else:
        response = await core.evaluate(asked)
    return Spoken(output=response.model_dump_json().encode(), exit_code=0)
