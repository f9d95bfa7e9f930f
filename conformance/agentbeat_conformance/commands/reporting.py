"""From a finished run to what the user sees: the table, the files, the complaints, the exit code."""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final

from agentbeat_conformance.catalogues import load_catalogue
from agentbeat_conformance.commands.options import UsageError
from agentbeat_conformance.expected_failures import (
    Assessment,
    ExpectedFailure,
    ExpectedFailuresError,
    assess,
    read_expected_failures,
)
from agentbeat_conformance.outcomes import ExitCode
from agentbeat_conformance.runs import Run
from agentbeat_conformance.transcripts import write_transcript

if TYPE_CHECKING:
    from agentbeat_conformance.reports.records import Report

__all__ = ["expected_of", "probe_outputs", "report", "say"]

_FILES: Final = ("json", "junit", "html", "badge", "transcript")
_STANDARD_OUTPUT: Final = "-"


def say(message: str) -> None:
    """A message to standard error."""
    print(message, file=sys.stderr, flush=True)


def expected_of(args: argparse.Namespace) -> tuple[ExpectedFailure, ...]:
    """The entries of `--expected-failures`.

    Raises:
        UsageError: the file cannot be read, or is not as it should be.
    """
    path: Path | None = args.expected_failures
    if path is None:
        return ()
    try:
        return read_expected_failures(path.read_bytes())
    except (OSError, ExpectedFailuresError) as error:
        raise UsageError(f"--expected-failures: {error}") from error


def probe_outputs(args: argparse.Namespace) -> None:
    """See before the run that its reports can be written: a run may cost money.

    Raises:
        UsageError: two reports for standard output, or a folder that is not there or not ours to write to.
    """
    chosen = [path for name in _FILES if (path := getattr(args, name, None)) is not None]
    if chosen.count(_STANDARD_OUTPUT) > 1:
        raise UsageError("got two reports for standard output, expected one")
    for path in chosen:
        folder = Path(path).absolute().parent
        if path != _STANDARD_OUTPUT and not (
            os.access(folder, os.W_OK | os.X_OK) and not Path(path).is_dir()
        ):
            raise UsageError(f"{path}: expected a file in a folder that can be written to")


def report(
    run: Run,
    args: argparse.Namespace,
    *,
    expected: Iterable[ExpectedFailure],
    variables: Mapping[str, str],
) -> ExitCode:
    """Write everything that was asked for.

    Args:
        variables: the environment variable of each secret, by the name of its marker.

    Returns:
        The command's exit status.
    """
    known = load_catalogue(run.plan.catalogue)
    assessment = assess(run, expected, known=known, today=datetime.now(UTC).date())
    _write_reports(run, args, assessment, variables)
    for complaint in assessment.complaints:
        say(f"expected failures: {complaint}")
    for entry in assessment.expected:
        say(f"expected failures: {entry.id} fails as expected until {entry.expires}: {entry.reason}")
    _say_exit_code(run, assessment)
    return assessment.exit_code


def _say_exit_code(run: Run, assessment: Assessment) -> None:
    if assessment.exit_code is not ExitCode.of(run.verdict):
        say(f"expected failures: the exit code is {assessment.exit_code}, the verdict remains {run.verdict}")


def _write_reports(
    run: Run, args: argparse.Namespace, assessment: Assessment, variables: Mapping[str, str]
) -> None:
    from agentbeat_conformance.reports.badge import badge
    from agentbeat_conformance.reports.html import to_html
    from agentbeat_conformance.reports.json_report import to_json
    from agentbeat_conformance.reports.junit import to_junit
    from agentbeat_conformance.reports.records import Report, shell_variables

    # The transcript first: from it all others can be made again.
    if getattr(args, "transcript", None) is not None:
        _write(args.transcript, b"".join(write_transcript(run.transcript)))
    made = Report.of(run, assessment=assessment, variables=shell_variables(variables) if variables else None)
    if args.json is not None:
        _write(args.json, to_json(made).encode())
    if args.junit is not None:
        _write(args.junit, to_junit(made).encode())
    if args.html is not None:
        _write(args.html, to_html(made).encode())
    if args.badge is not None:
        _write(args.badge, (json.dumps(badge(made), indent=2) + "\n").encode())
    # Without any answer every line of the table would say the same.
    if run.reached and _STANDARD_OUTPUT not in (getattr(args, name, None) for name in _FILES):
        _print_table(made)


def _print_table(made: Report) -> None:
    from rich.console import Console

    from agentbeat_conformance.reports.table import render_table

    render_table(made, Console())


def _write(path: str, data: bytes) -> None:
    """Write a file whole or not at all."""
    if path == _STANDARD_OUTPUT:
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
        return
    place = Path(path).absolute()
    descriptor, name = tempfile.mkstemp(dir=place.parent, prefix=f".{place.name}.")
    temporary = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
        # As a file that was simply opened would have it.
        mask = os.umask(0)
        os.umask(mask)
        temporary.chmod(0o666 & ~mask)
        temporary.replace(place)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
