"""What every test of the suite shares.

Hypothesis has no deadline for an example: a busy machine is no failure. In CI it tries the same examples each
time, so that a red run can be repeated; on a developer's machine it looks for new ones. With
`--hypothesis-profile=long` it looks for ten times as many.

PostgreSQL: one throw-away cluster for the session (under xdist, for each worker), started by the first test
that asks for it; each test gets an empty database. AgentDojo: one environment for the session, with its
worker processes.
"""

from __future__ import annotations

import os

import pytest
from hypothesis import settings

from support.agentdojo_runs import session_environment
from support.postgres import fresh_database, session_cluster

settings.register_profile("local", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True, print_blob=True)
settings.register_profile("long", deadline=None, max_examples=1_000)
settings.load_profile("ci" if os.environ.get("CI") else "local")


@pytest.fixture(scope="session")
def postgres_cluster():
    """The session's cluster; the test is skipped, or in CI fails, where PostgreSQL is not installed."""
    with session_cluster() as cluster:
        yield cluster


@pytest.fixture
def postgres(postgres_cluster):
    """An empty database, with what one may do to it from the server's side."""
    with fresh_database(postgres_cluster) as database:
        yield database


@pytest.fixture
def postgres_url(postgres):
    """The URL of an empty database."""
    return postgres.url


@pytest.fixture(scope="session")
def agentdojo():
    """The benchmark's four suites; the test is skipped, or in CI fails, where the package is missing."""
    with session_environment() as environment:
        yield environment
