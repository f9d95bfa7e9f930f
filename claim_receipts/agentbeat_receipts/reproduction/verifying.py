"""Epochs made and verified, each once: what the tables are read from.

    bench = Bench.of(1)
    verified = bench.verified("E3", stability_epoch(bench.keys.seed))
    verified.report.claim("C3").verdict

The verifier is given what anybody would be given: files, public keys, the root of the time-stamping authority
and the auditor's key. That a bundle is an epoch of a corpus, or which one, it is not told.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from time import perf_counter_ns
from typing import Self

from agentbeat_receipts.anchors import AnchorTrust
from agentbeat_receipts.claims import ClaimReport, Domain
from agentbeat_receipts.claims.verifier import verify
from agentbeat_receipts.corpus import CorpusKeys, Epoch, MadeEpoch, corpus_seed, make_epoch
from agentbeat_receipts.deliveries import Delivery
from agentbeat_receipts.domains import known_domains
from agentbeat_receipts.verification import ChainReport, verify_chain

__all__ = ["Bench", "Verified"]


@dataclass(frozen=True, kw_only=True)
class Verified:
    """One epoch with its verdicts.

    Args:
        place: where its bundle stands in the corpus.
        made: what was run and written.
        deliveries: what the verifier was given.
        report: what it said.
        nanoseconds: how long that took.
    """

    place: str
    made: MadeEpoch
    deliveries: tuple[Delivery, ...]
    report: ClaimReport
    nanoseconds: int


@dataclass(frozen=True)
class Bench:
    """The keys of one corpus, and a verifier that was given their public side.

    Args:
        keys: who signs.
    """

    keys: CorpusKeys

    @classmethod
    def of(cls, number: int) -> Self:
        """The bench of the corpus with this number."""
        return cls(CorpusKeys.of(corpus_seed(number)))

    @cached_property
    def domains(self) -> tuple[Domain, ...]:
        """What the verifier can replay."""
        return tuple(known_domains().values())

    @cached_property
    def trust(self) -> AnchorTrust:
        """Whom it believes about time."""
        return self.keys.authority.trust()

    def verified(self, place: str, epoch: Epoch, *, name: str | None = None) -> Verified:
        """Make an epoch and verify it.

        Args:
            name: what its title calls it.
        """
        made = make_epoch(epoch, self.keys, name=name)
        deliveries = made.deliveries()
        started = perf_counter_ns()
        report = self.report(deliveries)
        taken = perf_counter_ns() - started
        return Verified(place=place, made=made, deliveries=deliveries, report=report, nanoseconds=taken)

    def report(self, deliveries: Iterable[Delivery], *, opened: bool = True) -> ClaimReport:
        """What the verifier says of these files.

        Args:
            opened: whether it has the auditor's key.
        """
        return verify(
            deliveries,
            self.keys.keyring.public,
            domains=self.domains,
            trust=self.trust,
            auditor=self.keys.keyring.auditor if opened else None,
        )

    def chain(self, deliveries: Iterable[Delivery], *, opened: bool = True) -> ChainReport:
        """What the verifier says of bytes, coverage and openings alone."""
        auditor = self.keys.keyring.auditor if opened else None
        return verify_chain(deliveries, self.keys.keyring.public, trust=self.trust, auditor=auditor)
