"""What Core says to a Target: one invocation, and one read of its evidence.

*The invocation* is repeated under the same run id only when the Agent provably was not started: there was no
connection, or the Target answered 503 `target_busy` (INV-9); a few times, and within the one deadline. Any
other fault ends the run. An answer that is
not the contract's 200, an error or a redirect among them, is `target_contract_failed`.

`invocations` counts the POSTs that may have started the Agent, so it is 0 or 1: a POST that provably did not
is not counted.

*The evidence* is read from the registered base and route (EVD-9). Nothing that goes wrong there ends the run:
the L2 channels are missing, with the reason.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import hashlib
import json
import re
from dataclasses import dataclass, field
from typing import Final

from agentbeat_core.clients.exchange import FaultKind, Peer, Reply, TransportError
from agentbeat_core.credentials import Redactor
from agentbeat_core.documents import keep
from agentbeat_core.failures import TargetError
from agentbeat_core.plans import Seconds
from agentbeat_core.recordings import Recording
from agentbeat_protocol import (
    CASE_ID_HEADER,
    EVIDENCE_PATH,
    INVOCATION_PATH,
    MAX_EVIDENCE_BYTES,
    MAX_RESPONSE_BYTES,
    RUN_ID_HEADER,
    EvidenceDocument,
    EvidenceRefError,
    InvocationResponse,
    ProtocolError,
    cut,
    digest_bytes,
    read_evidence,
    read_invocation_response,
    resolve_evidence_ref,
)
from agentbeat_protocol.evaluation import KeptDocument

__all__ = ["EvidenceRead", "Invoked", "TargetClient"]

#: The pauses between tries of an invocation that did not start the Agent, in seconds.
_PAUSES: Final = (0.1, 0.4, 1.0)
#: The longest `Retry-After` that Core waits for, in seconds.
_LONGEST_PAUSE: Final = 5.0

_FAILURE_OF: Final[dict[FaultKind, str]] = {
    "no_connection": "target_unreachable",
    "connection_lost": "target_connection_lost",
    "timeout": "target_timeout",
}
_RULE_OF: Final[dict[FaultKind, str]] = {
    "redirected": "O-REDIRECT",
    "too_large": "J-SIZE",
    "bad_http": "INV-1",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Invoked:
    """The Agent ran, and this is its answer."""

    response: InvocationResponse
    document: KeptDocument


@dataclass(frozen=True, kw_only=True, slots=True)
class EvidenceRead:
    """What came of reading the evidence: the document, or the reason why there is none.

    Attributes:
        reason: a code, and after a colon the rule that was broken, where one was.
        kept: what was received, accepted or not; None when nothing was.
    """

    document: EvidenceDocument | None = None
    reason: str | None = None
    kept: KeptDocument | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class TargetClient:
    """A Target, as one run speaks to it."""

    peer: Peer
    run_path: str
    run_id: str
    case_id: str
    seconds: Seconds
    redactor: Redactor
    recording: Recording = field(default_factory=Recording)

    async def invoke(self, text: str) -> Invoked:
        """Ask the Agent to do the task.

        Raises:
            TargetError: there is no observation of the Agent.
        """
        self.recording.task = text
        reply = await self._post_until_started(self._invocation(text))
        if reply.status != 200:
            code = reply.error_code
            said = f"status {reply.status}" + (f", {code}" if code else "")
            message = f"the Target answered {said}, expected 200"
            document = keep(
                "invocation_response", reply.body, redactor=self.redactor, rule="INV-1", reason=message
            )
            raise TargetError("target_contract_failed", message, rule="INV-1", document=document)
        self.recording.response = reply.body
        try:
            response = read_invocation_response(reply.body, run_id=self.run_id, case_id=self.case_id)
        except ProtocolError as error:
            document = keep("invocation_response", reply.body, redactor=self.redactor, refused=error)
            raise TargetError(
                "target_contract_failed", str(error), rule=error.rule, path=error.path, document=document
            ) from None
        document = keep("invocation_response", reply.body, redactor=self.redactor)
        return Invoked(response=response, document=document)

    async def read_evidence(self, response: InvocationResponse) -> EvidenceRead:
        """Read the run's evidence document from the registered endpoint, and hold it to every rule."""
        read = await self._evidence_read(response)
        self.recording.evidence_reason = read.reason
        return read

    async def _evidence_read(self, response: InvocationResponse) -> EvidenceRead:
        if response.evidence_ref is None:
            return EvidenceRead(reason="evidence_ref_missing")
        registered = self.peer.endpoint.base + self.run_path
        try:
            resolve_evidence_ref(registered, response.evidence_ref, run_id=self.run_id)
        except EvidenceRefError as error:
            return EvidenceRead(reason=f"evidence_ref_refused: {error.rule}")
        # The reference was a statement to check. What is read is the registered route, never the reference.
        path = self.run_path.removesuffix(INVOCATION_PATH) + EVIDENCE_PATH + self.run_id
        try:
            reply = await self._get_twice(path)
        except TransportError as error:
            return EvidenceRead(reason=_evidence_fault(error))
        if reply.status != 200:
            code = reply.error_code
            return EvidenceRead(reason=f"evidence_not_served: {reply.status}" + (f" {code}" if code else ""))
        return self._judged(reply, response)

    def _judged(self, reply: Reply, response: InvocationResponse) -> EvidenceRead:
        raw = reply.body
        self.recording.evidence = raw
        if not _digests_agree(reply, response):
            kept = keep(
                "target_evidence",
                raw,
                redactor=self.redactor,
                rule="EVD-11",
                reason="its digest is not the one that the Target gave for it",
            )
            return EvidenceRead(reason="evidence_digest_mismatch", kept=kept)
        try:
            document = read_evidence(raw, run_id=self.run_id, case_id=self.case_id)
        except ProtocolError as error:
            kept = keep("target_evidence", raw, redactor=self.redactor, refused=error)
            return EvidenceRead(reason=f"evidence_refused: {error.rule}", kept=kept)
        return EvidenceRead(document=document, kept=keep("target_evidence", raw, redactor=self.redactor))

    async def _get_twice(self, path: str) -> Reply:
        """Read the route; once more when the connection failed, since a read changes nothing."""
        clock = asyncio.get_running_loop().time
        deadline = clock() + self.seconds.evidence
        try:
            return await self.peer.send(
                "GET", path, seconds=self.seconds.evidence, max_bytes=MAX_EVIDENCE_BYTES
            )
        except TransportError as error:
            pause = _PAUSES[0]
            remaining = deadline - clock() - pause
            if error.kind not in ("no_connection", "connection_lost") or remaining <= 0:
                raise
        await asyncio.sleep(pause)
        return await self.peer.send("GET", path, seconds=remaining, max_bytes=MAX_EVIDENCE_BYTES)

    async def _post_until_started(self, body: bytes) -> Reply:
        """Post until the Target takes the run, the tries are used up, or the deadline has passed."""
        clock = asyncio.get_running_loop().time
        deadline = clock() + self.seconds.invoke
        failed: TargetError | None = None
        for tries, pause in enumerate((*_PAUSES, None), start=1):
            try:
                reply = await self.peer.send(
                    "POST",
                    self.run_path,
                    seconds=max(deadline - clock(), 0.001),
                    max_bytes=MAX_RESPONSE_BYTES,
                    content=body,
                    headers={RUN_ID_HEADER: self.run_id, CASE_ID_HEADER: self.case_id},
                )
            except TransportError as error:
                asked = 0.0
                # That no time was left for a connection says less than what the last try was told.
                if failed is None or error.started or clock() < deadline:
                    failed = _failed(error)
            else:
                if reply.status != 503 or reply.error_code != "target_busy":
                    return reply
                failed = _not_started("target_busy", f"the Target was busy, tries: {tries}")
                asked = min(reply.retry_after() or 0.0, _LONGEST_PAUSE)
            if failed.invocations or pause is None or clock() + max(pause, asked) >= deadline:
                raise failed
            await asyncio.sleep(max(pause, asked))
        raise RuntimeError("the last try returns or raises")

    def _invocation(self, text: str) -> bytes:
        return json.dumps(
            {
                "schema_version": "target-invocation-v1",
                "run_id": self.run_id,
                "case_id": self.case_id,
                "input": {"text": text},
                "metadata": {},
            },
            ensure_ascii=False,
        ).encode()


def _failed(error: TransportError) -> TargetError:
    code = _FAILURE_OF.get(error.kind, "target_contract_failed")
    if error.started:
        return TargetError(code, f"the Target: {error.detail}", rule=_RULE_OF.get(error.kind))
    return _not_started(code, f"the Target: {error.detail}")


def _not_started(code: str, message: str) -> TargetError:
    failed = TargetError(code, cut(message, 256))
    failed.invocations = 0
    return failed


def _evidence_fault(error: TransportError) -> str:
    rule = _RULE_OF.get(error.kind)
    if error.kind == "too_large":
        rule = "EVD-15"
    return f"evidence_{error.kind}" + (f": {rule}" if rule else "")


# --- Repr-Digest (RFC 9530) and metadata.evidence_digest ------------------------------------------------

# A structured-fields dictionary member that holds a byte sequence (RFC 9651, sections 3.2 and 3.3.5).
_MEMBER: Final = re.compile(r"\s*([a-z*][a-z0-9_\-.*]*)=:([A-Za-z0-9+/]*={0,2}):[^,]*(?:,|$)")


def _digests_agree(reply: Reply, response: InvocationResponse) -> bool:
    """Whether the bytes are those that the Target gave a digest of; one that gave none is taken as it is."""
    claimed = (response.metadata or {}).get("evidence_digest")
    if claimed is not None and claimed != digest_bytes(reply.body):
        return False
    header = reply.headers.get("Repr-Digest")
    return header is None or _header_agrees(header, reply.body)


def _header_agrees(header: str, raw: bytes) -> bool:
    """Whether a Repr-Digest holds: its `sha-256` is right, or it names other algorithms only."""
    position, last = 0, None
    while position < len(header):
        member = _MEMBER.match(header, position)
        if member is None:
            return False
        if member[1] == "sha-256":
            last = member[2]
        position = member.end()
    if last is None:
        return True
    try:
        return base64.b64decode(last, validate=True) == hashlib.sha256(raw).digest()
    except binascii.Error:
        return False
