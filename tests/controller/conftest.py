"""A Controller on a database of its own, for each test that asks for one."""

import pytest

from support.controllers import Rig


@pytest.fixture
def database(request, tmp_path):
    """Where the Controller keeps everything: a SQLite file, or what `both_databases` says."""
    if getattr(request, "param", "sqlite") == "sqlite":
        return tmp_path / "controller.db"
    return request.getfixturevalue("postgres").url


@pytest.fixture
def rig(database):
    """A control plane and its door on the ledger environment, with a clock that the test sets."""
    rig = Rig(database)
    try:
        yield rig
    finally:
        rig.close()
