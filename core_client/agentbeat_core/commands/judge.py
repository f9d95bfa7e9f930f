"""`agentbeat judge`: serve the kit's own judge, for demos and tests.

It has no model: it scores by the keyword rules of a case's judge_rubric, one a line, and says so in its
reason.

  <utility|security|asr|overall>: [response|tools|evidence] must [not] contain "<text>"

example:
  agentbeat judge serve --port 8095 &
  export AIBEAT_JUDGE_BASE_URL=http://127.0.0.1:8095/v1 AIBEAT_JUDGE_MODEL=keyword-rules
"""

from __future__ import annotations

import argparse
import sys
from typing import Final

__all__ = ["EXTRA", "HELP", "configure", "run"]

HELP: Final = "serve the kit's own judge, for demos and tests"
EXTRA: Final = "core"

_PORT: Final = 8095


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the sub-command `serve`."""
    commands = parser.add_subparsers(dest="judge_command", required=True, metavar="COMMAND")
    serve = commands.add_parser("serve", help="serve an OpenAI-compatible endpoint until Ctrl-C")
    serve.add_argument("--host", default="127.0.0.1", help="address (default: %(default)s)")
    serve.add_argument(
        "--port", type=_port, default=_PORT, metavar="PORT", help="0: a free one (default: %(default)s)"
    )
    serve.add_argument(
        "--api-key-env",
        metavar="VARIABLE",
        help="the environment variable that holds the API key to ask for; by default none is asked for",
    )


def run(args: argparse.Namespace) -> int:
    """Serve; 2 when the address cannot be had or the key's variable is not set."""
    import os

    from agentbeat_core.credentials import Secret
    from agentbeat_core.judge.server import serve

    api_key = None
    if args.api_key_env is not None:
        value = os.environ.get(args.api_key_env, "")
        if not value:
            print(f"agentbeat judge: {args.api_key_env} is not set", file=sys.stderr)
            return 2
        api_key = Secret(value)
    try:
        return serve(host=args.host, port=args.port, api_key=api_key)
    except OSError as error:
        print(f"agentbeat judge: {args.host} port {args.port}: {error.strerror}", file=sys.stderr)
        return 2


def _port(text: str) -> int:
    if not text.isascii() or not text.isdigit() or int(text) > 65_535:
        raise argparse.ArgumentTypeError("expected a port from 0 to 65535")
    return int(text)
