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
    from agentbeat_core.observations import JudgeOutcome, Observations
    from agentbeat_core.receipt_records import RECEIPT_CODES
    from agentbeat_core.refusals import REFUSALS, RefusedError
    from agentbeat_core.registry import TargetRegistry

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
    "ChatJudge": "judge.client",
    "ControllerError": "failures",
    "Core": "core",
    "FAILURES": "failures",
    "Judge": "judge.client",
    "JudgeOutcome": "observations",
    "Observations": "observations",
    "RECEIPT_CODES": "receipt_records",
    "REFUSALS": "refusals",
    "RefusedError": "refusals",
    "RunFailedError": "failures",
    "TargetError": "failures",
    "TargetRegistry": "registry",
    "UnavailableJudge": "judge.client",
    "judge_from_environment": "judge.client",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULE_OF[name]}"), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
