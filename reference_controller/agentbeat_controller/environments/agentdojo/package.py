"""Which package and which benchmark this code knows, without importing them."""

from __future__ import annotations

import importlib.metadata
from typing import Final

__all__ = ["BENCHMARK", "PACKAGE", "PACKAGE_VERSION", "check_package"]

PACKAGE: Final = "agentdojo"
PACKAGE_VERSION: Final = "0.1.35"
BENCHMARK: Final = "v1.2.2"


def check_package() -> None:
    """Raise unless the package is installed in the version that this code knows.

    Raises:
        ModuleNotFoundError: it is not installed.
        ValueError: another version is.
    """
    try:
        version = importlib.metadata.version(PACKAGE)
    except importlib.metadata.PackageNotFoundError:
        raise ModuleNotFoundError(f"the package {PACKAGE} is not installed", name=PACKAGE) from None
    if version != PACKAGE_VERSION:
        raise ValueError(f"got {PACKAGE} {version[:32]}, expected {PACKAGE_VERSION}")
