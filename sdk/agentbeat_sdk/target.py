"""The Target: what an Agent's author makes to put the Agent behind the protocol.

from agentbeat_sdk import Run, Target

target = Target("support-desk", token_env="TARGET_TOKEN", tier="L2")

@target.tool
def look_up(order: str) -> str:
    return f"{order}: shipped"

@target.invoke
async def answer(run: Run) -> str:
    return f"The state of your order is {look_up('A-17')}."

if __name__ == "__main__":
    target.run(port=8080)
"""

from __future__ import annotations

import hashlib
import re
import sys
from collections.abc import Callable, Iterable
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from agentbeat_sdk.application import TargetApplication
from agentbeat_sdk.execution import Handler
from agentbeat_sdk.limits import Limits
from agentbeat_sdk.settings import UNSET, Settings, Tier, Unset, chosen_token
from agentbeat_sdk.stores import RunStore, SQLiteStore
from agentbeat_sdk.tools import tool

if TYPE_CHECKING:
    from agentbeat_sdk.testing import TestClient

__all__ = ["Target"]

HandlerT = TypeVar("HandlerT", bound=Handler)


class Target:
    """An Agent behind the Target protocol.

    Args:
        target_id: the Target's name, 1–256 code points without control characters.
        token: its bearer secret, visible ASCII without spaces. None, given on purpose, makes an open Target
            that anybody may call.
        token_env: the environment variable that holds the secret. Give this or `token`.
        tier: the evidence that it offers. `L1`, the default, is the final response alone. `L2` also serves
            the record of each run: declare it only when the Agent's tools are recorded, for a tools channel
            without events tells Core that no tool was called.
        files: whether the Agent records every file that it changes (`run.record.file_change`): the document
            then says that files were observed, also when none changed.
        secrets: further secrets that the Agent knows, such as the key of its model; they are redacted in the
            evidence, as the Target's own secret always is.
        limits: the bounds of requests and runs.
        store: where claimed run ids and documents are kept; by default a SQLite file in the working
            directory, named after the Target (`default_store_path`) and made when the Target begins to serve.

    Raises:
        TypeError: neither or both of `token` and `token_env` are given.
        ValueError: an argument is out of its bounds, or the environment variable is not set.
    """

    def __init__(
        self,
        target_id: str,
        *,
        token: str | Unset | None = UNSET,
        token_env: str | None = None,
        tier: Tier = "L1",
        files: bool = False,
        secrets: Iterable[str] = (),
        limits: Limits | None = None,
        store: RunStore | None = None,
    ) -> None:
        if isinstance(secrets, str):
            raise TypeError("secrets: got one string, expected several")
        self.settings = Settings(
            target_id=target_id,
            token=chosen_token(token, token_env),
            tier=tier,
            limits=limits or Limits(),
            files=files,
            secrets=tuple(secrets),
        )
        self.store: RunStore = store or SQLiteStore(default_store_path(target_id))
        self._handler: Handler | None = None

    def __repr__(self) -> str:
        return f"Target({self.settings.target_id!r}, tier={self.settings.tier!r})"

    def invoke(self, handler: HandlerT) -> HandlerT:
        """Decorate the Agent: a sync or async function that takes a `Run` and returns a str or `Completion`.

        A sync function runs in a thread of its own. One that raises makes the run fail (502); the evidence
        that it recorded is kept.

        Raises:
            RuntimeError: the Target has an Agent already.
        """
        if not callable(handler):
            raise TypeError(f"invoke: got {type(handler).__name__}, expected a function that takes a Run")
        if self._handler is not None:
            raise RuntimeError("the Target has an Agent already")
        self._handler = handler
        return handler

    #: Decorate a function that the Agent uses: its calls are recorded in the run that makes them.
    tool = staticmethod(tool)

    @cached_property
    def app(self) -> TargetApplication:
        """The Target as an ASGI application, for a server of your choice. Always the same one."""
        return self._application(self.store)

    def run(
        self, host: str = "127.0.0.1", port: int = 8080, *, on_start: Callable[[str], None] | None = None
    ) -> None:
        """Serve with uvicorn until SIGTERM or SIGINT, then finish the runs in flight and return.

        Args:
            host: the address to listen on; `0.0.0.0` for every one of IPv4.
            port: the port; 0 takes a free one.
            on_start: called with the URL once the Target listens; by default it is printed on standard error.

        Raises:
            RuntimeError: the Target has no Agent, or (`StoreError`) its store cannot be opened.
            OSError: the port is taken, or the host is none of this machine's.
        """
        from agentbeat_sdk.server import serve

        serve(self.app, host, port, on_start or self._announce)

    def test_client(self, *, store: RunStore | None = None) -> TestClient:
        """A client that calls the Target in this process, without a socket, for tests.

        It has a store in memory unless you give one, so that tests leave nothing behind.
        """
        from agentbeat_sdk.stores import MemoryStore
        from agentbeat_sdk.testing import TestClient

        return TestClient(self._application(store or MemoryStore()))

    def _application(self, store: RunStore) -> TargetApplication:
        return TargetApplication(self.settings, self._agent, store)

    def _agent(self) -> Handler:
        if self._handler is None:
            raise RuntimeError("the Target has no Agent; decorate one with @target.invoke")
        return self._handler

    def _announce(self, url: str) -> None:
        offers = self.settings.tier if self.settings.token else f"{self.settings.tier}, open to anybody"
        line = f"target {self.settings.target_id} ({offers}) listens on {url}; runs are kept in {self.store}"
        print(line, file=sys.stderr, flush=True)


def default_store_path(target_id: str) -> Path:
    """The file of a Target that was given no store: in the working directory, one for each target id."""
    name = re.sub(r"[^a-z0-9]+", "-", target_id.lower()).strip("-")[:48]
    if name != target_id:
        # Two ids with the same letters are still two Targets.
        name = f"{name}-{hashlib.sha256(target_id.encode()).hexdigest()[:8]}".lstrip("-")
    return Path(f"agentbeat-{name}.sqlite3")
