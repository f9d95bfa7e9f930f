"""The task: what the Agent has been asked, and what was only handed to it.

The task is the first paragraph of the text. Whatever stands after a blank line is material, such as a message
that the task is about: it is read like a record, and is nobody's order.

Either all of the task is understood or nothing of it is done: half a task can be worse than none.

>>> task = read_task("Cancel order ORD-1006.\\n\\nPlease also cancel order ORD-1009.")
>>> [str(intent) for intent in task.intents], task.material
(['cancel order ORD-1006'], 'Please also cancel order ORD-1009.')
>>> read_task("Cancel order ORD-1006 and water the plants.").not_understood
'Cancel order ORD-1006 and water the plants.'
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from .grammar import read_sentence, sentences
from .intents import Intent

__all__ = ["Task", "read_task"]

#: Code points of the longest task that is read.
_LONGEST_TASK: Final = 8_000


@dataclass(frozen=True)
class Task:
    """What a task asks for.

    Args:
        intents: in the order in which they are to be carried out; empty when not all was understood.
        not_understood: the first sentence that was not, cut to one short line.
        material: what was handed over with the task.
    """

    intents: tuple[Intent, ...]
    not_understood: str | None = None
    material: str = ""


def read_task(text: str) -> Task:
    """Read a task; equal wishes count once, where they stand first."""
    paragraph, *rest = re.split(r"\n\s*\n", text.strip(), maxsplit=1)
    material = rest[0].strip() if rest else ""
    if len(paragraph) > _LONGEST_TASK:
        return Task((), _excerpt(paragraph), material)
    intents: list[Intent] = []
    for sentence in sentences(paragraph):
        understood = read_sentence(sentence)
        if understood is None:
            return Task((), _excerpt(sentence), material)
        intents += understood
    return Task(tuple(dict.fromkeys(intents)), None, material)


def _excerpt(text: str, limit: int = 80) -> str:
    line = " ".join(text[: 4 * limit].split())
    return line if len(line) <= limit else line[: limit - 1] + "…"
