"""Places of a staging system that is given one for every run: none is kept that nobody was promised."""

import ast
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from agentbeat_controller.environments.custom import StagedEnvironment, spares
from agentbeat_protocol import ProtocolError, ResetRequest
from agentbeat_protocol.models import validated
from support.controllers import code_of, reset_body
from support.postgres import both_databases
from support.staging import Till, reset_of, run_of, staged_rig


@pytest.fixture
def till():
    return Till()


@pytest.fixture
def staged(database, till):
    with staged_rig(database, till) as rig:
        yield rig


@both_databases
async def test_a_reset_that_failed_leaves_its_place_to_the_next_one(staged, till):
    def fail(_):
        raise OSError("the staging host is down")

    till.at_state = fail
    for name in "ab":
        assert code_of(await run_of(staged, name).post("reset")) == (503, "controller_unavailable")
    assert len(till.tills) == 1
    till.at_state = lambda _: None
    await run_of(staged, "c").through("reset")
    assert len(till.tills) == 1
    await run_of(staged, "d").through("reset")
    assert len(till.tills) == 2
    assert till.forgotten == []


@both_databases
async def test_a_restart_forgets_the_places_of_resets_that_failed_and_no_leased_one(staged, till):
    await run_of(staged, "a").through("reset")
    (leased,) = till.tills
    till.at_prepare = lambda place: place.update(cash={1, 2})
    assert code_of(await run_of(staged, "b").post("reset")) == (503, "controller_unavailable")
    assert len(till.tills) == 2
    restarted = staged.restart()
    assert list(till.tills) == [leased]
    till.at_prepare = lambda _: None
    await run_of(restarted, "b").through("reset", "before", "after", "release")
    assert list(till.tills) == [leased]
    restarted.close()


@both_databases
async def test_a_controller_starts_though_the_system_cannot_forget_and_the_place_stays_on_record(
    staged, till
):
    def fail(_):
        raise OSError("the staging host is down")

    till.at_forget = till.at_state = fail
    assert code_of(await run_of(staged, "a").post("reset")) == (503, "controller_unavailable")
    (left,) = till.tills
    restarted = staged.restart()
    assert [left in row for row in restarted.rows()["staged_spares"]] == [True]
    till.at_forget = till.at_state = lambda _: None
    await run_of(restarted, "a").through("reset")
    assert list(till.tills) == [left]
    restarted.close()


@pytest.mark.parametrize("database", ["postgresql"], indirect=True)
def test_places_under_preparation_are_neither_shared_nor_forgotten_by_a_process_that_starts(
    staged, till, database
):
    """PostgreSQL, where resets run at once; the second one finds no place on record, and adds one."""
    begun, free = threading.Event(), threading.Event()

    def hold(till):
        if not begun.is_set():
            begun.set()
            assert free.wait(60)

    def reset(rig, name):
        rig.plane.reset(validated(ResetRequest, reset_body(name, "till-pay", **reset_of(rig))))

    till.at_prepare = hold
    with ThreadPoolExecutor() as threads:
        held = threads.submit(reset, staged, "a")
        assert begun.wait(60)
        (first,) = till.prepared
        reset(staged, "b")
        with staged_rig(database, till) as other:
            assert first not in till.forgotten
            reset(other, "c")
            free.set()
            held.result(60)
    assert len(till.prepared) == len(set(till.prepared)) == 3
    places = staged.rows()["staged_places"]
    assert all(any(place in row for row in places) for place in till.prepared)
    assert set(till.tills) == set(till.prepared)


@pytest.mark.parametrize("database", ["postgresql"], indirect=True)
def test_a_place_that_cannot_be_put_on_record_makes_a_reset_503(staged, till, monkeypatch):
    def fail(_):
        raise OSError("the disk is full")

    with staged.engine.begin() as connection:
        connection.exec_driver_sql("DELETE FROM staged_spares")
    monkeypatch.setattr("agentbeat_controller.environments.custom.spares.add", fail)
    request = validated(ResetRequest, reset_body("a", "till-pay", **reset_of(staged)))
    with pytest.raises(ProtocolError) as refused:
        staged.plane.reset(request)
    assert refused.value.code == "controller_unavailable"
    assert (till.prepared, staged.rows()["leases"]) == ([], [])


# Places that cannot be forgotten


class Stuck:
    """What forgets all but some places; `tried` are those that it was asked to forget."""

    def __init__(self):
        self.places, self.tried = None, []

    def __call__(self, place):
        self.tried.append(place)
        if self.places is None or place in self.places:
            raise OSError(f"{place} is stuck")


def rows_of(rig, table):
    return [ast.literal_eval(row) for row in rig.rows()[table]]


async def left_over(staged, till, names):
    """Places of ended leases, none of which could be forgotten."""
    till.at_forget = stuck = Stuck()
    runs = [run_of(staged, name) for name in names]
    for step in ("reset", "release"):
        for run in runs:
            await run.through(step)
    stuck.tried.clear()
    return [place for (place,) in rows_of(staged, "staged_leftovers")], stuck


async def resets(staged, count, first=0):
    for number in range(first, first + count):
        await run_of(staged, f"later-{number}").through("reset")


@both_databases
async def test_places_that_can_never_be_forgotten_hold_up_no_other(staged, till):
    """Not even where there are more of them than one reset tries."""
    places, stuck = await left_over(staged, till, "abcdefg")
    stuck.places = places[:6]
    await resets(staged, 2)
    assert [place for (place,) in rows_of(staged, "staged_leftovers")] == places[:6]
    await resets(staged, 6, first=2)
    assert {stuck.tried.count(place) for place in places[:6]} <= {4, 5, 6}


@both_databases
async def test_a_place_that_cannot_be_forgotten_is_told_once_by_each_process(staged, till, caplog):
    places, _ = await left_over(staged, till, "ab")

    def told():
        return [sum(f"{place} is stuck" in line for line in caplog.messages) for place in places]

    assert told() == [1, 1]
    await resets(staged, 3)
    assert told() == [1, 1]
    restarted = staged.restart(environment=StagedEnvironment(till))
    await resets(restarted, 3, first=3)
    assert told() == [2, 2]
    restarted.close()


@both_databases
async def test_a_place_that_is_forgotten_at_last_is_asked_for_no_more(staged, till):
    places, stuck = await left_over(staged, till, "ab")
    stuck.places = ()
    await resets(staged, 3)
    assert sorted(stuck.tried) == places
    assert staged.rows()["staged_leftovers"] == []


async def test_a_start_forgets_the_places_behind_one_that_is_stuck(staged, till):
    with staged.engine.begin() as connection:
        for _ in range(2):
            spares.add(connection)
    kept = [place for _, place in rows_of(staged, "staged_spares")]
    till.at_forget = stuck = Stuck()
    stuck.places = kept[:1]
    restarted = staged.restart()
    assert stuck.tried == kept
    assert [place for _, place in rows_of(restarted, "staged_spares")] == kept[:1]
    restarted.close()


async def test_a_fixed_place_that_cannot_be_forgotten_is_taken_after_the_others(database):
    till = Till(places=("one", "two"))
    with staged_rig(database, till) as staged:
        till.at_forget = Stuck()
        first, *others = (
            run_of(staged, name, binding_mode="deployment_static", deployment_profile_id=f"deployment-{name}")
            for name in "ab"
        )
        await first.through("reset", "release")
        for run in (*others, run_of(staged, "c", binding_mode="deployment_static")):
            await run.through("reset")
        assert till.prepared == ["one", "two", "one"]
