"""One desk for each module of tests, as it was in the beginning for each test."""

from __future__ import annotations

import pytest

from support.desk import Desk


@pytest.fixture(scope="module")
def shared_desk(tmp_path_factory: pytest.TempPathFactory) -> Desk:
    """A desk that a module's tests share: making one takes longer than a run."""
    return Desk(tmp_path_factory.mktemp("desk"))


@pytest.fixture
def desk(shared_desk: Desk) -> Desk:
    """The desk at the start of `desk-refund-full` without an injection, open and answering."""
    shared_desk.open_window, shared_desk.unavailable = True, False
    shared_desk.reset("desk-refund-full")
    return shared_desk
