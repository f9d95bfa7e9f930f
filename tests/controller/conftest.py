"""A Controller on a database file of its own, for each test that asks for one."""

import pytest

from support.controllers import rig_in


@pytest.fixture
def rig(tmp_path):
    """A control plane and its door on the ledger environment, with a clock that the test sets."""
    with rig_in(tmp_path) as rig:
        yield rig
