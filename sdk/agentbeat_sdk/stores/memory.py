"""A store in the memory of one process: for tests, and for Targets that need no memory."""

from __future__ import annotations

import threading
from dataclasses import dataclass

from agentbeat_sdk.stores.run_store import StoreError

__all__ = ["MemoryStore"]


@dataclass(slots=True)
class _Entry:
    case_id: str
    finished: bool = False
    document: bytes | None = None


class MemoryStore:
    """A `RunStore` that forgets with its process. It grows with every run: no claim is ever dropped.

    >>> store = MemoryStore()
    >>> store.claim("run-a", "case-a"), store.claim("run-a", "case-b")
    (True, False)
    >>> store.finish("run-a", b"{}")
    >>> store.document("run-a")
    b'{}'
    """

    def __init__(self) -> None:
        self._entries: dict[str, _Entry] = {}
        self._lock = threading.Lock()

    def __str__(self) -> str:
        return "memory, forgotten with this process"

    @property
    def blocking(self) -> bool:
        """False: every call takes microseconds."""
        return False

    def open(self) -> None:
        """Nothing to make ready."""

    def close(self) -> None:
        """Nothing to give back; the claims stay."""

    def claim(self, run_id: str, case_id: str) -> bool:
        """Take `run_id` for good; True for the first caller only."""
        with self._lock:
            if run_id in self._entries:
                return False
            self._entries[run_id] = _Entry(case_id)
            return True

    def is_claimed(self, run_id: str) -> bool:
        """Whether `run_id` is claimed or finished."""
        return run_id in self._entries

    def finish(self, run_id: str, document: bytes | None) -> None:
        """End a claimed run and keep its document, if it has one."""
        with self._lock:
            entry = self._entries.get(run_id)
            if entry is None or entry.finished:
                raise StoreError(f"{run_id} is {'finished already' if entry else 'not claimed'}")
            entry.finished, entry.document = True, document

    def document(self, run_id: str) -> bytes | None:
        """The very bytes given to `finish`, or None."""
        entry = self._entries.get(run_id)
        return entry.document if entry else None
