"""The Controller as tests need it: `agentbeat controller`, on a clock that is set, with an end that is told.

A script of its own, because it forks: everything is imported once, and each Controller is a child of this
process, as fresh as one that was started by the shell and there twenty times sooner. What differs from
`python -m agentbeat_controller` is decided by the environment of the child. These variables are read here and
nowhere in the product, which knows nothing of them:

    AGENTBEAT_TEST_CLOCK      a file of two signed 64-bit numbers, little-endian: nanoseconds of the system's
                              clock and of the monotonic one. Time stands still until the file says otherwise
    AGENTBEAT_TEST_CRASH_AT   a file that holds a number, or nothing. Number N: the process is killed with
                              SIGKILL right before the N-th write of the next transaction; its commit counts
                              as one, and so does the moment after the commit and before the answer
    AGENTBEAT_TEST_LOCK_WAIT  seconds to wait for a locked database, instead of ten

Its SQLite does not wait for the disk: what is killed here are processes, not machines.

Each line on standard input is a JSON object with `start` (the arguments) and `environment`, or with `wait` (a
child); the answer is one line: the child's number, or how it ended. At the end of the input every child ends.
"""

from __future__ import annotations

import json
import os
import signal
import struct
import sys
import time
from pathlib import Path
from typing import Any

import psycopg  # noqa: F401 - what a Controller would import when it starts
import sqlalchemy.dialects.postgresql.psycopg  # noqa: F401
import uvicorn.lifespan.off
import uvicorn.lifespan.on  # noqa: F401
from sqlalchemy import Connection, event
from sqlalchemy.engine import Engine
from sqlalchemy.pool import Pool

from agentbeat_controller import command, databases, serving, transactions  # noqa: F401 - as above
from agentbeat_controller.__main__ import main as controller_main
from agentbeat_controller.environments.desk import DeskEnvironment
from agentbeat_controller.timekeeping import Timekeeper
from agentbeat_protocol import Instant

CLOCK, CRASH_AT, LOCK_WAIT = (f"AGENTBEAT_TEST_{name}" for name in ("CLOCK", "CRASH_AT", "LOCK_WAIT"))

#: Statements that change nothing; every other one counts as a write.
_READS = ("SELECT", "PRAGMA", "BEGIN", "SHOW")


def _read_clock_from(path: Path) -> None:
    def read() -> tuple[int, int]:
        system, monotonic = struct.unpack("<qq", path.read_bytes())
        return system, monotonic

    defaults = Timekeeper.__init__.__kwdefaults__
    defaults["clock"] = lambda: Instant.from_nanoseconds(read()[0])
    defaults["monotonic"] = lambda: read()[1]


def _crash_as_told_by(path: Path) -> None:
    left = 0

    def begin(*_: object) -> None:
        nonlocal left
        left = int(path.read_text() or 0)

    def write(*_: object) -> None:
        nonlocal left
        left -= 1
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    def statement(_connection: Connection, _cursor: object, sql: str, *_: object) -> None:
        if not sql.lstrip().upper().startswith(_READS):
            write()

    event.listen(Engine, "begin", begin)
    event.listen(Engine, "before_cursor_execute", statement)
    event.listen(Engine, "commit", write)
    event.listen(Pool, "checkin", write)


def _wait_for_locks(seconds: float) -> None:
    vars(databases)["LOCK_WAIT_SECONDS"] = seconds
    defaults = transactions.Transactions.__init__.__kwdefaults__
    defaults["wait_seconds"] = seconds


def _do_not_wait_for_the_disk() -> None:
    def checkout(connection: Any, record: Any, _proxy: object) -> None:
        if "hurried" not in record.info and type(connection).__module__ == "sqlite3":
            connection.execute("PRAGMA synchronous = OFF")
            record.info["hurried"] = True

    event.listen(Pool, "checkout", checkout)


def _make_the_desk_once() -> None:
    """Its catalogue and its document are data, the same in each process, and take longest to make."""
    desk = DeskEnvironment()
    assert desk.profiles
    assert desk.document
    vars(command)["environment_named"] = {"desk": desk}.__getitem__


def _be_a_controller(arguments: list[str], environment: dict[str, str]) -> None:
    """What the child does; it never returns."""
    code = 70
    try:
        os.environ.update(environment)
        log = os.open(environment["AGENTBEAT_TEST_LOG"], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        nothing = os.open(os.devnull, os.O_RDONLY)
        for number, target in ((nothing, 0), (log, 1), (log, 2)):
            os.dup2(number, target)
        _do_not_wait_for_the_disk()
        if CLOCK in environment:
            _read_clock_from(Path(environment[CLOCK]))
        if CRASH_AT in environment:
            _crash_as_told_by(Path(environment[CRASH_AT]))
        if LOCK_WAIT in environment:
            _wait_for_locks(float(environment[LOCK_WAIT]))
        sys.argv = ["agentbeat-controller", *arguments]
        code = controller_main()
    except SystemExit as exit_:
        code = exit_.code if isinstance(exit_.code, int) else 1
    finally:
        sys.stderr.flush()
        os._exit(code)


def main() -> None:
    """Serve the lines of standard input."""
    _make_the_desk_once()
    children: set[int] = set()
    for line in sys.stdin:
        asked = json.loads(line)
        if "start" in asked:
            answer = os.fork()
            if answer == 0:
                _be_a_controller(asked["start"], asked["environment"])
            children.add(answer)
        else:
            answer = _ended(asked["wait"], asked["seconds"])
            children.discard(asked["wait"])
        print(json.dumps(answer), flush=True)
    for child in children:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


def _ended(child: int, seconds: float) -> int | None:
    """The exit code, or the negative number of the signal; None: it has not ended in time."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        pid, status = os.waitpid(child, os.WNOHANG)
        if pid:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.002)
    return None


if __name__ == "__main__":
    main()
