"""The servers that `invocation_path` compares: `python -m benchmarks.servers NAME FOLDER` prints its port.

bare       uvicorn with httptools and an application that reads the body and answers fixed bytes
target-l1  a Target with an Agent that does nothing, its run ids in memory
target-l2  the same with evidence, run ids and documents in SQLite: what an author gets by default
"""

from __future__ import annotations

import asyncio
import socket
import sys
from pathlib import Path
from typing import Any

import uvicorn

from agentbeat_sdk import MemoryStore, Run, RunStore, SQLiteStore, Target

__all__ = ["ANSWER_BYTES", "TOKEN"]

TOKEN = "bench-token"
#: As long as a Target's answer, heads aside.
ANSWER_BYTES = 300


def _say(port: int) -> None:
    print(port, flush=True)


def _bare() -> None:
    body = b"{" + b" " * (ANSWER_BYTES - 2) + b"}"
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]

    async def application(scope: dict[str, Any], receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            return
        while (await receive()).get("more_body"):
            pass
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": body})

    # Named TCP, or asyncio does not switch Nagle's algorithm off for its connections.
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.bind(("127.0.0.1", 0))
    _say(listener.getsockname()[1])
    config = uvicorn.Config(
        application, http="httptools", lifespan="off", ws="none", log_config=None, access_log=False
    )
    asyncio.run(uvicorn.Server(config).serve([listener]))


def _target(tier: Any, store: RunStore) -> None:
    target = Target("bench-target", token=TOKEN, tier=tier, store=store)

    @target.invoke
    async def answer(run: Run) -> str:
        return f"Read {len(run.text)} characters."

    target.run(port=0, on_start=lambda url: _say(int(url.rpartition(":")[2])))


def main() -> None:
    """Serve until SIGTERM."""
    name, folder = sys.argv[1:]
    if name == "bare":
        _bare()
    elif name == "target-l1":
        _target("L1", MemoryStore())
    else:
        _target("L2", SQLiteStore(Path(folder) / "runs.sqlite3"))


if __name__ == "__main__":
    main()
