"""What the small Core says to a Target, and what it takes from one."""

from __future__ import annotations

import base64
import hashlib
import json
import re

from agentbeat_conformance.core_side.cores.http import Got, UnansweredError
from agentbeat_conformance.core_side.cores.preflight import Run
from agentbeat_conformance.core_side.cores.scoring import Trace
from agentbeat_conformance.core_side.cores.wires import FailedError, Wires
from agentbeat_protocol import (
    CASE_ID_HEADER,
    EVIDENCE_PATH,
    INVOCATION_PATH,
    MAX_EVIDENCE_BYTES,
    MAX_RESPONSE_BYTES,
    RUN_ID_HEADER,
    EvidenceRefError,
    InvocationResponse,
    ProtocolError,
    digest_bytes,
    dropped_counts,
    read_evidence,
    read_invocation_response,
    resolve_evidence_ref,
)

__all__ = ["TargetSide"]


class TargetSide(Wires):
    """The invocation, and the evidence."""

    async def invoked(self, run: Run) -> InvocationResponse:
        """Ask the Agent once, and hold its answer to the contract."""
        got = await self.post(run)
        if got.status != 200:
            raise FailedError("target_contract_failed")
        return self.response(run, got.body)

    def response(self, run: Run, raw: bytes) -> InvocationResponse:
        """The invocation response in these bytes."""
        try:
            return read_invocation_response(raw, run_id=run.run_id, case_id=run.case_id)
        except ProtocolError:
            raise FailedError("target_contract_failed") from None

    async def post(self, run: Run) -> Got:
        """Send the invocation. What may have started the Agent is not sent again."""
        body = {
            "schema_version": "target-invocation-v1",
            "run_id": run.run_id,
            "case_id": run.case_id,
            "input": {"text": run.task},
            "metadata": {},
        }
        fields = run.target.authorization | {RUN_ID_HEADER: run.run_id, CASE_ID_HEADER: run.case_id}
        try:
            return await self.asked(
                "POST",
                run.target.base + INVOCATION_PATH,
                fields,
                json.dumps(body).encode(),
                seconds=run.seconds["invoke"],
                max_bytes=MAX_RESPONSE_BYTES,
            )
        except UnansweredError as error:
            raise FailedError(f"target_{error.why}") from None

    async def trace(self, run: Run, response: InvocationResponse) -> tuple[Trace | None, str | None]:
        """The trace, or the reason why there is none."""
        try:
            url = self.evidence_url(run, response.evidence_ref)
        except EvidenceRefError as error:
            return None, f"reference refused ({error.rule})"
        try:
            got = await self.asked(
                "GET",
                url,
                run.target.authorization,
                None,
                seconds=run.seconds["evidence"],
                max_bytes=self.evidence_limit(),
            )
        except UnansweredError as error:
            return None, f"evidence not read ({error.why})"
        if not self.is_document(got.status):
            return None, f"evidence answered {got.status}"
        if not self.digests_agree(got, response):
            return None, "evidence has another digest"
        try:
            return self.document(run, got.body), None
        except ProtocolError as error:
            return None, f"evidence refused ({error.rule})"

    def evidence_url(self, run: Run, ref: object) -> str:
        """The registered route, once the reference is found to name it."""
        resolve_evidence_ref(run.target.base + INVOCATION_PATH, ref, run_id=run.run_id)
        return f"{run.target.base}{EVIDENCE_PATH}{run.run_id}"

    def evidence_limit(self) -> int:
        """Where reading the evidence stops, in bytes."""
        return MAX_EVIDENCE_BYTES

    def is_document(self, status: int) -> bool:
        """Whether an answer of this status holds the document."""
        return status == 200

    def digests_agree(self, got: Got, response: InvocationResponse) -> bool:
        """Whether the bytes are those that the Target gave digests of."""
        claimed = (response.metadata or {}).get("evidence_digest")
        found = re.search(r"sha-256=:([A-Za-z0-9+/=]*):", got.fields.get("repr-digest", ""))
        own = base64.b64encode(hashlib.sha256(got.body).digest()).decode()
        return claimed in (None, digest_bytes(got.body)) and (found is None or found[1] == own)

    def document(self, run: Run, raw: bytes) -> Trace:
        """The trace in an evidence document that keeps all rules."""
        document = read_evidence(raw, run_id=run.run_id, case_id=run.case_id)
        return Trace(json.loads(raw)["events"], frozenset(dropped_counts(document) or ()))
