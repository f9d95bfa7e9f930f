"""The second pass, kept: sums, names and findings, whatever the order in which openings come by.

An assignment is settled once. When two tasks have both opened it, because it was delivered twice, the later
task is done again without it. Two receipts with one nonce are found here, over all tasks.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator
from typing import Final

from agentbeat_receipts.claims.tallies import Tally
from agentbeat_receipts.claims.tallying import merge
from agentbeat_receipts.names import Names
from agentbeat_receipts.objects import Body
from agentbeat_receipts.repeats import repeated
from agentbeat_receipts.streams.gathering import Gathering
from agentbeat_receipts.streams.openings import Candidate, Opened
from agentbeat_receipts.verification.reasons import Reason
from agentbeat_receipts.verification.results import Finding

__all__ = ["Settlement", "shared_nonces"]


#: What is known of an assignment's opening, as bits.
_OPENED: Final = 1
_TRIED: Final = 2
_SHUT: Final = 4


class Settlement:
    """What one reading of the openings has come to, its findings among it.

    Args:
        names: of assignments.
    """

    def __init__(self, names: Names) -> None:
        self.tally = Tally()
        self.opened = 0
        self.candidates: list[Candidate] = []
        self.domains: set[str] = set()
        self.digests: set[tuple[type[Body], str]] = set()
        self.sound = False
        self.gathering = Gathering()
        self._names = names
        self._marks = bytearray()
        # Of every candidate what stands for its nonce, and the number of the assignment that it names.
        self._nonces = array("Q")
        self._owners = array("I")

    def is_opened(self, number: int) -> bool:
        """Whether the terminal of the assignment with this number was opened."""
        return bool(self._mark(number) & _OPENED)

    def again(self, result: Opened) -> frozenset[str]:
        """The assignments that this result has settled a second time."""
        return frozenset(name for name in result.opened if self.is_opened(self._names.find(name)))

    def take(self, result: Opened) -> None:
        """One more result, which has settled nothing that was settled before."""
        if result.tally is not None:
            merge(self.tally, result.tally)
        self.gathering.add(result.findings)
        self.opened += len(result.opened)
        for mark, names in ((_OPENED, result.opened), (_TRIED, result.tried), (_SHUT, result.shut)):
            for name in names:
                self._set(self._names.number(name), mark)
        self.candidates += result.candidates
        self.domains |= result.domains
        self.digests.update(result.digests)
        self.sound = self.sound or result.sound
        for nonce, owner in result.nonces:
            self._nonces.append(nonce)
            self._owners.append(self._names.number(owner))

    def collided(self) -> frozenset[int]:
        """What stands for nonces that openings of several assignments have."""
        repeats = repeated(lambda: self._nonces)
        owners: dict[int, set[int]] = {nonce: set() for nonce in repeats}
        for nonce, owner in zip(self._nonces, self._owners, strict=True) if repeats else ():
            if nonce in repeats:
                owners[nonce].add(owner)
        return frozenset(nonce for nonce, found in owners.items() if len(found) > 1)

    def missing(self, terminals: Iterable[int], shut: Reason) -> Iterator[Finding]:
        """A finding for each terminal without anything that could be its opening.

        Args:
            terminals: the numbers of their assignments.
            shut: what is said of those with an envelope that did not open.
        """
        for number in terminals:
            mark = self._mark(number)
            if not mark & _TRIED:
                yield Finding(shut if mark & _SHUT else Reason.OPENING_MISSING, self._names[number])

    def _mark(self, number: int) -> int:
        return self._marks[number] if 0 <= number < len(self._marks) else 0

    def _set(self, number: int, mark: int) -> None:
        if number >= len(self._marks):
            self._marks.extend(bytes(number + 1 - len(self._marks)))
        self._marks[number] |= mark


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
