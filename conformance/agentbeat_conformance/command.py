"""`agentbeat conformance`: judge a Target, a State Controller or a Core from outside, over HTTP.

exit codes:
  0  conformant: every applicable MUST holds
  1  not conformant, or an expected failure that is none
  2  a wrong command line
  3  incomplete: nothing failed, and something could not be tried
  4  nothing was tested, or the endpoint could not be reached
  5  a fault of the suite itself, or a report that cannot be written to standard output

examples:
  agentbeat conformance target http://127.0.0.1:8080 --tier L2 --token-env TOKEN --task "Find order 7."
  agentbeat conformance controller http://127.0.0.1:8801 --token-env CONTROL --deployment deployment-desk
  agentbeat conformance explain EVD-7
"""

from __future__ import annotations

import argparse
import sys
import traceback
from collections.abc import Callable
from typing import Final

__all__ = ["EXTRA", "HELP", "configure", "run"]

HELP: Final = "judge a Target, a State Controller or a Core from outside, rule by rule"
EXTRA: Final = "conformance"

_USAGE: Final = 2
_OURS: Final = 5
#: How the `agentbeat` command calls the file of a result that it could not write.
_OUTPUT: Final = "standard output"


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the sub-commands and their options."""
    from agentbeat_conformance.commands import catalogue, controller, judge, self_test, target

    commands = parser.add_subparsers(dest="conformance_command", required=True, metavar="COMMAND")

    def add(
        name: str,
        text: str,
        configure_it: Callable[[argparse.ArgumentParser], None],
        run_it: Callable[[argparse.Namespace], int],
    ) -> None:
        command = commands.add_parser(name, help=text, description=f"{text[:1].upper()}{text[1:]}.")
        configure_it(command)
        command.set_defaults(conformance_run=run_it)

    add("target", "judge a Target", target.configure, target.run)
    add("controller", "judge a State Controller", controller.configure, controller.run)
    add("core", "judge a Core by serving it hostile documents", _configure_core, _run_core)
    add("judge", "judge a recorded transcript again, with no server", judge.configure, judge.run)
    add("list", "list the requirements", catalogue.configure_list, catalogue.run_list)
    add(
        "explain",
        "say all there is to say of a requirement",
        catalogue.configure_explain,
        catalogue.run_explain,
    )
    add("self-test", "try the suite on broken and odd servers", self_test.configure, self_test.run)


def run(args: argparse.Namespace) -> int:
    """Run the sub-command; the exit code."""
    from agentbeat_conformance.commands.options import UsageError

    try:
        code: int = args.conformance_run(args)
        sys.stdout.flush()
        return int(code)
    except UsageError as error:
        print(f"agentbeat conformance: {error}", file=sys.stderr)
        return _USAGE
    except (ModuleNotFoundError, BrokenPipeError):
        # The `agentbeat` command knows what to say to these.
        raise
    except OSError as error:
        if error.filename != _OUTPUT:
            return _fault()
        print(f"agentbeat conformance: {error.filename}: {error.strerror}", file=sys.stderr)
        return _OURS
    except Exception:  # noqa: BLE001 - the last place where a fault can be told apart from a verdict
        return _fault()


def _fault() -> int:
    traceback.print_exc()
    print("agentbeat conformance: a fault of the suite itself, please report it", file=sys.stderr)
    return _OURS


def _configure_core(parser: argparse.ArgumentParser) -> None:
    from agentbeat_conformance.core_side import configure

    configure(parser)


def _run_core(args: argparse.Namespace) -> int:
    from agentbeat_conformance.core_side import run

    return run(args)
