"""The examples in the docstrings of the environments' modules are true."""

from __future__ import annotations

import doctest
import importlib

import pytest

MODULES = [
    "agentbeat_controller.environments.operations",
    "agentbeat_controller.environments.desk.differences",
    "agentbeat_controller.environments.desk.effects",
]


@pytest.mark.parametrize("name", MODULES)
def test_examples(name: str) -> None:
    result = doctest.testmod(importlib.import_module(name))
    assert result.attempted > 0
    assert result.failed == 0
