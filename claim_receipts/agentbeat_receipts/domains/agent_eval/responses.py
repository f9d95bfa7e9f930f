"""What the Target answered (O): its bytes, what was read of them, and what scoring was given.

    raw       the body that was received
    parsed    {"final_response": "sha256:…"}; null where the body is no answer of this run
    enforced  the same; null where it is blank, or there is none

An attempt without a response, because the Agent was not started or did not answer, has no stages.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from agentbeat_protocol import InvocationResponse, ProtocolError, digest_text, read_invocation_response
from agentbeat_receipts.claims import Contradiction, Fault
from agentbeat_receipts.domains.agent_eval.readings import decoded
from agentbeat_receipts.objects import OfferStages

__all__ = ["ResponseStages", "read_response", "response_parsed"]


@dataclass(frozen=True, slots=True)
class ResponseStages:
    """One attempt's response, read again.

    Args:
        response: the answer; None where the bytes are none.
        parsed, enforced: what stands on record.
    """

    response: InvocationResponse | None
    parsed: Any
    enforced: Any

    def check(self) -> None:
        """What stands on record comes out again.

        Raises:
            Contradiction: stage_contradicts_replay.
        """
        expected = response_parsed(self.response)
        for name, stored in (("parsed", self.parsed), ("enforced", self.enforced)):
            if stored != expected:
                raise Contradiction(Fault.STAGE_CONTRADICTS_REPLAY, f"response: {name}")


def read_response(stages: Sequence[OfferStages], *, run_id: str, case_id: str) -> ResponseStages | None:
    """What came back in one attempt; None where nothing did.

    Raises:
        Contradiction: evidence_malformed, when there is more than one response.
    """
    if not stages:
        return None
    if len(stages) > 1:
        raise Contradiction(Fault.EVIDENCE_MALFORMED, f"response: got {len(stages)}, expected one")
    stage = stages[0]
    try:
        response = read_invocation_response(decoded(stage.raw), run_id=run_id, case_id=case_id)
    except ProtocolError:
        response = None
    return ResponseStages(response, stage.parsed, stage.enforced)


def response_parsed(response: InvocationResponse | None) -> dict[str, str] | None:
    """What stands on record of a response. Its reader has refused a blank one (INV-1)."""
    return None if response is None else {"final_response": digest_text(response.final_response)}
