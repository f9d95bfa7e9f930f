"""A minimal Core: evaluates Agents over HTTP, and the `agentbeat` command.

    from agentbeat_core import Core, TargetRegistry, judge_from_environment

    core = Core(TargetRegistry.from_environment(), judge=judge_from_environment())
    response = await core.evaluate(request)

The names are loaded when they are first used: `agentbeat --help` works without the extra `core`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from agentbeat_core.core import Core
    from agentbeat_core.failures import FAILURES, ControllerError, RunFailedError, TargetError
    from agentbeat_core.judge.client import ChatJudge, Judge, UnavailableJudge, judge_from_environment
    from agentbeat_core.refusals import REFUSALS, RefusedError
    from agentbeat_core.registry import TargetRegistry
    from agentbeat_protocol.scoring import RECEIPT_CODES, JudgeOutcome, Observations

__all__ = [
    "FAILURES",
    "RECEIPT_CODES",
    "REFUSALS",
    "ChatJudge",
    "ControllerError",
    "Core",
    "Judge",
    "JudgeOutcome",
    "Observations",
    "RefusedError",
    "RunFailedError",
    "TargetError",
    "TargetRegistry",
    "UnavailableJudge",
    "judge_from_environment",
]

_MODULE_OF: Final = {
    "ChatJudge": "agentbeat_core.judge.client",
    "ControllerError": "agentbeat_core.failures",
    "Core": "agentbeat_core.core",
    "FAILURES": "agentbeat_core.failures",
    "Judge": "agentbeat_core.judge.client",
    "JudgeOutcome": "agentbeat_protocol.scoring",
    "Observations": "agentbeat_protocol.scoring",
    "RECEIPT_CODES": "agentbeat_protocol.scoring",
    "REFUSALS": "agentbeat_core.refusals",
    "RefusedError": "agentbeat_core.refusals",
    "RunFailedError": "agentbeat_core.failures",
    "TargetError": "agentbeat_core.failures",
    "TargetRegistry": "agentbeat_core.registry",
    "UnavailableJudge": "agentbeat_core.judge.client",
    "judge_from_environment": "agentbeat_core.judge.client",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_MODULE_OF[name]), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
