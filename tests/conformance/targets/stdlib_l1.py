"""A Target by hand, L1: the standard library alone, and every rule of INV and HLT.

    TARGET_SECRET=… python stdlib_l1.py --port 8080 --store runs.sqlite3

It prints its URL. `agent` is the place for an Agent; all else is the protocol.
"""

import argparse
import contextlib
import hmac
import json
import os
import sqlite3
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from request_rules import Refused, check_invocation, read_json

MAX_BODY, MAX_RUNS = 1024 * 1024, 8
INVOCATIONS = "/v1/agent/invocations"


def agent(text):
    """The Agent: what it answers to the task."""
    return f"I have read your {len(text.split())} words and changed nothing."


class Store:
    """Keeps which runs were accepted, beyond the end of the process (INV-4)."""

    def __init__(self, path):
        self.path = path
        self.execute("CREATE TABLE IF NOT EXISTS runs (run_id TEXT PRIMARY KEY, document BLOB)")

    def execute(self, statement, *values):
        """Run one statement on a connection of its own; gives its rows."""
        with contextlib.closing(sqlite3.connect(self.path, timeout=30)) as connection, connection:
            return connection.execute(statement, values).fetchall()


class Handler(BaseHTTPRequestHandler):
    level = "L1"
    timeout = 30

    # --- Routes

    def do_GET(self):
        try:
            self.answer(200, self.route())
        except Refused as refused:
            self.refuse(refused)

    def do_POST(self):
        self.do_GET()

    def route(self):
        if self.path == "/healthz" and self.command == "GET":
            return self.health()
        self.authorise()
        if self.path == INVOCATIONS:
            if self.command != "POST":
                raise Refused(405, "method_not_allowed", "expected POST", Allow="POST")
            return self.invoke()
        return self.other_route()

    def other_route(self):
        raise Refused(404, "not_found", "expected another route")

    def authorise(self):
        """INV-2: the secret comes before anything else, and before the body."""
        scheme, _, given = (self.only("Authorization") or "").partition(" ")
        right = hmac.compare_digest(given.strip(" ").encode(), self.server.secret.encode())
        if scheme.lower() != "bearer" or not right:
            raise Refused(401, "unauthorized", "expected the bearer secret", **{"WWW-Authenticate": "Bearer"})

    def only(self, name):
        """The one value of a header field; None when it is absent or repeated."""
        values = self.headers.get_all(name, [])
        return values[0] if len(values) == 1 else None

    # --- An invocation, in the order in which it is looked at

    def invoke(self):
        self.check_media_type()
        invocation = read_json(self.body())
        check_invocation(invocation)
        run_id, server = invocation["run_id"], self.server
        for header, name in (("X-AIBeat-Run-ID", "run_id"), ("X-AIBeat-Case-ID", "case_id")):  # INV-6
            if self.only(header) != invocation[name]:
                raise Refused(400, "correlation_binding_mismatch", f"expected {header} equal to {name}")
        with server.lock:
            if server.store.execute("SELECT 1 FROM runs WHERE run_id = ?", run_id):  # INV-4
                raise Refused(409, "run_id_reused", "this run_id was accepted before")
            if server.active >= MAX_RUNS:  # INV-9
                raise Refused(503, "target_busy", "too many runs at once", **{"Retry-After": "1"})
            server.store.execute("INSERT INTO runs (run_id) VALUES (?)", run_id)
            server.active += 1
        try:
            return self.completed(invocation)
        finally:
            with server.lock:
                server.active -= 1

    def check_media_type(self):
        """INV-7: 415."""
        charset = (self.headers.get_content_charset() or "utf-8").replace("utf8", "utf-8")
        given = self.only("Content-Type")
        if given is None or self.headers.get_content_type() != "application/json" or charset != "utf-8":
            raise Refused(415, "unsupported_media_type", "expected application/json")

    def body(self):
        """INV-7: 413, before the body is read."""
        length = self.only("Content-Length") or ""
        if not length.isdecimal() or self.headers.get("Transfer-Encoding"):
            raise Refused(400, "invalid_request", "expected Content-Length")
        if int(length) > MAX_BODY:
            raise Refused(413, "request_too_large", f"expected at most {MAX_BODY} bytes")
        try:
            return self.rfile.read(int(length))
        except TimeoutError:
            raise Refused(408, "request_timeout", f"expected a body within {self.timeout} seconds") from None

    def completed(self, invocation):
        """Run the Agent: INV-1, or 502 when it fails."""
        try:
            final_response = self.run_agent(invocation)
        except Exception:
            raise Refused(502, "target_execution_failed", "the Agent failed") from None
        bound = {name: invocation[name] for name in ("schema_version", "run_id", "case_id")}
        return {**bound, "status": "completed", "final_response": final_response}

    def run_agent(self, invocation):
        return agent(invocation["input"]["text"])

    def health(self):
        return {
            "status": "ok",
            "target_id": "by-hand",
            "connector_id": "business-http-json-v1",
            "invocation_protocol": "target-invocation-v1",
            "invocation_path": INVOCATIONS,
            "evidence": self.level,
            "active_runs": self.server.active,
            "max_concurrent_runs": MAX_RUNS,
        }

    # --- Answers

    def refuse(self, refused):
        """INV-10."""
        error = {"code": refused.code, "message": refused.message}
        self.answer(refused.status, {"error": error}, refused.fields)

    def answer(self, status, body, fields=()):
        raw = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        for name, value in {
            "Content-Type": "application/json",
            "Content-Length": str(len(raw)),
            "Cache-Control": "no-store",  # INV-11
            "X-Content-Type-Options": "nosniff",
            **dict(fields),
        }.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(raw)

    def send_error(self, code, message=None, explain=None):
        """What the HTTP parser refuses gets the same envelope."""
        self.close_connection = True
        known = {431: (431, "request_header_too_large"), 501: (405, "method_not_allowed")}
        status, name = known.get(code, (code, "invalid_request"))
        self.refuse(Refused(status, name, "expected another request", Allow="GET, POST"))

    def log_message(self, format, *arguments):
        """Requests hold secrets; nothing is logged."""


class Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, port, handler, store, secret):
        super().__init__(("127.0.0.1", port), handler)
        self.store, self.secret = store, secret
        self.lock, self.active = threading.Lock(), 0


def main(handler):
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, default=8080)
    parser.add_argument("--store", default="runs.sqlite3")
    options = parser.parse_args()
    server = Server(options.port, handler, Store(options.store), os.environ["TARGET_SECRET"])
    print(f"http://127.0.0.1:{server.server_port}", flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main(Handler)
