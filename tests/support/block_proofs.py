"""Bitcoin blocks that take a few tries to mine, and OpenTimestamps proofs that end in them.

proof, header = complete(digest, height=100)
"""

from __future__ import annotations

import hashlib
import itertools

from agentbeat_receipts.anchors.opentimestamps import BITCOIN, MAGIC, PENDING

__all__ = [
    "EASY",
    "EASY_BITS",
    "SECONDS",
    "append",
    "attested",
    "complete",
    "mined",
    "number",
    "pending",
    "prepend",
    "proof",
    "sha256",
    "upgraded",
]

#: The target of Bitcoin's regression-test network in compact form, and as a number.
EASY_BITS = 0x207FFFFF
EASY = 0x7FFFFF << 8 * (0x20 - 3)

#: 2026-03-01T10:00:00Z.
SECONDS = 1_772_359_200

SHA256 = b"\x08"


def sha256(raw: bytes) -> bytes:
    return hashlib.sha256(raw).digest()


def number(value: int) -> bytes:
    """A number as proofs write it."""
    septets = bytearray()
    while value > 0x7F:
        septets.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes((*septets, value))


def _lengthy(content: bytes) -> bytes:
    return number(len(content)) + content


def append(argument: bytes) -> bytes:
    return b"\xf0" + _lengthy(argument)


def prepend(argument: bytes) -> bytes:
    return b"\xf1" + _lengthy(argument)


def attested(height: int, *, kind: bytes = BITCOIN) -> bytes:
    """A leaf: the message is the merkle root of this block."""
    return b"\x00" + kind + _lengthy(number(height))


def pending(uri: bytes = b"https://calendar.example") -> bytes:
    """A leaf: ask this calendar later."""
    return b"\x00" + PENDING + _lengthy(_lengthy(uri))


def proof(digest: bytes, *branches: bytes) -> bytes:
    """A proof of several branches from its digest."""
    step = b"".join(b"\xff" + branch for branch in branches[:-1]) + branches[-1]
    return MAGIC + b"\x01" + SHA256 + digest + step


def mined(root: bytes, *, seconds: int = SECONDS, bits: int = EASY_BITS, target: int = EASY) -> bytes:
    """A header over a merkle root that does the work of `target`."""
    head = (4).to_bytes(4, "little") + bytes(32) + root
    head += seconds.to_bytes(4, "little") + bits.to_bytes(4, "little")
    for tried in itertools.count():
        header = head + tried.to_bytes(4, "little")
        if int.from_bytes(sha256(sha256(header)), "little") <= target:
            return header
    raise AssertionError


def complete(digest: bytes, *, height: int = 100, seconds: int = SECONDS) -> tuple[bytes, bytes]:
    """A proof that ends in a block, and the block's header.

    As calendars do it: a nonce, a tree of digests, a transaction, and the block's tree of transactions.
    """
    branch, root = _to_block(digest, height)
    return proof(digest, branch), mined(root, seconds=seconds)


def _to_block(digest: bytes, height: int) -> tuple[bytes, bytes]:
    """A branch from a digest to a block, and the block's merkle root."""
    nonce, before, after, sibling = b"n" * 16, b"\x01" * 60, b"\x02" * 20, b"s" * 32
    transaction = sha256(sha256(before + sha256(digest + nonce) + after))
    root = sha256(sha256(sibling + transaction))
    twice = SHA256 + SHA256
    branch = append(nonce) + SHA256 + prepend(before) + append(after) + twice + prepend(sibling) + twice
    return branch + attested(height), root


def upgraded(digest: bytes, *, height: int = 100, seconds: int = SECONDS) -> tuple[bytes, bytes]:
    """A proof with a complete branch beside its pending leaf, as an upgrade leaves it, and the header."""
    branch, root = _to_block(digest, height)
    return proof(digest, pending(), branch), mined(root, seconds=seconds)
