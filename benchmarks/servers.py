"""The servers that `invocation_path` compares: `python -m benchmarks.servers NAME FOLDER`.

bare       uvicorn with httptools and an application that reads the body and answers bytes made beforehand
strict     the same, and it reads the invocation as the protocol asks and answers with its ids: what no Target
           in Python can do without
target-l1  a Target with an Agent that does nothing, its run ids in memory
target-l2  the same with evidence, run ids and documents in SQLite: what an author gets by default

All of them answer with the same header fields and, but for the evidence that an L2 answer names, with as many
bytes. All keep a connection that is idle for a while, and none is bounded below the client's connections.

A server prints its port. Then it answers every line on its standard input with the nanoseconds of processor
time that it has taken so far.
"""

from __future__ import annotations

import asyncio
import json
import os
import socket
import sys
import threading
import time
from pathlib import Path
from typing import Any

import uvicorn

from agentbeat_protocol import read_invocation, task_id
from agentbeat_sdk import Limits, MemoryStore, Run, RunStore, SQLiteStore, Target

__all__ = ["CASE_ID", "RUN_ID", "TOKEN"]

TOKEN = "bench-token"
CASE_ID = "case-bench-001"
#: Every run id of the benchmark is as long as this one.
RUN_ID = "run-bench-000000000"

_LIMITS = Limits(max_concurrent_runs=64)
_HEADERS = (
    (b"content-type", b"application/json"),
    (b"cache-control", b"no-store"),
    (b"x-content-type-options", b"nosniff"),
)


def _say(number: int) -> None:
    # Not by way of `print`: a thread that waits in a buffered file keeps Python from ending in order.
    os.write(sys.stdout.fileno(), b"%d\n" % number)


def _tell_times() -> None:
    while os.read(sys.stdin.fileno(), 1):
        _say(time.process_time_ns())


def _text(characters: int) -> str:
    return f"Read {characters} characters."


def _answer(run_id: str, case_id: str, text: str) -> bytes:
    """A Target's answer of level L1."""
    answer = {
        "schema_version": "target-invocation-v1",
        "run_id": run_id,
        "case_id": case_id,
        "status": "completed",
        "final_response": text,
        "task_id": task_id(run_id, case_id),
    }
    return json.dumps(answer, separators=(",", ":")).encode()


async def _body(receive: Any) -> bytes:
    chunks: list[bytes] = []
    while True:
        message = await receive()
        chunks.append(message["body"])
        if not message["more_body"]:
            return b"".join(chunks)


async def _send(send: Any, body: bytes) -> None:
    headers = [*_HEADERS, (b"content-length", b"%d" % len(body))]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def _bare() -> None:
    answer = _answer(RUN_ID, CASE_ID, _text(504))

    async def application(_: Any, receive: Any, send: Any) -> None:
        await _body(receive)
        await _send(send, answer)

    _serve(application)


def _strict() -> None:
    async def application(scope: Any, receive: Any, send: Any) -> None:
        invocation = read_invocation(await _body(receive), scope["headers"])
        answer = _answer(invocation.run_id, invocation.case_id, _text(len(invocation.input.text)))
        await _send(send, answer)

    _serve(application)


def _serve(application: Any) -> None:
    # Named TCP, or asyncio does not switch Nagle's algorithm off for its connections.
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.bind(("127.0.0.1", 0))
    config = uvicorn.Config(
        application,
        http="httptools",
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=int(_LIMITS.idle_timeout),
    )
    _say(listener.getsockname()[1])
    asyncio.run(uvicorn.Server(config).serve([listener]))


def _target(tier: Any, store: RunStore) -> None:
    target = Target("bench-target", token=TOKEN, tier=tier, store=store, limits=_LIMITS)

    @target.invoke
    async def answer(run: Run) -> str:
        return _text(len(run.text))

    target.run(port=0, on_start=lambda url: _say(int(url.rpartition(":")[2])))


def main() -> None:
    """Serve until SIGTERM."""
    name, folder = sys.argv[1:]
    threading.Thread(target=_tell_times, daemon=True).start()
    if name == "bare":
        _bare()
    elif name == "strict":
        _strict()
    elif name == "target-l1":
        _target("L1", MemoryStore())
    else:
        _target("L2", SQLiteStore(Path(folder) / "runs.sqlite3"))


if __name__ == "__main__":
    main()
