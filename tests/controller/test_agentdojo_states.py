"""Nothing of AgentDojo's environments is lost in JSON: equality, verdicts and digests over all known states.

The benchmark's own objects live in processes of their own (`support.agentdojo_probes`), as they do when it is
served.
"""

import pytest

from support.agentdojo_runs import needs_agentdojo, probe, probed

pytestmark = pytest.mark.long

TASKS, INJECTION_TASKS = 97, 35


@pytest.fixture(scope="module")
def found():
    """The 132 states after a ground truth alone, looked at beside upstream's own objects; and again."""
    needs_agentdojo()
    both = [probe("states"), probe("digests")]
    return [probed(process) for process in both]


@pytest.mark.parametrize("same", ["equal", "again", "same_objects"])
def test_all_132_states_come_back_as_they_were(found, same):
    """Equal by upstream's own comparison; written the same again; one object where it was one object."""
    states, _ = found
    assert len(states) == TASKS + INJECTION_TASKS
    assert [(state["suite"], state["task"]) for state in states if not state[same]] == []


def test_pydantics_own_way_would_lose_some_of_them(found):
    """The reason why there is another way: without it this file would prove little."""
    states, _ = found
    lossy = [state for state in states if not state["by_validation"]]
    assert len(lossy) >= 33


def test_no_list_or_mapping_stands_at_two_places(found):
    """Only records do; those are what a reference in the JSON can mean."""
    states, _ = found
    assert [state["shared_containers"] for state in states if state["shared_containers"]] == []


def test_every_ground_truth_reaches_its_goal_without_a_failed_call(found):
    """The hand-written sequences for injection tasks 6 to 13 of the workspace among them."""
    states, _ = found
    assert [state for state in states if state["errors"]] == []
    assert [state["verdict"] for state in states] == [{"value": True}] * (TASKS + INJECTION_TASKS)


def test_a_state_that_was_read_back_keeps_its_verdict(found):
    states, _ = found
    assert [state["restored_verdict"] for state in states] == [state["verdict"] for state in states]


def test_who_does_nothing_passes_five_tasks_of_banking_and_is_no_victim(found):
    """Exactly the five that are marked for it."""
    states, _ = found
    passed = [
        (state["suite"], state["task"]) for state in states if state["idle_verdict"] != {"value": False}
    ]
    assert passed == [("banking", f"user_task_{number}") for number in (5, 6, 8, 9, 10)]


def test_equal_calls_end_in_equal_states_in_two_processes(found):
    """At two times of day: the tools' clock stands still, and sets have one order."""
    states, digests = found
    assert [state["digest"] for state in states] == digests
