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

import hashlib
from base64 import b64decode, b64encode
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum, unique
from types import MappingProxyType
from typing import Annotated, Final

from agentbeat_protocol import ProtocolError, SchemaError, is_digest
from agentbeat_protocol.models import At, Digest, JSONObject, NotNull, Strict, validated
from agentbeat_protocol.strict_json import MAX_DEPTH, check_depth
from agentbeat_receipts.canonical import Unplain, check_exact, is_normal, read_exact, read_plain, spelled
from agentbeat_receipts.keys import SIGNING_ROLES, PublicKeyring, Role, Signer
from agentbeat_receipts.objects.anchors import TimeAnchor
from agentbeat_receipts.objects.base import NORMAL_FORM, Base64, Body
from agentbeat_receipts.objects.contents import Contents
from agentbeat_receipts.objects.manifests import Manifest
from agentbeat_receipts.objects.openings import Envelope, Opening
from agentbeat_receipts.objects.receipts import Receipt
from agentbeat_receipts.objects.reports import ReportBundle
from agentbeat_receipts.objects.tickets import Checkpoint, ClosingRecord, Ticket

__all__ = [
    "SIGNER",
    "Document",
    "Reading",
    "SignatureFault",
    "Wire",
    "read_document",
    "read_shortened",
    "read_whole",
    "sign",
    "signature_fault",
    "signed",
    "wrapped",
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


class Wire(Strict):
    """A document's members as they are written."""

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


@dataclass(frozen=True, slots=True)
class Reading:
    """A document as it was read, with what reading it has brought to light.

    Args:
        document: the object with its signature.
        canonical: the canonical JSON of its body.
        contents: what an opening's commitments are over; None where it was not made, or is no opening.
    """

    document: Document
    canonical: bytes
    contents: Contents | None = None


def sign(body: Body, keyring: Signer) -> Document:
    """The body with the signature of the role that signs its type; as it is when none does."""
    return signed(body, keyring)[0]


def signed(body: Body, keyring: Signer) -> tuple[Document, str]:
    """Like `sign`, and the object's digest."""
    message = body.signed_bytes()
    digest = "sha256:" + hashlib.sha256(message).hexdigest()
    role = SIGNER[type(body)]
    if role is None:
        return Document(body=body), digest
    document = Document(body=body, signature=keyring.sign(role, message), key_id=keyring.public.key_id(role))
    return document, digest


def write_document(document: Document) -> bytes:
    """The canonical JSON of a document, without transport.

    Raises:
        CanonicalError: a member of the body that was given in Python has no exact form.
    """
    body = document.body.model_dump(mode="json")
    # One level less than for a body by itself: the document is around it.
    check_exact(body, MAX_DEPTH - 1)
    return wrapped(document, spelled(body))


def wrapped(document: Document, canonical: bytes) -> bytes:
    """The canonical JSON of a document whose body's canonical JSON is at hand."""
    # Nothing of this needs escaping: a digest, base64, and a type of ours.
    key_id = b"" if document.key_id is None else b',"key_id":"%b"' % document.key_id.encode()
    signature = b"" if document.signature is None else b',"signature":"%b"' % b64encode(document.signature)
    return b'{"body":%b%b%b,"type":"%b"}' % (canonical, key_id, signature, document.body.TYPE.encode())


def read_document(raw: bytes) -> Document:
    """The document that `raw` spells. Whether its signature counts is another question.

    Raises:
        ProtocolError: no exact JSON (J-*, N-*), another shape (S-*), or at odds with itself (X-*).
    """
    reading = _as_written(bytes(raw))
    return _read_exactly(raw) if reading is None else reading.document


def read_whole(raw: bytes) -> Reading:
    """Like `read_document`, with the canonical bytes of the body, made once.

    Raises:
        ProtocolError: likewise, and where a body has no canonical form.
    """
    reading = _as_written(bytes(raw))
    if reading is None:
        document = _read_exactly(raw)
        reading = Reading(document, document.body.canonical())
    return reading


def read_shortened(raw: bytes, member: str, content: object) -> Reading | None:
    """The reading of a canonical document that was delivered with an empty list in place of a long one.

    Args:
        raw: the document with the empty list.
        member: the name of the list in the body.
        content: what the list held, in the form in which the model keeps it.

    Returns:
        the document with this content, and the canonical JSON of its body with the empty list; None when it
        is not as `write_document` writes it, or does not agree with itself.
    """
    return _as_written(raw, {member: content})


def _as_written(raw: bytes, long: Mapping[str, object] = MappingProxyType({})) -> Reading | None:
    """The reading of a document that is delivered as `write_document` writes it; None for any other.

    It is read without most of the checks of `read_exact` and written again. The same bytes prove that it
    holds no repeated name, no white space, no escape and no other spelling, so that nothing was missed.

    Args:
        long: lists that were cut out of it, with their content.
    """
    try:
        wire = read_plain(raw)
        kind = _BODIES[wire["type"]]
        if kind is Opening and raw.count(b"{") + raw.count(b"[") > MAX_DEPTH:
            check_depth(raw, MAX_DEPTH)  # Only an opening holds values whose depth no schema bounds.
        context = NORMAL_FORM if is_normal(raw) else None
        members = {**wire["body"], **long} if long else wire["body"]
        body = kind.model_validate(members, context=context)
        key_id, signature = wire.get("key_id"), wire.get("signature")
        if (signature is None) != (SIGNER[kind] is None):
            return None
        if key_id is not None and (signature is None or not is_digest(key_id)):
            return None
        document = Document(
            body=body, signature=None if signature is None else b64decode(signature), key_id=key_id
        )
        whole = body.model_dump(mode="json", exclude=set(long) or None)
        whole.update(dict.fromkeys(long, ()))
        contents = Contents.of(whole) if kind is Opening else None
        canonical = spelled(whole) if contents is None else contents.body
    except (Unplain, ProtocolError, LookupError, TypeError, ValueError, RecursionError):
        return None
    if wrapped(document, canonical) != raw.removesuffix(b"\n"):
        return None
    return Reading(document, canonical, contents)


def _read_exactly(raw: bytes) -> Document:
    wire = validated(Wire, read_exact(raw))
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
    signature = None if wire.signature is None else b64decode(wire.signature)
    return Document(body=body, signature=signature, key_id=wire.key_id)


def signature_fault(
    document: Document, keyring: PublicKeyring, *, message: bytes | memoryview | None = None
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
