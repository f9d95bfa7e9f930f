"""Deleting a folder whatever is in it: directories of any depth, of any name, and without the right to enter.

A directory that is found is moved up, beside the first ones, before it is emptied. So no path grows long,
nothing calls itself and two directories are open at most, however deep an Agent has nested them. Nothing is
followed: a link goes, and what it leads to stays.
"""

from __future__ import annotations

import os
import secrets
import stat
from pathlib import Path
from typing import Final

__all__ = ["remove_folder"]

_ENTER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW


def remove_folder(folder: Path) -> None:
    """Delete a folder, or whatever has its name; one that is not there is no error.

    Raises:
        OSError: it cannot be deleted, or is written to meanwhile. What is left can be deleted later.
    """
    try:
        about = folder.lstat()
    except FileNotFoundError:
        return
    if not stat.S_ISDIR(about.st_mode):
        folder.unlink()
        return
    top = _entered(str(folder))
    try:
        waiting = _emptied(top, into=top)
        while waiting:
            name = waiting.pop()
            inner = _entered(name, directory=top)
            try:
                waiting += _emptied(inner, into=top)
            finally:
                os.close(inner)
            os.rmdir(name, dir_fd=top)
    finally:
        os.close(top)
    folder.rmdir()


def _entered(name: str, *, directory: int | None = None) -> int:
    """A directory, open, with the right to change it."""
    try:
        opened = os.open(name, _ENTER, dir_fd=directory)
    except PermissionError:
        os.chmod(name, stat.S_IRWXU, dir_fd=directory)
        return os.open(name, _ENTER, dir_fd=directory)
    os.fchmod(opened, stat.S_IRWXU)
    return opened


def _emptied(directory: int, *, into: int) -> list[str]:
    """Delete what is no directory; the new names of those that are, in the directory `into`."""
    moved = []
    for name in os.listdir(directory):
        if not stat.S_ISDIR(os.stat(name, dir_fd=directory, follow_symlinks=False).st_mode):
            os.unlink(name, dir_fd=directory)
            continue
        fresh = secrets.token_hex(16)
        try:
            os.rename(name, fresh, src_dir_fd=directory, dst_dir_fd=into)
        except PermissionError:  # only who may write in a directory may move it elsewhere
            os.chmod(name, stat.S_IRWXU, dir_fd=directory)
            os.rename(name, fresh, src_dir_fd=directory, dst_dir_fd=into)
        moved.append(fresh)
    return moved
