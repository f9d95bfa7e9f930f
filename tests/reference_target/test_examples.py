"""The examples in the room's docstrings run, and its public names are there."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import pytest

import agentbeat_reference_target

MODULES = [
    module.name
    for module in pkgutil.iter_modules(
        agentbeat_reference_target.__path__, prefix="agentbeat_reference_target."
    )
    if not module.name.endswith("__main__")
]


@pytest.mark.parametrize("name", ["agentbeat_reference_target", *MODULES])
def test_the_examples_of_a_module_do_what_they_say(name: str) -> None:
    assert doctest.testmod(importlib.import_module(name)).failed == 0


def test_every_public_name_is_there_and_no_other() -> None:
    for name in agentbeat_reference_target.__all__:
        assert getattr(agentbeat_reference_target, name) is not None
    with pytest.raises(AttributeError):
        agentbeat_reference_target.nothing  # noqa: B018 - it is looked up
