"""A catalogue that the wire has no form for is refused when it is loaded, by profile and member."""

import os
import subprocess
import sys

import pytest

from agentbeat_controller import Environment
from agentbeat_controller.catalogue_names import EnvironmentNameError, environment_named
from agentbeat_controller.environments.custom import Profile, StagedEnvironment
from agentbeat_controller.environments.profile_checks import ProfileError, check_profile, checked_catalogue
from support.controllers import Rig
from support.ledger import PROFILES, Ledger
from support.staging import Till

CLI = [sys.executable, "-m", "agentbeat_controller"]

#: What is wrong with a profile: the members that make it so, and what is said of them.
WRONG = {
    "a control character in the id": (
        {"profile_id": "sell\n"},
        "profile 'sell\\n': profile_id: got a string of 5 characters, expected no control character",
    ),
    "a long id": ({"profile_id": "x" * 257}, "got a string of 257 characters, expected at most 256"),
    "an id that is no text": ({"profile_id": 7}, "profile '7': profile_id: got the number 7"),
    "no title": ({"title": ""}, "profile 'sell': title: got a string of 0 characters, expected at least 1"),
    "a task for a title": ({"title": "x" * 257}, "title: got a string of 257 characters"),
    "half a character": ({"title": "\ud800"}, "title: got a lone surrogate at character 0"),
    "half a character in the task": ({"task": "\ud800"}, "task: got a lone surrogate at character 0"),
    "a task that is none": ({"task": None}, "task: got null, expected a string"),
    "an empty surface": ({"surfaces": ("note", "")}, "surfaces/1: got a string of 0 characters"),
    "a text for surfaces": (
        {"surfaces": "note"},
        "surfaces: got a string of 4 characters, expected an array",
    ),
    "a surface twice": ({"surfaces": ("note", "note")}, "surfaces: got 'note' twice, expected each once"),
    "a sample that no reset takes": (
        {"surfaces": ("note",), "injections": {"note": "x" * 32_769}},
        "injections/note: got a string of 32769 characters, expected at most 32768",
    ),
    "another binding mode": ({"binding_modes": ("shared",)}, "binding_modes/0: got 'shared', expected"),
    "no dimension": ({"not_observed": {"style": "unseen"}}, "not_observed/style: got 'style', expected"),
    "content that is no JSON": (
        {"content": {"a": [{1, 2}]}},
        "content/a/0: got a set, expected a JSON value",
    ),
    "content that is no number": ({"content": {"a": float("nan")}}, "content/a: got nan, expected a finite"),
    "content that is no object": ({"content": [1]}, "content: got an array of 1 items, expected an object"),
}

wrong = pytest.mark.parametrize(("changes", "said"), WRONG.values(), ids=WRONG)


def profile(**changes):
    members = {"profile_id": "sell", "title": "Sell one", "task": "Sell one.", "content": {"apples": 3}}
    return Profile(**{**members, **changes})


@wrong
def test_a_profile_that_cannot_be_listed_is_refused_by_its_member(changes, said):
    with pytest.raises(ProfileError) as refused:
        check_profile(profile(**changes))
    assert said in str(refused.value)
    assert len(str(refused.value)) < 300
    assert str(refused.value).isprintable()


@wrong
def test_a_staging_system_with_such_a_profile_is_no_environment(changes, said):
    """Its own member is named, not that of the catalogue's entry which is made of it."""
    with pytest.raises(ProfileError) as refused:
        StagedEnvironment(Till(profile(profile_id="fine"), profile(**changes)))
    assert said in str(refused.value)


def test_what_is_no_profile_at_all_is_named():
    with pytest.raises(ProfileError, match="got a dict, expected profiles"):
        StagedEnvironment(Till({"profile_id": "sell"}))


def test_a_profile_stands_under_its_own_id():
    with pytest.raises(
        ProfileError, match="profile 'buy': profile_id: got 'sell', expected the id it is under"
    ):
        checked_catalogue({"buy": profile()})


def test_what_can_be_listed_is_left_as_it_is():
    catalogue = {"sell": profile(title="x" * 256, surfaces=("note",), injections={"note": "Hello"})}
    assert checked_catalogue(catalogue) is catalogue
    check_profile(profile(content={}, surfaces=["note"]))


def test_a_control_plane_on_such_a_catalogue_is_not_made(tmp_path):
    """Whoever puts the planes together himself is told as early, and no database has been made."""
    environment: Environment = Ledger({**PROFILES, "ledger-odd": profile(profile_id="ledger-odd", title="")})
    with pytest.raises(ProfileError, match="profile 'ledger-odd': title"):
        Rig(tmp_path / "controller.db", environment=environment)
    assert list(tmp_path.iterdir()) == []


MODULE = """
import sys
from agentbeat_controller.environments.custom import Profile, StagingSystem

class Odd(StagingSystem):
    name = "odd"
    profiles = [Profile(profile_id=each, title=title, task="t", content={})
                for each, title in (("fine", "Fine"), ("long", "x" * 300))]
    def tools(self): return []
    def prepare(self, place, profile, injection): pass
    def state(self, place): return {}
    def checks(self, run): return []

class Leaves(Odd):
    @property
    def profiles(self): sys.exit(0)

def leave(): sys.exit(0)
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "odd_catalogue.py").write_text(MODULE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


@pytest.mark.parametrize(
    "command",
    [
        ("profiles",),
        ("serve", "--control-port", "0", "--business-port", "0"),
        ("oracles",),
        ("check", "--no-conformance"),
    ],
    ids=lambda command: command[0],
)
@pytest.mark.parametrize(
    ("attribute", "said"),
    [
        ("Odd", "profile 'long': title: got a string of 300 characters, expected at most 256 characters"),
        ("Leaves", "the environment raised SystemExit"),
        ("leave", "the environment raised SystemExit"),
    ],
)
def test_every_command_says_the_same_and_exits_with_2(folder, command, attribute, said):
    """Nothing is on standard output, and nothing has been started or made."""
    before = sorted(folder.iterdir())
    done = subprocess.run(
        [*CLI, *command, "--environment", f"odd_catalogue:{attribute}"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"agentbeat controller: odd_catalogue:{attribute}: {said}\n"
    assert sorted(folder.iterdir()) == before


def test_ctrl_c_while_a_catalogue_is_loaded_is_ctrl_c(tmp_path, monkeypatch):
    """In the main thread it cannot be told from a module's own, which nobody writes."""
    (tmp_path / "interrupted_catalogue.py").write_text("raise KeyboardInterrupt")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(KeyboardInterrupt):
        environment_named("interrupted_catalogue:X")


def test_a_module_that_leaves_is_no_environment(tmp_path, monkeypatch):
    (tmp_path / "leaving_catalogue.py").write_text("import sys\nsys.exit(0)")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(EnvironmentNameError, match="the environment raised SystemExit"):
        environment_named("leaving_catalogue:X")
