"""Step 5: whether the terminal attempt is the one that the policy names (spec 4, "Retries").

The terminal attempt is the first that was accepted, rejected, or failed in a way that the policy does not
retry; else the last one allowed. Any other choice shadows an attempt. Attempts that were never listed leave
no trace here (L4).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import pairwise

from agentbeat_receipts.objects import INITIAL, Attempt, Opening, RetryPolicy
from agentbeat_receipts.verification.facts import ReceiptFacts
from agentbeat_receipts.verification.reasons import Reason
from agentbeat_receipts.verification.results import Finding

__all__ = ["limit_findings", "retry_findings"]


def limit_findings(receipts: Iterable[ReceiptFacts], policy: RetryPolicy) -> Iterator[Finding]:
    """Receipts with more attempts than the policy allows; seen without their openings."""
    for receipt in receipts:
        if receipt.attempts > policy.max_attempts:
            detail = f"got {receipt.attempts}, expected at most {policy.max_attempts}"
            yield Finding(Reason.RETRY_LIMIT, receipt.assignment, detail)


def retry_findings(opening: Opening, policy: RetryPolicy) -> Iterator[Finding]:
    """Everything wrong with the attempts of one opening, but for their number, which is public."""
    subject, attempts = opening.assignment, opening.attempts
    if [attempt.number for attempt in attempts] != list(range(1, len(attempts) + 1)):
        yield Finding(Reason.RETRY_GAP, subject)
    if attempts[0].cause != INITIAL:
        yield Finding(Reason.RETRY_CAUSE, subject, f"attempt 1 by {attempts[0].cause}")
    for before, attempt in pairwise(attempts):
        if attempt.cause != before.failure or attempt.cause not in policy.retry_on:
            yield Finding(Reason.RETRY_CAUSE, subject, f"attempt {attempt.number} by {attempt.cause}")
    final = next((i for i, attempt in enumerate(attempts, 1) if not _retried(attempt, policy)), None)
    if (final or policy.max_attempts) != len(attempts):
        detail = f"got terminal {len(attempts)}, expected {final or policy.max_attempts}"
        yield Finding(Reason.RETRY_SHADOWING, subject, detail)


def _retried(attempt: Attempt, policy: RetryPolicy) -> bool:
    return attempt.status == "failed" and attempt.failure in policy.retry_on
