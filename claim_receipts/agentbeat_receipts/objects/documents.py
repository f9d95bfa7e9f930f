"""A body as it is delivered: with its type, its signature and what came along on the way.

    {"body": {…}, "key_id": "sha256:…", "signature": "<base64>", "transport": {…}, "type": "…"}

`signature` is there exactly for the types that a role signs. `key_id` is a hint and may be absent; one that
is there must name the role's key. `transport` may carry times of sending and receiving; nothing depends on
it. Neither is part of the object: its digest and signature are over type and canonical body.

>>> from agentbeat_receipts.keys import Keyring
>>> keyring = Keyring.generate()
>>> ticket = Ticket(manifest="sha256:" + "0" * 64, assignment="a-1", anchor=None)
>>> raw = write_document(sign(ticket, keyring))
>>> read_document(raw).body == ticket
True
>>> signature_fault(read_document(raw), keyring.public) is None
True
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum, unique
from typing import Annotated, Any, Final

from agentbeat_protocol import SchemaError
from agentbeat_protocol.models import At, Digest, JSONObject, NotNull, Strict, validated
from agentbeat_receipts.canonical import canonical_bytes, read_exact
from agentbeat_receipts.keys import SIGNING_ROLES, Keyring, PublicKeyring, Role
from agentbeat_receipts.objects.anchors import TimeAnchor
from agentbeat_receipts.objects.base import Base64, Body
from agentbeat_receipts.objects.manifests import Manifest
from agentbeat_receipts.objects.openings import Envelope, Opening
from agentbeat_receipts.objects.receipts import Receipt
from agentbeat_receipts.objects.reports import ReportBundle
from agentbeat_receipts.objects.tickets import Checkpoint, ClosingRecord, Ticket

__all__ = [
    "SIGNER",
    "Document",
    "SignatureFault",
    "read_document",
    "sign",
    "signature_fault",
    "write_document",
]

#: Who signs each type; None for what carries no signature.
SIGNER: Final[Mapping[type[Body], Role | None]] = {
    Manifest: Role.MANIFEST_AUTHORITY,
    Ticket: Role.INGRESS_AUTHORITY,
    Checkpoint: Role.INGRESS_AUTHORITY,
    Receipt: Role.INGRESS_AUTHORITY,
    ClosingRecord: Role.INGRESS_AUTHORITY,
    Opening: None,
    Envelope: None,
    ReportBundle: None,
    TimeAnchor: None,
}

_BODIES: Final[Mapping[str, type[Body]]] = {body.TYPE: body for body in SIGNER}


@unique
class SignatureFault(StrEnum):
    """Why a signature does not count."""

    INVALID = "signature_invalid"
    WRONG_ROLE = "wrong_role_key"
    HINT = "key_hint_mismatch"


class _Transport(Strict):
    sent_at: Annotated[At | None, NotNull] = None
    received_at: Annotated[At | None, NotNull] = None


class _Wire(Strict):
    type: str
    body: JSONObject
    signature: Annotated[Base64 | None, NotNull] = None
    key_id: Annotated[Digest | None, NotNull] = None
    transport: Annotated[_Transport | None, NotNull] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """One delivered object.

    Args:
        body: the object itself.
        signature: its signature; None for a type that carries none.
        key_id: the name of the key that is said to have signed; a hint.
    """

    body: Body
    signature: bytes | None = None
    key_id: str | None = None


def sign(body: Body, keyring: Keyring) -> Document:
    """The body with the signature of the role that signs its type; as it is when none does."""
    role = SIGNER[type(body)]
    if role is None:
        return Document(body=body)
    signature = keyring.sign(role, body.signed_bytes())
    return Document(body=body, signature=signature, key_id=keyring.public.key_id(role))


def write_document(document: Document) -> bytes:
    """The canonical JSON of a document, without transport."""
    wire: dict[str, Any] = {"type": document.body.TYPE, "body": document.body.model_dump(mode="json")}
    if document.signature is not None:
        wire["signature"] = base64.b64encode(document.signature).decode()
    if document.key_id is not None:
        wire["key_id"] = document.key_id
    return canonical_bytes(wire)


def read_document(raw: bytes) -> Document:
    """The document that `raw` spells. Whether its signature counts is another question.

    Raises:
        ProtocolError: no exact JSON (J-*, N-*), another shape (S-*), or at odds with itself (X-*).
    """
    wire = validated(_Wire, read_exact(raw))
    kind = _BODIES.get(wire.type)
    if kind is None:
        raise SchemaError("S-ENUM", path="/type", got="another type", expected="a type of this version")
    body = validated(kind, wire.body)
    if (wire.signature is not None) != (SIGNER[kind] is not None):
        got = "none" if wire.signature is None else "one"
        expected = "one" if wire.signature is None else "no signature on this type"
        raise SchemaError("S-REQUIRED", path="/signature", got=got, expected=expected)
    if wire.key_id is not None and wire.signature is None:
        raise SchemaError("S-ADDPROP", path="/key_id", got="one", expected="none without a signature")
    signature = None if wire.signature is None else base64.b64decode(wire.signature)
    return Document(body=body, signature=signature, key_id=wire.key_id)


def signature_fault(
    document: Document, keyring: PublicKeyring, *, message: bytes | None = None
) -> SignatureFault | None:
    """Why the signature is not that of the type's role; None when it is, or when the type carries none.

    Args:
        message: the body's signed bytes, where they are at hand; else they are made.
    """
    role = SIGNER[type(document.body)]
    if role is None:
        return None
    signature = document.signature or b""
    message = document.body.signed_bytes() if message is None else message
    if not keyring.verifies(role, signature, message):
        others = (other for other in SIGNING_ROLES if other is not role)
        wrong_role = any(keyring.verifies(other, signature, message) for other in others)
        return SignatureFault.WRONG_ROLE if wrong_role else SignatureFault.INVALID
    if document.key_id is not None and document.key_id != keyring.key_id(role):
        return SignatureFault.HINT
    return None
