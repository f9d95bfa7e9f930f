"""What differs in a database differs in the state, and what the state shows can be prepared."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import text

from agentbeat_controller.environments.custom import Profile, SqlSystem, rows_of
from agentbeat_controller.environments.custom.documents import document_form, document_text
from agentbeat_controller.environments.custom.postgres_values import SETTINGS
from agentbeat_protocol import canonical_json


class Cells(SqlSystem):
    """One table with one row and one column, of the type that a test says."""

    name = "cells"
    profiles = ()
    tables = ("cells",)

    def __init__(self, url):
        self.url = url

    def tools(self):
        return []

    def checks(self, run):
        return []

    def typed(self, kind):
        self.execute(
            "DROP TABLE IF EXISTS cells", f"CREATE TABLE cells (id INTEGER PRIMARY KEY, cell {kind})"
        )

    def execute(self, *statements):
        with self.engine("main").begin() as connection:
            for statement in statements:
                connection.execute(text(statement.replace(":", "\\:")))

    def shown(self):
        return self.state("main")["tables"]["cells"]["1"]["cell"]

    def holding(self, value):
        """The form of a SQL expression's value."""
        self.execute("DELETE FROM cells", f"INSERT INTO cells VALUES (1, {value})")
        return self.shown()

    def prepared(self, form):
        """What the state shows when a fixture has this form."""
        rows = rows_of({"cells": [{"id": 1, "cell": form}]})
        self.prepare("main", Profile(profile_id="p", title="p", task="p", content=rows), None)
        return self.shown()


def all_differ(forms):
    """Also once they are JSON, which has one way to write 1 and 1.0."""
    return len({canonical_json(form) for form in forms}) == len(forms)


# SQLite, where any column can hold anything


@pytest.fixture
def sqlite(tmp_path):
    cells = Cells(f"sqlite:///{tmp_path}/cells.db")
    yield cells
    cells.close()


VALUES = [
    "1",
    "1.0",
    "'1'",
    "'1.0'",
    "x'31'",
    "NULL",
    "0",
    "0.0",
    "1e15",
    "1000000000000000",
    "1e300",
    "9e999",
]
KINDS = ["", "BLOB", "NUMERIC", "INTEGER", "TEXT", "DATETIME", "FLOATING POINT", "REAL"]


@pytest.mark.parametrize("kind", KINDS)
def test_a_whole_number_and_the_same_float_are_two_values_of_sqlite(sqlite, kind):
    """But where the column's type makes one of the other: then they are one to SQLite too."""
    sqlite.typed(kind)
    sqlite.execute(f"INSERT INTO cells (cell) VALUES {', '.join(f'({value})' for value in VALUES)}")
    with sqlite.engine("main").begin() as connection:
        stored = connection.execute(text("SELECT typeof(cell), quote(cell) FROM cells ORDER BY id")).all()
    rows = sqlite.state("main")["tables"]["cells"]
    forms = [canonical_json(rows[str(number + 1)]["cell"]) for number in range(len(VALUES))]
    assert len(set(forms)) == len(set(stored)) == len(set(zip(forms, stored, strict=True)))


def test_a_column_of_floats_has_plain_numbers(sqlite):
    for kind in ("REAL", "DOUBLE PRECISION", "FLOAT"):
        sqlite.typed(kind)
        assert (sqlite.holding("1"), sqlite.holding("2.5")) == (1.0, 2.5)


@pytest.mark.parametrize(
    "value", ["1", "1.0", "2.5", "'1'", "x'00ff'", "NULL", "9223372036854775807", "9e999"]
)
def test_what_sqlite_shows_can_be_prepared(sqlite, value):
    sqlite.typed("")
    form = sqlite.holding(value)
    assert canonical_json(sqlite.prepared(form)) == canonical_json(form)


# PostgreSQL


@pytest.fixture
def postgresql(postgres):
    cells = Cells(postgres.url)
    yield cells
    cells.close()


DIFFERENT = {
    "interval": """'1 day' '24 hours' '1 month' '30 days' '12 months' '365 days' '-1 day' '-24 hours' '0'
        '1 year -1 day' '00:00:00.000001' '-00:00:00.000001' '1 day -24 hours' '178000000 years'
        '2562047788:00:00'""",
    "jsonb": """'1' '1.0' '1.00' '1.00000000000000000001' '"1"' 'null' NULL '{}' '[]' 'true'
        '9007199254740993' '9007199254740992' '{"integer": "9007199254740993"}' '0.1' '0.10'
        '{"decimal": "1.0"}' '{"json": null}' '{"object": {"json": null}}' '1e400' '-0.0'
        '{"a": {"decimal": "1.5"}}' '{"a": 1.5}' '{"a": 1.50}'
        '[null]' '["null"]' '""' '"null"' '{"json": "1"}'""",
    "json": """'1' '1.0' ' 1' 'null' NULL '{"a":1}' '{"a": 1}' '{"a":2,"a":1}'""",
    "integer[]": """'{1,2}' '[0:1]={1,2}' '[-1:0]={1,2}' '{{1,2}}' '[1:1][0:1]={{1,2}}' '{{1},{2}}' '{}'
        '{NULL}' NULL '{1,NULL}'""",
    "text[]": r"""'{NULL}' '{"NULL"}' '{""}' '{}' '{"a,b"}' '{a,b}' '{"[0:0]={a}"}' '{"\"\\"}' '{"{{"}'""",
    "jsonb[]": """ARRAY[NULL]::jsonb[] ARRAY['null']::jsonb[] ARRAY['[1]']::jsonb[] ARRAY[['1']]::jsonb[]
        ARRAY['1.0']::jsonb[] ARRAY['1']::jsonb[] ARRAY['"1"']::jsonb[] ARRAY[['[1]']]::jsonb[]
        ARRAY['{"a":1}','[[]]']::jsonb[]""",
    "interval[]": "'{1 day}' '{24 hours}'",
    "bytea[]": r"ARRAY['\x00'::bytea] ARRAY['\x0000'::bytea]",
    "timestamptz": """'2026-03-01 10:00+02' '2026-03-01 10:00+00' 'infinity' '-infinity' '0044-03-15 BC'
        '0044-03-15' '20026-03-01' '2026-03-01 10:00:00.000001+00'""",
    "timestamp": "'2026-03-01' '2026-03-01 00:00:00.5' 'infinity' '0044-03-15 BC' '10000-01-01'",
    "date": "'2026-03-01' 'infinity' '0044-03-15 BC' '0044-03-15' '10000-01-01'",
    "time": "'24:00' '00:00' '00:00:00.000001'",
    "timetz": "'10:00+02' '08:00+00' '10:00+02:00:30' '24:00+00'",
    "numeric": "1 1.0 1.00 'NaN' 1.00000000000000000001 1e100",
    "real": "1 1.1 1.1000001 1.1000003 'NaN' '-0' 0 'Infinity'",
    "double precision": "0.1 0.10000000000000002 1 '-0' 0 'NaN'",
    "bigint": "9007199254740993 9007199254740992 1",
    "int4range": "'[1,5)' '[2,5)' 'empty' NULL",
    "numrange": "'[1.0,5)' '[1.00,5)' '(1.0,5)'",
    "bytea": r"'\x00' '\x' 'x'",
    "bit varying": "B'01' B'1'",
    "inet": "'10.0.0.1' '10.0.0.1/24' '::ffff:10.0.0.1'",
    "char(3)": "'a' 'ab'",
    "point": "'(0.1,0)' '(0.10000000000000002,0)'",
    "money": "1 1.01",
    "xml": "'<a/>' '<a></a>'",
    "mood": "'low' 'high'",
    "mood[]": "'{low}' '{low,high}' '[0:0]={low}'",
    "spot": "ROW(1,'a')::spot ROW(1,NULL)::spot NULL",
    "stay": "'1 day' '24 hours'",
}
#: A SQL expression without a space outside its quotes.
EXPRESSION = re.compile(r"(?:'[^']*'|[^\s'])+")
OWN_TYPES = (
    "DROP TYPE IF EXISTS mood, spot CASCADE; DROP DOMAIN IF EXISTS stay CASCADE",
    "CREATE TYPE mood AS ENUM ('low', 'high'); CREATE TYPE spot AS (x INTEGER, label TEXT)",
    "CREATE DOMAIN stay AS INTERVAL",
)


@pytest.mark.parametrize("kind", DIFFERENT)
@pytest.mark.filterwarnings("ignore:Did not recognize type")
def test_values_that_differ_have_forms_that_differ_and_can_be_prepared(postgresql, kind):
    postgresql.execute(*OWN_TYPES)
    postgresql.typed(kind)
    forms = [postgresql.holding(value) for value in EXPRESSION.findall(DIFFERENT[kind])]
    assert all_differ(forms), forms
    for form in forms:
        assert canonical_json(postgresql.prepared(form)) == canonical_json(form)


def test_settings_of_a_server_change_no_form(postgresql, postgres):
    odd = {
        "extra_float_digits": "-15",
        "DateStyle": "German",
        "TimeZone": "Asia/Tokyo",
        "bytea_output": "escape",
        "IntervalStyle": "sql_standard",
        "client_encoding": "LATIN1",
    }
    assert odd.keys() <= SETTINGS.keys()
    kinds = {
        "real": "1.1000001",
        "double precision": "0.10000000000000002",
        "timestamptz": "'2026-03-01 10:00+02'",
        "date": "'2026-03-01'",
        "bytea": r"'\xff'",
        "interval": "'1 mon 2 days'",
        "text": "'é'",
    }
    plain = {}
    for kind, value in kinds.items():
        postgresql.typed(kind)
        plain[kind] = postgresql.holding(value)
    for name, value in odd.items():
        postgres.query(f"ALTER ROLE controller IN DATABASE {postgres.name} SET {name} = '{value}'")
    postgresql.close()
    for kind, value in kinds.items():
        postgresql.typed(kind)
        assert postgresql.holding(value) == plain[kind]
    postgres.query(f"ALTER ROLE controller IN DATABASE {postgres.name} RESET ALL")


def test_the_tools_of_a_system_get_the_drivers_own_values(postgresql):
    postgresql.typed("jsonb")
    postgresql.holding("'{\"a\": 1.0}'")
    with postgresql.engine("main").begin() as connection:
        assert connection.scalar(text("SELECT cell FROM cells")) == {"a": 1.0}
        assert connection.scalar(text("SELECT '1 day'::interval")).days == 1


def test_another_driver_is_refused_before_it_is_used():
    with pytest.raises(ValueError, match="got the driver psycopg2, expected psycopg"):
        Cells("postgresql+psycopg2://nobody@127.0.0.1/nothing").state("main")


# Documents

_SCALARS = st.one_of(
    st.sampled_from(["null", "true", "false"]),
    st.integers().map(str),
    st.builds("{}.{}".format, st.integers(), st.text("0123456789", min_size=1, max_size=20)),
    st.text(max_size=3).map(json.dumps),
)
_NAMES = st.sampled_from(["integer", "decimal", "json", "object", "a", ""]).map(json.dumps)


def _containers(inner):
    members = st.dictionaries(_NAMES, inner, max_size=2).map(
        lambda named: ", ".join(f"{name}: {value}" for name, value in named.items())
    )
    return st.lists(inner, max_size=3).map(lambda items: f"[{', '.join(items)}]") | members.map(
        "{{{}}}".format
    )


@given(st.recursive(_SCALARS, _containers, max_leaves=8))
def test_a_document_can_be_written_from_its_form(document):
    """To the digit, and from the form's canonical JSON too; so two documents have two forms."""
    form = document_form(document)
    assert document_text(form) == document
    assert sorted(document_text(json.loads(canonical_json(form)))) == sorted(document)


@pytest.mark.parametrize(
    "form", [{"integer": "1e"}, {"decimal": 1.5}, {"object": 1}, [b"a"], {"integer": "1,2"}]
)
def test_what_is_no_form_is_no_document(form):
    with pytest.raises(ValueError, match=r"expected|got|no place"):
        document_text(form)
