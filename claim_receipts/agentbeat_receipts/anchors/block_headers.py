"""A Bitcoin block header: its merkle root, its time, and whether it did the work that it claims.

A header is 80 bytes: version, previous block, merkle root, time, target in compact form, and a number that
was tried until SHA-256 of SHA-256 of the header, read as a little-endian number, was at most the target.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from agentbeat_protocol import Instant

__all__ = ["BlockHeader"]

#: A block may claim a time this far ahead of its nodes' clocks, in seconds.
AHEAD = 2 * 60 * 60

_NANOSECONDS = 1_000_000_000


@dataclass(frozen=True, slots=True)
class BlockHeader:
    """What is read from a header.

    Args:
        merkle_root: 32 bytes in the order in which they are hashed.
        seconds: the block's own time, in seconds since 1970.
        target: the largest hash that it allows itself; 0 for a compact form that means none.
        number: the header's hash, as a number.
    """

    merkle_root: bytes
    seconds: int
    target: int
    number: int

    @classmethod
    def read(cls, raw: bytes) -> BlockHeader:
        """The header that these 80 bytes are."""
        hashed = hashlib.sha256(hashlib.sha256(raw).digest()).digest()
        return cls(
            merkle_root=raw[36:68],
            seconds=int.from_bytes(raw[68:72], "little"),
            target=_target(int.from_bytes(raw[72:76], "little")),
            number=int.from_bytes(hashed, "little"),
        )

    def works(self) -> bool:
        """Whether the header did the work of its own target."""
        return self.number <= self.target

    def latest(self) -> Instant:
        """The latest time at which the block was made: its own, and two hours."""
        return Instant.from_nanoseconds((self.seconds + AHEAD) * _NANOSECONDS)


def _target(compact: int) -> int:
    """A target out of its compact form: 8 bits of exponent to base 256, a sign, 23 bits of mantissa."""
    exponent, mantissa = compact >> 24, compact & 0x7FFFFF
    target = mantissa << 8 * (exponent - 3) if exponent > 3 else mantissa >> 8 * (3 - exponent)
    return 0 if compact & 0x800000 or target >= 1 << 256 else target
