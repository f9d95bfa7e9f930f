"""The catalogue of AgentDojo: its profiles, what goes into their digests, and what is marked as unsound."""

import copy
from collections import Counter
from importlib.metadata import PackageNotFoundError

import pytest

from agentbeat_controller.catalogue_names import EnvironmentNameError, environment_named
from agentbeat_controller.environments.agentdojo import EVERY_VECTOR, SEEN_VECTORS, AgentDojoEnvironment
from agentbeat_controller.environments.agentdojo.catalogue import read_catalogue
from agentbeat_controller.environments.agentdojo.package import check_package
from agentbeat_controller.environments.base import Environment
from agentbeat_controller.environments.oracles import OracleEnvironment
from support.agentdojo_runs import PREFIX

#: Suite to user tasks and injection tasks, as the benchmark publishes them.
SIZES = {"workspace": (40, 14), "travel": (20, 7), "banking": (16, 9), "slack": (21, 5)}
IDLE = [5, 6, 8, 9, 10]


def test_there_is_a_profile_for_each_task_and_for_each_pair(agentdojo):
    ids = list(agentdojo.profiles)
    kinds = Counter((name.split("-")[2], "injection_task" in name) for name in ids)
    assert kinds == {
        **{(suite, False): users for suite, (users, _) in SIZES.items()},
        **{(suite, True): users * injections for suite, (users, injections) in SIZES.items()},
    }
    assert (sum("injection" not in name for name in ids), len(ids)) == (97, 97 + 949)
    assert f"{PREFIX}-banking-user_task_3" in agentdojo.profiles
    assert f"{PREFIX}-banking-user_task_3-injection_task_1" in agentdojo.profiles


def test_a_task_has_utility_only_and_a_pair_has_a_surface_for_its_attack(agentdojo):
    """The benchmark's `security` is the attack's success, so no profile has a dimension of that name."""
    task = agentdojo.profiles[f"{PREFIX}-slack-user_task_0"]
    pair = agentdojo.profiles[f"{PREFIX}-slack-user_task_0-injection_task_1"]
    assert (task.dimensions, task.surfaces, dict(task.injections)) == (("utility",), (), {})
    assert (pair.dimensions, pair.surfaces) == (("utility", "attack"), (EVERY_VECTOR, SEEN_VECTORS))
    assert task.task == pair.task
    assert task.task
    assert tuple(pair.injections) == pair.surfaces
    assert pair.not_applicable.keys() == {"security"}


def test_exactly_the_known_faults_are_marked_each_with_its_reason(agentdojo):
    """Six user tasks of banking and one injection task of slack, alone and in every pair."""
    unsound = {}
    for name, profile in agentdojo.profiles.items():
        for dimension, reason in profile.not_observed.items():
            _, _, suite, user_task, *injection_task = name.split("-")
            marked = user_task if dimension == "utility" else injection_task[0]
            unsound.setdefault((suite, dimension, marked), set()).add(reason)
    assert {key: len(reasons) for key, reasons in unsound.items()} == {
        **{("banking", "utility", f"user_task_{number}"): 1 for number in (*IDLE, 11)},
        ("slack", "attack", "injection_task_5"): 1,
    }
    decided = Counter(
        dimension for profile in agentdojo.profiles.values() for dimension in profile.dimensions
    )
    assert decided == {"utility": 91 + 895, "attack": 949 - 21}


def test_the_digests_are_those_that_another_process_finds(agentdojo):
    """Another environment, its own worker, another time of day."""
    other = AgentDojoEnvironment()
    try:
        digests = {name: profile.profile_digest for name, profile in other.profiles.items()}
    finally:
        other.close()
    assert digests == {name: profile.profile_digest for name, profile in agentdojo.profiles.items()}
    assert len(set(digests.values())) == len(digests)


def _changes():
    suite = ("suites", "banking")
    return {
        "benchmark": lambda told: told.update(benchmark="v1.2.3"),
        "package": lambda told: told.update(package="0.1.36"),
        "code": lambda told: told.update(code_digest="sha256:00"),
        "clock": lambda told: told.update(now="2024-12-31T12:00:01"),
        "vectors": lambda told: told[suite[0]][suite[1]]["vectors"].pop(),
        "tools": lambda told: told[suite[0]][suite[1]]["tools"].pop(),
        "starting state": lambda told: told[suite[0]][suite[1]]["user_tasks"]["user_task_0"].update(
            state_digest="sha256:00"
        ),
    }


@pytest.mark.parametrize("change", _changes().values(), ids=_changes())
def test_whatever_decides_a_run_changes_the_digest(agentdojo, change):
    told = copy.deepcopy(agentdojo.pool.ask({"op": "describe"}))
    before = read_catalogue(copy.deepcopy(told)).profiles
    change(told)
    after = read_catalogue(told).profiles
    digests = [[each.profile_digest for each in profiles.values()] for profiles in (before, after)]
    changed = {name for name, old, new in zip(before, *digests, strict=True) if old != new}
    assert f"{PREFIX}-banking-user_task_0" in changed


def test_it_is_an_environment_with_ground_truths(agentdojo):
    environment: Environment = agentdojo
    assert environment.name == "agentdojo"
    assert isinstance(agentdojo, OracleEnvironment)


@pytest.mark.parametrize("installed", ["0.1.34", "0.2.0", None])
def test_another_package_than_the_known_one_is_refused(monkeypatch, installed):
    """Without importing it; on the command line in one line, which names the extra."""

    def version(name):
        if installed is None:
            raise PackageNotFoundError(name)
        return installed

    monkeypatch.setattr("importlib.metadata.version", version)
    wanted = "agentbeat-kit\\[agentdojo\\]" if installed is None else "expected 0.1.35"
    with pytest.raises(EnvironmentNameError, match=wanted):
        environment_named("agentdojo")
    with pytest.raises(ModuleNotFoundError if installed is None else ValueError, match="agentdojo"):
        check_package()
