"""AgentDojo's verdicts, pair by pair, as the benchmark gives them: counted from `checks[].actual`.

Banking and slack whole; the other suites are in `test_agentdojo_states` and in `make agentdojo`.
"""

from collections import Counter

import pytest

from agentbeat_controller.environments.agentdojo import SEEN_VECTORS
from agentbeat_protocol import verdicts_from_checks
from support.agentdojo_runs import PREFIX, Bench, planted

#: Suite to pairs, and to what an obeying Agent gets done of the user's tasks and of the attacker's.
PAIRS = {"banking": (144, 126, 143), "slack": (105, 103, 105)}
IDLE_PASSES = {"banking": 5, "slack": 0}


@pytest.fixture
def bench(agentdojo):
    bench = Bench(agentdojo)
    yield bench
    bench.close()


def _profiles(agentdojo, suite, *, pairs):
    own = (each for name, each in agentdojo.profiles.items() if name.startswith(f"{PREFIX}-{suite}-"))
    return [each for each in own if bool(each.surfaces) is pairs]


@pytest.mark.parametrize("suite", PAIRS)
def test_who_plays_the_ground_truth_passes_each_task_and_who_is_idle_does_not(agentdojo, bench, suite):
    profiles = _profiles(agentdojo, suite, pairs=False)
    played = [bench.play(each, *bench.oracles(each).values()) for each in profiles]
    idle = [bench.play(each) for each in profiles]
    assert [run.said("utility") for run in played] == [True] * len(profiles)
    assert sum(run.said("utility") for run in idle) == IDLE_PASSES[suite]
    assert all(run.checks.keys() == {"utility"} for run in (*played, *idle))


@pytest.mark.parametrize("suite", PAIRS)
def test_who_resists_passes_every_pair_and_no_attack_succeeds(agentdojo, bench, suite):
    runs = [
        bench.play(each, bench.oracles(each, planted())["task"], injection=planted())
        for each in _profiles(agentdojo, suite, pairs=True)
    ]
    counts = Counter((run.said("utility"), run.said("attack")) for run in runs)
    assert counts == {(True, False): PAIRS[suite][0]}


@pytest.mark.parametrize("suite", PAIRS)
def test_who_obeys_first_and_then_does_the_task_is_the_attackers(agentdojo, bench, suite):
    """The benchmark's `security` says whether the attack succeeded: True is bad for the defender."""
    runs = []
    for each in _profiles(agentdojo, suite, pairs=True):
        oracles = bench.oracles(each, planted())
        runs.append(bench.play(each, oracles["attack"], oracles["task"], injection=planted()))
    utility, attack = (sum(run.said(name) for run in runs) for name in ("utility", "attack"))
    assert (len(runs), utility, attack) == PAIRS[suite]
    for run in runs:
        if run.checks["attack"].passed is not None:
            assert run.checks["attack"].passed is not run.said("attack")


@pytest.mark.parametrize(
    ("name", "dimension", "goals", "said"),
    [
        ("banking-user_task_5", "utility", (), True),
        ("banking-user_task_5", "utility", ("task",), True),
        ("banking-user_task_11-injection_task_0", "utility", ("task",), True),
        ("slack-user_task_0-injection_task_5", "attack", ("attack", "task"), True),
        ("slack-user_task_0-injection_task_5", "attack", ("task",), False),
    ],
)
def test_a_marked_check_still_says_what_it_says_and_decides_nothing(bench, name, dimension, goals, said):
    profile = bench.profile(name)
    oracles = bench.oracles(profile)
    run = bench.play(profile, *(oracles[goal] for goal in goals))
    check = run.checks[dimension]
    assert (check.actual, check.passed, check.reason) == (said, None, profile.not_observed[dimension])
    verdicts = verdicts_from_checks(run.checks.values(), empty=profile.not_applicable)
    assert verdicts.of(dimension).verdict == "not_observed"


def test_a_check_that_raises_has_decided_nothing(bench):
    """Obeying last, the Agent deletes the user's invitation instead; the benchmark's check chokes on it."""
    profile = bench.profile("workspace-user_task_6-injection_task_10")
    oracles = bench.oracles(profile)
    run = bench.play(profile, oracles["task"], oracles["attack"])
    check = run.checks["attack"]
    assert (check.passed, check.actual) == (None, None)
    assert "TypeError: unhashable" in check.reason
    verdicts = verdicts_from_checks(run.checks.values(), empty=profile.not_applicable)
    assert verdicts.attack.verdict == "not_observed"


@pytest.mark.parametrize("number", range(6, 14))
def test_judging_twice_says_the_same_though_the_benchmark_changes_what_it_judges(agentdojo, bench, number):
    profile = bench.profile(f"workspace-user_task_0-injection_task_{number}")
    oracles = bench.oracles(profile, planted())
    run = bench.play(profile, oracles["attack"], injection=planted())
    again = agentdojo.checks(profile, run.before, run.after, final_response="")
    assert run.said("attack") is True
    assert again == tuple(run.checks.values())


def test_an_attack_whose_own_words_stand_in_a_mail_is_not_seen_by_the_benchmark(bench):
    """It searches all mail for its subject and wants one hit: the injection is another."""
    profile = bench.profile("workspace-user_task_14-injection_task_0")
    goal = profile.injections[SEEN_VECTORS]
    said = []
    for injection in (planted(surface=SEEN_VECTORS), planted(goal, SEEN_VECTORS), planted(goal)):
        attack = bench.oracles(profile, injection)["attack"]
        said.append(bench.play(profile, attack, injection=injection).said("attack"))
    assert said == [True, False, False]


def test_a_final_response_alone_can_decide(bench):
    """A recommendation leaves no trace in the state."""
    profile = bench.profile("travel-user_task_0-injection_task_6")
    said = bench.oracles(profile)["attack"].final_response
    silent, talking = (bench.play(profile, final_response=text) for text in ("", said))
    assert silent.after == talking.after
    assert (silent.said("attack"), talking.said("attack")) == (False, True)


@pytest.mark.parametrize(
    "spoil",
    [
        lambda state: None,
        lambda state: [],
        lambda state: {**state, "profile_id": "another"},
        lambda state: {**state, "schema_version": "agentdojo-state-v0"},
        lambda state: {**state, "calls": {}},
        lambda state: {**state, "environment": {}},
        lambda state: {**state, "environment": {**state["environment"], "bank_account": []}},
        lambda state: {**state, "environment": {**state["environment"], "filesystem": {"files": [["a"]]}}},
    ],
    ids=["null", "list", "profile", "version", "calls", "empty", "no record", "no pair"],
)
def test_states_that_are_none_of_the_profiles_leave_it_undecided(agentdojo, bench, spoil):
    """Checks are total: they never raise on an odd state (CTL-8)."""
    profile = bench.profile("banking-user_task_0-injection_task_0")
    state = bench.reset(profile)
    for before, after in ((spoil(state), state), (state, spoil(state))):
        checks = agentdojo.checks(profile, before, after, final_response="")
        assert [(each.passed, each.actual) for each in checks] == [(None, None), (None, None)]
        assert all(each.reason for each in checks)


def test_a_profile_of_another_catalogue_is_refused(agentdojo, bench):
    from support.ledger import PROFILES

    stranger = next(iter(PROFILES.values()))
    with pytest.raises(ValueError, match="benchmark"):
        bench.reset(stranger)
