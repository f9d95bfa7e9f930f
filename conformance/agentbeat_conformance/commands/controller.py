"""`agentbeat conformance controller URL`: judge a State Controller by its control plane."""

from __future__ import annotations

import argparse
from typing import Any

from agentbeat_conformance.commands.options import add_endpoint, add_outputs, add_selection, secret_of

__all__ = ["configure", "run"]


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    add_endpoint(parser, "State Controller's control plane")
    add = parser.add_argument
    add("--deployment", metavar="ID", required=True, help="the Deployment that resets name")
    add("--profile", metavar="ID", help="the profile to use (default: one that the catalogue lists)")
    add(
        "--mode",
        choices=("deployment_static", "catalog"),
        help="the only binding mode to use (default: all that the profile offers)",
    )
    add(
        "--verify-key",
        metavar="KEY",
        help="the Controller's registered public key, 32 bytes in base64url, for the receipts' signatures; "
        "write --verify-key=KEY, since a key may begin with a hyphen",
    )
    add(
        "--write-command",
        metavar="CMD",
        help="writes $AGENTBEAT_CANARY into the environment of the run $AGENTBEAT_RUN_ID over the business "
        "plane, and returns 0; without it the verdict is at best incomplete",
    )
    add_selection(parser)
    add_outputs(parser)


def run(args: argparse.Namespace) -> int:
    """Judge the State Controller; the exit code."""
    from agentbeat_conformance.commands.running import Trial, try_endpoint, wire_of
    from agentbeat_conformance.requirements import Capability
    from agentbeat_conformance.transcript_records import Subject
    from agentbeat_conformance.wires.concealment import marker

    secret = secret_of(args.token_env)
    wire = wire_of(args)
    options: dict[str, Any] = {
        "host": wire.endpoint.authority,
        "prefix": wire.endpoint.prefix,
        "secret": None if secret is None else marker(),
        "deployment_id": args.deployment,
        "profile_id": args.profile,
        "binding_mode": args.mode,
        "verify_key": args.verify_key,
    }
    given = {
        Capability.AUTH: secret is not None,
        Capability.VERIFY_KEY: args.verify_key is not None,
        Capability.RESTART: args.restart_command is not None,
        Capability.WRITE: args.write_command is not None,
    }
    return try_endpoint(
        Trial(
            tier="controller",
            subject=Subject(kind="controller", url=wire.endpoint.url, options=options),
            wire=wire,
            capabilities=frozenset(capability for capability, there in given.items() if there),
            secrets={} if secret is None else {"secret": secret},
            variables={} if secret is None else {"secret": args.token_env},
            write_command=args.write_command,
        ),
        args,
    )
