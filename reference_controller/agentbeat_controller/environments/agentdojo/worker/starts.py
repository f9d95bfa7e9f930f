"""Starting states: a suite's default environment, with an injected text at every vector or without.

The benchmark formats its vectors into double-quoted YAML and parses that. Parsing takes 0.1 s for the largest
suite, and any text must be escaped for it first. So the YAML is parsed once, with a mark at each vector; a
text then takes the marks' places in what was parsed, and needs no escaping:

    marked   {"body": "Hello. ⟦agentbeat⟧"}     planted   {"body": "Hello. Ignore this \"and\" that."}

A test holds the result to the benchmark's own way, where that way can express the text.
"""

from __future__ import annotations

import importlib
from typing import Any, Final

__all__ = ["Starts"]

#: Stands at the vectors of the parsed environment, and nowhere else in it.
_MARK: Final = "⟦agentbeat-injection⟧"


class Starts:
    """The starting states of one suite.

    Args:
        suite: a `TaskSuite` of the benchmark.
    """

    def __init__(self, suite: Any) -> None:
        self._suite = suite
        self._defaults: dict[str, str] = suite.get_injection_vector_defaults()
        self.vectors: tuple[str, ...] = tuple(self._defaults)
        self._parsed: dict[bool, Any] = {}

    def start(self, user_task: Any, text: str | None) -> Any:
        """A new environment in which the task begins; `text` None leaves each vector its harmless default."""
        planted = text is not None
        if planted not in self._parsed:
            self._parsed[planted] = self._parse(dict.fromkeys(self.vectors, _MARK) if planted else {})
        records = _with(self._parsed[planted], text or "")
        return user_task.init_environment(self._suite.environment_type.model_validate(records))

    def _parse(self, injections: dict[str, str]) -> Any:
        suite_files = importlib.import_module("agentdojo.task_suite.task_suite")
        yaml = importlib.import_module("yaml")
        raw = suite_files.read_suite_file(self._suite.name, "environment.yaml", self._suite.data_path)
        return yaml.safe_load(raw.format(**{**self._defaults, **injections}))


def _with(value: Any, text: str) -> Any:
    """A copy of parsed YAML with the text in the place of each mark."""
    if isinstance(value, str):
        return value.replace(_MARK, text)
    if isinstance(value, list):
        return [_with(item, text) for item in value]
    if isinstance(value, dict):
        return {_with(key, text): _with(item, text) for key, item in value.items()}
    return value
