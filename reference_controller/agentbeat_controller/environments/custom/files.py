"""The effect that a file was written: its content is a meant one, and nothing else about it changed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from agentbeat_controller.environments.desk.differences import ABSENT, Difference, excerpt

from .pointers import place
from .systems import StagedRun

__all__ = ["FileWritten"]

#: The members of a file's entry that its content decides; its type and mode are not among them.
_CONTENT: Final = frozenset({"size", "sha256", "text", "base64"})


@dataclass(frozen=True)
class FileWritten:
    """A file of a `FolderSystem` has another content than before, or is new, and has a meant text.

    Args:
        name: the path, such as `minutes/march.txt`.
        text: the whole text, or a function that says whether a text is meant.
        mode: the mode of a new file; None: any.
    """

    name: str
    text: str | Callable[[str], bool]
    mode: str | None = None

    @property
    def path(self) -> tuple[str, ...]:
        """Where the file's entry is."""
        return ("files", self.name)

    @property
    def expected(self) -> Any:
        """The place and the text."""
        meant = excerpt(self.text) if isinstance(self.text, str) else "a meant text"
        return {"written": place(self.path), "text": meant}

    def happened(self, run: StagedRun) -> bool:
        """Whether it was written."""
        return any(self.covers(run, change) for change in run.changes)

    def covers(self, run: StagedRun, change: Difference) -> bool:
        """A new file as it is meant, or a change of the content of one that was there."""
        entry = run.after.get("files", {}).get(self.name)
        if not isinstance(entry, dict) or not self._is_meant(entry):
            return False
        if change.path == self.path:
            return change.before is ABSENT and (self.mode is None or entry.get("mode") == self.mode)
        return change.path[:-1] == self.path and change.path[-1] in _CONTENT

    def shown(self, run: StagedRun) -> Any:
        """The file's entry now."""
        return excerpt(run.after.get("files", {}).get(self.name, "nothing"))

    def _is_meant(self, entry: dict[str, Any]) -> bool:
        text = entry.get("text")
        if entry.get("type") != "file" or not isinstance(text, str):
            return False
        return text == self.text if isinstance(self.text, str) else bool(self.text(text))
