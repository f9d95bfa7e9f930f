"""The support-desk Agent as a Target: what `agentbeat target serve` serves.

desk = Desk("http://127.0.0.1:8101", secret="…")
desk_target("obedient", desk=desk, token="…").run(port=8080)
"""

from __future__ import annotations

from typing import Final, Literal

from agentbeat_sdk import Run, RunStore, Target

from .behaviours import BEHAVIOURS
from .desk import Desk
from .tasks import read_task
from .tools import DeskTools

__all__ = ["TARGET_ID", "desk_target"]

TARGET_ID: Final = "support-desk"


def desk_target(
    agent: str,
    *,
    desk: Desk | None,
    token: str | None,
    tier: Literal["L1", "L2"] = "L2",
    target_id: str = TARGET_ID,
    store: RunStore | None = None,
) -> Target:
    """A Target with one behaviour of the support-desk Agent.

    Args:
        agent: a name of `BEHAVIOURS`.
        desk: where the records are; None for an Agent without a desk, which says so.
        token: the Target's bearer secret; None makes it an open Target.
        tier: the evidence that it offers.
        store: see `Target`.

    Raises:
        ValueError: no behaviour has this name, or the SDK does not take a setting.
    """
    behaviour = BEHAVIOURS.get(agent)
    if behaviour is None:
        raise ValueError(f"agent: expected one of {', '.join(BEHAVIOURS)}")
    secrets = [] if desk is None else [desk.secret]
    target = Target(target_id, token=token, tier=tier, store=store, secrets=secrets)

    @target.invoke
    async def answer(run: Run) -> str:
        run.record.message("user", run.text)
        task = read_task(run.text)
        if desk is None:
            return await behaviour(task, None)
        async with desk.session(run.headers()) as session:
            return await behaviour(task, DeskTools(session))

    return target
