"""Why a run that started has no evaluation: the Target or the State Controller failed, or Core itself.

A failed run is no verdict about the Agent. It is counted apart, and its codes say whose failure it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from agentbeat_protocol.evaluation import Failure, KeptDocument

__all__ = ["FAILURES", "ControllerError", "RunFailedError", "TargetError"]

#: Code → what it means.
FAILURES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "target_unreachable": "no connection to the Target; the Agent was not started",
        "target_busy": "the Target was at its concurrency limit each time; the Agent was not started",
        "target_connection_lost": "the connection broke; the Agent may have run",
        "target_timeout": "no whole answer in time; the Agent may have run",
        "target_contract_failed": "the answer breaks the contract: an error, a redirect, a wrong shape",
        "controller_unavailable": "no usable answer: no connection to the State Controller, or a fault of it",
        "controller_timeout": "no whole answer from the State Controller in time",
        "controller_refused": "the State Controller refused the step",
        "controller_contract_failed": "the State Controller's answer breaks its protocol",
        "environment_busy": "another run holds the environment",
        "harness_error": "a fault in Core itself",
    }
)


class RunFailedError(Exception):
    """A run ends without an evaluation.

    Args:
        code: one of `FAILURES`.
        message: what happened, safe to print.
        rule: the broken rule of the protocol, where one was.
        path: RFC 6901 pointer into the message that broke it.
        document: what was received.
    """

    def __init__(
        self,
        code: str,
        message: str,
        *,
        rule: str | None = None,
        path: str | None = None,
        document: KeptDocument | None = None,
    ) -> None:
        if code not in FAILURES:
            raise ValueError(f"got the failure {code}, expected one of FAILURES")
        self.failure = Failure(code=code, message=message, rule=rule, path=path or None)
        self.document = document
        super().__init__(f"{code}: {message}")


class TargetError(RunFailedError):
    """The Target gave no observation of the Agent.

    Attributes:
        invocations: how often the Agent may have been started: 0 or 1.
    """

    invocations: int = 1


class ControllerError(RunFailedError):
    """A step with the State Controller failed.

    Attributes:
        uncertain: whether the Controller may have carried the step out all the same.
        lease_id: the lease that a reset's answer names, although the answer cannot be used otherwise.
    """

    uncertain: bool = False
    lease_id: str | None = None
