"""A place of files that an Agent has made awkward: it is refused, and it goes, however deep and odd it is."""

import os
import shutil
import tempfile
from pathlib import Path

import pytest

from agentbeat_controller.environments.custom import FolderLimits, FolderSystem, Profile, copy_of
from agentbeat_controller.environments.custom.folder_removal import remove_folder


class Papers(FolderSystem):
    name = "papers"

    def __init__(self, folder):
        self.root, self.templates = folder / "places", folder / "templates"
        content = copy_of(self.templates / "office")
        self.profiles = [Profile(profile_id="papers", title="Papers", task="Do.", content=content)]

    def tools(self):
        return []

    def checks(self, run):
        return []

    def ready(self):
        self.prepare("one", self.profiles[0], None)
        return self.state("one")["files"]


@pytest.fixture
def papers(tmp_path):
    template = tmp_path / "templates" / "office"
    template.mkdir(parents=True)
    (template / "readme.txt").write_text("Read me.")
    papers = Papers(tmp_path)
    yield papers
    remove_folder(papers.root)  # pytest could not, where a test has failed


def nested(folder, name, levels):
    """Directories inside each other, as a program makes them that knows no long paths."""
    here = os.open(folder, os.O_RDONLY)
    for _ in range(levels):
        os.mkdir(name, dir_fd=here)
        inner = os.open(name, os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = inner
    os.close(os.open("end", os.O_CREAT, dir_fd=here))
    os.close(here)


@pytest.mark.parametrize(("name", "levels"), [("q", 1_500), ("q" * 200, 110)], ids=["levels", "path"])
def test_a_place_too_deep_to_be_read_is_refused_and_can_be_prepared_and_forgotten(papers, name, levels):
    """Beyond what Python may recurse, what a process may hold open, and what a path may be long."""
    first = papers.ready()
    nested(papers.folder("one"), name, levels)
    with pytest.raises(ValueError, match="more than 100 directories inside each other"):
        papers.state("one")
    assert papers.ready() == first
    nested(papers.folder("one"), name, levels)
    papers.forget("one")
    assert list(papers.root.iterdir()) == []


def test_as_many_levels_as_the_bound_says_are_read(papers):
    papers.limits = FolderLimits(levels=2)
    papers.ready()
    nested(papers.folder("one"), "q", 2)
    assert {"q", "q/q", "q/q/end"} <= papers.state("one")["files"].keys()
    (papers.folder("one") / "q" / "q" / "q").mkdir()
    with pytest.raises(ValueError, match="more than 2 directories inside each other"):
        papers.state("one")


@pytest.mark.parametrize("put", ["nowhere", "elsewhere", None], ids=["dead link", "link", "file"])
def test_what_an_agent_put_in_the_place_of_its_folder_gives_way(papers, tmp_path, put):
    """What a link leads to stays."""
    first = papers.ready()
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "kept.txt").write_text("kept")
    place = papers.folder("one")
    shutil.rmtree(place)
    if put is None:
        place.write_text("no folder")
    else:
        place.symlink_to(tmp_path / put)
    assert papers.ready() == first
    (place / "out").symlink_to(tmp_path / "elsewhere")
    papers.forget("one")
    assert list(papers.root.iterdir()) == []
    assert (tmp_path / "elsewhere" / "kept.txt").read_text() == "kept"


@pytest.mark.skipif(
    os.geteuid() != 0, reason="has to become somebody whom permissions bind, and again itself"
)
def test_directories_that_must_not_be_entered_go_for_those_whom_permissions_bind():
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o777)
        os.seteuid(65_534)
        try:
            top = Path(name) / "top"
            deep = top / "a" / "b" / "c"
            deep.mkdir(parents=True)
            (deep.parent / "file").write_text("")
            for each, mode in ((deep, 0o000), (deep.parent, 0o500), (top / "a", 0o000), (top, 0o100)):
                each.chmod(mode)
            remove_folder(top)
        finally:
            os.seteuid(0)
        assert list(Path(name).iterdir()) == []
