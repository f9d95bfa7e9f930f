"""`POST /v1/agent/invocations`, from an admitted head to the answer.

The steps are in the order of the protocol. Everything up to the claim is a refusal: it claims nothing and the
Agent does not run.

    1. method, media type, declared length
    2. the body, bounded while it comes in
    3. JSON, schema, metadata, correlation
    4. a place among the runs, and the claim: 409 for a taken run id, from a busy or stopping Target too
    5. the Agent
    6. the evidence is closed and stored, whatever came of the run; then the answer

From step 4 on the work is a task of its own. A client that goes away, or a server that cancels its request,
does not stop it: a claimed run goes on and its document is stored.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, Final

from agentbeat_protocol import Invocation, ProtocolError, check_media_type, read_invocation
from agentbeat_sdk.answers import Answer, RefusedError, error_answer, json_answer, refused
from agentbeat_sdk.completions import response_body
from agentbeat_sdk.execution import AgentCall, Failure, Handler
from agentbeat_sdk.gate import Head
from agentbeat_sdk.recorder import EvidenceRecorder
from agentbeat_sdk.redaction import Redactor
from agentbeat_sdk.runs import Completion, Run
from agentbeat_sdk.settings import Settings
from agentbeat_sdk.store_calls import StoreCalls

__all__ = ["Invocations", "Receive"]

Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]

#: Bytes up to which evidence is closed on the event loop: below, a thread costs more than the work.
_SMALL: Final = 16 * 1024

logger = logging.getLogger("agentbeat_sdk")


class Invocations:
    """The invocation route of one Target, and its count of runs.

    Args:
        settings: the Target's.
        handler: gives the Agent; raises RuntimeError while there is none.
        calls: the Target's store.

    `draining` may be set: then no run begins any more.
    """

    def __init__(self, settings: Settings, handler: Callable[[], Handler], calls: StoreCalls) -> None:
        self.draining = False
        self._settings = settings
        self._limits = settings.limits
        self._handler = handler
        self._calls = calls
        self._redactor = Redactor([*settings.secrets, *([settings.token] if settings.token else [])])
        self._active = 0
        self._agents: set[AgentCall] = set()
        self._pending: dict[asyncio.Future[Answer], asyncio.Task[None]] = {}

    @property
    def active_runs(self) -> int:
        """Agents at work. One that was given up counts until its code has ended: it still holds its place."""
        return self._active

    @property
    def pending_runs(self) -> int:
        """Accepted invocations that have no answer yet."""
        return len(self._pending)

    def abort(self) -> None:
        """Give up the runs in flight. Each closes its evidence and answers 502."""
        for call in self._agents:
            call.stop()

    async def answer(self, head: Head, receive: Receive) -> Answer | None:
        """The answer to one request; None when the client went away before its end.

        Raises:
            RefusedError: the request is refused.
        """
        # 1. method, media type, declared length
        if head.method != "POST":
            raise RefusedError("method_not_allowed", "expected POST", ((b"allow", b"POST"),))
        try:
            check_media_type(head.content_type())
            if (head.content_length or 0) > self._limits.max_body_bytes:
                raise self._too_large()
            # 2. the body
            body = await self._read_body(receive)
            if body is None:
                return None
            # 3. JSON, schema, metadata, correlation
            invocation = read_invocation(body, head.correlation(), max_bytes=self._limits.max_body_bytes)
        except ProtocolError as error:
            raise refused(error) from None
        loop = asyncio.get_running_loop()
        answered: asyncio.Future[Answer] = loop.create_future()
        self._pending[answered] = loop.create_task(self._work(invocation, answered))
        return await answered

    def _too_large(self) -> RefusedError:
        return RefusedError("request_too_large", f"expected at most {self._limits.max_body_bytes} bytes")

    async def _read_body(self, receive: Receive) -> bytes | None:
        chunks: list[bytes] = []
        size = 0
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                return None
            chunk: bytes = message.get("body", b"")
            size += len(chunk)
            if size > self._limits.max_body_bytes:
                raise self._too_large()
            chunks.append(chunk)
            if not message.get("more_body", False):
                return b"".join(chunks)

    async def _work(self, invocation: Invocation, answered: asyncio.Future[Answer]) -> None:
        """Serve the run to its end; the request that waits for the answer may be gone by then."""
        try:
            answer = await self._serve(invocation)
            if not answered.done():
                answered.set_result(answer)
        finally:
            answered.cancel()  # it never waits in vain
            del self._pending[answered]

    async def _serve(self, invocation: Invocation) -> Answer:
        """Steps 4 to 6. It raises nothing: nobody may be left to hear it."""
        try:
            handler = self._handler()
            run = self._new_run(invocation)
            await self._claim(invocation)
        except RefusedError as refusal:
            return refusal.answer()
        except Exception:
            logger.exception("could not claim %s; its Agent did not run", invocation.run_id)
            return error_answer("internal_error", "the Target failed before the Agent ran")
        # 5. the Agent
        call = AgentCall(handler, run, self._release)
        self._agents.add(call)
        try:
            outcome = await call.outcome(self._limits)
        finally:
            self._agents.discard(call)
        # 6. the evidence, then the answer
        try:
            document = await self._close(run, outcome)
            if isinstance(outcome, Failure):
                return error_answer(outcome.code, outcome.message)
            return json_answer(200, response_body(invocation, outcome, document))
        except Exception:
            logger.exception("could not keep what came of %s; its Agent ran once", invocation.run_id)
            return error_answer("internal_error", "the Target failed after the Agent ran")

    def _new_run(self, invocation: Invocation) -> Run:
        run_id, case_id = invocation.run_id, invocation.case_id
        recorder = EvidenceRecorder(
            run_id,
            case_id,
            source=self._settings.target_id,
            limits=self._limits.recording,
            redactor=self._redactor,
            files=self._settings.files,
        )
        return Run(run_id, case_id, invocation.input.text, invocation.metadata, recorder)

    async def _claim(self, invocation: Invocation) -> None:
        """Take a place and the run id, or neither."""
        run_id = invocation.run_id
        busy = None
        if self.draining:
            busy = ("target_draining", "the Target is stopping")
        elif self._active >= self._limits.max_concurrent_runs:
            busy = ("target_busy", f"{self._limits.max_concurrent_runs} runs are in flight")
        if busy is not None:
            if await self._calls(self._calls.store.is_claimed, run_id):
                raise _taken()
            raise RefusedError(*busy, ((b"retry-after", b"%d" % self._limits.retry_after),))
        self._active += 1
        claimed = False
        try:
            claimed = await self._calls.claim(run_id, invocation.case_id)
        finally:
            if not claimed:
                self._release()
        if not claimed:
            raise _taken()

    def _release(self) -> None:
        self._active -= 1

    async def _close(self, run: Run, outcome: Completion | Failure) -> bytes | None:
        """Close the evidence and end the run in the store; the document of an L2 Target."""
        document = None
        if self._settings.tier != "L2":
            run.record.discard()
        else:
            text = outcome.cause if isinstance(outcome, Failure) else outcome.final_response
            if run.record.size + len(text) > _SMALL:
                return await self._calls(self._keep, run, outcome)
            document = _document(run, outcome)
        # Between these two nothing can be cancelled: what is closed is kept.
        await self._calls.finish(run.run_id, document)
        return document

    def _keep(self, run: Run, outcome: Completion | Failure) -> bytes:
        document = _document(run, outcome)
        self._calls.store.finish(run.run_id, document)
        return document


def _document(run: Run, outcome: Completion | Failure) -> bytes:
    if isinstance(outcome, Failure):
        return run.record.fail(outcome.cause)
    return run.record.complete(outcome.final_response)


def _taken() -> RefusedError:
    return RefusedError("run_id_reused", "expected a run_id that was not used before")
