"""The versions of the catalogue: which requirements each has, and in which order they are checked.

A requirement says since which version it is there in its present form. One that is dropped, or judged
otherwise from some version on, stays in the code with `until`: so `--catalogue 1.0` runs the checks of 1.0. A
version that was followed by another is pinned by its digest, and running it fails when the code no longer
yields it.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Final

from agentbeat_conformance.requirements import (
    CATALOGUE,
    RETIRED,
    SUITE_VERSION,
    Capability,
    Requirement,
    catalogue_digest,
)
from agentbeat_protocol import cut

__all__ = ["VERSIONS", "UnknownVersionError", "edition", "in_order", "load_catalogue"]

#: Every version, the oldest first, and its digest; only the current one, the last, may still have none.
VERSIONS: Final[Mapping[str, str | None]] = MappingProxyType({"1.0": None})

_FAMILIES: Final = ("HLT", "INV", "EVD", "CTL", "RCP")


class UnknownVersionError(ValueError):
    """There is no such version of the catalogue, or the code no longer yields it."""


def load_catalogue(version: str = SUITE_VERSION) -> dict[str, Requirement]:
    """Import every check and give the catalogue of this version.

    Raises:
        UnknownVersionError: see `edition`.
    """
    from agentbeat_conformance import checks

    for module in sorted(found.name for found in pkgutil.iter_modules(checks.__path__)):
        importlib.import_module(f"{checks.__name__}.{module}")
    return edition(version, [*CATALOGUE.values(), *RETIRED])


def edition(
    version: str, requirements: Iterable[Requirement], versions: Mapping[str, str | None] = VERSIONS
) -> dict[str, Requirement]:
    """The requirements of one version, in the order in which they are checked.

    Args:
        requirements: all of all versions.
        versions: every version with its digest, the oldest first.

    Raises:
        UnknownVersionError: there is no such version, or the requirements yield another than was published.
        ValueError: two forms of one requirement are in the same version, or a requirement names a version
            that there is not.
    """
    if version not in versions:
        known = ", ".join(versions)
        raise UnknownVersionError(f"got the catalogue {cut(version)}, expected one of {known}")
    chosen: dict[str, Requirement] = {}
    for made in in_order(made for made in requirements if _is_in(made, version, list(versions))):
        if made.id in chosen:
            raise ValueError(f"requirement {made.id}: version {version} has two forms of it")
        chosen[made.id] = made
    pinned, digest = versions[version], catalogue_digest(chosen)
    if pinned is None and version != list(versions)[-1]:
        raise UnknownVersionError(f"the catalogue {version} was followed by another and has no digest")
    if pinned is not None and pinned != digest:
        raise UnknownVersionError(f"the catalogue {version} yields {digest}, expected {pinned}")
    return chosen


def in_order(requirements: Iterable[Requirement]) -> list[Requirement]:
    """Health first, then as the specs number them; what restarts the server comes last."""
    return sorted(requirements, key=_place)


def _place(made: Requirement) -> tuple[bool, int, int, str]:
    family, _, number = made.rule.partition("-")
    return Capability.RESTART in made.needs, _FAMILIES.index(family), int(number), made.id


def _is_in(made: Requirement, version: str, versions: list[str]) -> bool:
    unknown = {made.since, made.until or made.since} - set(versions)
    if unknown:
        raise ValueError(f"requirement {made.id}: there is no version {', '.join(sorted(unknown))}")
    begins = versions.index(made.since)
    ends = len(versions) if made.until is None else versions.index(made.until)
    return begins <= versions.index(version) < ends
