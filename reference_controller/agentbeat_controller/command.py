"""`agentbeat controller`: serve the State Controller, list its profiles.

agentbeat controller serve --control-port 8801 --business-port 8802
agentbeat controller profiles
agentbeat controller oracles --environment agentdojo > oracles.json
agentbeat controller check --environment package.module:attribute
agentbeat controller show RUN
"""

from __future__ import annotations

import argparse
import json
import logging
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Final

from agentbeat_controller.catalogue_names import BUILT_IN, EnvironmentNameError, check_name, environment_named

if TYPE_CHECKING:
    from agentbeat_controller.environments.base import Environment

__all__ = ["EXTRA", "HELP", "configure", "run"]

HELP: Final = "serve the State Controller, list its profiles, check a catalogue, show a run"
EXTRA: Final = "controller"

_DEFAULT_HOME: Final = Path("~/.agentbeat/controller")
_CONTROL_PORT: Final = 8801
_BUSINESS_PORT: Final = 8802
_LEASE_SECONDS: Final = 15 * 60


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the sub-commands and their options."""
    commands = parser.add_subparsers(dest="controller_command", required=True, metavar="COMMAND")
    _configure_serve(commands.add_parser("serve", help="serve both planes until Ctrl-C"))
    profiles = commands.add_parser("profiles", help="print the catalogue as JSON; nothing is started")
    _add_environment(profiles)
    _configure_oracles(commands)
    _configure_check(commands)
    _configure_show(commands)


def _configure_oracles(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    from agentbeat_controller import oracle_files

    parser = commands.add_parser("oracles", help="print the ground truths as JSON, for scripted Agents")
    _add_environment(parser)
    oracle_files.configure(parser)


def _configure_check(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    from agentbeat_controller.checking import options

    parser = commands.add_parser(
        "check",
        help="hold a catalogue to its own ground truths, and its Controller to the CTL rules",
        description=options.DESCRIPTION,
        epilog=options.EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    _add_environment(parser)
    options.configure(parser)


def _configure_show(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    from agentbeat_controller.showing import options

    parser = commands.add_parser(
        "show",
        help="show what a run changed and what was expected",
        description=options.DESCRIPTION,
        epilog=options.EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    options.configure(parser)


def _configure_serve(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    _add_environment(parser)
    add("--host", default="127.0.0.1", help="address of both planes (default: %(default)s)")
    add(
        "--control-port",
        type=_port,
        default=_CONTROL_PORT,
        metavar="PORT",
        help="0: a free one (%(default)s)",
    )
    add(
        "--business-port",
        type=_port,
        default=_BUSINESS_PORT,
        metavar="PORT",
        help="0: a free one (%(default)s)",
    )
    add(
        "--deployment",
        action="append",
        default=[],
        metavar="ID",
        help="a Deployment with a business secret of its own; repeatable (default: deployment-ENVIRONMENT)",
    )
    add("--database", metavar="URL", help="SQLAlchemy URL (default: a SQLite file in the home folder)")
    add("--home", type=Path, default=_DEFAULT_HOME, metavar="FOLDER", help="keys and secrets (%(default)s)")
    add("--controller-id", metavar="ID", help="fixed on first start (default: a random one)")
    add(
        "--lease-seconds",
        type=_seconds,
        default=_LEASE_SECONDS,
        metavar="N",
        help="until a lease expires (%(default)s)",
    )
    signing = parser.add_mutually_exclusive_group()
    signing.add_argument(
        "--unsigned", action="store_true", help="sign no receipts: usable evidence, never official"
    )
    signing.add_argument(
        "--new-signing-key",
        action="store_true",
        help="sign with the home's key from now on, though the database knows another; a missing one is made",
    )
    add("--ready-file", type=Path, metavar="PATH", help="JSON, written when both planes answer")


def _add_environment(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--environment",
        type=_environment_name,
        metavar="NAME",
        default="desk",
        help=f"{', '.join(sorted(BUILT_IN))}, or one's own: package.module:attribute (default: %(default)s)",
    )


def _environment_name(text: str) -> str:
    try:
        return check_name(text)
    except EnvironmentNameError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def _port(text: str) -> int:
    if not (text.isascii() and text.isdigit() and int(text) < 2**16):
        raise argparse.ArgumentTypeError("a port is a number from 0 to 65535")
    return int(text)


def _seconds(text: str) -> int:
    if not (text.isascii() and text.isdigit() and 0 < int(text) <= 366 * 24 * 60 * 60):
        raise argparse.ArgumentTypeError("expected a number of seconds from 1 to a year's")
    return int(text)


def run(args: argparse.Namespace) -> int:
    """Run the sub-command that was chosen; the exit code."""
    if args.controller_command == "show":
        from agentbeat_controller.showing import options

        return options.run(args)
    if args.controller_command == "check":
        from agentbeat_controller.checking import options as check_options

        return check_options.run(args)
    try:
        environment = environment_named(args.environment)
    except EnvironmentNameError as error:
        print(f"agentbeat controller: {error}", file=sys.stderr)
        return 2
    try:
        return _run(args, environment)
    finally:
        close = getattr(environment, "close", None)
        if callable(close):
            close()


def _run(args: argparse.Namespace, environment: Environment) -> int:
    if args.controller_command == "profiles":
        return _print_profiles(environment)
    if args.controller_command == "oracles":
        from agentbeat_controller import oracle_files

        return oracle_files.run(args, environment)
    return _serve(args, environment)


def _print_profiles(environment: Environment) -> int:
    """The catalogue's entries, each with the task, the sample injections and the known weaknesses."""
    from agentbeat_controller.catalogues import profile_entry

    profiles = [
        {
            **profile_entry(profile).model_dump(mode="json"),
            "task": profile.task,
            "injections": dict(profile.injections),
            "weaknesses": [asdict(weakness) for weakness in profile.weaknesses],
        }
        for profile in environment.profiles.values()
    ]
    # Plain ASCII: what does not print in a name is escaped.
    json.dump({"environment": environment.name, "profiles": profiles}, sys.stdout, indent=2)
    print()
    return 0


def _serve(args: argparse.Namespace, environment: Environment) -> int:
    from agentbeat_controller.serving import ServeOptions, serve

    logging.basicConfig(
        level=logging.WARNING, stream=sys.stderr, format="%(levelname)s %(name)s: %(message)s"
    )
    return serve(
        ServeOptions(
            environment=environment,
            home=args.home,
            deployments=tuple(args.deployment) or (f"deployment-{environment.name}",),
            host=args.host,
            control_port=args.control_port,
            business_port=args.business_port,
            controller_id=args.controller_id,
            database=args.database,
            lease_seconds=args.lease_seconds,
            unsigned=args.unsigned,
            new_signing_key=args.new_signing_key,
            ready_file=args.ready_file,
        )
    )
