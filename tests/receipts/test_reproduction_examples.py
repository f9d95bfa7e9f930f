"""The examples in the docstrings of corpus and reproduction run."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import pytest

from agentbeat_receipts import corpus, reproduction

MODULES = [
    module.name
    for package in (corpus, reproduction)
    for module in pkgutil.iter_modules(package.__path__, prefix=f"{package.__name__}.")
]


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_of_a_module_do_what_they_say(name: str) -> None:
    assert doctest.testmod(importlib.import_module(name)).failed == 0


@pytest.mark.parametrize("package", [corpus, reproduction], ids=lambda package: package.__name__)
def test_every_public_name_is_there_once(package: object) -> None:
    names: list[str] = package.__all__  # type: ignore[attr-defined]
    assert sorted(set(names)) == sorted(names)
    assert all(hasattr(package, name) for name in names)
