"""The examples in the docstrings of custom environments and of the check run."""

import doctest
import importlib
import pkgutil

import pytest

import agentbeat_controller.checking as checking
import agentbeat_controller.environments.custom as custom

MODULES = [
    "agentbeat_controller.catalogue_names",
    *(
        f"{package.__name__}.{module.name}"
        for package in (custom, checking)
        for module in pkgutil.iter_modules(package.__path__)
    ),
]


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_of_a_module_do_what_they_say(name):
    module = importlib.import_module(name)
    assert doctest.testmod(module).failed == 0
    assert set(module.__all__) <= set(vars(module))
