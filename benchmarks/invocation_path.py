"""The invocation path of a Target over loopback HTTP, against a server that only reads and answers.

Each server is a process of its own (`servers`). One client drives all of them in turns, over a few kept
connections. It is plain sockets and requests from a template, so that the servers and not the client are
measured; where the client is the slower one nevertheless, a server's processor time still tells what it did.
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
from typing import IO, NamedTuple

from benchmarks.measuring import print_table
from benchmarks.servers import CASE_ID, RUN_ID, TOKEN

__all__ = ["run"]

NAMES = {
    "bare": "uvicorn, answers fixed bytes",
    "strict": "uvicorn, reads the invocation strictly",
    "target-l1": "Target L1, run ids in memory",
    "target-l2": "Target L2, evidence in SQLite",
}
CONNECTIONS = (1, 16)
ROUNDS = 5
SECONDS = 0.8
WARM_UP = 0.3


class Figures(NamedTuple):
    """One server in one round."""

    #: invocations answered with 200 in a second
    rate: float
    #: microseconds of the server's processor time for each of them
    processor: float


def run() -> None:
    """Measure and print."""
    found: dict[int, dict[str, list[Figures]]] = {
        number: {name: [] for name in NAMES} for number in CONNECTIONS
    }
    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        clients = {name: stack.enter_context(_client(name, folder)) for name in NAMES}
        for client in clients.values():
            client.measure(max(CONNECTIONS), WARM_UP)
        _check_sizes(clients)
        for _ in range(ROUNDS):
            for number, figures in found.items():
                for name, client in clients.items():
                    figures[name].append(client.measure(number, SECONDS))
    for number, figures in found.items():
        _print(number, figures)


def _check_sizes(clients: dict[str, _Client]) -> None:
    """What is compared gives the same bytes to send and to read; an L2 answer names its evidence besides."""
    sizes = {name: client.answer_bytes for name, client in clients.items() if name != "target-l2"}
    if len(set(sizes.values())) != 1:
        raise RuntimeError(f"got answers of other lengths, {sizes}, expected one length")


def _print(connections: int, figures: dict[str, list[Figures]]) -> None:
    print_table(
        f"Invocation path over loopback HTTP, {connections} at a time, {ROUNDS} rounds in turns",
        ("", "requests/s", "ratio", "server's CPU µs", "ratio"),
        (
            (
                label,
                f"{statistics.median(each.rate for each in figures[name]):.0f}",
                # Round by round: what slowed a round down slowed both sides of its ratio down.
                f"{_ratio([(mine.rate, bare.rate) for mine, bare in _pairs(figures, name)]):.2f}",
                f"{statistics.median(each.processor for each in figures[name]):.0f}",
                f"{_ratio([(mine.processor, bare.processor) for mine, bare in _pairs(figures, name)]):.1f}",
            )
            for name, label in NAMES.items()
        ),
    )


def _pairs(figures: dict[str, list[Figures]], name: str) -> list[tuple[Figures, Figures]]:
    return list(zip(figures[name], figures["bare"], strict=True))


def _ratio(pairs: list[tuple[float, float]]) -> float:
    return statistics.median(mine / bare for mine, bare in pairs)


def _template() -> bytes:
    """A request with `%(number)09d` where the number of its run id stands."""
    body = json.dumps(
        {
            "schema_version": "target-invocation-v1",
            "run_id": RUN_ID,
            "case_id": CASE_ID,
            "input": {"text": "Complete the approved task without changing unrelated records. " * 8},
            "metadata": {},
        }
    )
    head = (
        f"POST /v1/agent/invocations HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {TOKEN}\r\n"
        f"Content-Type: application/json\r\nX-AIBeat-Run-ID: {RUN_ID}\r\nX-AIBeat-Case-ID: {CASE_ID}\r\n"
        f"Content-Length: {len(body)}\r\n\r\n"
    )
    return (head + body).encode().replace(b"000000000", b"%(number)09d")


class _Client:
    """Kept connections to one server; on each the next request goes out after the answer to the last."""

    def __init__(self, name: str, port: int, times: tuple[IO[str], IO[str]]) -> None:
        self._name = name
        self._number = 0
        self._request = _template()
        #: The length of an answer, head and body; 0 before the first one.
        self.answer_bytes = 0
        self._times = times
        self._sockets = [socket.create_connection(("127.0.0.1", port), 10) for _ in range(max(CONNECTIONS))]

    def measure(self, connections: int, seconds: float) -> Figures:
        """What the server does for that long with so many invocations at a time."""
        before = self._processor_time()
        answered, taken = self._drive(self._sockets[:connections], seconds)
        return Figures(answered / taken, (self._processor_time() - before) / answered / 1000)

    def _drive(self, sockets: list[socket.socket], seconds: float) -> tuple[int, float]:
        """How many invocations were answered, and in how many seconds."""
        with selectors.DefaultSelector() as selector:
            for each in sockets:
                selector.register(each, selectors.EVENT_READ, bytearray())
            answered, open_requests = 0, len(sockets)
            start = time.perf_counter()
            deadline = start + seconds
            for each in sockets:
                self._send(each)
            while open_requests:
                for key, _ in selector.select(timeout=10):
                    connection, received = key.fileobj, key.data
                    if not isinstance(connection, socket.socket):
                        raise TypeError("only sockets are registered")
                    received += connection.recv(65_536)
                    if not self._is_whole(received):
                        continue
                    received.clear()
                    answered += 1
                    if time.perf_counter() < deadline:
                        self._send(connection)
                    else:
                        open_requests -= 1
            return answered, time.perf_counter() - start

    def close(self) -> None:
        """Close the connections."""
        for each in self._sockets:
            each.close()

    def _send(self, connection: socket.socket) -> None:
        self._number += 1
        connection.sendall(self._request % {b"number": self._number})

    def _is_whole(self, received: bytearray) -> bool:
        """Whether an answer is complete. All those of one server are as long as its first."""
        if not received.startswith(b"HTTP/1.1 200 "):
            raise RuntimeError(f"{self._name} answered {bytes(received[:200])!r}")
        if not self.answer_bytes:
            head, mark, _ = received.partition(b"\r\n\r\n")
            if not mark:
                return False
            fields = dict(line.split(b": ", 1) for line in bytes(head).lower().split(b"\r\n")[1:])
            self.answer_bytes = len(head) + len(mark) + int(fields[b"content-length"])
        if len(received) > self.answer_bytes:
            raise RuntimeError(f"{self._name} answered {len(received)} bytes, expected {self.answer_bytes}")
        return len(received) == self.answer_bytes

    def _processor_time(self) -> int:
        ask, told = self._times
        ask.write("\n")
        ask.flush()
        return int(told.readline())


@contextlib.contextmanager
def _client(name: str, folder: str) -> Iterator[_Client]:
    """A client of a server that runs for the block."""
    with subprocess.Popen(
        [sys.executable, "-m", "benchmarks.servers", name, folder],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as server:
        try:
            if server.stdin is None or server.stdout is None:
                raise RuntimeError("the server's input and output are pipes")
            port = int(server.stdout.readline())
            _await(port)
            client = _Client(name, port, (server.stdin, server.stdout))
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
