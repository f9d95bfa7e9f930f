"""What anchors are checked against: certificates and block headers, as they are given and read."""

from __future__ import annotations

import pytest

from agentbeat_receipts.anchors import AnchorTrust, ProvenAnchor, TrustError, prove, read_headers
from agentbeat_receipts.anchors.block_headers import BlockHeader
from support.anchored_batches import HEADER, ots
from support.block_proofs import EASY, mined
from support.time_stamping import POLICY, authority


def test_trust_is_read_from_pem_and_refuses_what_is_none() -> None:
    pem = authority().root.pem
    assert AnchorTrust.read(roots=pem + pem).roots == authority().trust().roots
    assert AnchorTrust.read(policies=[POLICY]).policies == {POLICY}
    for options in ({"roots": b"-----BEGIN"}, {"intermediates": b"x"}, {"policies": ["1"]}):
        with pytest.raises(TrustError):
            AnchorTrust.read(**options)


def test_a_root_given_as_an_intermediate_is_refused() -> None:
    with pytest.raises(TrustError, match="own issuer"):
        AnchorTrust(intermediates=(authority().root.certificate,))


@pytest.mark.parametrize(
    ("compact", "target"),
    [
        (0x1D00FFFF, 0xFFFF << 208),
        (0x170ED0EB, 0x0ED0EB << 160),
        (0x03123456, 0x123456),
        (0x02123456, 0x1234),
        (0x04123456, 0x12345600),
        (0x1D80FFFF, 0),
        (0x2100FFFF, 0xFFFF << 240),
        (0x22000100, 0),
    ],
    ids=hex,
)
def test_a_compact_target_is_read_as_bitcoin_does(compact: int, target: int) -> None:
    raw = bytes(72) + compact.to_bytes(4, "little") + bytes(4)
    assert BlockHeader.read(raw).target == target


def test_headers_are_read_from_lines_and_anything_else_is_refused() -> None:
    line = b"100 " + HEADER.hex().encode()
    assert read_headers(b"# heights and headers\n\n" + line + b" # ours\n" + line) == {100: HEADER}
    other = b"100 " + mined(bytes(32)).hex().encode()
    for raw in (b"100", line + b"00", line[:-2], b"-1" + line[3:], b"\xff", line + b"\n" + other):
        with pytest.raises(TrustError, match="line"):
            read_headers(raw)


@pytest.mark.parametrize("headers", [{1: bytes(79)}, {1: bytes(81)}, {-1: bytes(80)}], ids=str)
def test_a_header_of_another_length_or_height_is_refused(headers: dict[int, bytes]) -> None:
    with pytest.raises(TrustError, match="80"):
        AnchorTrust(headers=headers)


def test_trust_does_not_change_with_what_it_was_made_of() -> None:
    given = {100: HEADER}
    made = AnchorTrust(headers=given, easiest_target=EASY)
    given.clear()
    assert isinstance(prove(ots(), made), ProvenAnchor)
