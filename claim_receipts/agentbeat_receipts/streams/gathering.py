"""Findings of a stream, sorted and each once; of one reason not more than a limit.

Where there are more, the first of them in their order are kept, whatever the order in which they came, and
one more finding says so. No verdict depends on how many findings of a reason there are.

>>> gathered = Gathering(limit=2)
>>> gathered.add(Finding(Reason.TICKET_MISSING, subject) for subject in ("c", "a", "b", "a", "d"))
>>> [finding.subject for finding in gathered.findings()]
['a', 'b', '…']
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from agentbeat_receipts.verification.reasons import Reason
from agentbeat_receipts.verification.results import Finding

__all__ = ["LIMIT", "Gathering"]

#: How many findings of one reason are kept.
LIMIT: Final = 10_000


class Gathering:
    """Findings as they come.

    Args:
        limit: how many of one reason are kept.
    """

    def __init__(self, *, limit: int = LIMIT) -> None:
        self._limit = limit
        self._found: dict[Reason, set[Finding]] = {}
        self._cut: set[Reason] = set()

    def add(self, findings: Iterable[Finding]) -> None:
        """More of them."""
        for finding in findings:
            found = self._found.setdefault(finding.reason, set())
            found.add(finding)
            if len(found) > 2 * self._limit:
                self._keep_first(finding.reason)

    def findings(self) -> list[Finding]:
        """What is kept, sorted."""
        for reason in self._found:
            self._keep_first(reason)
        more = [Finding(reason, "…", f"more than these {self._limit}", more=True) for reason in self._cut]
        return sorted([*(finding for found in self._found.values() for finding in found), *more])

    def _keep_first(self, reason: Reason) -> None:
        found = self._found[reason]
        if len(found) > self._limit:
            self._found[reason] = set(sorted(found)[: self._limit])
            self._cut.add(reason)
