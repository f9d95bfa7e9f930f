"""A Target around any Agent, and an invocation as ASGI takes it."""

from __future__ import annotations

import json
from typing import Any

from agentbeat_sdk import MemoryStore, Run, Target

__all__ = ["SECRET", "echo", "invocation_parts", "make_target"]

SECRET = "test-token"


def make_target(handler: Any, **options: Any) -> Target:
    """A Target around `handler`: L2 and with a store in memory, unless `options` say otherwise."""
    target = Target("desk", **({"token": SECRET, "tier": "L2", "store": MemoryStore()} | options))
    target.invoke(handler)
    return target


def echo(run: Run) -> str:
    """The simplest Agent."""
    return f"done: {run.text}"


def invocation_parts(run_id: str, *, case_id: str = "case-a") -> tuple[list[tuple[bytes, bytes]], bytes]:
    """Header fields and body of a good invocation."""
    body = {
        "schema_version": "target-invocation-v1",
        "run_id": run_id,
        "case_id": case_id,
        "input": {"text": "hello"},
    }
    fields = [
        (b"host", b"a"),
        (b"authorization", f"Bearer {SECRET}".encode()),
        (b"content-type", b"application/json"),
        (b"x-aibeat-run-id", run_id.encode()),
        (b"x-aibeat-case-id", case_id.encode()),
    ]
    return fields, json.dumps(body).encode()
