"""Which 32 bytes are a sound Ed25519 public key, and which X25519 key it would be.

`cryptography` takes any 32 bytes as an Ed25519 public key and finds out at the first signature, if at all. A
point of small order is worse than no key: with it, one signature verifies under many messages. So a key is
decoded here as RFC 8032 (5.1.3) says, a spelling that is not canonical is refused, and so is a point that
eight-fold addition brings to the identity.

The curve is -x² + y² = 1 + d·x²·y² modulo p = 2^255 - 19. Only public keys come here, so nothing has to
run in constant time.

>>> ed25519_fault(bytes([1]) + bytes(31))
'a point of small order'
>>> ed25519_fault(b"short")
'5 bytes instead of 32'
"""

from __future__ import annotations

from typing import Final

__all__ = ["KEY_BYTES", "ed25519_fault", "x25519_twin"]

#: The length of an Ed25519 or X25519 public key, in bytes.
KEY_BYTES: Final = 32

_P: Final = 2**255 - 19
_D: Final = -121665 * pow(121666, -1, _P) % _P
_ROOT_OF_MINUS_ONE: Final = pow(2, (_P - 1) // 4, _P)

Point = tuple[int, int]


def ed25519_fault(key: bytes) -> str | None:
    """Why these bytes are no sound Ed25519 public key; None when they are one."""
    if len(key) != KEY_BYTES:
        return f"{len(key)} bytes instead of {KEY_BYTES}"
    y, sign = _y_and_sign(key)
    if y >= _P:
        return "a spelling that is not canonical"
    point = _with_x(y, sign)
    if point is None:
        return "no point of the curve"
    for _ in range(3):
        point = _twice(point)
    return "a point of small order" if point == (0, 1) else None


def x25519_twin(key: bytes) -> bytes:
    """The X25519 public key of the same secret scalar: u = (1 + y) / (1 - y).

    Args:
        key: a sound Ed25519 public key.
    """
    y, _ = _y_and_sign(key)
    u = (1 + y) * pow(1 - y, -1, _P) % _P
    return u.to_bytes(KEY_BYTES, "little")


def _y_and_sign(key: bytes) -> tuple[int, int]:
    number = int.from_bytes(key, "little")
    return number & (2**255 - 1), number >> 255


def _with_x(y: int, sign: int) -> Point | None:
    """The point of this y whose x has this lowest bit."""
    square = (y * y - 1) * pow(_D * y * y + 1, -1, _P) % _P
    x: int = pow(square, (_P + 3) // 8, _P)
    if x * x % _P != square:
        x = x * _ROOT_OF_MINUS_ONE % _P
    if x * x % _P != square or (x == 0 and sign):
        return None
    return (x if x & 1 == sign else _P - x, y)


def _twice(point: Point) -> Point:
    x, y = point
    product = _D * x * x * y * y % _P
    doubled_x = 2 * x * y * pow(1 + product, -1, _P) % _P
    doubled_y = (y * y + x * x) * pow(1 - product, -1, _P) % _P
    return doubled_x, doubled_y
