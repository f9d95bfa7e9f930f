"""A staging system on a folder of files: the state is every path, mode and content.

A place is a folder below `root`; `prepare` replaces it by a copy of the profile's template. Subclass it; what
a profile starts from is its `content`, made with `copy_of`, which pins the template's files by their digests:

    class Documents(FolderSystem):
        name = "documents"
        root = Path("/srv/staging")
        templates = Path("/srv/templates")
        profiles = (Profile(…, content=copy_of(templates / "office", surfaces={"note": "notes/march.txt"})),)

        def checks(self, run): …

The state of a place is `{"files": {…}}`; see `folder_states`. Files know no transaction. A call of a tool and
a snapshot exclude each other; whatever else writes there is noticed: a folder that does not stand still while
it is read twice is not read at all. Links are copied as links and never followed.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, Final

from .folder_removal import remove_folder
from .folder_states import FolderLimits, read_folder
from .injections import planted_text
from .systems import StagingSystem

if TYPE_CHECKING:
    from agentbeat_controller.environments.base import Profile
    from agentbeat_protocol import Injection, JSONValue

__all__ = ["FolderSystem", "copy_of"]

_PLACE: Final = re.compile(r"[A-Za-z0-9_-]{1,128}")
#: How often a folder is read until two readings are equal.
_READINGS: Final = 4
_LIMITS: Final = FolderLimits()


def copy_of(template: Path, *, surfaces: Mapping[str, str] | None = None) -> dict[str, JSONValue]:
    """A profile's content: the template that it starts from, and where an injection's text can stand.

    Args:
        template: the folder to copy.
        surfaces: surface to the path, below the template, of the text that the injection is added to. The
            file need not be there.

    Raises:
        ValueError: a surface outside the template.
    """
    for path in (surfaces or {}).values():
        parts = PurePosixPath(path).parts
        if not parts or ".." in parts or PurePosixPath(path).is_absolute():
            raise ValueError("a surface is a path below the template")
    # Where the template lies is no part of the digest, so that two machines have one catalogue.
    content: dict[str, Any] = {
        "template": template.name,
        "files": read_folder(template, _LIMITS),
        "surfaces": dict(surfaces or {}),
    }
    return content


class FolderSystem(StagingSystem):
    """`prepare`, `state` and `forget` on folders; tools and checks are the subclass's.

    Attributes:
        root: the folder of all places; nothing else lives in it.
        templates: the folder of the templates that `copy_of` was given.
        limits: bounds of the state.
    """

    root: Path
    templates: Path
    limits: FolderLimits = _LIMITS

    def folder(self, place: str) -> Path:
        """Where a place is, for the tools too.

        Raises:
            ValueError: the name could lead elsewhere.
        """
        if not _PLACE.fullmatch(place):
            raise ValueError("a place's name: expected letters, digits, hyphens and underscores")
        return self.root / place

    def prepare(self, place: str, profile: Profile, injection: Injection | None) -> None:
        """Replace the folder by a copy of the template; the old one is there until the new one is whole."""
        folder = self.folder(place)
        template = self.templates / str(profile.content["template"])
        if read_folder(template, _LIMITS) != profile.content["files"]:
            raise ValueError(
                f"{profile.profile_id}: the template is another than when the catalogue was made"
            )
        fresh, old = (folder.with_name(f"{place}.{ending}") for ending in ("new", "old"))
        for leftover in (fresh, old):
            remove_folder(leftover)
        folder.parent.mkdir(parents=True, exist_ok=True)
        shutil.copytree(template, fresh, symlinks=True)
        if injection is not None:
            _plant(fresh, _surface(profile, injection.surface), injection.text)
        if os.path.lexists(folder):  # whatever has its name, also a link that leads nowhere
            folder.rename(old)
        fresh.rename(folder)
        remove_folder(old)

    def state(self, place: str) -> JSONValue:
        """Every path below the place's folder.

        Raises:
            OSError: it cannot be read.
            ValueError: it does not stand still, or is beyond a limit.
        """
        folder = self.folder(place)
        found = read_folder(folder, self.limits)
        for _ in range(_READINGS - 1):
            again = read_folder(folder, self.limits)
            if again == found:
                return {"files": found}
            found = again
        raise ValueError("the folder does not stand still")

    def forget(self, place: str) -> None:
        """Delete the place's folder."""
        folder = self.folder(place)
        for each in (folder, folder.with_name(f"{place}.new"), folder.with_name(f"{place}.old")):
            remove_folder(each)


def _surface(profile: Profile, surface: str) -> str:
    surfaces = profile.content["surfaces"]
    if not isinstance(surfaces, Mapping):
        raise TypeError(f"{profile.profile_id}: the content has no surfaces (expected what copy_of gives)")
    return str(surfaces[surface])


def _plant(folder: Path, path: str, text: str) -> None:
    """Add a text to a file, which no link leads out of the folder to."""
    directory = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    *parents, name = PurePosixPath(path).parts
    try:
        for parent in parents:
            inner = os.open(parent, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=directory)
            os.close(directory)
            directory = inner
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW
        with os.fdopen(os.open(name, flags, 0o644, dir_fd=directory), "r+b") as file:
            planted = planted_text(file.read().decode(), text)
            file.seek(0)
            file.write(planted.encode())
    finally:
        os.close(directory)
