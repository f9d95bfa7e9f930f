"""The `state` of a score request: a State Controller's word from an earlier run, and what it is held to.

    {"verify": {…},                                  the verify answer, as JSON
     "snapshots": {"before": "…", "after": "…"},     the snapshots' canonical JSON, as text
     "expected": {…},                                what was asked for, and what reset and snapshot answered
     "order": {"before_held": 1, "invoked": 2, "invocation_ended": 3, "after_asked": 4}}

`order` are four moments of one monotonic clock, in nanoseconds; the phases of an `eval-run-response-v1` give
them. Every rule from RCP-1 to RCP-8 is checked as in a run, but no key is registered for a record: it is
`receipt_unsigned` at best, and its score is never official.
"""

from __future__ import annotations

from typing import Annotated, Any

from agentbeat_core.receipt_checks import SnapshotBytes, check_receipt
from agentbeat_protocol import ProtocolError, VerifyAnswer
from agentbeat_protocol.evaluation import StateReport
from agentbeat_protocol.identifiers import EntityId
from agentbeat_protocol.models import Digest, Integer, JSONObject, Name, NotNull, Strict, validated
from agentbeat_protocol.scoring import Expected, RunOrder, state_report
from agentbeat_protocol.state_receipts import AttemptNonce, BindingMode, SnapshotBinding, Token

__all__ = ["StateRecord", "judge_record"]


class RecordedSnapshots(Strict):
    """The text of each snapshot; one that is absent was not read."""

    before: Annotated[str | None, NotNull] = None
    after: Annotated[str | None, NotNull] = None


class RecordedBinding(Strict):
    """What the receipt must be bound to."""

    controller_id: EntityId
    deployment_profile_id: Name
    environment_id: Token
    binding_mode: BindingMode
    profile_id: EntityId
    profile_digest: Digest
    injection_digest: Digest | None
    attempt_nonce: AttemptNonce
    state_digest: Digest
    before: SnapshotBinding
    after: SnapshotBinding


class RecordedOrder(Strict):
    """Four moments of one monotonic clock, in nanoseconds."""

    before_held: Integer
    invoked: Integer
    invocation_ended: Integer
    after_asked: Integer


class StateRecord(Strict):
    """A State Controller's word, and what it is held to."""

    verify: JSONObject
    snapshots: RecordedSnapshots
    expected: RecordedBinding
    order: RecordedOrder


def judge_record(
    state: dict[str, Any], *, run_id: str, case_id: str, final_response: str
) -> tuple[StateReport | None, str | None]:
    """The report on a recorded state, or the reason why there is none.

    Raises:
        ProtocolError: `state` is no such record.
    """
    record = validated(StateRecord, state)
    try:
        answer = validated(VerifyAnswer, record.verify)
    except ProtocolError as error:
        return None, f"state_verify_refused: {error.rule}"
    binding = record.expected
    expected = Expected(
        **{name: getattr(binding, name) for name in RecordedBinding.model_fields},
        run_id=run_id,
        case_id=case_id,
        order=RunOrder(**record.order.model_dump()),
        final_response=final_response,
        verify_key=None,
    )
    snapshots = SnapshotBytes(before=_bytes(record.snapshots.before), after=_bytes(record.snapshots.after))
    failures = check_receipt(answer, record.verify, expected=expected, snapshots=snapshots)
    return state_report(answer, record.verify, failures, verify_key=None), None


def _bytes(text: str | None) -> bytes | None:
    return None if text is None else text.encode()
