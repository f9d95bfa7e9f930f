"""One run's work: intents carried out in order, up to the first that cannot be.

The whole task is prepared before any of it is done, so most reasons against it show while nothing has
changed. After the first intent that fails no other is begun. What has been done, what has not, and what
nobody knows, is said.
"""

from __future__ import annotations

from collections.abc import Iterable

from .deeds import Deed, perform, prepare
from .desk import DeskClosedError, DeskError, DeskFailedError
from .intents import Intent
from .reading import NotPossibleError, Reading
from .tools import DeskTools

__all__ = ["Work"]


class Work:
    """What is done in one run.

    Args:
        tools: the run's tools.
        material: what was handed over with the task.
    """

    def __init__(self, tools: DeskTools, *, material: str = "") -> None:
        self.tools = tools
        self.reading = Reading(tools, material=material)
        self.deeds: list[Deed] = []

    async def carry_out(self, intents: Iterable[Intent]) -> str | None:
        """Do what these intents ask for, in their order.

        Returns:
            None when all is done; otherwise why it is not, in whole sentences.
        """
        listed = tuple(intents)
        for intent in listed:
            try:
                await prepare(intent, self.reading)
            except (DeskError, NotPossibleError) as problem:
                return self._stopped(f"I could not {intent}: {_why(problem)}.")
        for intent in listed:
            try:
                deed = await perform(intent, self.reading, self.tools, self.deeds)
            except DeskFailedError as problem:
                return f"I do not know whether I could {intent}: {_why(problem)}. I have tried nothing else."
            except (DeskError, NotPossibleError) as problem:
                return self._stopped(f"I could not {intent}: {_why(problem)}.")
            self.deeds += [deed] if deed else []
        return None

    def _stopped(self, problem: str) -> str:
        return f"{problem} I have done nothing{' else' if self.deeds else ''}."


def _why(problem: DeskError | NotPossibleError) -> str:
    if isinstance(problem, DeskClosedError):
        return f"the support desk is closed for this run ({problem.code})"
    if isinstance(problem, DeskFailedError | NotPossibleError):
        return str(problem).rstrip(".")
    return f"the desk declined ({str(problem).rstrip('.')})"
