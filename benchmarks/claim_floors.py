"""The floor of each step on a claim receipt: the bare primitives that it takes, on the same bytes.

    write          canonical JSON of opening and receipt, four HMACs, HPKE, SHA-256 of envelope and receipt,
                   base64 of the envelope, a signature made
    ticket         canonical JSON, a signature made, SHA-256
    public check   JSON read, canonical JSON written, SHA-256, a signature verified
    auditor check  that, the envelope's JSON read and its base64 decoded, SHA-256, HPKE, the opening's JSON
                   read and written, four HMACs

Each with the quickest call that the libraries have for it: `json` with its C scanner and encoder, `hashlib`,
`hmac.digest`, `binascii`, and `cryptography` with keys that are loaded already. A floor checks no shape,
keeps nothing, and replays nothing: what a domain computes has no primitive, and counts in full as ours.
"""

from __future__ import annotations

import binascii
import hashlib
import hmac
import json
from dataclasses import dataclass

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PublicKey
from cryptography.hazmat.primitives.hpke import AEAD, KDF, KEM, Suite

from agentbeat_receipts.canonical import pae
from agentbeat_receipts.commitments import Tag
from agentbeat_receipts.envelopes import Binding
from agentbeat_receipts.keys import Keyring
from agentbeat_receipts.objects import Document, Envelope, Opening, Receipt, write_document

__all__ = ["Floors", "Transaction"]

_SUITE = Suite(KEM.X25519, KDF.HKDF_SHA256, AEAD.AES_256_GCM)
_write = json.JSONEncoder(
    ensure_ascii=False, sort_keys=True, separators=(",", ":"), check_circular=False
).encode
_read = json.JSONDecoder().decode


@dataclass(frozen=True)
class Transaction:
    """The documents of one run, as they are delivered."""

    ticket: Document
    receipt: Document
    envelope: Document
    opening: Opening


class Floors:
    """The floors of one transaction, everything that is no primitive made beforehand."""

    def __init__(self, made: Transaction, keyring: Keyring) -> None:
        receipt, envelope = made.receipt.body, made.envelope.body
        if not isinstance(receipt, Receipt) or not isinstance(envelope, Envelope):
            raise TypeError("expected a receipt and an envelope")
        self._keyring = keyring
        self._ticket = made.ticket.body.model_dump(mode="json")
        self._receipt = receipt.model_dump(mode="json")
        self._opening = json.loads(write_document(Document(body=made.opening)))
        self._ticket_type, self._receipt_type = made.ticket.body.TYPE, receipt.TYPE
        self._files = {
            "ticket": write_document(made.ticket).decode(),
            "receipt": write_document(made.receipt).decode(),
            "envelope": write_document(made.envelope).decode(),
        }
        contents = made.opening.contents()
        self._contents = [contents.under(tag) for tag in (Tag.OPENING, Tag.TRACE, Tag.OFFERS, Tag.OUTCOME)]
        self._nonce = made.opening.nonce_bytes()
        self._sealed = envelope.envelope_bytes()
        binding = Binding(
            manifest=receipt.manifest,
            assignment=receipt.assignment,
            ticket=receipt.ticket,
            commitment=receipt.commitment,
        )
        self._info = binding.info()
        self._auditor = X25519PublicKey.from_public_bytes(keyring.public.auditor)
        self._ingress = Ed25519PublicKey.from_public_bytes(keyring.public.ingress_authority)
        self._signatures = {"ticket": made.ticket.signature or b"", "receipt": made.receipt.signature or b""}

    def ticket(self) -> None:
        """A ticket written."""
        message = pae(self._ticket_type, _write(self._ticket).encode())
        self._keyring.ingress_authority.sign(message)
        hashlib.sha256(message).digest()

    def write(self) -> None:
        """Receipt and envelope written."""
        opening = _write(self._opening).encode()
        self._commit()
        sealed = _SUITE.encrypt(opening, self._auditor, info=self._info)
        hashlib.sha256(sealed).digest()
        binascii.b2a_base64(sealed, newline=False)
        message = pae(self._receipt_type, _write(self._receipt).encode())
        self._keyring.ingress_authority.sign(message)
        hashlib.sha256(message).digest()

    def write_with_ticket(self) -> None:
        """Ticket, receipt and envelope written."""
        self.ticket()
        self.write()

    def public_check(self) -> None:
        """A receipt checked by whoever has the public keys."""
        self._verify("receipt", self._receipt_type)

    def batch_check(self) -> None:
        """Ticket and receipt checked, and the envelope taken in and compared, as of each run of a batch."""
        self._verify("ticket", self._ticket_type)
        self._verify("receipt", self._receipt_type)
        self._envelope()

    def auditor_check(self) -> None:
        """That, and the envelope opened."""
        self.batch_check()
        opening = _SUITE.decrypt(self._sealed, self._keyring.auditor, info=self._info)
        _write(_read(opening.decode())).encode()
        self._commit()

    def _commit(self) -> None:
        for content in self._contents:
            hmac.digest(self._nonce, content, "sha256")

    def _verify(self, kind: str, type_name: str) -> None:
        wire = _read(self._files[kind])
        message = pae(type_name, _write(wire["body"]).encode())
        hashlib.sha256(message).digest()
        self._ingress.verify(self._signatures[kind], message)

    def _envelope(self) -> None:
        wire = _read(self._files["envelope"])
        hashlib.sha256(binascii.a2b_base64(wire["body"]["envelope"])).digest()
