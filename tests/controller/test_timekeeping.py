"""The Controller's time never goes back, and goes on when the system's clock does."""

import pytest

from agentbeat_controller.timekeeping import NANOSECONDS
from support.controllers import Clock


def test_it_is_the_systems_time():
    clock = Clock()
    keeper = clock.keeper()
    assert keeper.now(floor=0) == clock.system
    clock.advance(5)
    assert keeper.now(floor=0) == clock.system


def test_when_the_clock_is_set_back_time_goes_on_at_the_same_pace():
    clock = Clock()
    keeper = clock.keeper()
    start = keeper.now(floor=0)
    clock.set_back(3_600)
    assert keeper.now(floor=0) == start
    clock.advance(7)
    assert keeper.now(floor=0) == start + 7 * NANOSECONDS
    clock.advance(3_600)
    assert keeper.now(floor=0) == start + 3_607 * NANOSECONDS


def test_when_the_clock_is_set_forward_it_follows():
    clock = Clock()
    keeper = clock.keeper()
    keeper.now(floor=0)
    clock.system += 60 * NANOSECONDS
    assert keeper.now(floor=0) == clock.system


@pytest.mark.parametrize("ahead", [1, 3_600 * NANOSECONDS])
def test_the_floor_holds_for_a_new_process_and_time_goes_on_from_it(ahead):
    clock = Clock()
    floor = clock.system + ahead
    keeper = clock.keeper()
    assert keeper.now(floor=floor) == floor
    clock.advance(2)
    assert keeper.now(floor=0) == max(clock.system, floor + 2 * NANOSECONDS)


def test_another_processs_later_time_is_taken_over():
    clock = Clock()
    keeper = clock.keeper()
    keeper.now(floor=0)
    floor = clock.system + 9 * NANOSECONDS
    assert keeper.now(floor=floor) == floor
