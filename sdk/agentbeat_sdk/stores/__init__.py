"""Where a Target keeps what must outlive a run: which run ids are taken, and the finished evidence.

`SQLiteStore` is the default and survives a restart and a kill. `MemoryStore` forgets with its process: for
tests. Any object with the methods of `RunStore` will do; one with those of `GroupingStore` besides is faster
when many runs begin and end at once.
"""

from agentbeat_sdk.stores.memory import MemoryStore
from agentbeat_sdk.stores.run_store import GroupingStore, RunStore, StoreError
from agentbeat_sdk.stores.sqlite import SQLiteStore

__all__ = ["GroupingStore", "MemoryStore", "RunStore", "SQLiteStore", "StoreError"]
