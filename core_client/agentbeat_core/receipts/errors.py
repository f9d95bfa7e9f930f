"""Why a batch is not run, or not gone on with."""

from __future__ import annotations

__all__ = ["BatchError", "ReplayDiffersError"]


class BatchError(ValueError):
    """The plan, the keys, the bundle or the anchor do not fit; nothing was run that was not run before."""


class ReplayDiffersError(Exception):
    """A run's result is not what its evidence gives: a fault of the kit, and no receipt is signed over it."""
