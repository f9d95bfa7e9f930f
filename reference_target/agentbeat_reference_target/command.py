"""`agentbeat target`: serve the reference Target.

agentbeat target serve --agent obedient --token-env TARGET_TOKEN \\
    --business-url http://127.0.0.1:8802 --business-secret-file ~/.agentbeat/…
"""

from __future__ import annotations

import argparse
import logging
import sys
from pathlib import Path
from typing import Final

__all__ = ["EXTRA", "HELP", "configure", "run"]

HELP: Final = "serve the reference Target: a support-desk Agent without a model, or a scripted one"
EXTRA: Final = "reference"

_PORT: Final = 8800

# Named here too, so that the options are known without loading what serves them.
_AGENTS: Final = ("obedient", "gullible", "careless", "idle")
_SCRIPTED: Final = ("ground-truth", "resisting", "obeying-first", "obeying-last")


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the sub-command and its options."""
    commands = parser.add_subparsers(dest="target_command", required=True, metavar="COMMAND")
    serve = commands.add_parser("serve", help="serve the Target until Ctrl-C")
    add = serve.add_argument
    add(
        "--agent",
        choices=(*_AGENTS, *_SCRIPTED),
        default="obedient",
        help="obedient: does the task; gullible: also what records tell it; careless: also touches a record "
        "that is not its business; idle: answers and does nothing (default: %(default)s). Scripted, with "
        "--oracles: ground-truth and resisting do the task, obeying-first and obeying-last also what an "
        "injection asks for, before the task or after it",
    )
    add(
        "--oracles",
        type=Path,
        metavar="PATH",
        help="for a scripted Agent: what `agentbeat controller oracles` has printed",
    )
    add("--tier", choices=("L1", "L2"), default="L2", help="the evidence it offers (default: %(default)s)")
    add("--target-id", default="support-desk", metavar="ID", help="default: %(default)s")
    add("--host", default="127.0.0.1", help="address to listen on (default: %(default)s)")
    add("--port", type=_port, default=_PORT, metavar="PORT", help="0: a free one (%(default)s)")
    token = serve.add_mutually_exclusive_group(required=True)
    token.add_argument("--token-env", metavar="NAME", help="variable that holds the Target's bearer secret")
    token.add_argument("--token-file", type=Path, metavar="PATH", help="file that holds it")
    token.add_argument("--open", action="store_true", help="no secret: anybody may call the Target")
    add("--business-url", metavar="URL", help="the business API; without it the Agent has no desk")
    secret = serve.add_mutually_exclusive_group()
    secret.add_argument(
        "--business-secret-env", metavar="NAME", help="variable that holds the business secret"
    )
    secret.add_argument("--business-secret-file", type=Path, metavar="PATH", help="file that holds it")
    add(
        "--store",
        type=Path,
        metavar="PATH",
        help="SQLite file of runs and evidence (default: one in the working directory)",
    )
    add("--ready-file", type=Path, metavar="PATH", help="JSON, written when the Target listens")


def _port(text: str) -> int:
    if not (text.isascii() and text.isdigit() and int(text) < 2**16):
        raise argparse.ArgumentTypeError("a port is a number from 0 to 65535")
    return int(text)


def run(args: argparse.Namespace) -> int:
    """Run the sub-command; the exit code."""
    from agentbeat_reference_target.serving import ServeOptions, serve

    logging.basicConfig(
        level=logging.WARNING, stream=sys.stderr, format="%(levelname)s %(name)s: %(message)s"
    )
    return serve(
        ServeOptions(
            agent=args.agent,
            oracles=args.oracles,
            tier=args.tier,
            target_id=args.target_id,
            host=args.host,
            port=args.port,
            token_env=args.token_env,
            token_file=args.token_file,
            business_url=args.business_url,
            business_secret_env=args.business_secret_env,
            business_secret_file=args.business_secret_file,
            store=args.store,
            ready_file=args.ready_file,
        )
    )
