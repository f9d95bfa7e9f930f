"""The self-test on the command line: the matrix printed, and held against the documentation."""

from __future__ import annotations

import argparse
from pathlib import Path

from agentbeat_conformance.commands.options import UsageError
from agentbeat_conformance.commands.reporting import say
from agentbeat_conformance.kill_matrix import Matrix, in_page, to_markdown, to_text
from agentbeat_conformance.outcomes import ExitCode
from agentbeat_conformance.selftest import self_test

__all__ = ["measure"]


def measure(args: argparse.Namespace) -> int:
    """Run the self-test; the exit code.

    Raises:
        UsageError: there is no mutant of a name, or no page.
    """
    page: Path | None = args.write_docs or args.check_docs
    written = None if page is None else _read(page)
    try:
        matrix = self_test(jobs=args.jobs, only=args.only)
    except ValueError as error:
        raise UsageError(str(error)) from error
    print(to_text(matrix))
    say(f"{len(matrix.trials)} trials, {len(matrix.faults)} faults, {matrix.seconds:.0f} s")
    if matrix.faults:
        # Ours: the suite accuses an innocent, or lets somebody get away.
        return ExitCode.ERROR
    return ExitCode.CONFORMANT if page is None or written is None else _hold(page, written, matrix, args)


def _hold(page: Path, written: str, matrix: Matrix, args: argparse.Namespace) -> ExitCode:
    try:
        wanted = in_page(written, to_markdown(matrix))
    except ValueError as error:
        raise UsageError(f"{page}: {error}") from error
    if args.write_docs:
        page.write_text(wanted, encoding="utf-8")
        return ExitCode.CONFORMANT
    if wanted != written:
        say(f"{page}: it shows another matrix; run `agentbeat conformance self-test --write-docs {page}`")
        return ExitCode.NOT_CONFORMANT
    return ExitCode.CONFORMANT


def _read(page: Path) -> str:
    try:
        return page.read_text(encoding="utf-8")
    except OSError as error:
        raise UsageError(str(error)) from error
