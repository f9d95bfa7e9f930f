"""The second pass, kept: sums, names and findings, whatever the order in which openings come by.

An assignment is settled once. When two tasks have both opened it, because it was delivered twice, the later
task is done again without it. Two receipts with one nonce are found here, over all tasks.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from agentbeat_receipts.claims.tallies import Tally
from agentbeat_receipts.claims.tallying import merge
from agentbeat_receipts.objects import Body
from agentbeat_receipts.streams.gathering import Gathering
from agentbeat_receipts.streams.openings import Candidate, Opened
from agentbeat_receipts.verification.reasons import Reason
from agentbeat_receipts.verification.results import Finding

__all__ = ["Settlement", "shared_nonces"]


class Settlement:
    """What one reading of the openings has come to, its findings among it."""

    def __init__(self) -> None:
        self.tally = Tally()
        self.opened: set[str] = set()
        self.tried: set[str] = set()
        self.shut: set[str] = set()
        self.collided: set[bytes] = set()
        self.candidates: list[Candidate] = []
        self.domains: set[str] = set()
        self.digests: set[tuple[type[Body], str]] = set()
        self.sound = False
        self.gathering = Gathering()
        self._owners: dict[bytes, str] = {}

    def again(self, result: Opened) -> frozenset[str]:
        """The assignments that this result has settled a second time."""
        return frozenset(self.opened.intersection(result.opened))

    def take(self, result: Opened) -> None:
        """One more result, which has settled nothing that was settled before."""
        if result.tally is not None:
            merge(self.tally, result.tally)
        self.gathering.add(result.findings)
        self.opened.update(result.opened)
        self.tried.update(result.tried)
        self.shut.update(result.shut)
        self.candidates += result.candidates
        self.domains |= result.domains
        self.digests.update(result.digests)
        self.sound = self.sound or result.sound
        for nonce, owner in result.nonces:
            if self._owners.setdefault(nonce, owner) != owner:
                self.collided.add(nonce)

    def missing(self, terminals: Iterable[str], shut: Reason) -> Iterator[Finding]:
        """A finding for each terminal without anything that could be its opening.

        Args:
            shut: what is said of those with an envelope that did not open.
        """
        for name in terminals:
            if name not in self.tried:
                yield Finding(shut if name in self.shut else Reason.OPENING_MISSING, name)


def shared_nonces(candidates: Iterable[Candidate]) -> tuple[list[Finding], frozenset[tuple[str, str]]]:
    """Whose nonce was another's before, in the order of terminals: the findings, and who is refused for it.

    Args:
        candidates: all candidates of nonces that are shared.
    """
    owners: dict[bytes, str] = {}
    findings: list[Finding] = []
    refused: set[tuple[str, str]] = set()
    for candidate in sorted(set(candidates)):
        other = owners.setdefault(candidate.nonce, candidate.owner)
        if other != candidate.owner:
            findings.append(Finding(Reason.NONCE_REUSED, candidate.owner, f"also of {other}"))
            refused.add((candidate.terminal, candidate.digest))
    return findings, frozenset(refused)
