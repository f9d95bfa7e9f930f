"""Standard output for results: one that cannot be written is an error that says so, once, whoever prints.

A full disk or a closed output would otherwise end a command with Python's own words, at whatever line prints,
or only when everything has been done and the exit code is known.

    with results_written():
        print("a result")
"""

from __future__ import annotations

import errno
import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, TextIO

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

__all__ = ["OutputError", "results_written"]

_OUTPUT: Final = "standard output"


class OutputError(OSError):
    """Standard output takes no more; `strerror` says why."""


@contextmanager
def results_written() -> Iterator[None]:
    """In the block, `sys.stdout` takes results, and all of them are written when it ends.

    Raises:
        OutputError: a result cannot be written.
        BrokenPipeError: whoever read has left.
    """
    given = sys.stdout
    stream = _checked(given)
    if stream is None:
        yield
        return
    sys.stdout = stream
    try:
        yield
    finally:
        try:
            sys.stdout.flush()
        finally:
            sys.stdout = given


def _checked(given: TextIO | None) -> io.TextIOWrapper | None:
    """A stream to the same place; None where that is no file, but what a test looks at."""
    if given is None:
        return io.TextIOWrapper(io.BufferedWriter(_Output(None)), encoding="utf-8")
    try:
        number = given.fileno()
    except (OSError, ValueError):
        return None
    given.flush()
    return io.TextIOWrapper(
        io.BufferedWriter(_Output(number)),
        encoding=given.encoding,
        errors=given.errors,
        line_buffering=given.isatty(),
    )


class _Output(io.RawIOBase):
    """A file descriptor, or none. It raises once and then takes all: Python tries again when it ends."""

    def __init__(self, number: int | None) -> None:
        super().__init__()
        self._number = number
        self._failed = False

    def writable(self) -> bool:
        return True

    def fileno(self) -> int:
        return super().fileno() if self._number is None else self._number

    def isatty(self) -> bool:
        return self._number is not None and os.isatty(self._number)

    def write(self, data: ReadableBuffer, /) -> int | None:
        if self._failed:
            return memoryview(data).nbytes
        try:
            if self._number is None:
                raise OSError(errno.EBADF, "it is closed")
            return os.write(self._number, data)
        except BlockingIOError:
            return None
        except BrokenPipeError:
            self._failed = True
            raise
        except OSError as error:
            self._failed = True
            raise OutputError(error.errno, error.strerror, _OUTPUT) from error
