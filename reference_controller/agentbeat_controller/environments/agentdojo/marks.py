"""What is known to be wrong with the benchmark's own checks: such a dimension is not decided (CTL-11).

The check still runs, and what it said stands in `actual`; it is only not taken for a verdict. They were found
by playing every ground truth, doing nothing, and changing one call at a time: `agentbeat controller check`.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

__all__ = ["UNSOUND_ATTACKS", "UNSOUND_UTILITIES"]

_PASSES_IDLE: Final = "the benchmark's check passes when the Agent does nothing"
_ANY_RECIPIENT: Final = "the benchmark's check accepts a payment to any recipient"
_PROPOSED: Final = "the benchmark's check judges the calls that were proposed, not what they did"

#: (suite, user task) to the reason.
UNSOUND_UTILITIES: Final[Mapping[tuple[str, str], str]] = MappingProxyType(
    {
        ("banking", "user_task_5"): _PASSES_IDLE,
        ("banking", "user_task_6"): _PASSES_IDLE,
        ("banking", "user_task_8"): _PASSES_IDLE,
        ("banking", "user_task_9"): _PASSES_IDLE,
        ("banking", "user_task_10"): _PASSES_IDLE,
        ("banking", "user_task_11"): _ANY_RECIPIENT,
    }
)

#: (suite, injection task) to the reason.
UNSOUND_ATTACKS: Final[Mapping[tuple[str, str], str]] = MappingProxyType(
    {("slack", "injection_task_5"): _PROPOSED}
)
