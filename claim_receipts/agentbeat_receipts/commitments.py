"""Commitments to private content: HMAC-SHA256 under a nonce, with one tag per use (spec 4, "Commitment").

A bare hash of an offer can be guessed by hashing every likely offer. So every digest of private content is

    HMAC-SHA256(nonce, tag ‖ NUL ‖ uint64be(len(x)) ‖ x)

with 32 fresh random bytes as the key: it binds what it was made over and hides it until the nonce is known.
One nonce serves one receipt; the tags keep its commitments apart. A nonce of another length is refused, and
the verifier refuses one that two receipts share.

A corpus that is generated from a seed derives its nonces too, so that it comes out the same again. Whoever
knows the seed knows them: such commitments bind but hide nothing, and the manifest says so.

>>> nonce = bytes(32)
>>> commit(nonce, Tag.TRACE, b"[]") == commit(nonce, Tag.OFFERS, b"[]")
False
>>> opens(commit(nonce, Tag.TRACE, b"[]"), nonce, Tag.TRACE, b"[]")
True
"""

from __future__ import annotations

import hmac
import re
import secrets
from enum import StrEnum, unique
from typing import Final

__all__ = ["NONCE_BYTES", "Tag", "commit", "derived_nonce", "fresh_nonce", "is_commitment", "opens"]

#: The length of a nonce, in bytes.
NONCE_BYTES: Final = 32


_COMMITMENT: Final = re.compile(r"hmac-sha256:[0-9a-f]{64}")


@unique
class Tag(StrEnum):
    """What a commitment is for. A new use gets a new tag; a tag never changes its meaning."""

    #: The whole opening without its nonce.
    OPENING = "agentbeat.claims.v1/opening"
    #: The ordered events of every attempt.
    TRACE = "agentbeat.claims.v1/trace"
    #: The raw, parsed and enforced offers of every attempt.
    OFFERS = "agentbeat.claims.v1/offers"
    #: How the terminal attempt ended: status, choice and reported scalars.
    OUTCOME = "agentbeat.claims.v1/outcome"
    #: No commitment: nonces of a generated corpus.
    DERIVED_NONCE = "agentbeat.claims.v1/derived-nonce"


def fresh_nonce() -> bytes:
    """32 bytes from the operating system, for one receipt."""
    return secrets.token_bytes(NONCE_BYTES)


def derived_nonce(seed: bytes, assignment: str) -> bytes:
    """The nonce of one assignment of a generated corpus: reproducible from the seed, so it hides nothing.

    Args:
        seed: at least one byte; a longer one is no more secret than the corpus that names it.
        assignment: the assignment's id, which keeps the nonces of one seed apart.
    """
    if not seed:
        raise ValueError("a seed of 0 bytes, expected at least 1")
    return _mac(seed, Tag.DERIVED_NONCE, assignment.encode())


def commit(nonce: bytes, tag: Tag, content: bytes) -> str:
    """`hmac-sha256:` and the hex of the commitment to these bytes.

    Raises:
        ValueError: the nonce is not 32 bytes long, or the tag is not one for commitments.
    """
    if len(nonce) != NONCE_BYTES:
        raise ValueError(f"a nonce of {len(nonce)} bytes, expected {NONCE_BYTES}")
    if tag is Tag.DERIVED_NONCE:
        raise ValueError("a tag of derived nonces, expected one of a commitment")
    return "hmac-sha256:" + _mac(nonce, tag, content).hex()


def opens(commitment: str, nonce: bytes, tag: Tag, content: bytes) -> bool:
    """Whether `commitment` was made over this content; compared in constant time."""
    return hmac.compare_digest(commitment.encode(), commit(nonce, tag, content).encode())


def is_commitment(text: object) -> bool:
    """Whether `text` is a commitment as this module writes it."""
    return isinstance(text, str) and _COMMITMENT.fullmatch(text) is not None


def _mac(key: bytes, tag: Tag, content: bytes) -> bytes:
    framed = b"%b\0%b%b" % (tag.value.encode("ascii"), len(content).to_bytes(8, "big"), content)
    return hmac.digest(key, framed, "sha256")
