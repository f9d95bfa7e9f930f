"""What the sub-commands share: options, output files, and how a message is said."""

from __future__ import annotations

import argparse
import os
import re
import sys
import tempfile
from pathlib import Path
from typing import Final

from agentbeat_protocol import cut

__all__ = [
    "STANDARD_OUTPUT",
    "UsageError",
    "add_reports",
    "add_seed",
    "digest_of",
    "new_file",
    "probe_reports",
    "say",
    "write_report",
    "write_text",
]

#: The name that stands for standard output in place of a file.
STANDARD_OUTPUT: Final = "-"

_DIGEST: Final = re.compile(r"sha256:[0-9a-f]{64}")


class UsageError(Exception):
    """A wrong command line, or a file that does not fit it; the message says what is wrong."""


def say(message: str) -> None:
    """A message to standard error."""
    print(message, file=sys.stderr, flush=True)


def write_text(text: str) -> None:
    """A result to standard output: UTF-8 whatever the locale says, with a line feed at its end."""
    sys.stdout.buffer.write(text.encode() + (b"" if text.endswith("\n") else b"\n"))
    sys.stdout.buffer.flush()


def digest_of(text: str) -> str:
    """A digest, for an option's type."""
    if not _DIGEST.fullmatch(text):
        raise argparse.ArgumentTypeError(f"got {cut(text)!r}, expected sha256: and 64 hex digits")
    return text


def add_seed(parser: argparse.ArgumentParser) -> None:
    """The seed of a corpus."""
    parser.add_argument(
        "--seed", metavar="N", type=_seed, default=1, help="a whole number (default: %(default)s)"
    )


def add_reports(parser: argparse.ArgumentParser) -> None:
    """Where the reports go."""
    group = parser.add_argument_group("reports (- is standard output, in place of the table)")
    group.add_argument("--json", metavar="FILE", help="the report as JSON (schema: claims-verification-v1)")
    group.add_argument("--html", metavar="FILE", help="the report as one HTML page that loads nothing")
    group.add_argument("--force", action="store_true", help="replace reports that are there already")


def probe_reports(args: argparse.Namespace) -> None:
    """See before the work that its reports can be written.

    Raises:
        UsageError: two reports for standard output, one that is there already, or no folder for it.
    """
    chosen = [path for path in (args.json, args.html) if path is not None]
    if chosen.count(STANDARD_OUTPUT) > 1:
        raise UsageError("got two reports for standard output, expected one")
    for path in chosen:
        if path == STANDARD_OUTPUT:
            continue
        new_file(path, force=args.force)


def new_file(path: str, *, force: bool = False) -> Path:
    """The place of a file that is to be written.

    Raises:
        UsageError: it is there already (and not `force`), or its folder cannot be written to.
    """
    place = Path(path).absolute()
    if not os.access(place.parent, os.W_OK | os.X_OK) or place.is_dir():
        raise UsageError(f"{path}: expected a file in a folder that can be written to")
    if os.path.lexists(place) and not force:
        raise UsageError(f"{path}: there already, and nothing is overwritten")
    return place


def write_report(path: str, data: bytes, *, force: bool = False) -> None:
    """Write a file whole or not at all.

    Raises:
        UsageError: it is there already.
    """
    if path == STANDARD_OUTPUT:
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
        return
    place = new_file(path, force=force)
    descriptor, name = tempfile.mkstemp(dir=place.parent, prefix=f".{place.name[:64]}.")
    temporary = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
        # As a file that was simply opened would have it.
        mask = os.umask(0)
        os.umask(mask)
        temporary.chmod(0o666 & ~mask)
        if force:
            temporary.replace(place)
        else:
            _link_new(temporary, place)
    except FileExistsError:
        raise UsageError(f"{path}: there already, and nothing is overwritten") from None
    finally:
        temporary.unlink(missing_ok=True)


def _link_new(temporary: Path, place: Path) -> None:
    """Give a file its name, unless the name is taken, also by one who came in between."""
    try:
        os.link(temporary, place)
    except FileExistsError:
        raise
    except OSError:
        # A file system without links: then the name was free a moment ago, and that has to do.
        temporary.rename(place)


def _seed(text: str) -> int:
    if not re.fullmatch(r"[0-9]{1,18}", text):
        raise argparse.ArgumentTypeError(f"got {cut(text)!r}, expected a whole number from 0 on")
    return int(text)
