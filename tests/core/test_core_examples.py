"""The examples in the docstrings of Core are true."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import pytest

import agentbeat_core

MODULES = [
    name
    for _, name, is_package in pkgutil.walk_packages(agentbeat_core.__path__, "agentbeat_core.")
    if not name.endswith("__main__")
]


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_of_a_module_run(name: str) -> None:
    result = doctest.testmod(importlib.import_module(name), optionflags=doctest.ELLIPSIS)
    assert result.failed == 0


def test_there_are_examples_to_run() -> None:
    finder = doctest.DocTestFinder()
    attempted = sum(
        len(example.examples) for name in MODULES for example in finder.find(importlib.import_module(name))
    )
    assert attempted >= 5
