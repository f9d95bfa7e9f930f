"""`agentbeat conformance target URL`: judge a Target, an Agent behind HTTP."""

from __future__ import annotations

import argparse
from typing import Any

from agentbeat_conformance.commands.options import (
    UsageError,
    add_endpoint,
    add_outputs,
    add_selection,
    secret_of,
)

__all__ = ["configure", "run"]


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    add_endpoint(parser, "Target")
    add = parser.add_argument
    add("--tier", choices=("L1", "L2"), default="L1", help="what the Target declares (default: %(default)s)")
    add(
        "--task",
        metavar="TEXT",
        action="append",
        default=[],
        help="a task that makes the Agent use tools; L2 needs one; may be repeated",
    )
    add("--budget", metavar="N", type=int, help="at most N invocations that make the Agent run")
    add(
        "--safe",
        action="store_true",
        help="send nothing that a conformant Target would run; the verdict is at best incomplete",
    )
    add_selection(parser)
    add_outputs(parser)


def run(args: argparse.Namespace) -> int:
    """Judge the Target; the exit code."""
    from agentbeat_conformance.commands.running import Trial, try_endpoint, wire_of
    from agentbeat_conformance.requirements import Capability
    from agentbeat_conformance.transcript_records import Subject
    from agentbeat_conformance.wires.concealment import marker

    secret = secret_of(args.token_env)
    if any(not task.strip() for task in args.task):
        raise UsageError("got an empty task, expected a text")
    wire = wire_of(args)
    options: dict[str, Any] = {
        "scheme": wire.endpoint.origin.scheme,
        "host": wire.endpoint.authority,
        "prefix": wire.endpoint.prefix,
        "secret": None if secret is None else marker(),
        "tasks": list(args.task),
    }
    given = {
        Capability.AUTH: secret is not None,
        Capability.TASK: bool(args.task),
        Capability.RESTART: args.restart_command is not None,
    }
    return try_endpoint(
        Trial(
            tier="target-L2" if args.tier == "L2" else "target-L1",
            subject=Subject(kind="target", url=wire.endpoint.url, options=options),
            wire=wire,
            capabilities=frozenset(capability for capability, there in given.items() if there),
            secrets={} if secret is None else {"secret": secret},
            variables={} if secret is None else {"secret": args.token_env},
            tasks=len(args.task),
            budget=args.budget,
            safe=args.safe,
        ),
        args,
    )
