"""The examples in the market's modules are true, and its public names are there."""

from __future__ import annotations

import doctest
import pkgutil
import subprocess
import sys
from importlib import import_module

import pytest

import agentbeat_receipts.domains
from agentbeat_receipts.domains import market

MODULES = sorted(info.name for info in pkgutil.iter_modules(market.__path__, f"{market.__name__}."))


@pytest.mark.parametrize("name", MODULES)
def test_a_modules_examples_and_public_names_are_true(name: str) -> None:
    module = import_module(name)
    assert module.__doc__
    assert all(hasattr(module, public) for public in module.__all__)
    assert doctest.testmod(module).failed == 0


def test_every_public_name_is_there_once() -> None:
    assert len(set(market.__all__)) == len(market.__all__)
    assert all(hasattr(market, name) for name in market.__all__)
    assert doctest.testmod(agentbeat_receipts.domains).failed == 0
    assert doctest.testmod(market).failed == 0


def test_domains_and_httpx_are_loaded_when_they_are_asked_for() -> None:
    script = (
        "import sys; from agentbeat_receipts.domains import known_domains; known = known_domains(); "
        "assert not [name for name in sys.modules if 'domains.market' in name]; known['market']; "
        "assert 'httpx' not in sys.modules; assert 'agentbeat_receipts.domains.agent_eval' not in sys.modules"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
