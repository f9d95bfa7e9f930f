"""What a case of the catalogue is: a fault with its verdicts and reasons, or a change that must alarm nobody.

`Timing` is relative to the commitment, that is to the signature or digest that binds what the fault is about.
`pre_commitment`: what was signed was wrong already, and every signature is right. `post_commitment`: what was
signed was right, and was withheld, changed, exchanged or misreported afterwards.

>>> expected = Expected.but(Verdict.INVALID, "C4", licence=Licence.NONE, codes=("cell_differs",))
>>> expected.verdict("C4"), expected.verdict("C2")
(<Verdict.INVALID: 'Invalid'>, <Verdict.PASS: 'Pass'>)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum, unique
from types import MappingProxyType
from typing import Final, Literal, Self

from agentbeat_receipts.claims.groups import EXPERIMENT_CLAIMS
from agentbeat_receipts.claims.results import ClaimReport, Licence
from agentbeat_receipts.deliveries import Delivery
from agentbeat_receipts.domains.market import DOMAIN
from agentbeat_receipts.keys import Role
from agentbeat_receipts.tampering.exhibits import Exhibit
from agentbeat_receipts.tampering.makings import Making
from agentbeat_receipts.verification.reasons import Scope, Verdict
from agentbeat_receipts.verification.results import Level

__all__ = [
    "CLAIMS",
    "BenignCase",
    "Expected",
    "FaultCase",
    "Layer",
    "Party",
    "Timing",
    "as_delivered",
    "as_made",
    "found_codes",
]

#: The claims of the catalogue's batches, as they are printed.
CLAIMS: Final = (*DOMAIN.claims, *EXPERIMENT_CLAIMS)

#: Where a fault shows: in bytes, in meaning, in coverage, or nowhere.
Layer = Literal["L1", "L2", "L3", "L4"]


@unique
class Timing(StrEnum):
    """When a fault happens."""

    PRE = "pre_commitment"
    POST = "post_commitment"


@unique
class Party(StrEnum):
    """Who does it."""

    #: Whoever has the files in hand and sends them on.
    HOLDER = "whoever delivers"
    #: Who makes the report, which nobody signs.
    REPORTER = "reporter"
    #: Who makes the runs and says what happened; the ingress authority signs it in good faith.
    RUNNER = "runner"
    INGRESS = "ingress authority"
    MANIFEST = "manifest authority"
    #: Whoever lets a run happen outside of all this.
    ANYBODY = "anybody"

    @property
    def keys(self) -> tuple[Role, ...]:
        """The private keys that it takes."""
        return _KEYS.get(self, ())


_KEYS: Final = MappingProxyType(
    {Party.INGRESS: (Role.INGRESS_AUTHORITY,), Party.MANIFEST: (Role.MANIFEST_AUTHORITY,)}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    """What the verifier has to say of a batch with one fault.

    Args:
        verdicts: of the claims that do not pass.
        coverage: the verdict of layer 3.
        licence: what may still be said.
        level: the level that is reached.
        codes: every reason, of chain and claims; notes aside. The first is the one to look at.
    """

    verdicts: Mapping[str, Verdict] = field(default_factory=dict)
    coverage: Verdict = Verdict.PASS
    licence: Licence = Licence.CAUSAL
    level: Level = Level.CR_3
    codes: tuple[str, ...] = ()

    @classmethod
    def but(
        cls, verdict: Verdict, *claims: str, licence: Licence = Licence.NONE, codes: Sequence[str] = ()
    ) -> Self:
        """All pass but these claims."""
        return cls(verdicts=dict.fromkeys(claims, verdict), licence=licence, codes=tuple(codes))

    @classmethod
    def unsound(cls, *codes: str, level: Level = Level.CR_3) -> Self:
        """Integrity is Invalid, and with it everything."""
        return cls(
            verdicts=dict.fromkeys(CLAIMS, Verdict.INVALID),
            coverage=Verdict.INVALID,
            licence=Licence.NONE,
            level=level,
            codes=(*codes, "integrity_invalid"),
        )

    def also(self, verdict: Verdict, *claims: str) -> Self:
        """The same, and another verdict of some more claims."""
        return replace(self, verdicts={**self.verdicts, **dict.fromkeys(claims, verdict)})

    def verdict(self, claim: str) -> Verdict:
        """Of one claim."""
        return self.verdicts.get(claim, Verdict.PASS)

    def is_met(self, report: ClaimReport) -> bool:
        """Whether claims, coverage, licence and level are as expected; of the reasons see `found_codes`."""
        said = {claim.claim: claim.verdict for claim in report.claims}
        wanted = {claim: self.verdict(claim) for claim in CLAIMS}
        others = (report.chain.coverage, report.licences.granted, report.chain.level)
        return said == wanted and others == (self.coverage, self.licence, self.level)


@dataclass(frozen=True, kw_only=True)
class FaultCase:
    """One way to go wrong.

    Args:
        name: in a few words; it stays the same.
        layer: where it shows.
        timing: before or after the commitment.
        done: what is done.
        by: who could do it.
        rule: what a reader needs to know to predict the verdict.
        expected: the verdict.
        make: from how an honest batch is made, with or without what a benign change adds to it.
    """

    name: str
    layer: Layer
    timing: Timing
    done: str
    by: Party
    rule: str
    expected: Expected
    make: Callable[[Making], Exhibit]


def as_made(making: Making) -> Making:
    """Nothing is different about how a batch is made."""
    return making


def as_delivered(deliveries: list[Delivery]) -> list[Delivery]:
    """Nothing is different about how it arrives."""
    return deliveries


@dataclass(frozen=True, kw_only=True)
class BenignCase:
    """One difference that means nothing.

    Args:
        name: in a few words; it stays the same.
        done: what is different.
        making: a batch with it, for what is there before the commitment.
        delivered: what arrives with it, for what happens on the way.
        beside: what lies beside an exhibit with it.
    """

    name: str
    done: str
    making: Callable[[Making], Making] = as_made
    delivered: Callable[[list[Delivery]], list[Delivery]] = as_delivered
    beside: Callable[[Exhibit], Exhibit] = lambda exhibit: exhibit


def found_codes(report: ClaimReport) -> frozenset[str]:
    """Every reason that was found, notes aside."""
    chain = {str(found.reason) for found in report.chain.findings if found.rule.scope is not Scope.NOTE}
    return frozenset(chain | {str(found.fault) for claim in report.claims for found in claim.findings})
