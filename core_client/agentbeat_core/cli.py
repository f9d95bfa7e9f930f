"""The command `agentbeat`: finds the sub-command, loads its room, and runs it.

Sub-commands come from the entry-point group `agentbeat.commands`; each entry is a module with `HELP` (one
line), `EXTRA` (what has to be installed for it, or None), `configure(parser)` and `run(args) -> exit code`.
Only the module that was asked for is loaded, and it imports what is heavy when it runs.

Exit codes of every sub-command, beside its own: 2 a wrong command line or a missing extra, 4 a fault of the
kit itself or results that cannot be written, 130 interrupted. Results go to standard output, messages to
standard error.
"""

from __future__ import annotations

import argparse
import difflib
import sys
import traceback
from collections.abc import Sequence
from importlib.metadata import EntryPoint, PackageNotFoundError, entry_points, version
from typing import Any, Final

from agentbeat_core.output import OutputError, results_written

__all__ = ["GROUP", "main"]

GROUP: Final = "agentbeat.commands"
DISTRIBUTION: Final = "agentbeat-kit"

_USAGE: Final = 2
_HARNESS: Final = 4
_INTERRUPTED: Final = 130
_BROKEN_PIPE: Final = 141

_OURS: Final = "agentbeat_"

_EPILOG: Final = """\
agentbeat COMMAND --help says more about a command.

environment:
  AIBEAT_AGENT_TARGET_REGISTRY  the Target registry file
  AIBEAT_JUDGE_BASE_URL         an OpenAI-compatible endpoint, such as http://127.0.0.1:8095/v1
  AIBEAT_JUDGE_MODEL            the judge's model
  AIBEAT_JUDGE_API_KEY          its key, if it takes one
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run `agentbeat` with these arguments (the process's own by default); the exit code."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    try:
        with results_written():
            return _main(arguments)
    except KeyboardInterrupt:
        return _INTERRUPTED
    except OutputError as error:
        _say(f"the result cannot be written to {error.filename}: {error.strerror}")
        return _HARNESS
    except BrokenPipeError:
        return _BROKEN_PIPE  # whoever read has left


def _main(arguments: list[str]) -> int:
    commands = {entry.name: entry for entry in entry_points(group=GROUP)}
    if not arguments or arguments[0] in ("-h", "--help", "help"):
        _help(commands)
        return 0 if arguments else _USAGE
    if arguments[0] in ("-V", "--version"):
        print(f"agentbeat {_version()}")
        return 0
    return _run(commands, arguments[0], arguments[1:])


def _run(commands: dict[str, EntryPoint], name: str, arguments: list[str]) -> int:
    if name not in commands:
        return _unknown(commands, name)
    extra: str | None = None
    try:
        command = commands[name].load()
        extra = command.EXTRA
        parser = argparse.ArgumentParser(
            prog=f"agentbeat {name}",
            description=_description(command),
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        command.configure(parser)
        code: int = command.run(parser.parse_args(arguments))
        return code
    except ModuleNotFoundError as error:
        return _missing(name, error, extra)
    except (KeyboardInterrupt, BrokenPipeError, OutputError):
        raise
    except Exception:  # noqa: BLE001  the last place where a fault can be told apart from a result
        traceback.print_exc()
        _say(f"agentbeat {name}: a fault of the kit itself, please report it")
        return _HARNESS


def _description(command: Any) -> str:
    """The command's one line, and what its module says about itself beyond the first paragraph."""
    _, _, more = (command.__doc__ or "").partition("\n\n")
    return f"{command.HELP[:1].upper()}{command.HELP[1:]}.\n\n{more}".strip()


def _help(commands: dict[str, EntryPoint]) -> None:
    print("usage: agentbeat COMMAND [OPTIONS]\n       agentbeat --version\n")
    print("Evaluates AI Agents over HTTP: Targets, State Controllers, evidence and scores.\n")
    print("commands:")
    width = max(map(len, commands), default=0)
    for name in sorted(commands):
        print(f"  {name:<{width}}  {_one_line(commands[name])}")
    print(f"\n{_EPILOG}", end="")


def _one_line(entry: EntryPoint) -> str:
    try:
        return str(entry.load().HELP)
    except ModuleNotFoundError as error:
        return f"(not installed: no module {error.name})"


def _unknown(commands: dict[str, EntryPoint], name: str) -> int:
    shown = name if name.isprintable() and len(name) <= 64 else "that"
    near = difflib.get_close_matches(name, commands, n=1)
    hint = f"did you mean {near[0]}?" if near else f"the commands are {', '.join(sorted(commands))}"
    _say(f"agentbeat: there is no command {shown}; {hint}")
    return _USAGE


def _missing(name: str, error: ModuleNotFoundError, extra: str | None) -> int:
    """Say what to install; a module of our own that is missing is no matter of an extra."""
    if (error.name or "").startswith(_OURS):
        _say(f"agentbeat {name}: {error.name} is not part of this installation of {DISTRIBUTION}")
        return _USAGE
    wanted = extra or "all"
    _say(
        f'agentbeat {name} needs the extra "{wanted}" (there is no module {error.name}): '
        f"pip install '{DISTRIBUTION}[{wanted}]'"
    )
    return _USAGE


def _version() -> str:
    try:
        return version(DISTRIBUTION)
    except PackageNotFoundError:
        return "(not installed)"


def _say(message: str) -> None:
    print(message, file=sys.stderr)
