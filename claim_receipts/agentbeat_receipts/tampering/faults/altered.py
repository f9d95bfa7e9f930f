"""Bytes that are not those that were signed, or that no strict reader reads: everything is Invalid."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Final

from agentbeat_receipts.keys import Role
from agentbeat_receipts.objects import Document, write_document
from agentbeat_receipts.tampering.cases import Expected, FaultCase, Party, Timing
from agentbeat_receipts.tampering.exhibits import Exhibit
from agentbeat_receipts.tampering.makings import Making, make
from agentbeat_receipts.tampering.resigning import flipped, resealed, spelled
from agentbeat_receipts.verification.results import Level

__all__ = ["ALTERED"]

_RUN: Final = "p-1.guarded.1"

#: What is found beside when a receipt, a manifest or an opening does not count.
_RECEIPT_LOST: Final = ("terminal_missing", "terminals_missing")
_MANIFEST_LOST: Final = ("manifest_missing", "contract_absent", "evidence_absent")
_OPENING_LOST: Final = ("opening_missing", "evidence_absent", "transaction_undetermined")


def _flip(making: Making, path: str, after: bytes) -> Exhibit:
    """A bit of one file turned round, behind a mark; the verifier knows the manifest's digest."""
    exhibit = make(making)
    raw = {path: flipped(_at(exhibit, path), after)}
    return replace(exhibit, raw=raw, named=exhibit.promised().digest())


def _at(exhibit: Exhibit, path: str) -> Document:
    folder, _, name = path.rpartition("/")
    singles: Mapping[str, Document | None] = {
        "manifest.json": exhibit.manifest,
        "checkpoint.json": exhibit.checkpoint,
        "closing-record.json": exhibit.closing,
    }
    held = getattr(exhibit, folder)[name.removesuffix(".json")] if folder else singles[name]
    if held is None:
        raise ValueError(f"no {path} in this exhibit")
    return held


def _signed_by_another(making: Making) -> Exhibit:
    exhibit = make(making)
    receipt = exhibit.receipt(_RUN)
    signature = exhibit.keyring.sign(Role.MANIFEST_AUTHORITY, receipt.signed_bytes())
    forged = Document(body=receipt, signature=signature)
    return replace(exhibit, receipts={**exhibit.receipts, _RUN: forged})


def _manifest_signed_by_another(making: Making) -> Exhibit:
    exhibit = make(making)
    manifest = exhibit.promised()
    signature = exhibit.keyring.sign(Role.INGRESS_AUTHORITY, manifest.signed_bytes())
    return replace(exhibit, manifest=Document(body=manifest, signature=signature))


def _number(making: Making, text: bytes) -> Exhibit:
    """The last receipt was signed with another spelling of a number that it discloses."""
    return spelled(make(making), lambda raw: re.sub(rb'("welfare":)-?\d+', rb"\g<1>" + text, raw))


def _twice(making: Making) -> Exhibit:
    """A receipt says twice how its run ended."""
    exhibit = make(making)
    raw = write_document(exhibit.receipts[_RUN])
    status = b'"status":"%b"' % exhibit.receipt(_RUN).status.encode()
    return replace(
        exhibit,
        raw={f"receipts/{_RUN}.json": raw.replace(status, b'"status":"failed",' + status, 1)},
    )


def _colliding(making: Making) -> Exhibit:
    """An opening was sealed with two names that are one in normal form C."""
    exhibit = make(making)
    opening = Document(body=exhibit.openings[_RUN])
    document = json.loads(write_document(opening))
    document["body"]["profile"]["values"] |= {"caf\u00e9": 1, "cafe\u0301": 2}
    return resealed(exhibit, _RUN, json.dumps(document, ensure_ascii=False).encode())


ALTERED: Final = (
    *(
        FaultCase(
            name=f"flipped bit, {kind}",
            layer="L1",
            timing=Timing.POST,
            by=Party.HOLDER,
            done=f"one bit of the {kind} is another one",
            rule="a signature is over every byte that means something",
            expected=expected,
            make=partial(_flip, path=path, after=after),
        )
        for kind, path, after, expected in (
            (
                "manifest",
                "manifest.json",
                b'"money_exponent":',
                Expected.unsound("signature_invalid", *_MANIFEST_LOST, level=Level.CR_1),
            ),
            (
                "ticket",
                f"tickets/{_RUN}.json",
                b'"anchor":"sha256:',
                Expected.unsound("signature_invalid", "ticket_missing", level=Level.CR_2),
            ),
            (
                "checkpoint",
                "checkpoint.json",
                b'"anchor":"sha256:',
                Expected.unsound("signature_invalid", "checkpoint_missing", level=Level.CR_2),
            ),
            (
                "receipt",
                f"receipts/{_RUN}.json",
                b'"commitment":"hmac-sha256:',
                Expected.unsound("signature_invalid", "chain_gap", *_RECEIPT_LOST),
            ),
            (
                "closing record",
                "closing-record.json",
                b'"head":"sha256:',
                Expected.unsound("signature_invalid", "closing_missing"),
            ),
        )
    ),
    FaultCase(
        name="wrong-role key, receipt",
        layer="L1",
        timing=Timing.POST,
        by=Party.MANIFEST,
        done="a receipt is signed with the manifest authority's key",
        rule="each role's key signs its own types only",
        expected=Expected.unsound("wrong_role_key", "chain_gap", *_RECEIPT_LOST),
        make=_signed_by_another,
    ),
    FaultCase(
        name="wrong-role key, manifest",
        layer="L1",
        timing=Timing.POST,
        by=Party.INGRESS,
        done="the manifest is signed with the ingress authority's key",
        rule="each role's key signs its own types only",
        expected=Expected.unsound("wrong_role_key", *_MANIFEST_LOST, level=Level.CR_1),
        make=_manifest_signed_by_another,
    ),
    FaultCase(
        name="non-integral number",
        layer="L1",
        timing=Timing.PRE,
        by=Party.INGRESS,
        done="a receipt was signed with a welfare of `5700.5`",
        rule="exact JSON has integers only; scores are decimal strings",
        expected=Expected.unsound("object_unreadable", *_RECEIPT_LOST),
        make=lambda making: _number(making, b"5700.5"),
    ),
    FaultCase(
        name="oversized number",
        layer="L1",
        timing=Timing.PRE,
        by=Party.INGRESS,
        done="a receipt was signed with a welfare of `9007199254740993`",
        rule="a number is within \u00b1(2^53-1); larger ones are decimal strings",
        expected=Expected.unsound("object_unreadable", *_RECEIPT_LOST),
        make=lambda making: _number(making, b"9007199254740993"),
    ),
    FaultCase(
        name="duplicate keys",
        layer="L1",
        timing=Timing.POST,
        by=Party.HOLDER,
        done="a receipt says `status` twice, once as it was signed",
        rule="two readers could read two things, so nobody reads it",
        expected=Expected.unsound("object_unreadable", "chain_gap", *_RECEIPT_LOST),
        make=_twice,
    ),
    FaultCase(
        name="NFC-colliding keys",
        layer="L1",
        timing=Timing.PRE,
        by=Party.RUNNER,
        done="an opening was sealed with two member names that are one in normal form C",
        rule="names that collide in normal form C are a duplicate",
        expected=Expected.unsound("opening_unreadable", *_OPENING_LOST),
        make=_colliding,
    ),
)
