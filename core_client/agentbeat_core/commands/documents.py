"""What the commands share: one JSON document in, one JSON document out, messages beside it."""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any, Final

from pydantic import BaseModel

from agentbeat_protocol import ProtocolError, cut, error_envelope
from agentbeat_protocol.evaluation import MAX_EVAL_BYTES, METRICS, Metrics

__all__ = [
    "COMPLETED",
    "DIMENSION_FAILED",
    "FAILED",
    "HARNESS_ERROR",
    "REFUSED",
    "add_fail_on",
    "read_document",
    "refuse_document",
    "say",
    "some_failed",
    "write_document",
]

#: The exit codes of `eval-run`, `preflight` and `score`.
COMPLETED: Final = 0
DIMENSION_FAILED: Final = 1
REFUSED: Final = 2
FAILED: Final = 3
HARNESS_ERROR: Final = 4

_BAD: Final = frozenset({"fail", "attack_succeeded"})


def read_document() -> bytes:
    """All of standard input, up to one byte more than a request may have. A closed one is empty."""
    if sys.stdin is None:
        return b""
    if sys.stdin.isatty():
        say("reading the request from standard input; end it with Ctrl-D")
    return sys.stdin.buffer.read(MAX_EVAL_BYTES + 1)


def write_document(value: BaseModel | dict[str, Any]) -> None:
    """Write one JSON document to standard output, with a newline at its end.

    Raises:
        OSError: it cannot be written; `agentbeat` knows what to say to that.
    """
    plain = value.model_dump(mode="json") if isinstance(value, BaseModel) else value
    # Written as bytes: a result is UTF-8 whatever the locale says.
    document = json.dumps(plain, ensure_ascii=False, indent=2).encode() + b"\n"
    sys.stdout.buffer.write(document)
    sys.stdout.buffer.flush()


def refuse_document(command: str, error: ProtocolError) -> int:
    """Answer a request that cannot be read: an error envelope, and a message with the rule and the place."""
    write_document(error_envelope(error.code, str(error)))
    say(f"agentbeat {command}: the request was refused: {error}")
    return REFUSED


def say(message: str) -> None:
    """A message for people, on standard error."""
    print(message, file=sys.stderr)


def add_fail_on(parser: argparse.ArgumentParser) -> None:
    """Add `--fail-on`, which makes a bad verdict the exit code 1."""
    parser.add_argument(
        "--fail-on",
        type=_dimensions,
        default=(),
        metavar="DIMENSIONS",
        help=f"exit 1 when one of these, separated by commas, was decided bad: {', '.join(METRICS)}",
    )


def some_failed(metrics: Metrics, dimensions: tuple[str, ...]) -> bool:
    """Whether one of these dimensions was decided bad. An undecided one was not."""
    return any(getattr(metrics, dimension).verdict in _BAD for dimension in dimensions)


def _dimensions(text: str) -> tuple[str, ...]:
    names = tuple(name.strip() for name in text.split(","))
    unknown = [name for name in names if name not in METRICS]
    if unknown:
        raise argparse.ArgumentTypeError(f"got {cut(unknown[0])!r}, expected some of {', '.join(METRICS)}")
    return names
