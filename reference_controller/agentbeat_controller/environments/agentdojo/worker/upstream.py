"""AgentDojo, imported as a Controller needs it.

- Its suites import four clients of language models (1.9 s, 134 MiB). None of them is needed, so empty modules
  stand in their place (0.2 s, 45 MiB). The installed package is not changed.
- `datetime.now` of its tools gives one fixed instant, later than everything in the suites: equal calls end
  in equal states, at any time of day. Only this process is affected.
- One version of the package and of the benchmark is known to this code; another is refused.

Everything upstream is `Any`: the package has no types to check against.
"""

from __future__ import annotations

import datetime
import hashlib
import importlib
import importlib.machinery
import sys
import types
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from agentbeat_controller.environments.agentdojo.package import BENCHMARK, PACKAGE, check_package

__all__ = ["NOW", "Upstream", "load"]

#: What the tools take for the present.
NOW: Final = datetime.datetime(2024, 12, 31, 12, 0, 0)

#: Files of the package that a run can depend on.
_DECIDING: Final = frozenset({".py", ".yaml", ".json", ".txt"})


@dataclass(frozen=True, kw_only=True)
class Upstream:
    """What is used of the package.

    Args:
        suites: by name, in the benchmark's order; objects of `TaskSuite`.
        code_digest: `sha256:<hex>` over the package's files.
        call: `FunctionCall`.
        runtime: `FunctionsRuntime`.
        result_text: what an Agent of the benchmark reads as a tool's result.
        text_block: the form in which a final response is judged.
    """

    suites: Mapping[str, Any]
    code_digest: str
    call: Any
    runtime: Any
    result_text: Any
    text_block: Any


def load() -> Upstream:
    """Import the benchmark into this process.

    Raises:
        ModuleNotFoundError, ValueError: the package is missing, or another version.
    """
    check_package()
    folder = _folder()
    _stand_in(folder)
    suites = importlib.import_module("agentdojo.task_suite.load_suites").get_suites(BENCHMARK)
    _freeze_clock()
    functions = importlib.import_module("agentdojo.functions_runtime")
    return Upstream(
        suites=dict(suites),
        code_digest=_code_digest(folder),
        call=functions.FunctionCall,
        runtime=functions.FunctionsRuntime,
        result_text=importlib.import_module("agentdojo.agent_pipeline.tool_execution").tool_result_to_str,
        text_block=importlib.import_module("agentdojo.types").text_content_block_from_string,
    )


def _folder() -> Path:
    spec = importlib.machinery.PathFinder.find_spec(PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        raise ModuleNotFoundError(f"the package {PACKAGE} has no folder", name=PACKAGE)
    return Path(next(iter(spec.submodule_search_locations)))


def _stand_in(folder: Path) -> None:
    """Packages whose own code is not run, and the one client that something else takes a name from."""
    pipeline = folder / "agent_pipeline"
    for name, path in (
        ("agentdojo.agent_pipeline", pipeline),
        ("agentdojo.agent_pipeline.llms", pipeline / "llms"),
    ):
        package = types.ModuleType(name)
        package.__path__ = [str(path)]
        sys.modules[name] = package
    client = types.ModuleType("agentdojo.agent_pipeline.llms.google_llm")
    client.__dict__["EMPTY_FUNCTION_NAME"] = "<empty-function-name>"
    sys.modules[client.__name__] = client


class _FixedClock:
    """What the tools use of the class `datetime.datetime`."""

    @staticmethod
    def now() -> datetime.datetime:
        return NOW


def _freeze_clock() -> None:
    """The two modules with `datetime.datetime.now()`, and the one with a default made by it."""
    for name in ("email_client", "cloud_drive_client"):
        module = importlib.import_module(f"agentdojo.default_suites.v1.tools.{name}")
        module.__dict__["datetime"] = types.SimpleNamespace(datetime=_FixedClock)
    records = importlib.import_module("agentdojo.default_suites.v1.tools.types")
    records.Email.model_fields["timestamp"].default_factory = _FixedClock.now
    records.Email.model_rebuild(force=True)


def _code_digest(folder: Path) -> str:
    whole = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        if path.suffix in _DECIDING and path.is_file():
            name = path.relative_to(folder).as_posix()
            whole.update(f"{name}\n{hashlib.sha256(path.read_bytes()).hexdigest()}\n".encode())
    return f"sha256:{whole.hexdigest()}"
