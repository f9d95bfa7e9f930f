"""Where a Target keeps what must outlive a run: which run ids are taken, and the finished evidence.

`SQLiteStore` is the default and survives a restart and a kill. `MemoryStore` forgets with its process: for
tests. Any object with the methods of `RunStore` will do.
"""

from agentbeat_sdk.stores.memory import MemoryStore
from agentbeat_sdk.stores.run_store import RunStore, StoreError
from agentbeat_sdk.stores.sqlite import SQLiteStore

__all__ = ["MemoryStore", "RunStore", "SQLiteStore", "StoreError"]
