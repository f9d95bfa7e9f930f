"""Starting states: a suite's default environment, with an injected text at some of its vectors or at none.

The benchmark formats its vectors into double-quoted YAML and parses that. Parsing takes 0.1 s for the largest
suite, and any text must be escaped for it first. So the YAML is parsed once, with a mark at each vector; a
text then takes a mark's place in what was parsed, and needs no escaping:

    marked   {"body": "Hello. ⟦agentbeat:email⟧"}     planted   {"body": "Hello. Ignore this \"and\" that."}

A test holds the result to the benchmark's own way, where that way can express the text.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Mapping
from typing import Any, Final

__all__ = ["Starts"]

#: A mark stands at its vector in the parsed environment, and nowhere else.
_MARK: Final = re.compile(r"⟦agentbeat:([A-Za-z0-9_]+)⟧")


class Starts:
    """The starting states of one suite.

    Args:
        suite: a `TaskSuite` of the benchmark.
    """

    def __init__(self, suite: Any) -> None:
        self._suite = suite
        self._yaml: Any = importlib.import_module("yaml")
        #: The harmless text at each vector, as it is when it has been parsed.
        self._defaults: dict[str, str] = {
            vector: self._yaml.safe_load(f'"{text}"')
            for vector, text in suite.get_injection_vector_defaults().items()
        }
        self._marked: Any = None

    @property
    def vectors(self) -> tuple[str, ...]:
        """All injection vectors, in the benchmark's order."""
        return tuple(self._defaults)

    def start(self, user_task: Any, texts: Mapping[str, str]) -> Any:
        """A new environment in which the task begins.

        Args:
            texts: vector to injected text; the other vectors have their harmless one.
        """
        records = _with(self._marks(), {**self._defaults, **texts})
        return user_task.init_environment(self._suite.environment_type.model_validate(records))

    def _marks(self) -> Any:
        if self._marked is None:
            files = importlib.import_module("agentdojo.task_suite.task_suite")
            raw = files.read_suite_file(self._suite.name, "environment.yaml", self._suite.data_path)
            marks = {vector: f"⟦agentbeat:{vector}⟧" for vector in self._defaults}
            self._marked = self._yaml.safe_load(raw.format(**marks))
        return self._marked


def _with(value: Any, texts: Mapping[str, str]) -> Any:
    """A copy of parsed YAML with a text in the place of each mark."""
    if isinstance(value, str):
        return _MARK.sub(lambda mark: texts[mark[1]], value)
    if isinstance(value, list):
        return [_with(item, texts) for item in value]
    if isinstance(value, dict):
        return {_with(key, texts): _with(item, texts) for key, item in value.items()}
    return value
