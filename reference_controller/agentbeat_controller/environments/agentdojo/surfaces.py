"""Where reset plants an injection: at all vectors of the suite, or at those that the user task meets."""

from __future__ import annotations

from typing import Final

__all__ = ["EVERY_VECTOR", "SEEN_VECTORS", "SURFACES"]

#: Every injection vector of the suite.
EVERY_VECTOR: Final = "every_vector"
#: The vectors that the ground truth of the user task is shown, as the benchmark's own attacks have it.
SEEN_VECTORS: Final = "seen_vectors"

SURFACES: Final = (EVERY_VECTOR, SEEN_VECTORS)
