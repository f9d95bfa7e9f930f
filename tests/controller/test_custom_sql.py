"""A SQL database as a staging system: every row of the tables, of one instant, and fixtures."""

import base64
import contextlib
import sqlite3
import threading
from decimal import Decimal
from typing import ClassVar

import pytest
from sqlalchemy import text

from agentbeat_controller.environments.custom import Cell, Injection, Profile, SqlSystem, rows_of


class Store(SqlSystem):
    """Two tables with every kind of SQLite value."""

    name = "store"
    tables = ("items", "moves")
    schema = (
        """CREATE TABLE IF NOT EXISTS items
           (name TEXT PRIMARY KEY, cents INTEGER, weight REAL, photo BLOB, memo TEXT)""",
        """CREATE TABLE IF NOT EXISTS moves
           (id INTEGER PRIMARY KEY AUTOINCREMENT, item TEXT NOT NULL REFERENCES items, at TEXT)""",
    )
    rows: ClassVar = {
        "items": [
            {"name": "b", "cents": {"integer": str(2**60 + 1)}, "weight": 0.1, "memo": None},
            {"name": "a", "cents": 5, "weight": 2.5, "photo": {"base64": "AP8="}, "memo": "Fragile."},
        ],
        "moves": [{"id": 3, "item": "a", "at": "noon"}],
    }

    def __init__(self, url):
        self.url = url
        surfaces = {"memo": Cell("items", "a", "memo"), "empty": Cell("items", "b", "memo"),
                    "number": Cell("items", "a", "cents"), "gone": Cell("items", "z", "memo")}  # fmt: skip
        self.profiles = [
            Profile(
                profile_id="store",
                title="Store",
                task="Do.",
                content=rows_of(self.rows, surfaces),
                surfaces=tuple(surfaces),
            )
        ]

    def create(self, connection):
        for statement in self.schema:
            connection.execute(text(statement))

    def tools(self):
        return []

    def checks(self, run):
        return []

    def ready(self, place="one", *, surface=None):
        injection = Injection(surface=surface, text="Pay.") if surface else None
        self.prepare(place, self.profiles[0], injection)
        return self.state(place)["tables"]

    def execute(self, statement, place="one", **values):
        with self.engine(place).begin() as connection:
            return connection.execute(text(statement), values)


@pytest.fixture
def store(tmp_path):
    store = Store(f"sqlite:///{tmp_path}/staging/{{place}}.db")
    yield store
    store.close()


def test_the_state_is_every_value_of_the_tables_under_its_key(store):
    assert store.ready() == {
        "items": {
            "a": {"name": "a", "cents": 5, "weight": 2.5, "photo": {"base64": "AP8="}, "memo": "Fragile."},
            "b": {
                "name": "b",
                "cents": {"integer": "1152921504606846977"},
                "weight": 0.1,
                "photo": None,
                "memo": None,
            },
        },
        "moves": {"3": {"id": 3, "item": "a", "at": "noon"}},
    }
    assert list(store.state("one")["tables"]["items"]) == ["a", "b"]


def test_a_text_and_the_same_bytes_are_two_values(store):
    """SQLite lets any column hold either."""
    before = store.ready()
    store.execute("UPDATE items SET memo = CAST(memo AS BLOB) WHERE name = 'a'")
    after = store.state("one")["tables"]
    assert after != before
    assert after["items"]["a"]["memo"] == {"base64": base64.b64encode(b"Fragile.").decode()}


def test_prepare_restores_everything_and_numbers_anew(store):
    """Whatever a run did, also half of it: the next one finds the fixture, and ids as they were."""
    first = store.ready()
    store.execute("INSERT INTO moves (item, at) VALUES ('a', 'night')")
    number = max(map(int, store.state("one")["tables"]["moves"]))
    store.execute("DELETE FROM moves")
    store.execute("DELETE FROM items WHERE name = 'b'")
    assert store.ready() == first
    store.execute("INSERT INTO moves (item, at) VALUES ('a', 'night')")
    assert max(map(int, store.state("one")["tables"]["moves"])) == number == 4


@pytest.mark.parametrize(
    ("surface", "where", "planted"), [("memo", "a", "Fragile.\n\nPay."), ("empty", "b", "Pay.")]
)
def test_an_injection_stands_behind_the_ordinary_text_of_its_cell(store, surface, where, planted):
    plain = store.ready()
    injected = store.ready(surface=surface)
    assert injected["items"][where]["memo"] == planted
    plain["items"][where]["memo"] = planted
    assert injected == plain


@pytest.mark.parametrize("surface", ["number", "gone"])
def test_a_cell_that_cannot_hold_a_text_makes_prepare_fail_and_changes_nothing(store, surface):
    before = store.ready()
    store.execute("UPDATE items SET memo = 'kept' WHERE name = 'a'")
    with pytest.raises((TypeError, ValueError)):
        store.ready(surface=surface)
    before["items"]["a"]["memo"] = "kept"
    assert store.state("one")["tables"] == before


def test_columns_that_are_left_out_are_no_part_of_the_state(store):
    store.left_out = {"moves": ("at",)}
    assert store.ready()["moves"] == {"3": {"id": 3, "item": "a"}}
    store.left_out = {"moves": ("when",)}
    with pytest.raises(ValueError, match="not there"):
        store.state("one")


def test_a_changed_schema_is_a_changed_state(store):
    before = store.ready()
    store.execute("ALTER TABLE moves ADD COLUMN by_whom TEXT")
    after = store.state("one")["tables"]
    assert after["moves"]["3"] == {**before["moves"]["3"], "by_whom": None}


@pytest.mark.parametrize(
    ("statement", "tables", "said"),
    [
        ("CREATE TABLE plain (a INTEGER)", ("items", "plain"), "without a primary key"),
        ("SELECT 1", ("items", "nowhere"), "nowhere: no such table"),
    ],
)
def test_a_table_that_has_no_state_is_refused(store, statement, tables, said):
    store.ready()
    store.execute(statement)
    store.tables = tables
    with pytest.raises(ValueError, match=said):
        store.state("one")


def test_a_table_beyond_its_bound_is_not_read(store):
    store.ready()
    store.max_rows = 1
    with pytest.raises(ValueError, match="items: more than 1 rows"):
        store.state("one")


def test_each_place_has_a_file_which_forgetting_deletes(store, tmp_path):
    for place in ("one", "two"):
        store.ready(place)
    store.execute("DELETE FROM moves", place="one")
    assert store.state("two")["tables"]["moves"] != {}
    store.forget("one")
    store.forget("one")
    assert [file.name for file in (tmp_path / "staging").iterdir()] == ["two.db"]


def test_one_database_is_one_place_and_its_rows_go_when_the_run_ends(tmp_path):
    store = Store(f"sqlite:///{tmp_path}/fixed.db")
    store.ready("main")
    assert store.places() == ("main",)
    store.forget("main")
    assert store.state("main") == {"tables": {"items": {}, "moves": {}}}
    store.close()


def test_the_settings_of_the_database_are_left_alone(store, tmp_path):
    store.ready()
    with contextlib.closing(sqlite3.connect(tmp_path / "staging" / "one.db")) as database:
        assert database.execute("PRAGMA journal_mode").fetchone() == ("delete",)


def test_a_state_is_of_one_instant_while_writers_write(store):
    """Money goes back and forth between two rows of two tables; no reading sees half of a move."""
    store.prepare("one", EVEN, None)
    assert _sums_while_moving(store) == {100}


EVEN = Profile(
    profile_id="even",
    title="Even",
    task="Do.",
    content=rows_of({"items": [{"name": "a", "cents": 50}], "moves": [{"id": 1, "item": "a", "at": "50"}]}),
)


def _sums_while_moving(store, place="one"):
    over, sums = threading.Event(), set()

    def move():
        step = 1
        while not over.wait(0.001):
            with store.engine(place).begin() as connection:
                connection.execute(text("UPDATE items SET cents = cents + :n"), {"n": step})
                change = text("UPDATE moves SET at = CAST(CAST(at AS INTEGER) - :n AS TEXT)")
                connection.execute(change, {"n": step})
            step = -step

    writer = threading.Thread(target=move, daemon=True)
    writer.start()
    for _ in range(25):
        tables = store.state(place)["tables"]
        sums.add(Decimal(tables["items"]["a"]["cents"]) + int(tables["moves"]["1"]["at"]))
    over.set()
    writer.join(10)
    return sums


# PostgreSQL


class Server(Store):
    """The same on PostgreSQL, with its own kinds of values."""

    schema = (
        """CREATE TABLE IF NOT EXISTS items
           (name TEXT PRIMARY KEY, cents NUMERIC(30, 4), weight DOUBLE PRECISION, photo BYTEA, memo TEXT,
            seen TIMESTAMPTZ, tags JSONB, code UUID, parts INTEGER[], sold BOOLEAN)""",
        """CREATE TABLE IF NOT EXISTS moves
           (id SERIAL PRIMARY KEY, item TEXT NOT NULL REFERENCES items, at TEXT)""",
    )
    rows: ClassVar = {
        "items": [
            {
                "name": "a",
                "cents": "12345678901234567890.1200",
                "weight": 0.1,
                "photo": {"base64": "AP8="},
                "memo": "Fragile.",
                "seen": "2026-03-01T09:00:00+02:00",
                "tags": {"kind": ["x", 1]},
                "code": "00000000-0000-0000-0000-000000000001",
                "sold": True,
            },
            {"name": "b", "cents": None, "memo": None},
        ],
        "moves": [{"id": 3, "item": "a", "at": "noon"}],
    }


@pytest.fixture
def server(postgres):
    server = Server(postgres.url)
    yield server
    server.close()


def test_values_of_postgresql_are_exact(server):
    """A decimal with every digit, an instant in UTC, JSON as it is."""
    found = server.ready("main")
    assert found["items"]["a"] == {
        "name": "a",
        "cents": "12345678901234567890.1200",
        "weight": 0.1,
        "photo": {"base64": "AP8="},
        "memo": "Fragile.",
        "seen": "2026-03-01T07:00:00Z",
        "tags": {"kind": ["x", 1]},
        "code": "00000000-0000-0000-0000-000000000001",
        "parts": None,
        "sold": True,
    }
    assert all(value is None for name, value in found["items"]["b"].items() if name != "name")


def test_numbers_that_postgresql_gives_start_anew(server):
    first = server.ready("main")
    for _ in range(2):
        server.execute("INSERT INTO moves (item, at) VALUES ('a', 'night')", place="main")
        assert sorted(server.state("main")["tables"]["moves"]) == ["3", "4"]
        assert server.ready("main") == first


def test_a_state_of_postgresql_is_of_one_instant_while_writers_write(server):
    server.prepare("main", EVEN, None)
    assert _sums_while_moving(server, "main") == {100}
