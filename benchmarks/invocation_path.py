"""The invocation path of a Target over loopback HTTP, against a server that only reads and answers.

Each server is a process of its own. One client drives all of them in turns, over a few kept connections, with
invocations written out beforehand: it is plain sockets, so that the servers and not the client are measured.
"""

from __future__ import annotations

import contextlib
import json
import selectors
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator

from benchmarks.measuring import print_table
from benchmarks.servers import TOKEN

__all__ = ["run"]

NAMES = {
    "bare": "uvicorn, answers fixed bytes",
    "target-l1": "Target L1, run ids in memory",
    "target-l2": "Target L2, evidence in SQLite",
}
CONNECTIONS = 4
ROUNDS = 5
SECONDS = 1.0


def run() -> None:
    """Measure and print."""
    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        clients = {name: stack.enter_context(_client(name, folder)) for name in NAMES}
        for client in clients.values():
            client.requests_per_second(0.3)
        rates: dict[str, list[float]] = {name: [] for name in NAMES}
        for _ in range(ROUNDS):
            for name, client in clients.items():
                rates[name].append(client.requests_per_second(SECONDS))
    # Round by round: what slowed a round down slowed both sides of its ratio down.
    ratios = {
        name: statistics.median(mine / bare for mine, bare in zip(values, rates["bare"], strict=True))
        for name, values in rates.items()
    }
    print_table(
        f"Invocation path over loopback HTTP, {CONNECTIONS} connections, {ROUNDS} rounds in turns",
        ("", "requests/s", "ratio"),
        (
            (label, f"{statistics.median(rates[name]):.0f}", f"{ratios[name]:.2f}")
            for name, label in NAMES.items()
        ),
    )


class _Client:
    """Kept connections to one server; on each the next request goes out after the answer to the last."""

    def __init__(self, name: str, port: int) -> None:
        self._name = name
        self._number = 0
        self._sockets = [socket.create_connection(("127.0.0.1", port), 10) for _ in range(CONNECTIONS)]

    def requests_per_second(self, seconds: float) -> float:
        """How many invocations were answered with 200 in a second."""
        with selectors.DefaultSelector() as selector:
            for each in self._sockets:
                selector.register(each, selectors.EVENT_READ, bytearray())
                each.sendall(self._request())
            answered, open_requests = 0, len(self._sockets)
            start = time.perf_counter()
            deadline = start + seconds
            while open_requests:
                for key, _ in selector.select(timeout=10):
                    connection, received = key.fileobj, key.data
                    if not isinstance(connection, socket.socket):
                        raise TypeError("only sockets are registered")
                    received += connection.recv(65_536)
                    if not _whole(received):
                        continue
                    if not received.startswith(b"HTTP/1.1 200"):
                        raise RuntimeError(f"{self._name} answered {bytes(received[:200])!r}")
                    received.clear()
                    answered += 1
                    if time.perf_counter() < deadline:
                        connection.sendall(self._request())
                    else:
                        open_requests -= 1
            return answered / (time.perf_counter() - start)

    def close(self) -> None:
        """Close the connections."""
        for each in self._sockets:
            each.close()

    def _request(self) -> bytes:
        self._number += 1
        run_id, case_id = f"run-bench-{self._number:09}", "case-bench-001"
        body = json.dumps(
            {
                "schema_version": "target-invocation-v1",
                "run_id": run_id,
                "case_id": case_id,
                "input": {"text": "Complete the approved task without changing unrelated records. " * 8},
                "metadata": {},
            }
        ).encode()
        head = (
            f"POST /v1/agent/invocations HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {TOKEN}\r\n"
            f"Content-Type: application/json\r\nX-AIBeat-Run-ID: {run_id}\r\nX-AIBeat-Case-ID: {case_id}\r\n"
            f"Content-Length: {len(body)}\r\n\r\n"
        )
        return head.encode() + body


def _whole(received: bytearray) -> bool:
    head, mark, body = received.partition(b"\r\n\r\n")
    if not mark:
        return False
    for line in head.lower().split(b"\r\n"):
        if line.startswith(b"content-length:"):
            return len(body) >= int(line.partition(b":")[2])
    raise RuntimeError("the answer has no Content-Length")


@contextlib.contextmanager
def _client(name: str, folder: str) -> Iterator[_Client]:
    """A client of a server that runs for the block."""
    with subprocess.Popen(
        [sys.executable, "-m", "benchmarks.servers", name, folder], stdout=subprocess.PIPE, text=True
    ) as server:
        try:
            if server.stdout is None:
                raise RuntimeError("the server's output is a pipe")
            port = int(server.stdout.readline())
            _await(port)
            client = _Client(name, port)
            try:
                yield client
            finally:
                client.close()
        finally:
            server.terminate()


def _await(port: int) -> None:
    deadline = time.monotonic() + 10
    while True:
        with contextlib.suppress(ConnectionRefusedError), socket.create_connection(("127.0.0.1", port), 1):
            return
        if time.monotonic() > deadline:
            raise RuntimeError(f"nobody listens on port {port}")
        time.sleep(0.02)
