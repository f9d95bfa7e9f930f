"""Bytes that are put down in a temporary file, because all of them together would not be little.

The file has no name, so that it is gone with the process, however that ends. A few megabytes stay in memory.
What is put down here is public: what receipts say beside their places in the chain.

>>> with Spill() as spill:
...     places = [spill.put(b"one"), spill.put(b"three")]
...     [spill.get(place) for place in places]
[b'one', b'three']
"""

from __future__ import annotations

import tempfile
from types import TracebackType
from typing import Final, Self

__all__ = ["Spill"]

#: How many bytes stay in memory.
_IN_MEMORY: Final = 4 * 1024 * 1024
#: Before each piece stands how long it is.
_LENGTH: Final = 4


class Spill:
    """Pieces of bytes, each found again by its place. First all are put down, then they are looked up."""

    def __init__(self) -> None:
        self._file = tempfile.SpooledTemporaryFile(max_size=_IN_MEMORY)  # noqa: SIM115 - `with` closes it
        self._end = 0

    def put(self, piece: bytes) -> int:
        """Put a piece down; its place."""
        place = self._end
        self._end += self._file.write(len(piece).to_bytes(_LENGTH) + piece)
        return place

    def get(self, place: int) -> bytes:
        """The piece at a place."""
        self._file.seek(place)
        return self._file.read(int.from_bytes(self._file.read(_LENGTH)))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()
