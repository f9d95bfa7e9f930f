"""`docs/conformance.md` shows what the code does, and `explain` says what the catalogue does."""

from __future__ import annotations

import argparse
import re
import shlex
from pathlib import Path

import pytest

from agentbeat_conformance import command
from agentbeat_conformance.catalogues import load_catalogue
from agentbeat_conformance.kill_matrix import BEGIN, END
from agentbeat_conformance.mutants import load
from agentbeat_conformance.reports.examples import example_of
from agentbeat_conformance.reports.explain import explain
from agentbeat_conformance.reports.guide import in_page, lasting, part_names
from agentbeat_conformance.reports.wording import NEEDS
from agentbeat_conformance.untested import UNTESTED

PATH = Path(__file__).parents[2] / "docs/conformance.md"
PAGE = PATH.read_text(encoding="utf-8")
CATALOGUE = load_catalogue()


# --- The page


def test_the_page_shows_what_the_code_does_now():
    """After a change: `python -m agentbeat_conformance.reports.guide docs/conformance.md`."""
    assert lasting(in_page(PAGE)) == lasting(PAGE)


def test_the_page_has_a_row_for_every_requirement():
    rows = re.findall(r"^\| ([A-Z]{3}-[\d.a-z]+) \| (MUST|SHOULD) \|", PAGE, re.MULTILINE)
    assert dict(rows) == {made.id: made.level for made in CATALOGUE.values()}
    assert len(rows) == len(CATALOGUE)


def test_every_rule_of_a_target_has_a_place_on_the_way():
    way = PAGE.partition("## Reports")[0]
    for rule in {made.rule for made in CATALOGUE.values() if made.rule.startswith("INV-")}:
        assert re.search(rf"\b{rule}\b", way), rule


def test_what_no_check_tries_is_said():
    assert "untested" in part_names(PAGE)
    for reason in UNTESTED.values():
        assert reason in PAGE


def test_there_is_a_place_for_the_kill_matrix():
    assert PAGE.count(BEGIN) == PAGE.count(END) == 1
    assert PAGE.index(BEGIN) < PAGE.index(END)


def test_the_page_holds_no_secret_and_no_marker():
    assert "conformance-secret" not in PAGE
    assert "redacted-secret" not in PAGE


def test_every_file_that_the_page_links_to_exists():
    links = [link for link in re.findall(r"\]\(([^)#]+)\)", PAGE) if "://" not in link]
    assert links
    for link in links:
        assert (PATH.parent / link).exists(), link


def test_every_command_of_the_page_is_one():
    parser = argparse.ArgumentParser()
    command.configure(parser)
    commands = re.findall(r"^agentbeat conformance ((?:.*\\\n)*.*)$", PAGE, re.MULTILINE)
    assert len(commands) > 4
    for line in commands:
        parser.parse_args(shlex.split(line.replace("\\\n", " ")))


@pytest.mark.parametrize("name", ["exchange INV-99", "requirements XYZ", "step dance", "nonsense"])
def test_a_part_that_there_is_not_is_refused(name):
    with pytest.raises(ValueError, match="there is no"):
        in_page(f"<!-- guide: {name} -->\n<!-- guide: end -->")


def test_what_stands_outside_of_the_parts_stays():
    page = "a\n<!-- guide: untested -->\nold\n<!-- guide: end -->\nb <!-- other -->\n"
    made = in_page(page)
    assert made.startswith("a\n<!-- guide: untested -->\n\n- ")
    assert made.endswith("\n\n<!-- guide: end -->\nb <!-- other -->\n")
    assert "old" not in made
    assert in_page(made) == made


# --- Explain


@pytest.mark.parametrize(
    "id", ["HLT-1.a", "INV-2.e", "INV-4.e", "EVD-7.b", "CTL-2.g", "CTL-3.e", "RCP-2", "RCP-4"]
)
def test_a_requirement_is_explained_with_an_exchange_of_a_correct_server(id):
    made = CATALOGUE[id]
    example = example_of(made)
    assert example.outcome in made.permits
    mutants = {name: mutant.text for name, mutant in load().items()}
    text = explain(made, mutants=mutants, example=example)
    flat = " ".join(text.split())
    for said in (made.id, made.level, made.text, made.section, *made.permits, *made.kills):
        assert str(said) in flat, said
    for name in made.kills:
        assert " ".join(f"{name}: {mutants[name]}".split()) in flat
    for need in made.needs:
        assert NEEDS[need] in flat
    assert f"> {example.request.method} {example.request.target} HTTP/1.1" in text
    assert f"< {example.status}" in text
    assert all(line == line.rstrip() for line in text.splitlines())


def test_what_is_not_tried_of_a_rule_is_explained_with_it():
    assert " ".join(UNTESTED["INV-4"].split()) in " ".join(explain(CATALOGUE["INV-4.a"], mutants={}).split())


def test_without_an_example_there_is_none():
    assert "For example" not in explain(CATALOGUE["INV-4.a"], mutants={})
