"""The examples in the protocol room's docstrings run."""

import doctest
import importlib
import pkgutil

import pytest

import agentbeat_protocol

MODULES = [
    module.name for module in pkgutil.walk_packages(agentbeat_protocol.__path__, prefix="agentbeat_protocol.")
]


@pytest.mark.parametrize("name", ["agentbeat_protocol", *MODULES])
def test_the_examples_of_a_module_do_what_they_say(name):
    result = doctest.testmod(importlib.import_module(name))
    assert result.failed == 0


def test_every_public_name_of_the_room_exists():
    for name in agentbeat_protocol.__all__:
        assert getattr(agentbeat_protocol, name) is not None
