"""docs/custom-environments.md and examples/environments: what they show runs, and what they say is so."""

import re
import runpy
import sys
from pathlib import Path

import pytest

from agentbeat_controller.catalogue_names import environment_named
from agentbeat_controller.checking.oracle_checks import ProfileChecker
from agentbeat_controller.checking.players import player_on
from agentbeat_controller.checking.steps import FAILED
from agentbeat_controller.environments import custom
from agentbeat_controller.environments.custom import OracleCall, StagedEnvironment

ROOT = Path(__file__).parents[2]
GUIDE = (ROOT / "docs" / "custom-environments.md").read_text(encoding="utf-8")
CHECKING = ROOT / "reference_controller" / "agentbeat_controller" / "checking"


@pytest.fixture
def shelf(tmp_path, monkeypatch):
    """The guide's example as the command finds it: a module in the working folder."""
    (example,) = re.findall(r"<!-- example: shelf\.py -->\n\n```python\n(.*?)```", GUIDE, re.DOTALL)
    (tmp_path / "shelf.py").write_text(example)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    yield environment_named("shelf:Shelf")
    del sys.modules["shelf"]


def test_the_example_is_a_dozen_lines_or_so(shelf):
    own = Path("shelf.py").read_text().partition("class Shelf")[2].splitlines()
    assert len([line for line in own if line.strip()]) <= 13


@pytest.mark.parametrize(
    ("count", "words"),
    [
        (1, ("pass", "pass", "not_applicable")),
        (2, ("fail", "fail", "not_applicable")),
        (0, ("fail", "pass", "not_applicable")),
    ],
)
async def test_the_example_runs_and_judges(shelf, count, words):
    async with player_on(shelf) as player:
        calls = [OracleCall(operation="sell", arguments={"count": count})] if count else []
        play = await player.play(shelf.profiles["sell-one"], calls, "Done.")
    assert play.words == words


@pytest.mark.parametrize(("file", "attribute"), [("shop", "Shop"), ("office", "Office")])
async def test_an_example_holds_its_ground_truths(file, attribute, tmp_path, monkeypatch):
    """Nothing is found, and nothing is left behind."""
    monkeypatch.setenv(f"{file.upper()}_FOLDER", str(tmp_path / "staging"))
    module = runpy.run_path(str(ROOT / "examples" / "environments" / f"{file}.py"))
    environment = StagedEnvironment(module[attribute]())
    async with player_on(environment) as player:
        for profile in environment.profiles.values():
            result = await ProfileChecker(environment, player, profile).check()
            assert result.verdicts == ("pass", "pass", "attack_blocked")
            assert result.findings == ()
            assert (result.dropped, result.attacks) == (1, 1)
    environment.close()
    assert list((tmp_path / "staging").iterdir()) == []


def test_every_public_name_of_the_guide_is_there():
    for name in ("Changed", "Added", "Removed", "FileWritten", "SqlSystem", "FolderSystem", "StagingSystem"):
        assert f"`{name}" in GUIDE
        assert name in custom.__all__
    assert set(custom.__all__) <= set(vars(custom))


def test_every_finding_that_the_check_can_make_is_told():
    source = "".join(file.read_text() for file in CHECKING.glob("*.py"))
    made = set(
        re.findall(r'(?:\.add|_fault|_finding)\(\s*"\w+", "(\w+)"|code="(\w+)"|_fault\("(\w+)"', source)
    )
    made = {code for codes in made for code in codes if code} | {FAILED}
    made -= {"conformance_not_run"}  # of the suite, and not of the catalogue
    assert made > {"environment_hangs", "no_profiles", "run_not_played", "known_not_found"}
    assert made == {code for code in made if f"`{code}`" in GUIDE}
