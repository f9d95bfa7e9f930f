"""The folder that the demo leaves: results, requests and the registry, and no secret.

results/<case>.json    eval-run-response-v1
requests/<case>.json   eval-run-request-v1
registry.json          agent-target-registry-v1
"""

from __future__ import annotations

import json
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from agentbeat_protocol.evaluation import EvalRunResponse

__all__ = ["OutputFolder", "OutputFolderError", "default_folder"]


class OutputFolderError(Exception):
    """The folder cannot be used; the message says why."""


class OutputFolder:
    """Where the files of one demo go."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @classmethod
    def make(cls, path: Path) -> OutputFolder:
        """A new folder, or one that is empty: results of two demos are never mixed.

        Raises:
            OutputFolderError: it is not empty, or cannot be made.
        """
        try:
            path.mkdir(parents=True, exist_ok=True)
            if any(path.iterdir()):
                raise OutputFolderError(f"{path}: not empty; choose another folder with --out")
            for name in ("results", "requests"):
                (path / name).mkdir()
        except OSError as error:
            raise OutputFolderError(f"{error.filename or path}: {error.strerror}") from None
        return cls(path)

    @property
    def results(self) -> Path:
        """The folder of the results."""
        return self.path / "results"

    def result_path(self, name: str) -> Path:
        """Where the result of this case goes."""
        return self.results / f"{name}.json"

    def discard_if_empty(self) -> None:
        """Remove the folder again when nothing was written into it."""
        for folder in (self.path / "requests", self.results, self.path):
            with suppress(OSError):
                folder.rmdir()

    def write_registry(self, registry: dict[str, Any]) -> None:
        """Write the registry."""
        _write(self.path / "registry.json", registry)

    def write_request(self, name: str, request: dict[str, Any]) -> None:
        """Write a case's request."""
        _write(self.path / "requests" / f"{name}.json", request)

    def write_result(self, name: str, response: EvalRunResponse) -> None:
        """Write a case's result."""
        _write(self.result_path(name), response.model_dump(mode="json"))


def default_folder(now: datetime | None = None) -> Path:
    """`agentbeat-demo/` and a folder named after the time, in UTC."""
    moment = now or datetime.now(UTC)
    return Path("agentbeat-demo") / moment.astimezone(UTC).strftime("%Y%m%dT%H%M%SZ")


def _write(path: Path, document: Any) -> None:
    path.write_text(json.dumps(document, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
