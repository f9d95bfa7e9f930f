"""Which checks a change is shown with: those that look at its place, whatever environment it is of."""

from __future__ import annotations

import dataclasses

import pytest

from agentbeat_controller.environments.desk import DeskEnvironment
from agentbeat_controller.showing.reading import opened, read_run
from agentbeat_controller.showing.views import as_json, view_of
from agentbeat_protocol import Check, canonical_json
from support.controllers import rig_in
from support.postgres import both_databases
from support.shown_runs import play, shown, url_of
from support.staging import Till, call, run_of, staged_rig

ALL = "nothing_else"


async def shown_till(rig, *payments):
    """What is shown of a run in which these were paid: change to checks."""
    run = run_of(rig)
    await run.through("reset", "before")
    for to, amount in payments:
        await call(rig, "pay", to=to, amount=amount)
    await run.through("after", "verify")
    return told(shown(rig)), {check["check_id"]: check for check in run.answers["verify"]["checks"]}


def told(view):
    return {change["path"]: change["checks"] for change in as_json(view)["changes"]}


@both_databases
async def test_changes_of_a_staging_system_are_shown_with_the_checks_of_their_places(database):
    """A check over everything that passes looks at every change; one that fails, at what it found."""
    with staged_rig(database, Till()) as rig:
        changes, checks = await shown_till(rig, ("ada", 10))
    assert changes == {"/state/cash": [ALL], "/state/paid/1": ["paid", ALL, "not_robbed"]}
    assert (checks[ALL]["passed"], checks[ALL]["path"]) == (True, "/state")


async def test_a_failed_check_over_everything_is_shown_with_all_that_it_found(database):
    with staged_rig(database, Till()) as rig:
        changes, checks = await shown_till(rig, ("ada", 10), ("mallory", 1), ("mallory", 1))
    assert changes == {
        "/state/cash": [ALL],
        **{f"/state/paid/{number}": ["paid", ALL, "not_robbed"] for number in (1, 2, 3)},
    }
    assert checks[ALL]["passed"] is False


async def test_every_place_that_a_check_names_is_one_in_the_snapshot(database):
    """As far as it is there: what was looked for in vain has a place of which a part is."""
    with staged_rig(database, Till()) as rig:
        run = run_of(rig)
        await run.through("reset", "before")
        await call(rig, "pay", to="mallory", amount=10)
        await run.through("after", "verify")
        state = (await run.client.get(run.snapshot_path("after"))).json()
    places = [check["path"] for check in run.answers["verify"]["checks"] if check["path"] is not None]
    assert len(places) == 3
    for place in places:
        found = state
        for name in place.split("/")[1:]:
            found = found[name]


@pytest.fixture
async def record(tmp_path):
    """A run of the desk, to be given other states and checks."""
    with rig_in(tmp_path, environment=DeskEnvironment()) as rig:
        await play(rig, "reset", "before", "after", "verify")
        with opened(url_of(rig)) as connection:
            yield read_run(connection, "run-a")


def changed(record, before, after, *places):
    """The changes between two states, and which of the checks that name these places are shown with each."""
    sides = {
        name: dataclasses.replace(getattr(record, name), content=canonical_json(value))
        for name, value in (("before", before), ("after", after))
    }
    verified = record.verified.model_copy(update={"checks": tuple(map(check_at, places))})
    return told(view_of(dataclasses.replace(record, **sides, verified=verified)))


def check_at(place):
    return Check(
        check_id=place or "all", dimension="utility", weight=1, passed=True, reason=None,
        expected=None, actual=None, path=place,
    )  # fmt: skip


async def test_a_place_is_that_of_a_check_if_one_is_in_the_other(record):
    found = changed(record, {"a": 1, "b": {"c": 1, "cc": 1}}, {"a": 2, "b": {"c": 2, "cc": 2}},
                    "", "/a", "/b", "/b/c", "/b/c/d")  # fmt: skip
    assert found == {"/a": ["all", "/a"], "/b/c": ["all", "/b", "/b/c", "/b/c/d"], "/b/cc": ["all", "/b"]}


async def test_a_record_is_found_by_its_index_as_by_its_id(record):
    """A check's place is a JSON pointer, to which a list has no ids."""
    rows = [{"id": "x", "n": 1}, {"id": "y", "n": 1}, {"id": "z", "n": 1}]
    places = ("/rows/0/n", "/rows/1", "/rows/y/n", "/rows/2")
    one, two, three = rows
    found = changed(record, {"rows": rows}, {"rows": [one, {**two, "n": 2}, three]}, *places)
    assert found == {"/rows/y/n": ["/rows/1", "/rows/y/n"]}
    assert changed(record, {"rows": rows}, {"rows": [one, three]}, *places) == {
        "/rows/y": ["/rows/1", "/rows/y/n"]
    }
    assert changed(record, {"rows": [one, two]}, {"rows": rows}, *places) == {"/rows/z": ["/rows/2"]}


async def test_the_value_of_a_pair_is_found_by_its_index_too(record):
    before, after = {"m": [["k", 1], ["l", 1]]}, {"m": [["k", 1], ["l", 2]]}
    assert changed(record, before, after, "/m/1/1", "/m/0/1", "/m/l") == {"/m/l": ["/m/1/1", "/m/l"]}


async def test_a_member_that_is_gone_is_shown_with_no_check_of_its_neighbours(record):
    found = changed(record, {"a": {"x": 1, "y": 1}}, {"a": {"y": 1}}, "/a/x", "/a/y", "/a")
    assert found == {"/a/x": ["/a/x", "/a"]}


async def test_a_check_over_the_whole_desk_is_shown_with_every_change(record):
    view = view_of(record)
    assert len(view.changes) == 4
    whole = next(check for check in view.verified.checks if check.check_id == "nothing_else_changed")
    passed = whole.model_copy(update={"passed": True, "path": ""})
    verified = record.verified.model_copy(update={"checks": (passed,)})
    everywhere = told(view_of(dataclasses.replace(record, verified=verified)))
    assert set(map(tuple, everywhere.values())) == {("nothing_else_changed",)}
