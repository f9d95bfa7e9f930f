"""A scripted Agent as a Target.

desk = Desk("http://127.0.0.1:8802", secret="…")
book = OracleBook.load(Path("oracles.json"))
scripted_target("obeying-first", book=book, desk=desk, token="…").run(port=8080)
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Final, Literal

from agentbeat_reference_target.desk import Desk, DeskSession
from agentbeat_sdk import Run, RunStore, Target

from .agents import SCRIPTED_AGENTS, play
from .oracles import OracleBook
from .routes import Route, routes_of

__all__ = ["scripted_target"]

_DOCUMENT: Final = "/openapi.json"
#: An answer is never blank (INV-1); a ground truth whose calls are all that counts may be.
_NOTHING_TO_SAY: Final = "Done."


def scripted_target(
    agent: str,
    *,
    book: OracleBook,
    desk: Desk,
    token: str | None,
    target_id: str,
    tier: Literal["L1", "L2"] = "L2",
    store: RunStore | None = None,
) -> Target:
    """A Target that plays the ground truths that a run's `case_id` names.

    Args:
        agent: a name of `SCRIPTED_AGENTS`.
        desk: the business plane.
        token: the Target's bearer secret; None makes it an open Target.
        tier: the evidence that it offers.
        store: see `Target`.

    Raises:
        ValueError: no scripted Agent has this name, or the SDK does not take a setting.
    """
    goals = SCRIPTED_AGENTS.get(agent)
    if goals is None:
        raise ValueError(f"agent: expected one of {', '.join(SCRIPTED_AGENTS)}")
    target = Target(target_id, token=token, tier=tier, store=store, secrets=[desk.secret])
    plane = _Plane()

    @target.invoke
    async def answer(run: Run) -> str:
        run.record.message("user", run.text)
        oracles = [book.oracle(run.case_id, goal) for goal in goals]
        async with desk.session(run.headers(), called="the business application") as session:
            routes = await plane.routes(session)
            said = [
                await play(oracle, routes=routes, session=session, record=run.record) for oracle in oracles
            ]
        return "\n".join(text for text in said if text.strip()) or _NOTHING_TO_SAY

    return target


class _Plane:
    """What the business plane offers: read once, by the first run."""

    def __init__(self) -> None:
        self._routes: Mapping[str, Route] | None = None
        self._reading = asyncio.Lock()

    async def routes(self, session: DeskSession) -> Mapping[str, Route]:
        """How operations are called.

        Raises:
            DeskError: the plane does not say.
        """
        async with self._reading:
            if self._routes is None:
                self._routes = routes_of(await session.call("GET", _DOCUMENT))
            return self._routes
