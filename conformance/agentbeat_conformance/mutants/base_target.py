"""A minimal, correct Target, L1 and L2, of which each mutant breaks one rule.

It is raw ASGI, since half of the rules are about what happens before a framework would have read the body.
Every step is a method of its own; a mutant overrides one. A subclass without overrides is conformant.

    class Forgetful(BaseTarget):
        def claim(self, run_id: str) -> None:
            pass

`claims` and `documents` stand for what a durable Target keeps on disk: `restart()` keeps them and no more.
Its Agent answers any text; it uses two tools when "tools" is in the text, as in `TASKS`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, ClassVar

from agentbeat_conformance.mutants.base_evidence import TASKS, Recording
from agentbeat_conformance.mutants.registry import SECRET, ASGIApp, Stream
from agentbeat_conformance.mutants.replies import JSON_TYPE, Asked, Refused, Reply, compact_json, json_reply
from agentbeat_conformance.mutants.streams import Connections, Reading
from agentbeat_protocol import (
    CASE_ID_HEADER,
    EVIDENCE_PATH,
    HEALTH_PATH,
    INVOCATION_PATH,
    RUN_ID_HEADER,
    Invocation,
    ProtocolError,
    check_media_type,
    check_metadata,
    error_envelope,
    is_run_id,
    read_invocation,
    read_json,
    task_id,
)

__all__ = ["SECRET", "TASKS", "Asked", "BaseTarget", "Recording", "Refused", "Reply", "json_reply"]


class BaseTarget:
    """The correct Target.

    Attributes:
        secret: the bearer secret; None takes requests without one.
        level: `L2` has the evidence route, `L1` has not.
        claims: the run ids that were ever accepted.
        documents: the finished evidence by run id, as the bytes that are served.
    """

    secret: ClassVar[str | None] = SECRET
    level: ClassVar[str] = "L2"
    max_body: ClassVar[int] = 1024 * 1024
    max_runs: ClassVar[int] = 4

    def __init__(self) -> None:
        self.claims: set[str] = set()
        self.documents: dict[str, bytes] = {}
        self.active = 0

    @property
    def app(self) -> ASGIApp | None:
        """See `MutantServer`."""
        return self.serve

    @property
    def stream(self) -> Stream | None:
        """See `MutantServer`."""
        return Connections(app=self.serve)

    async def restart(self) -> None:
        """See `MutantServer`."""
        self.active = 0

    # --- From request to answer

    async def serve(self, scope: Any, receive: Any, send: Any) -> None:
        """The ASGI application."""
        if scope["type"] != "http":
            return
        fields = tuple((name.decode("latin-1"), value.decode("latin-1")) for name, value in scope["headers"])
        asked = Asked(method=scope["method"], path=scope["path"], fields=fields, body=Reading(receive))
        await self.send(await self.answer(asked), send)

    async def send(self, reply: Reply, send: Any) -> None:
        """Write the answer."""
        fields = [*reply.fields, ("Content-Length", str(len(reply.body)))]
        head = [(name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in fields]
        await send({"type": "http.response.start", "status": reply.status, "headers": head})
        await send({"type": "http.response.body", "body": reply.body})

    async def answer(self, asked: Asked) -> Reply:
        """The answer to a request, a refusal too."""
        try:
            reply = await self.route(asked)
        except ProtocolError as error:
            reply = self.refusal(self.refused(error), asked)
        except Refused as refused:
            reply = self.refusal(refused, asked)
        return self.finished(reply, asked)

    def refused(self, error: ProtocolError) -> Refused:
        """The refusal for a message that breaks a rule of the protocol."""
        return Refused(error.code, error.envelope()["error"]["message"])

    def refusal(self, refused: Refused, asked: Asked) -> Reply:  # noqa: ARG002 - for mutants
        """INV-10: the error envelope."""
        return json_reply(refused.status, error_envelope(refused.code, refused.message), *refused.fields)

    def finished(self, reply: Reply, asked: Asked) -> Reply:  # noqa: ARG002 - for mutants
        """INV-11: what every answer carries."""
        reply.fields += [("Cache-Control", "no-store"), ("X-Content-Type-Options", "nosniff")]
        return reply

    async def route(self, asked: Asked) -> Reply:
        """The answer of the route that is asked for."""
        if asked.path == HEALTH_PATH:
            self.allow(asked, "GET")
            return self.health(asked)
        self.authorise(asked)
        if asked.path == INVOCATION_PATH:
            self.allow(asked, "POST")
            return await self.invoke(asked)
        if asked.path.startswith(EVIDENCE_PATH) and self.level == "L2":
            self.allow(asked, "GET")
            return self.evidence(asked.path.removeprefix(EVIDENCE_PATH), asked)
        raise Refused("not_found", "no such route")

    def allow(self, asked: Asked, method: str) -> None:
        """405 for another method."""
        if asked.method != method:
            raise Refused("method_not_allowed", f"expected {method}", ("Allow", method))

    def authorise(self, asked: Asked) -> None:
        """INV-2, EVD-10: the secret, before anything else is looked at."""
        if self.secret is None:
            return
        scheme, _, given = (asked.value("authorization") or "").partition(" ")
        if scheme.lower() != "bearer" or given.strip(" ") != self.secret:
            raise Refused("unauthorized", "expected the bearer secret", ("WWW-Authenticate", "Bearer"))

    # --- Invocations

    async def invoke(self, asked: Asked) -> Reply:
        """INV-1 to INV-9 in the order in which they are looked at."""
        self.check_media_type(asked)
        raw = await self.read_body(asked)
        invocation = self.read(raw)
        self.check_metadata(invocation.metadata)
        self.check_correlation(invocation, asked)
        self.admit(invocation.run_id)
        self.claim(invocation.run_id)
        self.active += 1
        try:
            return await self.completed(invocation)
        finally:
            self.active -= 1

    async def completed(self, invocation: Invocation) -> Reply:
        """Run the Agent, keep its evidence, answer 200."""
        recording = Recording(invocation)
        try:
            final_response = await self.agent(recording)
        except Exception:  # noqa: BLE001 - whatever an Agent raises is a failed run
            recording.add("run.error", {"message": "the Agent failed"})
            self.keep(recording)
            raise Refused("target_execution_failed", "the Agent failed") from None
        self.keep(recording)
        return json_reply(200, self.response(invocation, final_response))

    def check_media_type(self, asked: Asked) -> None:
        """INV-7: 415."""
        check_media_type(asked.value("content-type"))

    async def read_body(self, asked: Asked) -> bytes:
        """INV-7: 413, at the declared length if there is one, else once it is passed."""
        declared = asked.value("content-length")
        if declared is not None and int(declared) > self.max_body:
            raise Refused("request_too_large", f"expected at most {self.max_body} bytes")
        raw = await asked.body.read(self.max_body + 1)
        if len(raw) > self.max_body:
            raise Refused("request_too_large", f"expected at most {self.max_body} bytes")
        return raw

    def read(self, raw: bytes) -> Invocation:
        """INV-3, INV-8: the invocation in the body."""
        value = self.decode(raw)
        if isinstance(value, dict):
            value = self.tolerate(dict(value))
        return self.validate(value)

    def decode(self, raw: bytes) -> Any:
        """INV-8: strict JSON."""
        return read_json(raw)

    def tolerate(self, members: dict[str, Any]) -> dict[str, Any]:
        """Where a lenient mutant repairs what it should refuse: the members that are then judged."""
        return members

    def validate(self, value: object) -> Invocation:
        """INV-3: the shape. The metadata's names are looked at by `check_metadata`."""
        metadata = value.get("metadata", {}) if isinstance(value, dict) else {}
        if isinstance(value, dict) and isinstance(metadata, dict):
            bare = read_invocation(compact_json({**value, "metadata": {}}), None)
            return bare.model_copy(update={"metadata": metadata})
        return read_invocation(compact_json(value), None)

    def check_metadata(self, metadata: Mapping[str, Any]) -> None:
        """INV-5: no runtime override, at any depth."""
        check_metadata(metadata)

    def check_correlation(self, invocation: Invocation, asked: Asked) -> None:
        """INV-6: each header stands there once and equals the body's id."""
        bound = ((RUN_ID_HEADER, invocation.run_id), (CASE_ID_HEADER, invocation.case_id))
        for header, expected in bound:
            if asked.value(header) != expected:
                raise Refused("correlation_binding_mismatch", f"expected {header} equal to the body's id")

    def admit(self, run_id: str) -> None:
        """INV-4, INV-9: a claimed id is 409 even when the Target is busy."""
        if self.is_claimed(run_id):
            raise Refused("run_id_reused", "this run_id was accepted before")
        if self.active >= self.max_runs:
            raise Refused("target_busy", "too many runs at once", ("Retry-After", "1"))

    def is_claimed(self, run_id: str) -> bool:
        """Whether the run id was accepted before."""
        return run_id in self.claims

    def claim(self, run_id: str) -> None:
        """INV-4: past every refusal, and before the Agent runs."""
        self.claims.add(run_id)

    async def agent(self, recording: Recording) -> str:
        """The Agent: its final response."""
        text = recording.invocation.input.text
        recording.message("user", text)
        if "tools" in text:
            found = recording.call("notes.find", {"about": "tea"})
            recording.result(found, "notes.find", {"note": 1})
            added = recording.call("notes.add", {"note": 1, "line": "Two minutes."})
            recording.result(added, "notes.add", None)
        recording.message("assistant", "I am ready.")
        return "I am ready."

    def response(self, invocation: Invocation, final_response: str) -> dict[str, Any]:
        """INV-1: the members of the answer."""
        members: dict[str, Any] = {
            "schema_version": "target-invocation-v1",
            "run_id": invocation.run_id,
            "case_id": invocation.case_id,
            "status": "completed",
            "final_response": final_response,
            "task_id": task_id(invocation.run_id, invocation.case_id),
        }
        if self.level == "L2":
            members["evidence_ref"] = EVIDENCE_PATH + invocation.run_id
        return members

    # --- Evidence and health

    def keep(self, recording: Recording) -> None:
        """Keep the finished document as the bytes that every read gives."""
        self.documents[recording.invocation.run_id] = self.encode(self.document(recording))

    def document(self, recording: Recording) -> dict[str, Any]:
        """EVD-1 to EVD-8: the finished document."""
        return recording.document()

    def encode(self, document: Mapping[str, Any]) -> bytes:
        """The document's bytes."""
        return json.dumps(document).encode()

    def evidence(self, run_id: str, asked: Asked) -> Reply:  # noqa: ARG002 - for mutants
        """EVD-10, EVD-11: the kept bytes, or the same 404 for all else."""
        if not is_run_id(run_id) or run_id not in self.documents:
            raise Refused("not_found", "no evidence of such a run")
        return Reply(200, self.documents[run_id], [JSON_TYPE])

    def health(self, asked: Asked) -> Reply:  # noqa: ARG002 - for mutants
        """HLT-1, HLT-2."""
        return json_reply(200, self.identity())

    def identity(self) -> dict[str, Any]:
        """The members of the health document."""
        return {
            "status": "ok",
            "target_id": "conformance-target",
            "connector_id": "business-http-json-v1",
            "invocation_protocol": "target-invocation-v1",
            "invocation_path": INVOCATION_PATH,
            "evidence": self.level,
            "active_runs": self.active,
            "max_concurrent_runs": self.max_runs,
        }
