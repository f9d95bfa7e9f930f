"""`agentbeat controller show RUN`: its options, where it reads, and where it writes.

The table goes to standard output, in colour where that is a terminal that takes it (not with `NO_COLOR` set).
`--json -` writes JSON there instead. Nothing is made or changed but the files that are asked for.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final, TextIO

from agentbeat_protocol import cut

if TYPE_CHECKING:
    from agentbeat_controller.showing.views import View

__all__ = ["DESCRIPTION", "EPILOG", "configure", "run"]

DESCRIPTION: Final = """\
What a run changed and what was expected, from the Controller's database alone: the difference between the
snapshots before and after, each check with its verdict, the log of business calls, the injection that was
planted, and whether the receipt and its signature hold. No Controller needs to run; one that does is not
held up."""

EPILOG: Final = """\
examples:
  agentbeat controller show run-20260301-7
  agentbeat controller show run-20260301-7 --html run.html
  agentbeat controller show run-20260301-7 --database postgresql://reader:…@db.example/agentbeat --json -
exit codes: 0 shown, 2 there is nothing to show (the message says what there is)"""

_DEFAULT_HOME: Final = Path("~/.agentbeat/controller")
#: Columns where the output is no terminal.
_COLUMNS: Final = 120
#: Characters of a message.
_LONGEST: Final = 1_000


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    add = parser.add_argument
    add("run_id", metavar="RUN", help="the run's id")
    add("--database", metavar="URL", help="SQLAlchemy URL (default: the SQLite file in the home folder)")
    add(
        "--home",
        type=Path,
        metavar="FOLDER",
        help=f"of the Controller: its database and the key of its receipts ({_DEFAULT_HOME})",
    )
    add("--verify-key", metavar="KEY", help="the key of its receipts, where the home folder is not at hand")
    add("--html", type=Path, metavar="FILE", help="write one self-contained HTML page too")
    add("--json", metavar="FILE", help="write everything as JSON too; -: to standard output, and no table")


def run(args: argparse.Namespace) -> int:
    """Show the run; the exit code."""
    from agentbeat_controller.keys import KeyFolderError
    from agentbeat_controller.showing.page import page
    from agentbeat_controller.showing.reading import ShowError
    from agentbeat_controller.showing.views import as_json

    try:
        view = _read(args)
        if args.html is not None:
            _write(args.html, page(view))
        text = None if args.json is None else json.dumps(as_json(view), indent=2) + "\n"
        if text is not None and args.json != "-":
            _write(Path(args.json), text)
    except (ShowError, KeyFolderError, ValueError) as error:
        return _complain(str(error))
    except OSError as error:
        return _complain(f"{error.filename or 'the system'}: {error.strerror}")
    return _print(text) if text is not None and args.json == "-" else _print_table(view)


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:  # of a full disk Python does not say which file was on it
        raise OSError(error.errno, error.strerror, str(path)) from error


def _read(args: argparse.Namespace) -> View:
    from agentbeat_controller.keys import KeyFolder
    from agentbeat_controller.showing.findings import key_id_of
    from agentbeat_controller.showing.reading import opened, read_run
    from agentbeat_controller.showing.views import view_of

    folder = KeyFolder((args.home or _DEFAULT_HOME).expanduser().absolute())
    key = args.verify_key
    if key is not None:
        key_id_of(key)
    # Another Controller's database has nothing to do with the key that happens to lie in the usual place.
    elif (args.home is not None or args.database is None) and folder.signing_key_path.exists():
        key = folder.signer().verify_key
    with opened(args.database or folder.default_database) as connection:
        kept = read_run(connection, args.run_id)
    return view_of(kept, verify_key=key)


def _print_table(view: View) -> int:
    from agentbeat_controller.showing.table import table

    terminal = sys.stdout.isatty()
    columns = shutil.get_terminal_size((_COLUMNS, 24)).columns if terminal else _COLUMNS
    return _print(table(view, colour=terminal and _takes_colour(), width=columns))


def _takes_colour() -> bool:
    return not os.environ.get("NO_COLOR") and os.environ.get("TERM", "dumb") != "dumb"


def _print(text: str) -> int:
    out: TextIO = sys.stdout
    coding = out.encoding or "utf-8"
    try:
        out.write(text.encode(coding, "backslashreplace").decode(coding))
        out.flush()
    except BrokenPipeError:
        # The reader has seen enough; at the end Python would flush once more, and complain.
        os.dup2(os.open(os.devnull, os.O_WRONLY), out.fileno())
    return 0


def _complain(message: str) -> int:
    print(f"agentbeat controller show: {cut(message, _LONGEST)}", file=sys.stderr)
    return 2
