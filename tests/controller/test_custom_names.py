"""`--environment package.module:attribute`: what it may be, and what is said when it is not."""

import subprocess
import sys

import pytest

from agentbeat_controller.catalogue_names import EnvironmentNameError, check_name, environment_named
from agentbeat_controller.environments.custom import StagedEnvironment
from agentbeat_controller.environments.desk import DeskEnvironment

MODULE = """
from agentbeat_controller.environments.custom import StagedEnvironment
from agentbeat_controller.environments.desk import DeskEnvironment
from support.staging import Till

system, environment, desk = Till(), StagedEnvironment(Till()), DeskEnvironment()
number = 7

class Holder:
    inner = system

def made():
    return Till()

def refused():
    raise RuntimeError("no database\\nat all")

class Half:
    name = "half"
    def prepare(self, place, profile, injection): ...

class BadTools(Till):
    def tools(self):
        return [print]
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A working folder with modules in it, which no other test finds imported."""
    (tmp_path / "staging_here.py").write_text(MODULE)
    (tmp_path / "staging_broken.py").write_text("1 / 0\n")
    (tmp_path / "staging_needs.py").write_text("import module_that_is_not_there\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    yield tmp_path
    for name in [name for name in sys.modules if name.startswith("staging_")]:
        del sys.modules[name]


def test_a_built_in_name_comes_first(folder):
    assert isinstance(environment_named("desk"), DeskEnvironment)


@pytest.mark.parametrize("attribute", ["system", "environment", "made", "Holder.inner"])
def test_a_system_an_environment_or_what_makes_one_is_found_in_the_working_folder(folder, attribute):
    environment = environment_named(f"staging_here:{attribute}")
    assert isinstance(environment, StagedEnvironment)
    assert list(environment.profiles) == ["till-pay"]


def test_an_environment_of_another_kind_is_taken_as_it_is(folder):
    assert isinstance(environment_named("staging_here:desk"), DeskEnvironment)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("staging_nowhere:x", "no module named staging_nowhere"),
        ("staging_here.inner:x", "no module named staging_here.inner"),
        ("staging_needs:x", "staging_needs needs the module module_that_is_not_there"),
        ("staging_broken:x", "importing staging_broken failed: ZeroDivisionError"),
        ("staging_here:nothing", "staging_here has no nothing"),
        ("staging_here:refused", "making it failed: RuntimeError: no database at all"),
        ("staging_here:number", "a value of type int is no Environment and no StagingSystem"),
        ("staging_here:Half", "would also have: profiles, tools, state, forget, checks"),
        ("staging_here:BadTools", "place"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(folder, name, said):
    with pytest.raises(EnvironmentNameError) as refused:
        environment_named(name)
    assert said in str(refused.value)
    assert str(refused.value).startswith(name)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("name", ["dsk", "", "a:", ":b", "a-b:c", "a..b:c", "a:b:c", "a/b.py:c", "x" * 500])
def test_a_name_of_neither_kind_is_refused_before_anything_is_imported(name):
    with pytest.raises(EnvironmentNameError, match=r"package\.module:attribute") as refused:
        check_name(name)
    assert len(str(refused.value)) < 250


def test_the_command_says_it_and_exits_2(tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "agentbeat_controller", "profiles", "--environment", "nowhere.at.all:x"],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        timeout=60,
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "agentbeat controller: nowhere.at.all:x: no module named nowhere\n"
