"""Real Controller processes in quick succession, on a clock that the test sets; see `controller_nursery`.

with nursery() as grown, grown.place(folder) as place:
    place.start()
    place.post("reset", {...})
    place.kill()
    place.start()                       # the same keys, the same database
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import struct
import subprocess
import sys
import time
from pathlib import Path

import httpx
from sqlalchemy import create_engine, inspect, text

from agentbeat_controller import open_engine
from agentbeat_controller.timekeeping import NANOSECONDS
from agentbeat_protocol import RUN_ID_HEADER, Instant
from support import controller_nursery

__all__ = ["DEPLOYMENTS", "Nursery", "Place", "SetClock", "nursery", "seconds"]

DEPLOYMENTS = ("deployment-a", "deployment-b")


@contextlib.contextmanager
def nursery():
    """A process that has imported everything and forks Controllers, until the block ends."""
    script = Path(controller_nursery.__file__)
    process = subprocess.Popen(
        [sys.executable, str(script)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        yield Nursery(process)
    finally:
        process.stdin.close()
        process.stdout.close()
        process.wait(20)


class Nursery:
    """Starts Controllers and waits for their end."""

    def __init__(self, process):
        self._process = process

    def start(self, arguments, environment):
        """A Controller's process number."""
        return self._ask({"start": arguments, "environment": environment})

    def ended(self, pid, seconds=20):
        """How a Controller ended: its exit code, or the negative number of a signal."""
        code = self._ask({"wait": pid, "seconds": seconds})
        assert code is not None, "the Controller is still running"
        return code

    @contextlib.contextmanager
    def place(self, folder, **settings):
        """A home and a database for one Controller at a time; what runs there at the end is killed."""
        place = Place(self, Path(folder), **settings)
        try:
            yield place
        finally:
            if place.pid is not None:
                place.kill()
            place.close()
            place.engine.dispose()

    def _ask(self, question):
        self._process.stdin.write(json.dumps(question) + "\n")
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline())


class SetClock:
    """The clocks of a Controller in another process; they stand still until a test moves them."""

    def __init__(self, path, text="2026-03-01T10:00:00Z"):
        self._path = path
        self.system, self.monotonic = Instant.parse(text).unix_nanoseconds, 0
        self._tell()

    def advance(self, nanoseconds):
        """Time goes by."""
        self.system += nanoseconds
        self.monotonic += nanoseconds
        self._tell()

    def set_back(self, nanoseconds):
        """Somebody sets the system's clock back; no time goes by."""
        self.system -= nanoseconds
        self._tell()

    def _tell(self):
        draft = self._path.with_suffix(".draft")
        draft.write_bytes(struct.pack("<qq", self.system, self.monotonic))
        draft.replace(self._path)


class Place:
    """Where a Controller lives; `start`, `kill` and `start` again."""

    def __init__(self, nursery, folder, *, database=None, lease_seconds=900, clock=False, environment=None):
        self._nursery, self._folder = nursery, folder
        self.home, self.log = folder / "home", folder / "log"
        self.database = database or f"sqlite:///{self.home / 'controller.db'}"
        #: For looking into the database from outside.
        self.engine = create_engine(open_engine(self.database).url)
        self._lease_seconds = lease_seconds
        self._crash_at = folder / "crash-at"
        self._crash_at.write_text("")
        self._environment = {
            "AGENTBEAT_TEST_LOG": str(self.log),
            controller_nursery.CRASH_AT: str(self._crash_at),
            **(environment or {}),
        }
        self.clock = None
        if clock:
            self._environment[controller_nursery.CLOCK] = str(folder / "clock")
            self.clock = SetClock(folder / "clock")
        self.pid, self.ready = None, None
        self._clients = {}

    # The process

    def start(self):
        """Start a Controller and wait until both planes answer."""
        ready_file = self.launch()
        deadline = time.monotonic() + 30
        while not ready_file.exists():
            assert time.monotonic() < deadline, f"the Controller did not come up: {self.log.read_text()}"
            time.sleep(0.002)
        self.ready = json.loads(ready_file.read_text())

    def launch(self):
        """Start a Controller; the file that it will write when both planes answer."""
        ready_file = self._folder / "ready.json"
        ready_file.unlink(missing_ok=True)
        arguments = ["serve", "--home", str(self.home), "--database", self.database]
        arguments += ["--control-port", "0", "--business-port", "0", "--ready-file", str(ready_file)]
        arguments += ["--lease-seconds", str(self._lease_seconds)]
        arguments += [word for name in DEPLOYMENTS for word in ("--deployment", name)]
        self.pid = self._nursery.start(arguments, self._environment)
        return ready_file

    def kill(self):
        """SIGKILL, and wait until it is gone."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)
        return self.gone()

    def gone(self):
        """Wait for an end that comes by itself; how it ended."""
        self.close()
        pid, self.pid = self.pid, None
        return self._nursery.ended(pid)

    def crash_at(self, write):
        """Kill it before this write of the next transaction; None: let it live."""
        self._crash_at.write_text("" if write is None else str(write))

    # Its planes

    def control(self):
        """A blocking client of the control plane, kept until the process ends."""
        return self._client("control", self.ready["control"])

    def business(self, deployment="deployment-a"):
        """A blocking client of a Deployment's tools, kept until the process ends."""
        told = self.ready["business"]
        return self._client(deployment, told | told["deployments"][deployment])

    def post(self, step, body):
        """One control call: a `dict`, or the very bytes of its body."""
        path = f"/v1/environment/{'snapshot' if step in ('before', 'after') else step}"
        given = {"content": body} if isinstance(body, bytes) else {"json": body}
        return self.control().post(path, **given, headers={"Content-Type": "application/json"})

    def call(self, method, path, *, run_id=None, deployment="deployment-a", body=None):
        """One business call."""
        headers = {} if run_id is None else {RUN_ID_HEADER: run_id}
        return self.business(deployment).request(method, path, json=body, headers=headers)

    def close(self):
        """Give the clients back."""
        for client in self._clients.values():
            client.close()
        self._clients.clear()

    def _client(self, name, told):
        if name not in self._clients:
            secret = Path(told["secret_file"]).read_text()
            headers = {"Authorization": f"Bearer {secret}"}
            self._clients[name] = httpx.Client(
                base_url=told["url"], headers=headers, timeout=30, trust_env=False, verify=False
            )
        return self._clients[name]

    # What it keeps

    def rows(self):
        """Every row of every table, the clock's too."""
        with self.engine.connect() as connection:
            names = inspect(connection).get_table_names()
            query = connection.execute
            return {
                name: sorted(repr(tuple(row)) for row in query(text(f'SELECT * FROM "{name}"')))
                for name in names
            }


def seconds(number):
    """Nanoseconds."""
    return int(number * NANOSECONDS)
