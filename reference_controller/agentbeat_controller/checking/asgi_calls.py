"""One request to an ASGI application in this process, and its JSON answer: nothing listens on a network.

status, document = await asgi_call(app, "GET", "/openapi.json", "", b"", {})
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from .steps import UnfitError

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message

__all__ = ["asgi_call"]


async def asgi_call(
    app: ASGIApp, method: str, path: str, query: str, body: bytes, headers: Mapping[str, str]
) -> tuple[int, Any]:
    """The status, and what the body says as JSON; None where it is none.

    Args:
        path: as it stands in a URL, escapes included.
        headers: lower-case names.

    Raises:
        UnfitError: the application ended without a response; and whatever it raises itself.
    """
    sent: list[Message] = []

    async def receive() -> Message:
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: Message) -> None:
        sent.append(message)

    fields = {"host": "business.test", **headers, "content-length": str(len(body))}
    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "path": unquote(path),
        "raw_path": path.encode(),
        "query_string": query.encode(),
        "root_path": "",
        "headers": [(name.encode(), value.encode()) for name, value in fields.items()],
        "server": ("business.test", 80),
        "client": ("127.0.0.1", 1),
    }
    await app(scope, receive, send)
    if not sent:
        raise UnfitError("no response")
    raw = b"".join(message.get("body", b"") for message in sent[1:])
    status: int = sent[0]["status"]
    try:
        return status, json.loads(raw)
    except ValueError:
        return status, None
