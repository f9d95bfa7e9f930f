"""The suite under pytest: each requirement is a test item with the requirement's id.

    pytest --agentbeat-target http://127.0.0.1:8080 --agentbeat-token-env AGENT_TOKEN

The module is loaded by every pytest on whose path the package lies. Unused it adds its options and does
nothing else: the suite is imported when one of them is given.
"""

from __future__ import annotations

import pytest

__all__ = ["pytest_addoption"]


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options, all of which begin with `--agentbeat-`."""
    group = parser.getgroup("agentbeat", "AgentBeat conformance")
    group.addoption("--agentbeat-target", metavar="URL", help="test the Target at this URL")
    group.addoption(
        "--agentbeat-tier", choices=("L1", "L2"), default="L1", help="what the Target declares (default: L1)"
    )
    group.addoption(
        "--agentbeat-token-env", metavar="NAME", help="the environment variable with the bearer secret"
    )
    group.addoption(
        "--agentbeat-task",
        metavar="TEXT",
        action="append",
        default=[],
        help="a task that makes the Agent use tools, for L2; may be repeated",
    )
    group.addoption(
        "--agentbeat-budget", metavar="N", type=int, help="at most N invocations that run the Agent"
    )
