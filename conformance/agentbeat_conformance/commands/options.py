"""Options that several sub-commands share, and what their values mean."""

from __future__ import annotations

import argparse
import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Final

__all__ = [
    "UsageError",
    "add_endpoint",
    "add_expected",
    "add_outputs",
    "add_selection",
    "environment_name",
    "names",
    "secret_of",
]

_ENVIRONMENT_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class UsageError(Exception):
    """A wrong command line; the message says what is wrong with it."""


def add_endpoint(parser: argparse.ArgumentParser, what: str) -> None:
    """The endpoint and how to reach it."""
    add = parser.add_argument
    add("url", metavar="URL", help=f"the {what}'s base URL")
    add("--token-env", metavar="NAME", type=environment_name, help="variable that holds its bearer secret")
    add(
        "--timeout",
        metavar="SECONDS",
        type=_seconds,
        default=120.0,
        help="how long one answer may take (default: %(default)g)",
    )
    add(
        "--ca-file",
        metavar="FILE",
        type=Path,
        help="certificates to trust instead of the system's, for https",
    )
    add(
        "--restart-command",
        metavar="CMD",
        help="restarts the server; with it the rules about what survives a restart are checked too",
    )


def add_selection(parser: argparse.ArgumentParser) -> None:
    """Which requirements."""
    group = parser.add_argument_group("which requirements")
    add = group.add_argument
    add(
        "--only",
        metavar="ID",
        action="append",
        default=[],
        help="INV-3.b, INV-3 with all its parts, or INV; may be repeated or a list with commas",
    )
    add("--skip", metavar="ID", action="append", default=[], help="the same, to leave out")
    add("--catalogue", metavar="VERSION", help="an older version of the catalogue (default: the newest)")
    add_expected(group)


def add_expected(group: argparse._ActionsContainer) -> None:
    """Failures that are known."""
    group.add_argument(
        "--expected-failures",
        metavar="FILE",
        type=Path,
        help="TOML: tables [[expected]] with id, reason and expires; what is not true in it fails the run",
    )


def add_outputs(parser: argparse.ArgumentParser, *, transcript: bool = True) -> None:
    """Where the reports go."""
    group = parser.add_argument_group("reports (- is standard output, in place of the table)")
    add = group.add_argument
    add("--json", metavar="FILE", help="the report as JSON")
    add("--junit", metavar="FILE", help="the report as JUnit XML")
    add("--html", metavar="FILE", help="the report as one HTML page")
    add("--badge", metavar="FILE", help="the badge as JSON")
    if transcript:
        add("--transcript", metavar="FILE", help="every exchange, without secrets, to be judged again")


def names(values: Iterable[str]) -> list[str]:
    """The names of an option that may be repeated and may hold commas."""
    return [name.strip() for value in values for name in value.split(",") if name.strip()]


def secret_of(variable: str | None) -> str | None:
    """The secret in an environment variable.

    Raises:
        UsageError: the variable is not set, or empty.
    """
    if variable is None:
        return None
    secret = os.environ.get(variable, "").strip()
    if not secret:
        raise UsageError(f"the variable {variable} is not set or empty, expected a bearer secret")
    return secret


def environment_name(text: str) -> str:
    """The name of an environment variable, for an option's type."""
    # Not repeated: it may be the secret itself.
    if not _ENVIRONMENT_NAME.fullmatch(text):
        raise argparse.ArgumentTypeError("expected the name of an environment variable, not a secret")
    return text


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < 1e6:
        raise argparse.ArgumentTypeError("expected a number of seconds above 0")
    return seconds
