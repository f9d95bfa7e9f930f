"""Places of a staging system's state as pointers into the snapshot, which has that state in it as `state`.

>>> place(("tables", "orders", "7")), place(())
('/state/tables/orders/7', '/state')
"""

from __future__ import annotations

from collections.abc import Iterable

from agentbeat_controller.environments.desk.differences import pointer

__all__ = ["place"]


def place(path: Iterable[str]) -> str:
    """The RFC 6901 pointer of a place in the system's state."""
    return pointer("state", *path)
