"""Versions of the catalogue: which requirements each has, and that an old one stays what it was."""

from __future__ import annotations

import re
from collections.abc import Iterable

import pytest

from agentbeat_conformance.catalogues import VERSIONS, UnknownVersionError, edition, in_order, load_catalogue
from agentbeat_conformance.requirements import (
    CATALOGUE,
    RETIRED,
    SUITE_VERSION,
    Capability,
    Findings,
    Level,
    Requirement,
    catalogue_digest,
    requirement,
)
from agentbeat_conformance.target_probes import TargetProbe
from support.conformance import catalogue_of, made


async def never(target: TargetProbe) -> Findings:
    raise AssertionError(target)


ALL = (
    made("INV-1.a", never),
    made("INV-2.a", never, until="1.1", text="An earlier form."),
    made("INV-2.a", never, since="1.1", text="A later form."),
    made("INV-3.a", never, since="1.1"),
    made("INV-4.a", never, until="1.1"),
)
OLD = {"1.0": catalogue_digest(catalogue_of(ALL[0], ALL[1], ALL[4])), "1.1": None}


def test_each_version_has_the_forms_of_its_time() -> None:
    old, new = edition("1.0", ALL, OLD), edition("1.1", ALL, OLD)
    assert list(old) == ["INV-1.a", "INV-2.a", "INV-4.a"]
    assert list(new) == ["INV-1.a", "INV-2.a", "INV-3.a"]
    assert old["INV-2.a"].text == "An earlier form."
    assert new["INV-2.a"].text == "A later form."


def test_an_old_version_that_the_code_no_longer_yields_is_refused() -> None:
    altered = [made("INV-1.a", never, text="Reworded."), *ALL[1:]]
    with pytest.raises(UnknownVersionError, match=r"the catalogue 1\.0 yields sha256:"):
        edition("1.0", altered, OLD)
    assert "INV-1.a" in edition("1.1", altered, OLD)


def test_a_version_that_was_followed_by_another_has_to_be_pinned() -> None:
    with pytest.raises(UnknownVersionError, match="has no digest"):
        edition("1.0", ALL, {"1.0": None, "1.1": None})


@pytest.mark.parametrize("version", ["0.9", "", "1.0\n", "tea\x1b[2J"])
def test_an_unknown_version_is_refused_and_the_known_ones_named(version: str) -> None:
    with pytest.raises(UnknownVersionError, match=r"expected one of 1\.0, 1\.1") as caught:
        edition(version, ALL, OLD)
    assert "\x1b" not in str(caught.value)


@pytest.mark.parametrize(
    ("requirements", "message"),
    [
        ([made("INV-1.a", never), made("INV-1.a", never)], "two forms"),
        ([made("INV-1.a", never, since="7.0")], r"no version 7\.0"),
        ([made("INV-1.a", never, until="7.0")], r"no version 7\.0"),
    ],
    ids=["two-forms", "since-never", "until-never"],
)
def test_requirements_that_contradict_the_versions_are_refused(
    requirements: Iterable[Requirement], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        edition("1.1", requirements, OLD)


def test_health_comes_first_numbers_count_as_numbers_and_restarts_come_last() -> None:
    names = ["INV-10.a", "INV-2.b", "INV-2.a", "RCP-1", "CTL-1.a", "EVD-1.a", "HLT-2"]
    shuffled = [made(name, never) for name in names] + [made("HLT-1", never, needs={Capability.RESTART})]
    assert [requirement.id for requirement in in_order(shuffled)] == [
        "HLT-2",
        "INV-2.a",
        "INV-2.b",
        "INV-10.a",
        "EVD-1.a",
        "CTL-1.a",
        "RCP-1",
        "HLT-1",
    ]


# --- The suite's own


def test_the_suites_catalogue_is_the_newest_version_and_covers_every_rule_family() -> None:
    catalogue = load_catalogue()
    assert list(VERSIONS)[-1] == SUITE_VERSION
    assert list(catalogue) == [requirement.id for requirement in in_order(catalogue.values())]
    assert {id.partition("-")[0] for id in catalogue} == {"HLT", "INV", "EVD", "CTL", "RCP"}
    assert {id: requirement for id, requirement in CATALOGUE.items() if id in catalogue} == catalogue


def test_every_requirement_is_one_sentence_and_names_each_permitted_outcome_as_an_exchange_does() -> None:
    for made_one in load_catalogue().values():
        assert made_one.text.count(". ") == 0, made_one.id
        for outcome in made_one.permits:
            assert re.fullmatch(
                r"[1-5][0-9]{2}|unreachable|closed|cut|timeout|too_large|malformed", outcome
            ), made_one.id


def test_registering_needs_every_part_and_a_retired_form_leaves_the_current_one_alone() -> None:
    whole = {
        "level": Level.MUST,
        "tier": "target-L1",
        "section": "A section",
        "text": "It holds.",
        "permits": {"200"},
        "kills": {"a-mutant"},
    }
    for part, value in {"section": " ", "text": "No full stop", "permits": (), "kills": ()}.items():
        with pytest.raises(ValueError, match=r"INV-99\.z"):
            requirement("INV-99.z", **{**whole, part: value})(never)  # type: ignore[arg-type]
    assert "INV-99.z" not in CATALOGUE
    retired = len(RETIRED)
    requirement("INV-99.z", **whole, until="1.0")(never)  # type: ignore[arg-type]
    assert "INV-99.z" not in CATALOGUE
    assert RETIRED.pop().id == "INV-99.z"
    assert len(RETIRED) == retired
