"""Blocks of our own, and OpenTimestamps proofs that end in them, for bundles that are to be tampered with.

A block takes a few tries, since its target is that of Bitcoin's regression-test network. So it proves
nothing to anybody who does not say that such blocks will do (`EASIEST`), and all of the check runs.

>>> proof, header = stamped(bytes(32), height=1)
>>> len(header), len(proof) < 100
(80, True)
"""

from __future__ import annotations

import hashlib
import itertools
from typing import Final

from agentbeat_receipts.anchors.block_headers import BlockHeader
from agentbeat_receipts.anchors.opentimestamps import BITCOIN, MAGIC, PENDING, SHA256_TAG, VERSION

__all__ = ["EASIEST", "pending", "stamped"]

#: The target of such blocks in compact form, and as a number.
_COMPACT: Final = 0x207FFFFF
EASIEST: Final = 0x7FFFFF << 8 * (0x20 - 3)

#: 2026-03-01T10:00:00Z.
_SECONDS: Final = 1_772_359_200

_CALENDAR: Final = b"https://calendar.example"


def stamped(digest: bytes, *, height: int) -> tuple[bytes, bytes]:
    """A complete proof over a digest, and the header of the block that it ends in.

    Args:
        digest: of 32 bytes.
        height: the block's, less than 128.
    """
    root = hashlib.sha256(digest).digest()
    return _proof(digest, bytes((SHA256_TAG, 0x00)) + BITCOIN + bytes((1, height))), _mined(root)


def pending(digest: bytes) -> bytes:
    """The same before there is a block: ask the calendar later."""
    place = bytes((len(_CALENDAR),)) + _CALENDAR
    return _proof(digest, b"\x00" + PENDING + bytes((len(place),)) + place)


def _proof(digest: bytes, branch: bytes) -> bytes:
    return MAGIC + bytes((VERSION, SHA256_TAG)) + digest + branch


def _mined(root: bytes) -> bytes:
    """A header over this merkle root that does the work of its target."""
    head = (4).to_bytes(4, "little") + bytes(32) + root
    head += _SECONDS.to_bytes(4, "little") + _COMPACT.to_bytes(4, "little")
    tried = (head + number.to_bytes(4, "little") for number in itertools.count())
    return next(header for header in tried if BlockHeader.read(header).works())
