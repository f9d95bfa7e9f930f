"""A PostgreSQL cluster for a test session, and a fresh database for a test.

The keeper starts the cluster in a process of its own, which stops and removes it however this one ends. Where
PostgreSQL is not installed, tests that need it are skipped; in CI (`CI` is set) they fail, because a skip
there would hide that nothing was tried.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

__all__ = ["Cluster", "Database", "both_databases", "fresh_database", "session_cluster"]

#: For tests that say the same of either database: they use the fixture `database`, most through `rig`.
both_databases = pytest.mark.parametrize("database", ["sqlite", "postgresql"], indirect=True)

_KEEPER = Path(__file__).with_name("postgres_keeper.py")

#: The role that Controllers use: no superuser, so a test shows that none is needed.
ROLE = "controller"
#: Has characters that a URL must escape, and is looked for in everything that a Controller says.
PASSWORD = "pa:ss/w@rd?" + "0123456789"


@dataclass
class Database:
    """One database, new and empty."""

    cluster: Cluster
    name: str

    @property
    def url(self) -> str:
        """How a Controller reaches it: over the loopback address, with a password."""
        return f"postgresql://{ROLE}:{quote(PASSWORD, safe='')}@127.0.0.1:{self.cluster.port}/{self.name}"

    def with_options(self, **settings: str) -> str:
        """The URL with settings of the server for its sessions, such as `lock_timeout="200ms"`."""
        options = " ".join(f"-c {name}={value}" for name, value in settings.items())
        return f"{self.url}?options={quote(options)}"

    def query(self, statement: str, *values: Any) -> list[tuple[Any, ...]]:
        """What a statement gives, as the superuser; committed at once."""
        return self.cluster.query(statement, *values, database=self.name)

    def empty(self) -> None:
        """Every table goes, with all that hangs on it, and every setting of this database alone."""
        self.query(
            f"DROP SCHEMA public CASCADE; CREATE SCHEMA public AUTHORIZATION {ROLE}; "
            f"ALTER DATABASE {self.name} RESET ALL; ALTER DATABASE {self.name} CONNECTION LIMIT -1"
        )

    def terminate(self, where: str = "true") -> int:
        """End sessions of this database from the server's side; how many."""
        return len(
            self.query(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() "
                f"AND pid <> pg_backend_pid() AND {where}"
            )
        )


@dataclass
class Cluster:
    """A running cluster; `stop` and `start` are for tests of what a restart does."""

    keeper: subprocess.Popen[str]
    folder: Path
    port: int
    password: str
    _numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1))
    _spare: list[Database] = field(default_factory=list)

    def stop(self) -> None:
        """The server crashes."""
        self._command("stop")

    def start(self) -> None:
        """It is there again, at the same port."""
        self._command("start")

    def query(self, statement: str, *values: Any, database: str = "postgres") -> list[tuple[Any, ...]]:
        """What a statement gives, as the superuser; committed at once."""
        import psycopg

        with psycopg.connect(
            host=str(self.folder),
            port=self.port,
            user="postgres",
            dbname=database,
            options="-c default_transaction_read_only=off",
            autocommit=True,
        ) as connection:
            cursor = connection.execute(statement, values or None)
            return cursor.fetchall() if cursor.description else []

    def take(self) -> Database:
        """An empty database of the Controllers' role: one that was given back, or a new one."""
        if self._spare:
            return self._spare.pop()
        name = f"test_{next(self._numbers)}"
        self.query(f"CREATE DATABASE {name} OWNER {ROLE} TEMPLATE template0")
        database = Database(self, name)
        database.empty()
        return database

    def give_back(self, database: Database) -> None:
        """Empty it for the next one, which takes a tenth of the time that a new one does."""
        database.terminate()
        database.empty()
        self._spare.append(database)

    def _command(self, word: str) -> None:
        assert self.keeper.stdin is not None
        self.keeper.stdin.write(word + "\n")
        self.keeper.stdin.flush()
        _heard(self.keeper)


@contextlib.contextmanager
def session_cluster(script: Path = _KEEPER) -> Iterator[Cluster]:
    """A cluster until the block ends; skips, or in CI fails, where there is none to be had."""
    keeper = subprocess.Popen(
        [sys.executable, "-S", str(script)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        said = _heard(keeper)
        cluster = Cluster(keeper, Path(said["folder"]), said["port"], said["password"])
        cluster.query(f"CREATE ROLE {ROLE} LOGIN PASSWORD '{PASSWORD}'")
        yield cluster
    finally:
        _end(keeper)


@contextlib.contextmanager
def fresh_database(cluster: Cluster) -> Iterator[Database]:
    """An empty database until the block ends."""
    database = cluster.take()
    try:
        yield database
    finally:
        cluster.give_back(database)


def _end(keeper: subprocess.Popen[str]) -> None:
    """Nothing is left of the cluster. A closed pipe would do, unless a child of this process has it too."""
    assert keeper.stdin is not None
    assert keeper.stdout is not None
    with contextlib.suppress(BrokenPipeError):
        keeper.stdin.write("end\n")
        keeper.stdin.flush()
    for pipe in (keeper.stdin, keeper.stdout):
        with contextlib.suppress(BrokenPipeError):
            pipe.close()
    keeper.wait(120)


def _heard(keeper: subprocess.Popen[str]) -> dict[str, Any]:
    assert keeper.stdout is not None
    line = keeper.stdout.readline()
    said: dict[str, Any] = json.loads(line) if line else {"ok": False, "reason": "the keeper has ended"}
    if not said["ok"]:
        (pytest.fail if os.environ.get("CI") else pytest.skip)(
            f"no PostgreSQL to test with: {said['reason']}"
        )
    return said
