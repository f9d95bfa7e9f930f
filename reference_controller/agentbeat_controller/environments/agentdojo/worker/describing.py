"""What the benchmark consists of, as data for a catalogue: the worker's answer to `describe`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from agentbeat_controller.environments.agentdojo.package import BENCHMARK, PACKAGE_VERSION

from .starts import Starts
from .upstream import NOW, Upstream

__all__ = ["describe"]


def describe(
    upstream: Upstream, starts: Mapping[str, Starts], start_digest: Callable[[str, Any], str]
) -> dict[str, Any]:
    """All suites, with the names, texts and digests that a catalogue needs.

    Args:
        start_digest: the digest of the state in which a suite's user task begins.
    """
    return {
        "benchmark": BENCHMARK,
        "package": PACKAGE_VERSION,
        "code_digest": upstream.code_digest,
        "now": NOW.isoformat(),
        "suites": {
            name: {
                "vectors": list(starts[name].vectors),
                "tools": [_tool(function) for function in suite.tools],
                "user_tasks": {
                    task_id: {"prompt": task.PROMPT, "state_digest": start_digest(name, task)}
                    for task_id, task in suite.user_tasks.items()
                },
                "injection_tasks": {
                    task_id: {"goal": task.GOAL} for task_id, task in suite.injection_tasks.items()
                },
            }
            for name, suite in upstream.suites.items()
        },
    }


def _tool(function: Any) -> dict[str, Any]:
    schema = function.parameters.model_json_schema()
    definitions = schema.get("$defs", {})
    return {
        "name": function.name,
        "schema": {
            "type": "object",
            "description": function.description.strip(),
            "properties": _without_references(schema.get("properties", {}), definitions),
            "required": schema.get("required", []),
        },
    }


def _without_references(value: Any, definitions: Mapping[str, Any]) -> Any:
    """The schema with each `$ref` replaced by what it names: none of the tools' types contains itself."""
    if isinstance(value, list):
        return [_without_references(item, definitions) for item in value]
    if not isinstance(value, dict):
        return value
    if "$ref" in value:
        named = definitions[value["$ref"].removeprefix("#/$defs/")]
        value = {**named, **{name: item for name, item in value.items() if name != "$ref"}}
    return {name: _without_references(item, definitions) for name, item in value.items()}
