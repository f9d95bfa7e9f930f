"""Test a Target without a network, or on a real port.

    client = target.test_client()
    result = await client.invoke("Where is my order?")      # or client.invoke_sync(…)
    assert result.final_response == "It is on its way."
    assert [event.type for event in result.evidence.events] == ["tool.call", "tool.result", "message"]

    with serving(target) as url:                            # a real server in a thread, on a free port
        …

The client speaks ASGI to the very application that a server would run, and reads every answer with the strict
readers of the protocol: what passes here is what Core accepts.
"""

from __future__ import annotations

import asyncio
import threading
import uuid
from collections.abc import AsyncIterable, Iterable, Iterator, Mapping, MutableMapping
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from agentbeat_protocol import (
    CASE_ID_HEADER,
    EVIDENCE_PATH,
    INVOCATION_PATH,
    RUN_ID_HEADER,
    EvidenceDocument,
    InvocationResponse,
    read_error,
    read_evidence,
    read_invocation_response,
    read_json,
)
from agentbeat_sdk.answers import compact_json

if TYPE_CHECKING:
    from agentbeat_sdk.application import TargetApplication
    from agentbeat_sdk.target import Target

__all__ = ["HttpAnswer", "InvocationResult", "TestClient", "call_asgi", "serving"]


@dataclass(frozen=True, slots=True)
class HttpAnswer:
    """An HTTP answer: status, header fields by lower-case name, body."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    def json(self) -> Any:
        """The body, read as strict JSON.

        Raises:
            ProtocolError: it is none.
        """
        return read_json(self.body)


@dataclass(frozen=True, slots=True)
class InvocationResult:
    """What came of one invocation.

    Args:
        run_id: the run's id.
        answer: the answer as it came.
        response: its content, when the run completed (200).
        error_code: the error code, when it was refused or failed.
        evidence: the run's document, from an L2 Target; also that of a run that failed.
        evidence_bytes: the document's exact bytes.
    """

    run_id: str
    answer: HttpAnswer
    response: InvocationResponse | None
    error_code: str | None
    evidence: EvidenceDocument | None
    evidence_bytes: bytes | None

    @property
    def status(self) -> int:
        """The HTTP status."""
        return self.answer.status

    @property
    def final_response(self) -> str | None:
        """The Agent's answer, None when it gave none."""
        return None if self.response is None else self.response.final_response


class TestClient:
    """Calls one Target in this process. Made by `target.test_client()`."""

    __test__ = False  # pytest: this is no test class

    def __init__(self, application: TargetApplication) -> None:
        self.application = application

    async def invoke(
        self,
        text: str,
        *,
        run_id: str | None = None,
        case_id: str = "case-test",
        metadata: Mapping[str, Any] | None = None,
    ) -> InvocationResult:
        """Run the Agent once on `text`, and read the evidence that it leaves.

        Args:
            run_id: a fresh one unless given.

        Raises:
            ProtocolError: the Target's answer or document breaks the protocol.
        """
        run_id = run_id or f"run-test-{uuid.uuid4().hex}"
        invocation = {
            "schema_version": "target-invocation-v1",
            "run_id": run_id,
            "case_id": case_id,
            "input": {"text": text},
            "metadata": dict(metadata or {}),
        }
        headers = {"Content-Type": "application/json", RUN_ID_HEADER: run_id, CASE_ID_HEADER: case_id}
        answer = await self.request("POST", INVOCATION_PATH, headers=headers, body=compact_json(invocation))
        response, code = None, None
        if answer.status == 200:
            response = read_invocation_response(answer.body, run_id=run_id, case_id=case_id)
        else:
            code = read_error(answer.body).code
        served = await self.request("GET", EVIDENCE_PATH + run_id)
        raw = served.body if served.status == 200 else None
        evidence = None if raw is None else read_evidence(raw, run_id=run_id, case_id=case_id)
        return InvocationResult(run_id, answer, response, code, evidence, raw)

    def invoke_sync(
        self,
        text: str,
        *,
        run_id: str | None = None,
        case_id: str = "case-test",
        metadata: Mapping[str, Any] | None = None,
    ) -> InvocationResult:
        """`invoke` for tests without an event loop."""
        return asyncio.run(self.invoke(text, run_id=run_id, case_id=case_id, metadata=metadata))

    async def request(
        self,
        method: str,
        path: str,
        *,
        headers: Mapping[str, str] | None = None,
        body: bytes = b"",
        authorized: bool = True,
    ) -> HttpAnswer:
        """Any request. The Target's secret goes with it unless `authorized` is False or headers bring one."""
        fields = {"host": "testserver"} | {name.lower(): value for name, value in (headers or {}).items()}
        token = self.application.settings.token
        if authorized and token is not None:
            fields.setdefault("authorization", f"Bearer {token}")
        if body:
            fields.setdefault("content-length", str(len(body)))
        pairs = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in fields.items()]
        return await call_asgi(self.application, method, path, pairs, [body])


async def call_asgi(
    application: Any,
    method: str,
    target: str,
    headers: Iterable[tuple[bytes, bytes]],
    chunks: Iterable[bytes] | AsyncIterable[bytes] = (),
) -> HttpAnswer:
    """Call any ASGI application once.

    Args:
        target: path and query, as they would stand in the request line.
        headers: header fields with lower-case names, repeated ones too.
        chunks: the body, a piece for each ASGI message.
    """
    path, _, query = target.partition("?")
    scope: MutableMapping[str, Any] = {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.3"},
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "path": path,
        "raw_path": path.encode(),
        "query_string": query.encode(),
        "root_path": "",
        "headers": list(headers),
        "client": ("127.0.0.1", 0),
        "server": ("testserver", 80),
    }
    pieces = _pieces(chunks)
    sent: list[MutableMapping[str, Any]] = []

    async def receive() -> MutableMapping[str, Any]:
        async for piece in pieces:
            return {"type": "http.request", "body": piece, "more_body": True}
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: MutableMapping[str, Any]) -> None:
        sent.append(message)

    await application(scope, receive, send)
    start, *rest = sent
    fields = {name.decode("latin-1"): value.decode("latin-1") for name, value in start["headers"]}
    return HttpAnswer(start["status"], fields, b"".join(message.get("body", b"") for message in rest))


async def _pieces(chunks: Iterable[bytes] | AsyncIterable[bytes]) -> AsyncIterable[bytes]:
    if isinstance(chunks, AsyncIterable):
        async for piece in chunks:
            yield piece
    else:
        for piece in chunks:
            yield piece


@contextmanager
def serving(target: Target, *, host: str = "127.0.0.1", port: int = 0) -> Iterator[str]:
    """Serve `target` from a thread of this process, as `target.run()` would; gives the URL.

    At the end of the block the server drains and stops.
    """
    from agentbeat_sdk.server import TargetServer, listening

    url: Future[str] = Future()
    application = target.app
    application.open()
    with listening(host, port) as listener:
        server = TargetServer(application, url.set_result)

        def work() -> None:
            try:
                server.run([listener])
                error: BaseException = RuntimeError("the server has stopped before it began")
            except BaseException as failure:  # noqa: BLE001 - the waiting thread raises it
                error = failure
            if not url.done():
                url.set_exception(error)

        thread = threading.Thread(target=work, name="agentbeat-serving", daemon=True)
        thread.start()
        try:
            yield url.result()
        finally:
            server.stop()
            thread.join()
            application.close()
