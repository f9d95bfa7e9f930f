"""OpenTimestamps: reading a proof (`.ots`), and the time that it proves against given block headers.

A proof starts from the SHA-256 digest of a file, here the manifest's digest, and is a tree of operations on
it. At its leaves stand attestations: that the result is the merkle root of the Bitcoin block at a height, or
that a calendar will know more later (pending). Attestations of other kinds are skipped.

    proof      = magic, version 1, 0x08 (SHA-256), digest, step
    step       = *(0xff branch) branch
    branch     = 0x00 attestation | operation step
    operation  = 0xf0 bytes (append) | 0xf1 bytes (prepend) | 0xf2 (reverse) | 0xf3 (hex) | 0x08 (SHA-256)
    attestation = 8 bytes of kind, bytes

`bytes` is a length and so many bytes; numbers are little-endian in base 128, in their shortest form.

The hashes SHA-1, RIPEMD-160 and Keccak of the format are refused. No calendar puts them between a SHA-256
digest and a block of Bitcoin, and whether the second is there would depend on how OpenSSL was built.

The proven time is that of the earliest block of the proof that holds, plus the two hours that a block's own
time may be ahead. A proof that is only pending proves nothing.

Why no library: the one there is (`opentimestamps`, LGPL) brings a Bitcoin library and one of ciphers for the
sake of a hundred lines, and its reader recurses, so that its limit is Python's.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Final

from agentbeat_protocol import Instant
from agentbeat_receipts.anchors.block_headers import BlockHeader
from agentbeat_receipts.anchors.outcomes import AnchorError, AnchorProblem, refused
from agentbeat_receipts.anchors.trust import AnchorTrust

__all__ = ["MAX_PROOF_BYTES", "Proof", "proof_time", "read_proof"]

#: The longest proof that is read; complete ones have 1 to 5 KB.
MAX_PROOF_BYTES: Final = 64 * 1024

MAGIC: Final = bytes.fromhex("004f70656e54696d657374616d7073000050726f6f6600bf89e2e884e89294")
VERSION: Final = 1
SHA256_TAG: Final = 0x08
BITCOIN: Final = bytes.fromhex("0588960d73d71901")
PENDING: Final = bytes.fromhex("83dfe30d2ef90c8e")

#: The format's own limits: of a message or an argument, of an attestation, of operations in a row.
MAX_MESSAGE_BYTES: Final = 4096
MAX_ATTESTATION_BYTES: Final = 8192
MAX_DEPTH: Final = 256
#: The longest number, in bytes of 7 bits: enough for any height and length.
_MAX_NUMBER_BYTES: Final = 5

_UNARY: Final[dict[int, Callable[[bytes], bytes]]] = {
    SHA256_TAG: lambda message: hashlib.sha256(message).digest(),
    0xF2: lambda message: message[::-1],
    0xF3: lambda message: message.hex().encode(),
}
_BINARY: Final[dict[int, Callable[[bytes, bytes], bytes]]] = {
    0xF0: lambda message, argument: message + argument,
    0xF1: lambda message, argument: argument + message,
}


@dataclass(frozen=True, slots=True)
class Proof:
    """What a proof says.

    Args:
        digest: the SHA-256 digest that it starts from.
        blocks: height and claimed merkle root of each Bitcoin attestation, in the proof's order.
        pending: how many attestations are pending.
        skipped: how many are of other kinds.
    """

    digest: bytes
    blocks: tuple[tuple[int, bytes], ...]
    pending: int
    skipped: int


def proof_time(raw: bytes, digest: bytes, trust: AnchorTrust) -> Instant:
    """The time at which, by this proof, a digest existed.

    Args:
        raw: the proof's bytes.
        digest: the SHA-256 digest that it must start from.
        trust: block headers by height, and how little work they may have.

    Raises:
        AnchorError: it proves no time over this digest.
    """
    proof = read_proof(raw)
    if proof.digest != digest:
        detail = f"got the digest {proof.digest.hex()}, expected the manifest's"
        raise refused(AnchorProblem.OTHER_CONTENT, detail)
    faults: list[AnchorError] = []
    times: list[Instant] = []
    for height, root in proof.blocks:
        try:
            times.append(_block_time(height, root, trust))
        except AnchorError as error:
            faults.append(error)
    if times:
        return min(times)
    # One that contradicts its header says more than one without any.
    raise next(
        (error for error in faults if error.fault.problem is AnchorProblem.UNTRUSTED),
        faults[0] if faults else _without_blocks(proof),
    )


def _without_blocks(proof: Proof) -> AnchorError:
    if proof.pending:
        return refused(AnchorProblem.PENDING, f"got {proof.pending} pending attestations, expected a block")
    return refused(AnchorProblem.UNCHECKED, f"got {proof.skipped} attestations of kinds not known here")


def _block_time(height: int, root: bytes, trust: AnchorTrust) -> Instant:
    raw = trust.headers.get(height)
    if raw is None:
        raise refused(AnchorProblem.UNCHECKED, f"got no header of block {height}")
    header = BlockHeader.read(raw)
    if not header.works():
        raise refused(AnchorProblem.UNTRUSTED, f"the header of block {height} misses its own target")
    if header.target > trust.easiest_target:
        raise refused(AnchorProblem.UNTRUSTED, f"the header of block {height} has too easy a target")
    if header.merkle_root != root:
        detail = f"block {height}: got the merkle root {root[:32].hex()}, expected its header's"
        raise refused(AnchorProblem.UNTRUSTED, detail)
    return header.latest()


def read_proof(raw: bytes) -> Proof:
    """What a proof says; nothing is compared with any block.

    Raises:
        AnchorError: UNREADABLE.
    """
    if len(raw) > MAX_PROOF_BYTES:
        raise _unreadable(f"got {len(raw)} bytes, expected at most {MAX_PROOF_BYTES}")
    reader = _Reader(raw)
    if reader.take(len(MAGIC)) != MAGIC:
        raise _unreadable("got other bytes at its beginning than an OpenTimestamps proof has")
    version = reader.number()
    if version != VERSION:
        raise _unreadable(f"got version {version}, expected {VERSION}")
    if reader.byte() != SHA256_TAG:
        raise _unreadable("got a file hash other than SHA-256")
    digest = reader.take(hashlib.sha256().digest_size)
    blocks, pending, skipped = [], 0, 0
    for kind, payload, message in _attestations(reader, digest):
        if kind == BITCOIN:
            blocks.append((_height(payload), message))
        elif kind == PENDING:
            pending += 1
        else:
            skipped += 1
    if reader.at != len(raw):
        raise _unreadable(f"got {len(raw) - reader.at} bytes too many")
    return Proof(digest, tuple(blocks), pending, skipped)


def _unreadable(detail: str) -> AnchorError:
    return refused(AnchorProblem.UNREADABLE, detail)


def _height(payload: bytes) -> int:
    reader = _Reader(payload)
    height = reader.number()
    if reader.at != len(payload):
        raise _unreadable("got bytes behind a block's height")
    return height


def _attestations(reader: _Reader, digest: bytes) -> Iterator[tuple[bytes, bytes, bytes]]:
    """Kind, payload and message of every attestation, depth first.

    A stack of the messages that more branches go out from, and how deep they are: no recursion.
    """
    waiting: list[tuple[bytes, int]] = []
    message, depth = digest, 0
    while True:
        tag = reader.byte()
        if tag == 0xFF:
            waiting.append((message, depth))
            tag = reader.byte()
        if tag == 0x00:
            yield reader.take(8), reader.lengthy(MAX_ATTESTATION_BYTES), message
            if not waiting:
                return
            message, depth = waiting.pop()
        else:
            message, depth = _applied(tag, message, reader), depth + 1
            if depth > MAX_DEPTH:
                raise _unreadable(f"got more than {MAX_DEPTH} operations in a row")


def _applied(tag: int, message: bytes, reader: _Reader) -> bytes:
    if tag in _UNARY:
        result = _UNARY[tag](message)
    elif tag in _BINARY:
        argument = reader.lengthy(MAX_MESSAGE_BYTES)
        if not argument:
            raise _unreadable("got an operation with an empty argument")
        result = _BINARY[tag](message, argument)
    else:
        raise _unreadable(f"got the operation 0x{tag:02x}, which is not of this version or a weak hash")
    if len(result) > MAX_MESSAGE_BYTES:
        raise _unreadable(f"got a message of more than {MAX_MESSAGE_BYTES} bytes")
    return result


@dataclass(slots=True)
class _Reader:
    """Bytes from the front, and how far they have been read."""

    raw: bytes
    at: int = field(default=0)

    def take(self, count: int) -> bytes:
        if self.at + count > len(self.raw):
            raise _unreadable("got a proof that is cut off")
        self.at += count
        return self.raw[self.at - count : self.at]

    def byte(self) -> int:
        return self.take(1)[0]

    def number(self) -> int:
        value = 0
        for place in range(_MAX_NUMBER_BYTES):
            byte = self.byte()
            value |= (byte & 0x7F) << 7 * place
            if byte < 0x80:
                if byte == 0 and place:
                    raise _unreadable("got a number that is not in its shortest form")
                return value
        raise _unreadable(f"got a number of more than {_MAX_NUMBER_BYTES} bytes")

    def lengthy(self, most: int) -> bytes:
        """A length and so many bytes."""
        count = self.number()
        if count > most:
            raise _unreadable(f"got {count} bytes in one piece, expected at most {most}")
        return self.take(count)
