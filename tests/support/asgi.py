"""One request given to an ASGI application by hand, when a client library would not send it so."""

from __future__ import annotations

import asyncio
import json


class Exchange:
    """One request given to an ASGI application by hand, and everything that it sent."""

    def __init__(self, app, method, path, headers=(), *, body=(), raw_path=None):
        self.app = app
        self.scope = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": method,
            "path": path,
            "raw_path": raw_path or path.encode(),
            "query_string": b"",
            "scheme": "http",
            "server": ("controller.test", 80),
            "client": ("127.0.0.1", 1),
            "root_path": "",
            "headers": [(b"host", b"controller.test"), *headers],
        }
        self.body = list(body)
        self.reads = 0
        self.sent = []

    async def receive(self):
        self.reads += 1
        if self.body:
            part = self.body.pop(0)
            return {"type": "http.request", "body": part, "more_body": True}
        await asyncio.Event().wait()  # a client that sends nothing more and stays
        raise AssertionError("unreachable")

    async def send(self, message):
        self.sent.append((message, self.reads))

    async def run(self):
        await self.app(self.scope, self.receive, self.send)
        return self

    @property
    def status(self):
        return self.sent[0][0]["status"]

    @property
    def headers(self):
        return dict(self.sent[0][0]["headers"])

    @property
    def answer(self):
        return json.loads(b"".join(message.get("body", b"") for message, _ in self.sent[1:]))
