"""OpenTimestamps proofs: what is read, what a block header proves of it, and what proves nothing."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentbeat_protocol import Instant
from agentbeat_receipts.anchors import (
    EASIEST_TARGET,
    MAX_PROOF_BYTES,
    AnchorError,
    AnchorFault,
    AnchorProblem,
    AnchorTrust,
    ProvenAnchor,
    prove,
    read_proof,
)
from agentbeat_receipts.anchors.opentimestamps import MAGIC
from agentbeat_receipts.objects import TimeAnchor
from support.block_proofs import (
    EASY,
    SECONDS,
    append,
    attested,
    complete,
    mined,
    number,
    pending,
    prepend,
    proof,
    sha256,
    upgraded,
)
from support.receipt_batches import manifest

MANIFEST = manifest().digest()
DIGEST = bytes.fromhex(MANIFEST.removeprefix("sha256:"))
PROOF, HEADER = complete(DIGEST)
TWO_HOURS_LATER = "2026-03-01T12:00:00Z"
SHA256, REVERSE, HEX = b"\x08", b"\xf2", b"\xf3"
P = AnchorProblem


def anchored(raw: bytes, of: str = MANIFEST) -> TimeAnchor:
    return TimeAnchor(manifest=of, form="opentimestamps", token=base64.b64encode(raw).decode())


def trust(headers: dict[int, bytes] | None = None, *, easiest_target: int = EASY) -> AnchorTrust:
    return AnchorTrust(headers={100: HEADER} if headers is None else headers, easiest_target=easiest_target)


# What is proven.


def test_a_complete_proof_proves_its_blocks_time_and_two_hours() -> None:
    outcome = prove(anchored(PROOF), trust())
    token = "sha256:" + hashlib.sha256(PROOF).hexdigest()
    assert outcome == ProvenAnchor(token=token, manifest=MANIFEST, at=Instant.parse(TWO_HOURS_LATER))


def test_the_first_block_of_bitcoin_holds_what_it_is_known_to_hold() -> None:
    """A known answer: a block with one transaction, whose merkle root is the hash of its hash."""
    headline = b"The Times 03/Jan/2009 Chancellor on brink of second bailout for banks"
    script = bytes.fromhex("04ffff001d010445") + headline
    key = bytes.fromhex(
        "04678afdb0fe5548271967f1a67130b7105cd6a828e03909a67962e0ea1f61deb6"
        "49f6bc3f4cef38c4f35504e51ec112de5c384df7ba0b8d578a4c702b6bf11d5f"
    )
    transaction = b"".join(
        (
            (1).to_bytes(4, "little") + b"\x01" + bytes(32) + b"\xff" * 4,
            bytes((len(script),)) + script + b"\xff" * 4,
            b"\x01" + (50 * 10**8).to_bytes(8, "little") + b"\x43\x41" + key + b"\xac" + bytes(4),
        )
    )
    digest = sha256(transaction)
    header = b"".join(
        (
            (1).to_bytes(4, "little") + bytes(32) + sha256(digest),
            (1_231_006_505).to_bytes(4, "little"),
            (0x1D00FFFF).to_bytes(4, "little") + (2_083_236_893).to_bytes(4, "little"),
        )
    )
    assert sha256(sha256(header))[::-1].hex() == (
        "000000000019d6689c085ae165831e934ff763ae46a2a6c172b3f1b60a8ce26f"
    )
    anchor = anchored(proof(digest, SHA256 + attested(0)), "sha256:" + digest.hex())
    first = prove(anchor, trust({0: header}, easiest_target=0xFFFF << 208))
    assert isinstance(first, ProvenAnchor)
    assert str(first.at) == "2009-01-03T20:15:05Z"
    # So little work is not enough, unless the caller says so.
    fault = prove(anchor, AnchorTrust(headers={0: header}))
    assert fault == AnchorFault(P.UNTRUSTED, "the header of block 0 has too easy a target")


def test_the_earliest_block_that_holds_counts() -> None:
    late, early = mined(DIGEST, seconds=SECONDS), mined(DIGEST, seconds=SECONDS - 60)
    raw = proof(DIGEST, attested(1), attested(2), attested(3))
    at = prove(anchored(raw), trust({1: late, 2: early, 3: mined(bytes(32), seconds=1)}))
    assert isinstance(at, ProvenAnchor)
    assert str(at.at) == "2026-03-01T11:59:00Z"


def test_an_upgrade_keeps_the_pending_leaf_and_proves_the_block() -> None:
    raw, header = upgraded(DIGEST)
    assert read_proof(raw).pending == 1
    assert isinstance(prove(anchored(raw), trust({100: header})), ProvenAnchor)


def test_leaves_of_other_kinds_are_skipped() -> None:
    raw = proof(DIGEST, attested(7, kind=b"litecoin"), b"\x00unknown.\x00", attested(100))
    said = read_proof(raw)
    assert (said.blocks, said.pending, said.skipped) == (((100, DIGEST),), 0, 2)
    assert isinstance(prove(anchored(raw), trust({100: mined(DIGEST)})), ProvenAnchor)


OPERATIONS: dict[str, tuple[bytes, bytes]] = {
    "append": (append(b"ab"), DIGEST + b"ab"),
    "prepend": (prepend(b"ab"), b"ab" + DIGEST),
    "sha256": (SHA256, sha256(DIGEST)),
    "reverse": (REVERSE, DIGEST[::-1]),
    "hex": (HEX, DIGEST.hex().encode()),
    "in-their-order": (append(b"a") + SHA256 + prepend(b"b"), b"b" + sha256(DIGEST + b"a")),
}


@pytest.mark.parametrize("name", OPERATIONS)
def test_an_operation_does_what_it_is_named_for(name: str) -> None:
    operations, expected = OPERATIONS[name]
    assert read_proof(proof(DIGEST, operations + attested(1))).blocks == ((1, expected),)


def test_branches_go_out_from_where_they_stand() -> None:
    """A branch inside a branch goes on from its own message; the next one outside, from the outer one."""
    inner = (
        append(b"a") + b"\xff" + (append(b"b") + attested(1)) + b"\xff" + attested(2) + SHA256 + attested(3)
    )
    found = read_proof(proof(DIGEST, inner, prepend(b"z") + attested(4), attested(5))).blocks
    assert found == (
        (1, DIGEST + b"ab"),
        (2, DIGEST + b"a"),
        (3, sha256(DIGEST + b"a")),
        (4, b"z" + DIGEST),
        (5, DIGEST),
    )


# What is not.


def starting(head: bytes = MAGIC, version: bytes = b"\x01", file_hash: bytes = SHA256) -> bytes:
    return head + version + file_hash + DIGEST + attested(1)


UNREADABLE: dict[str, tuple[bytes, str]] = {
    "empty": (b"", "cut off"),
    "another-file": (b"{" * 100, "beginning"),
    "another-version": (starting(version=b"\x02"), "version 2"),
    "another-file-hash": (starting(file_hash=b"\x02"), "file hash"),
    "no-step": (proof(DIGEST, b""), "cut off"),
    "a-branch-only": (proof(DIGEST, b"\xff" + attested(1)), "cut off"),
    "two-branch-marks": (proof(DIGEST, b"\xff\xff" + attested(1)), "0xff"),
    "unknown-operation": (proof(DIGEST, b"\xf4" + attested(1)), "0xf4"),
    "sha1": (proof(DIGEST, b"\x02" + attested(1)), "0x02"),
    "ripemd160": (proof(DIGEST, b"\x03" + attested(1)), "0x03"),
    "keccak256": (proof(DIGEST, b"\x67" + attested(1)), "0x67"),
    "empty-argument": (proof(DIGEST, append(b"") + attested(1)), "empty argument"),
    "long-argument": (proof(DIGEST, append(bytes(4097)) + attested(1)), "4097 bytes"),
    "long-message": (proof(DIGEST, append(bytes(4065)) + attested(1)), "4096 bytes"),
    "message-that-grows": (proof(DIGEST, HEX * 8 + attested(1)), "4096 bytes"),
    "long-attestation": (proof(DIGEST, b"\x00unknown." + number(8193) + bytes(8193)), "8193 bytes"),
    "argument-cut-off": (proof(DIGEST, b"\xf0\x20" + b"short"), "cut off"),
    "number-not-shortest": (proof(DIGEST, b"\xf0\x81\x00a" + attested(1)), "shortest"),
    "number-too-long": (proof(DIGEST, b"\xf0" + b"\xff" * 5 + b"\x01"), "5 bytes"),
    "height-with-more-behind": (proof(DIGEST, attested(1)[:9] + b"\x02\x01\x01"), "height"),
    "height-missing": (proof(DIGEST, attested(1)[:9] + b"\x00"), "cut off"),
    "bytes-behind": (PROOF + b"\x00", "1 bytes too many"),
    "deep": (proof(DIGEST, SHA256 * 257 + attested(1)), "256 operations"),
    "too-long": (bytes(MAX_PROOF_BYTES + 1), "at most 65536"),
}


@pytest.mark.parametrize("name", UNREADABLE)
def test_what_is_no_proof_says_why(name: str) -> None:
    raw, detail = UNREADABLE[name]
    with pytest.raises(AnchorError) as caught:
        read_proof(raw)
    assert caught.value.fault.problem is P.UNREADABLE
    assert detail in caught.value.fault.detail
    assert prove(anchored(raw), trust()) == caught.value.fault


def test_no_beginning_of_a_proof_is_one() -> None:
    for size in range(len(PROOF)):
        with pytest.raises(AnchorError, match="unreadable"):
            read_proof(PROOF[:size])


def test_the_limits_themselves_are_within() -> None:
    assert read_proof(proof(DIGEST, append(bytes(4064)) + attested(1)))
    assert read_proof(proof(DIGEST, SHA256 * 256 + attested(1)))
    branch = b"\xff" + SHA256 * 250 + attested(1)
    assert len(read_proof(proof(DIGEST, branch * 200 + attested(1))).blocks) == 201


UNTRUE: dict[str, tuple[Callable[[], bytes], dict[int, bytes] | None, AnchorProblem, str]] = {
    "pending-only": (lambda: proof(DIGEST, pending(), pending()), None, P.PENDING, "2 pending"),
    "unknown-only": (lambda: proof(DIGEST, b"\x00unknown.\x00"), None, P.UNCHECKED, "not known"),
    "of-another-digest": (lambda: complete(bytes(32))[0], None, P.OTHER_CONTENT, "digest"),
    "block-without-a-header": (lambda: PROOF, {99: HEADER}, P.UNCHECKED, "block 100"),
    "no-headers": (lambda: PROOF, {}, P.UNCHECKED, "block 100"),
    "header-of-another-block": (lambda: PROOF, {100: mined(bytes(32))}, P.UNTRUSTED, "merkle root"),
    "message-longer-than-a-root": (
        lambda: proof(DIGEST, append(b"a") + attested(100)),
        {100: mined(DIGEST)},
        P.UNTRUSTED,
        "merkle root",
    ),
    "one-contradicted-one-without-a-header": (
        lambda: proof(DIGEST, attested(1), attested(2)),
        {2: mined(bytes(32))},
        P.UNTRUSTED,
        "merkle root",
    ),
    "header-without-its-work": (
        lambda: proof(DIGEST, attested(1)),
        {1: mined(DIGEST, bits=0x03000001)},
        P.UNTRUSTED,
        "own target",
    ),
    "header-with-a-negative-target": (
        lambda: proof(DIGEST, attested(1)),
        {1: mined(DIGEST, bits=0x20FFFFFF)},
        P.UNTRUSTED,
        "own target",
    ),
    "header-with-an-endless-target": (
        lambda: proof(DIGEST, attested(1)),
        {1: mined(DIGEST, bits=0xFF7FFFFF)},
        P.UNTRUSTED,
        "own target",
    ),
}


@pytest.mark.parametrize("name", UNTRUE)
def test_a_proof_that_proves_nothing_says_why(name: str) -> None:
    make, headers, problem, detail = UNTRUE[name]
    outcome = prove(anchored(make()), trust(headers))
    assert isinstance(outcome, AnchorFault)
    assert outcome.problem is problem
    assert detail in outcome.detail


def test_a_block_of_little_work_counts_only_when_the_caller_says_so() -> None:
    fault = prove(anchored(PROOF), trust(easiest_target=EASIEST_TARGET))
    assert fault == AnchorFault(P.UNTRUSTED, "the header of block 100 has too easy a target")
    assert isinstance(prove(anchored(PROOF), trust(easiest_target=EASY - 1)), AnchorFault)
    assert isinstance(prove(anchored(PROOF), trust(easiest_target=EASY)), ProvenAnchor)


# Properties.


@given(st.data())
@settings(max_examples=300)
def test_no_flipped_byte_of_a_proof_proves_another_time(data: st.DataObject) -> None:
    raw, header = upgraded(DIGEST)
    flipped = bytearray(raw)
    flipped[data.draw(st.integers(0, len(raw) - 1))] ^= data.draw(st.integers(1, 255))
    outcome = prove(anchored(bytes(flipped)), trust({100: header}))
    if isinstance(outcome, ProvenAnchor):
        # A letter of the calendar's address, or a leaf of another kind: nothing between digest and block.
        assert str(outcome.at) == TWO_HOURS_LATER
        assert flipped.index(DIGEST) == raw.index(DIGEST)


TAGS = st.sampled_from([b"\x00", b"\x08", b"\xf0\x01a", b"\xf1\x02bc", b"\xf2", b"\xf3", b"\xff"])


@given(st.lists(st.one_of(TAGS, st.just(attested(100)), st.just(pending()), st.binary(max_size=9))))
@settings(max_examples=300)
def test_no_bytes_make_the_reader_fail(pieces: list[bytes]) -> None:
    """Any tail is judged: as a proof that ends in the header's block, or with a short reason."""
    outcome = prove(anchored(proof(DIGEST, b"".join(pieces))), trust({100: mined(DIGEST)}))
    if isinstance(outcome, AnchorFault):
        assert len(outcome.detail) < 200
    else:
        assert str(outcome.at) == TWO_HOURS_LATER
        assert attested(100) in b"".join(pieces)
