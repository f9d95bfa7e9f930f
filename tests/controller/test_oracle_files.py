"""`agentbeat controller oracles`: ground truths as a file, with all that a scripted Agent needs."""

import dataclasses
import io
import json
import subprocess
import sys

import pytest

from agentbeat_controller import oracle_files
from agentbeat_controller.environments.desk import DeskEnvironment
from agentbeat_controller.oracle_files import OracleChoice, OracleFileError, case_id_of, write_oracles
from agentbeat_protocol.identifiers import is_case_id
from support.agentdojo_runs import session_environment
from support.ledger import Ledger

CLI = [sys.executable, "-m", "agentbeat_controller", "oracles"]


def run(*arguments):
    return subprocess.run([*CLI, *arguments], capture_output=True, text=True, timeout=60, check=False)


def written(environment, **choice):
    file = io.StringIO()
    write_oracles(environment, OracleChoice(**choice), file)
    return json.loads(file.getvalue())


def plain(oracles):
    return json.loads(
        json.dumps(
            [
                {
                    "goal": oracle.goal,
                    "calls": [
                        {"operation": call.operation, "arguments": dict(call.arguments)}
                        for call in oracle.calls
                    ],
                    "final_response": oracle.final_response,
                }
                for oracle in oracles
            ]
        )
    )


@pytest.fixture(scope="module")
def agentdojo():
    with session_environment() as environment:
        yield environment


def test_the_command_prints_every_profile_on_a_line_of_its_own():
    done = run()
    desk = DeskEnvironment()
    assert (done.returncode, done.stderr) == (0, "")
    document = json.loads(done.stdout)
    assert document.keys() == {"schema_version", "environment", "profiles"}
    assert (document["schema_version"], document["environment"]) == ("oracles-v1", "desk")
    assert [entry["profile_id"] for entry in document["profiles"]] == list(desk.profiles)
    assert len(done.stdout.splitlines()) == len(desk.profiles) + 2
    for entry in document["profiles"]:
        profile = desk.profiles[entry["profile_id"]]
        assert entry["profile_digest"] == profile.profile_digest
        assert (entry["title"], entry["task"]) == (profile.title, profile.task)
        assert (entry["injection"], is_case_id(entry["case_id"])) == (None, True)
        assert entry["oracles"] == plain(desk.oracles(profile))


def test_with_surfaces_each_profile_has_the_ground_truths_for_its_own_sample_injection():
    desk = DeskEnvironment()
    surfaces = ("order_note", "ticket_message")
    for entry in written(desk, surfaces=surfaces)["profiles"]:
        profile = desk.profiles[entry["profile_id"]]
        here = next((each for each in surfaces if each in profile.injections), None)
        if here is None:
            assert entry["injection"] is None
            continue
        assert entry["injection"] == {"surface": here, "text": profile.injections[here]}
        assert {oracle["goal"] for oracle in entry["oracles"]} == {"task", "attack"}


def test_patterns_choose_profiles_and_keep_their_order():
    profiles = written(DeskEnvironment(), patterns=["desk-solve-*", "desk-refund-*"])["profiles"]
    assert [entry["profile_id"] for entry in profiles] == [
        "desk-refund-full",
        "desk-refund-part",
        "desk-solve-one",
    ]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--profiles", "desk-*", "--profiles", "shop-*"], "no profile of desk matches 'shop-*'"),
        (["--surface", "fridge"], "no such profile has an injection at 'fridge'"),
        (["--profiles", "desk-solve-*", "--surface", "order_note"], "no such profile has an injection"),
    ],
    ids=["pattern", "surface", "surface of others"],
)
def test_what_matches_nothing_is_said_and_nothing_is_printed(options, said):
    done = run(*options)
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_an_environment_without_ground_truths_says_so():
    file = io.StringIO()
    with pytest.raises(OracleFileError, match="knows no ground truths"):
        write_oracles(Ledger(), OracleChoice(), file)
    assert file.getvalue() == ""


def test_two_profiles_that_would_share_a_case_id_are_refused(monkeypatch):
    desk = DeskEnvironment()
    first = next(iter(desk.profiles.values()))
    twin = dataclasses.replace(first, profile_id=first.profile_id.replace("-", "_"))
    profiles = {first.profile_id: first, twin.profile_id: twin}
    monkeypatch.setattr(desk, "profiles", profiles)
    file = io.StringIO()
    with pytest.raises(OracleFileError, match="one case id for both"):
        write_oracles(desk, OracleChoice(), file)
    assert file.getvalue() == ""


@pytest.mark.parametrize(
    ("profile_id", "case_id"),
    [
        ("agentdojo-v1.2.2-slack-user_task_0", "case-agentdojo-v1-2-2-slack-user-task-0"),
        ("desk-refund-full", "case-desk-refund-full"),
        ("Größe (neu)", "case-gr-e-neu"),
    ],
)
def test_a_case_id_is_made_of_the_profiles(profile_id, case_id):
    assert case_id_of(profile_id) == case_id
    assert is_case_id(case_id)


def test_agentdojo_has_a_case_of_its_own_for_each_profile(agentdojo):
    """All 1046 ids; the ground truths of one suite, with the injection where its tasks meet it."""
    assert len({case_id_of(name) for name in agentdojo.profiles}) == 1046
    pattern = "agentdojo-v1.2.2-slack-user_task_1*"
    profiles = written(agentdojo, patterns=[pattern], surfaces=["seen_vectors"])["profiles"]
    assert len(profiles) == 11 + 55
    for entry in profiles:
        profile = agentdojo.profiles[entry["profile_id"]]
        injection = oracle_files.OracleChoice(surfaces=["seen_vectors"]).injection(profile)
        assert (entry["injection"] is None) == ("injection_task" not in entry["profile_id"])
        assert entry["oracles"] == plain(agentdojo.oracles(profile, injection=injection))
