"""Openings: what was committed to, how it was sealed, and which attempts it lists."""

from __future__ import annotations

import base64
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Final

from agentbeat_receipts.commitments import fresh_nonce
from agentbeat_receipts.domains.market import DOMAIN
from agentbeat_receipts.keys import Keyring, PublicKeyring
from agentbeat_receipts.objects import Attempt, Document, Opening, write_document
from agentbeat_receipts.tampering.benign import LateSeller
from agentbeat_receipts.tampering.cases import Expected, FaultCase, Party, Timing
from agentbeat_receipts.tampering.exhibits import Exhibit, changed
from agentbeat_receipts.tampering.makings import Making, make
from agentbeat_receipts.tampering.resigning import resealed
from agentbeat_receipts.verification.reasons import Verdict

__all__ = ["SEALED"]

_RUN: Final = "p-1.guarded.1"
_OTHER: Final = "p-1.guarded.2"

_UNOPENED: Final = Expected.but(Verdict.NO_EVIDENCE, *DOMAIN.claims, "C1", "C3", "C4")
_SHADOWED: Final = Expected.but(Verdict.INVALID, "C1", "C3")


def _committed(making: Making, change: Callable[[Opening], Opening]) -> Exhibit:
    """The batch in which one run committed to something else."""
    return make(replace(making, openings={**making.openings, _RUN: change}))


def _attempts(making: Making, change: Callable[[tuple[Attempt, ...]], tuple[Attempt, ...]]) -> Exhibit:
    """The batch in which one run lists other attempts."""
    return _committed(making, lambda opening: changed(opening, attempts=change(opening.attempts)))


def _late(making: Making, reason: str = "timeout") -> Making:
    """The run had no answer the first time."""
    return replace(making, sellers={**making.sellers, _RUN: LateSeller(_RUN, reason=reason)})


def _repeated(making: Making) -> Exhibit:
    """A run failed in a way that is not retried, and was run again; its values are those of the second."""
    honest = make(making)
    (done,) = honest.openings[_RUN].attempts
    again = changed(done, number=2, cause="busy")
    told = replace(_late(making, "busy"), told={**making.told, _RUN: honest.receipt(_RUN).values})
    return _attempts(told, lambda attempts: (*attempts, again))


def _again(attempts: tuple[Attempt, ...]) -> tuple[Attempt, ...]:
    """An accepted attempt, and one more as if it had timed out."""
    (first,) = attempts
    return (first, changed(first, number=2, cause="timeout"))


def _beside(making: Making) -> Exhibit:
    """An opening in the clear, with another profile than the one committed to."""
    exhibit = make(making)
    opening = exhibit.openings[_RUN]
    profile = {**opening.profile, "outside": 0}
    return exhibit.also(Document(body=changed(opening, profile=profile)))


def _other_opening(making: Making) -> Exhibit:
    """The envelope was sealed over another opening than the one committed to."""
    exhibit = make(making)
    opening = exhibit.openings[_RUN]
    profile = {**opening.profile, "outside": 0}
    return resealed(exhibit, _RUN, write_document(Document(body=changed(opening, profile=profile))))


def _nonce(making: Making, raw: bytes) -> Exhibit:
    """One opening was sealed with this nonce, whatever was committed with."""
    exhibit = make(making)
    opening = changed(exhibit.openings[_RUN], nonce=base64.b64encode(raw).decode())
    return resealed(exhibit, _RUN, write_document(Document(body=opening)))


def _reused(making: Making) -> Exhibit:
    """Two runs committed with one nonce."""
    nonce = make(making).openings[_OTHER].nonce
    return _committed(making, lambda opening: changed(opening, nonce=nonce))


def _exchanged(making: Making) -> Exhibit:
    """An envelope of the same opening, sealed once more."""
    exhibit = make(making)
    again = resealed(exhibit, _RUN, write_document(Document(body=exhibit.openings[_RUN])))
    return replace(exhibit, envelopes=again.envelopes)


@cache
def _others() -> PublicKeyring:
    return Keyring.generate().public


def _for_another(making: Making) -> Exhibit:
    exhibit = make(making)
    content = write_document(Document(body=exhibit.openings[_RUN]))
    return resealed(exhibit, _RUN, content, to=_others())


SEALED: Final = (
    FaultCase(
        name="opening contradicts commitment",
        layer="L1",
        timing=Timing.POST,
        by=Party.HOLDER,
        done="an opening with another profile is delivered in the clear",
        rule="an opening opens each commitment of its receipt",
        expected=Expected.unsound("opening_contradicts_commitment"),
        make=_beside,
    ),
    FaultCase(
        name="another opening sealed",
        layer="L1",
        timing=Timing.PRE,
        by=Party.INGRESS,
        done="an envelope was sealed over another opening than the one committed to",
        rule="an opening opens each commitment of its receipt",
        expected=Expected.unsound(
            "opening_contradicts_commitment", "evidence_absent", "transaction_undetermined"
        ),
        make=_other_opening,
    ),
    FaultCase(
        name="envelope digest wrong",
        layer="L1",
        timing=Timing.POST,
        by=Party.HOLDER,
        done="an envelope is exchanged for another one of the same opening",
        rule="a receipt has the digest of its envelope's bytes",
        expected=Expected.unsound(
            "envelope_digest_mismatch", "opening_missing", "evidence_absent", "transaction_undetermined"
        ),
        make=_exchanged,
    ),
    FaultCase(
        name="envelope undecryptable",
        layer="L1",
        timing=Timing.PRE,
        by=Party.INGRESS,
        done="an envelope was sealed to another auditor; its digest is right",
        rule="what cannot be opened is missing",
        expected=replace(
            _UNOPENED, codes=("opening_undecryptable", "evidence_absent", "transaction_undetermined")
        ),
        make=_for_another,
    ),
    FaultCase(
        name="nonce of wrong length",
        layer="L1",
        timing=Timing.PRE,
        by=Party.RUNNER,
        done="an opening has a nonce of 16 bytes",
        rule="a nonce has 32 bytes",
        expected=Expected.unsound("nonce_length", "evidence_absent", "transaction_undetermined"),
        make=lambda making: _nonce(making, fresh_nonce()[:16]),
    ),
    FaultCase(
        name="nonce reused",
        layer="L1",
        timing=Timing.PRE,
        by=Party.RUNNER,
        done="two runs committed with one nonce",
        rule="a nonce serves one receipt",
        expected=Expected.unsound("nonce_reused", "evidence_absent", "transaction_undetermined"),
        make=_reused,
    ),
    FaultCase(
        name="retry shadowing",
        layer="L3",
        timing=Timing.PRE,
        by=Party.RUNNER,
        done="a run was accepted, run again, and the second attempt is its terminal",
        rule="the terminal attempt is the first that the policy does not retry",
        expected=replace(_SHADOWED, codes=("retry_shadowing", "retry_cause", "retries_invalid")),
        make=lambda making: _attempts(making, _again),
    ),
    FaultCase(
        name="retry gap",
        layer="L3",
        timing=Timing.PRE,
        by=Party.RUNNER,
        done="attempts 1 and 3 are listed, and not 2",
        rule="attempts are listed 1..m without gaps",
        expected=replace(_SHADOWED, codes=("retry_gap", "retries_invalid")),
        make=lambda making: _attempts(_late(making), lambda a: (a[0], changed(a[1], number=3))),
    ),
    FaultCase(
        name="more attempts than allowed",
        layer="L3",
        timing=Timing.PRE,
        by=Party.RUNNER,
        done="three attempts where the policy allows two",
        rule="there are no more attempts than the policy allows",
        expected=replace(_SHADOWED, codes=("retry_limit", "retries_invalid")),
        make=lambda making: _attempts(
            _late(making),
            lambda a: (a[0], changed(a[0], number=2, cause="timeout"), changed(a[1], number=3)),
        ),
    ),
    FaultCase(
        name="undeclared cause",
        layer="L3",
        timing=Timing.PRE,
        by=Party.RUNNER,
        done="a run was repeated after a failure that the policy does not name",
        rule="only declared failures are retried",
        expected=replace(_SHADOWED, codes=("retry_cause", "retry_shadowing", "retries_invalid")),
        make=_repeated,
    ),
)
