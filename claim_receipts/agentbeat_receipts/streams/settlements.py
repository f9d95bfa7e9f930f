"""The second pass, kept: sums, marks and findings, whatever the order in which openings come by.

An assignment is settled once. When two tasks have both opened it, because it was delivered twice, the later
task is done again without it. Two receipts with one nonce are found here, over all tasks.
"""

# ruff: noqa: S608 - what is put into statements are names of tables and columns, from here

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from agentbeat_receipts.claims.tallies import Tally
from agentbeat_receipts.claims.tallying import merge
from agentbeat_receipts.objects import Body
from agentbeat_receipts.streams.gathering import Gathering
from agentbeat_receipts.streams.openings import Opened
from agentbeat_receipts.streams.tables import Tables, raw_digest
from agentbeat_receipts.streams.terminals import OPENED, SHUT, TRIED
from agentbeat_receipts.verification.reasons import Reason
from agentbeat_receipts.verification.results import Finding

__all__ = ["Settlement"]

#: Of each nonce that openings of several assignments have, the candidates that are not of the one whose
#: it was first, in the order of terminals.
_SHARED: Final = """
    SELECT * FROM (
        SELECT terminal, digest, owner,
            first_value(owner) OVER (PARTITION BY nonce ORDER BY terminal, sealed, digest, owner) AS first
        FROM candidates
        WHERE nonce IN (SELECT nonce FROM candidates GROUP BY nonce HAVING min(owner) <> max(owner)))
    WHERE owner <> first"""

#: How many domains are remembered: one is known, two are not.
_DOMAINS: Final = 2


class Settlement:
    """What one reading of the openings has come to, its findings among it; earlier ones are forgotten.

    Args:
        tables: take marks and candidates.
    """

    def __init__(self, tables: Tables) -> None:
        self.tally = Tally()
        self.opened = 0
        self.domains: set[str] = set()
        self.digests: set[tuple[type[Body], str]] = set()
        self.sound = False
        self.gathering = Gathering()
        self._tables = tables
        tables.run("UPDATE runs SET marks = 0 WHERE marks")
        tables.run("DELETE FROM candidates")

    def again(self, result: Opened) -> frozenset[str]:
        """The assignments that this result has settled a second time."""
        query = f"SELECT 1 FROM runs WHERE assignment = ? AND marks & {OPENED}"
        return frozenset(name for name in result.opened if self._tables.one(query, name) is not None)

    def take(self, result: Opened) -> None:
        """One more result, which has settled nothing that was settled before."""
        if result.tally is not None:
            merge(self.tally, result.tally)
        self.gathering.add(result.findings)
        self.opened += len(result.opened)
        marks: dict[str, int] = {}
        for mark, names in ((OPENED, result.opened), (TRIED, result.tried), (SHUT, result.shut)):
            for name in names:
                marks[name] = marks.get(name, 0) | mark
        self._tables.write(
            "UPDATE runs SET marks = marks | ? WHERE assignment = ?",
            ((mark, name) for name, mark in marks.items()),
        )
        self._tables.write(
            "INSERT INTO candidates VALUES (?, ?, ?, ?, ?)",
            ((*found[:3], raw_digest(found.digest), found.owner) for found in result.candidates),
        )
        self.domains = set(sorted(self.domains | result.domains)[:_DOMAINS])
        self.digests.update(result.digests)
        self.sound = self.sound or result.sound

    def refuse(self) -> Iterator[Finding]:
        """Refuse whatever has a nonce that was another's before; a finding for each."""
        self._tables.run(f"INSERT OR IGNORE INTO refused SELECT terminal, digest FROM ({_SHARED})")
        for _, _, owner, first in self._tables.rows(_SHARED):
            yield Finding(Reason.NONCE_REUSED, owner, f"also of {first}")

    @property
    def refused(self) -> bool:
        """Whether there is something that is refused."""
        return self._tables.one("SELECT 1 FROM refused") is not None

    def missing(self, shut: Reason) -> Iterator[Finding]:
        """A finding for each terminal without anything that could be its opening.

        Args:
            shut: what is said of those with an envelope that did not open.
        """
        query = f"SELECT assignment, marks & {SHUT} FROM runs WHERE held = 1 AND NOT marks & {TRIED}"
        for name, is_shut in self._tables.rows(query):
            yield Finding(shut if is_shut else Reason.OPENING_MISSING, name)
