"""`agentbeat claims`: can a reported number be recomputed, and are these all the runs?

What is promised is signed first (manifest), then a ticket for each run (ticket); the program that makes the
runs writes their receipts. Whoever has the bundle and the public keys can check it (verify). A bundle is a
folder of JSON files, or a tar of it.

exit codes:
  0  done; of verify: whatever is claimed passes
  1  verify: something is Invalid
  2  a wrong command line, or a file that is missing, unsound or there already
  3  verify: nothing is Invalid, but something claimed is Inconclusive
  4  a fault of the kit itself

examples:
  agentbeat claims keygen keys
  agentbeat claims manifest draft.json --keyring keys --out claim
  agentbeat claims ticket claim --keyring keys
  agentbeat claims verify claim --keyring keys/public.json --auditor-key keys/auditor.key
  agentbeat claims explain retry_shadowing
"""

from __future__ import annotations

import argparse
import sys
from types import ModuleType
from typing import Final

__all__ = ["EXTRA", "HELP", "configure", "run"]

HELP: Final = "receipts of claims: sign what is promised, verify what is reported, explain a verdict"
EXTRA: Final = "receipts"

_USAGE: Final = 2


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the sub-commands and their options."""
    commands = parser.add_subparsers(dest="claims_command", required=True, metavar="COMMAND")
    for name, module in _modules().items():
        text: str = module.HELP
        _, _, more = (module.__doc__ or "").partition("\n\n")
        command = commands.add_parser(
            name,
            help=text,
            description=f"{text[:1].upper()}{text[1:]}.\n\n{more}".strip(),
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        module.configure(command)
        command.set_defaults(claims_run=module.run)


def run(args: argparse.Namespace) -> int:
    """Run the sub-command; the exit code."""
    from agentbeat_protocol import ProtocolError
    from agentbeat_receipts.bundles import BundleError
    from agentbeat_receipts.commands.options import UsageError
    from agentbeat_receipts.keys import KeyRefused
    from agentbeat_receipts.stream_errors import StreamError

    try:
        code: int = args.claims_run(args)
        return code
    except BrokenPipeError:
        # The `agentbeat` command knows what to say to it.
        raise
    except (UsageError, BundleError, KeyRefused, ProtocolError, StreamError) as error:
        message = str(error)
    except OSError as error:
        message = f"{error.filename}: {error.strerror}" if error.filename else str(error)
    print(f"agentbeat claims {args.claims_command}: {message}", file=sys.stderr)
    return _USAGE


def _modules() -> dict[str, ModuleType]:
    from agentbeat_receipts.commands import (
        anchor,
        corpus,
        explain,
        keygen,
        manifest,
        opening,
        reproduce,
        schema,
        ticket,
        verify,
    )

    return {
        "keygen": keygen,
        "manifest": manifest,
        "anchor": anchor,
        "ticket": ticket,
        "verify": verify,
        "explain": explain,
        "open": opening,
        "corpus": corpus,
        "reproduce": reproduce,
        "schema": schema,
    }
