"""The small interface between a Target and what remembers its runs.

A run has three states, and goes through them in this order only:

    free      nobody has claimed it
    claimed   `claim` gave True, to one caller of all that ever ask; it stays claimed for good (INV-4)
    finished  `finish` was called; its document, if there is one, never changes again (EVD-11)

Methods are plain functions and are called from several threads at once. A store whose calls may wait for a
disk or a network says so with `blocking`: the Target then calls it in a thread and its event loop goes on.

A store that is also a `GroupingStore` keeps several calls at the price of one: what many runs wait for at the
same time, one write to the disk makes durable.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Protocol, runtime_checkable

__all__ = ["GroupingStore", "RunStore", "StoreError"]


class StoreError(RuntimeError):
    """The store cannot do what was asked: it is not reachable, not ours, or the run is in another state."""


class RunStore(Protocol):
    """Remembers claims and finished documents; a method that cannot keep its word raises `StoreError`."""

    @property
    def blocking(self) -> bool:
        """Whether a call may wait for a disk or a network."""

    def open(self) -> None:
        """Make the store ready: a wrong path or password shows before the first run. May be repeated."""

    def close(self) -> None:
        """Give back what the store holds open; a later call opens it again. May be repeated."""

    def claim(self, run_id: str, case_id: str) -> bool:
        """Take `run_id` for good. True for the first caller only, whatever threads, processes and hosts ask.

        When it gives True the claim is already as durable as the store is.
        """

    def is_claimed(self, run_id: str) -> bool:
        """Whether `run_id` is claimed or finished."""

    def finish(self, run_id: str, document: bytes | None) -> None:
        """End a claimed run and keep its document, if it has one.

        Raises:
            StoreError: the run is not claimed, or is finished already; then nothing has changed.
        """

    def document(self, run_id: str) -> bytes | None:
        """The very bytes given to `finish`; None for a run that is free, unfinished or has no document."""


@runtime_checkable
class GroupingStore(RunStore, Protocol):
    """A blocking store that can keep the calls of several runs together."""

    def group(self) -> AbstractContextManager[None]:
        """A block whose calls, made in this thread, are kept together when it ends, or not at all.

        Nobody outside of the block sees anything of them before they are durable. An error that leaves the
        block undoes all of its calls.

        Raises:
            StoreError: they could not be kept. Then nothing has changed.
        """
