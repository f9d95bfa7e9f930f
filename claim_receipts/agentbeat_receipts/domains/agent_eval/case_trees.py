"""One digest for all cases of a batch, and a short proof for each that it is among them.

The manifest names the root, so every case is fixed before the first run; an opening carries its own case and
the digests beside its way to the root, and nothing of the others. The tree is that of RFC 6962, section 2.1:
leaves and nodes are hashed with different first bytes, so that neither passes for the other.

>>> leaves = [b"a", b"b", b"c"]
>>> root_of(leaves) == root_from(b"c", 2, 3, proof_of(leaves, 2))
True
>>> root_of(leaves) == root_from(b"b", 2, 3, proof_of(leaves, 2))
False
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

__all__ = ["proof_of", "root_from", "root_of"]


def root_of(leaves: Sequence[bytes]) -> str:
    """`sha256:` and the hex of the root.

    Raises:
        ValueError: there is no leaf.
    """
    if not leaves:
        raise ValueError("a tree without leaves")
    return _named(_subtree(leaves))


def proof_of(leaves: Sequence[bytes], index: int) -> tuple[str, ...]:
    """The digests beside the way from one leaf to the root, from below."""
    if not 0 <= index < len(leaves):
        raise ValueError(f"leaf {index} of {len(leaves)}")
    if len(leaves) == 1:
        return ()
    split = _split(len(leaves))
    left, right = leaves[:split], leaves[split:]
    if index < split:
        return (*proof_of(left, index), _named(_subtree(right)))
    return (*proof_of(right, index - split), _named(_subtree(left)))


def root_from(leaf: bytes, index: int, size: int, proof: Sequence[str]) -> str | None:
    """The root that a leaf at this place leads to; None when the proof has not the form of the place.

    Args:
        size: how many leaves the tree has.
        proof: digests as `proof_of` gives them.
    """
    if not 0 <= index < size:
        return None
    sides = _sides(index, size)
    if len(sides) != len(proof):
        return None
    digest = hashlib.sha256(b"\0" + leaf).digest()
    for is_left, beside in zip(sides, proof, strict=True):
        other = bytes.fromhex(beside.removeprefix("sha256:"))
        digest = _node(digest, other) if is_left else _node(other, digest)
    return _named(digest)


def _sides(index: int, size: int) -> tuple[bool, ...]:
    """On the way up from a leaf: whether it stands on the left each time."""
    if size == 1:
        return ()
    split = _split(size)
    if index < split:
        return (*_sides(index, split), True)
    return (*_sides(index - split, size - split), False)


def _split(size: int) -> int:
    """The largest power of two below `size`, which is at least 2."""
    return 1 << ((size - 1).bit_length() - 1)


def _subtree(leaves: Sequence[bytes]) -> bytes:
    if len(leaves) == 1:
        return hashlib.sha256(b"\0" + leaves[0]).digest()
    split = _split(len(leaves))
    return _node(_subtree(leaves[:split]), _subtree(leaves[split:]))


def _node(left: bytes, right: bytes) -> bytes:
    return hashlib.sha256(b"\1" + left + right).digest()


def _named(digest: bytes) -> str:
    return "sha256:" + digest.hex()
