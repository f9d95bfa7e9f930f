"""The suite measured: what the self-test calls a fault, and that the suite has none."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agentbeat_conformance.kill_matrix import BEGIN, END, in_page, to_markdown, to_text
from agentbeat_conformance.mutants.base_target import SECRET, BaseTarget
from agentbeat_conformance.mutants.registry import Kind, Mutant
from agentbeat_conformance.outcomes import Verdict
from agentbeat_conformance.requirements import Findings, Level, Requirement
from agentbeat_conformance.selftest import measure, self_test
from agentbeat_conformance.target_probes import TargetProbe
from agentbeat_conformance.trials import Trial, faults_of
from support.conformance import CHECKS, catalogue_of, made

PAGE = Path(__file__).parents[2] / "docs" / "conformance.md"


class Careless(BaseTarget):
    """Takes any secret."""

    def authorise(self, asked: Any) -> None:
        return None


class Ailing(BaseTarget):
    """Says that it is ill."""

    def health(self, asked: Any) -> Any:
        reply = super().health(asked)
        reply.status = 503
        return reply


def mutant(
    name: str = "careless",
    make: Callable[[], BaseTarget] = Careless,
    *,
    kind: Kind = "target",
    breaks: tuple[str, ...] = ("INV-2.a",),
    consequences: tuple[str, ...] = (),
) -> Mutant:
    return Mutant(
        name=name,
        kind=kind,
        tier="target-L1",
        breaks=frozenset(breaks),
        consequences=frozenset(consequences),
        text="It does | something.",
        secret=SECRET,
        on_socket=False,
        make=make,
    )


def trial(
    verdict: Verdict = Verdict.NOT_CONFORMANT,
    *,
    kind: Kind = "target",
    failed: tuple[str, ...] = (),
    warned: tuple[str, ...] = (),
    untried: tuple[str, ...] = (),
    errors: tuple[tuple[str, str], ...] = (),
) -> Trial:
    return Trial(
        name="careless",
        kind=kind,
        verdict=verdict,
        failed=failed,
        warned=warned,
        untried=untried,
        errors=errors,
        seconds=0.5,
    )


# --- What is a fault


FAULTS: dict[str, tuple[Mutant, Trial, list[str]]] = {
    "caught": (mutant(), trial(failed=("INV-2.a",)), []),
    "caught by a SHOULD": (
        mutant(breaks=("INV-4.a",)),
        trial(Verdict.CONFORMANT, warned=("INV-4.a",)),
        [],
    ),
    "not caught": (
        mutant(),
        trial(Verdict.CONFORMANT),
        ["careless: INV-2.a does not catch it", "careless: it is found conformant"],
    ),
    "caught by one of two": (
        mutant(breaks=("INV-2.a", "INV-1.a")),
        trial(failed=("INV-2.a",)),
        ["careless: INV-1.a does not catch it"],
    ),
    "an innocent check fails too": (
        mutant(),
        trial(failed=("INV-2.a", "HLT-1.a")),
        ["careless: HLT-1.a fails on it, which is no declared consequence"],
    ),
    "a declared consequence": (
        mutant(consequences=("HLT-1.a",)),
        trial(failed=("INV-2.a", "HLT-1.a")),
        [],
    ),
    "a warning beside it is none of its business": (
        mutant(),
        trial(failed=("INV-2.a",), warned=("INV-4.a",)),
        [],
    ),
    "a check that fails itself": (
        mutant(),
        trial(Verdict.ERROR, failed=("INV-2.a",), errors=(("HLT-1.a", "LookupError: tea"),)),
        ["careless: HLT-1.a failed itself: LookupError: tea"],
    ),
    "a degenerate server that nothing passes": (
        mutant(kind="degenerate", breaks=()),
        trial(Verdict.NOTHING_TESTED, kind="degenerate"),
        [],
    ),
    "a degenerate server that passes": (
        mutant(kind="degenerate", breaks=()),
        trial(Verdict.CONFORMANT, kind="degenerate"),
        ["careless: it is found conformant"],
    ),
    "a green oddity": (
        mutant(kind="oddity", breaks=()),
        trial(Verdict.CONFORMANT, kind="oddity", warned=("INV-4.a",)),
        [],
    ),
    "an accused oddity": (
        mutant(kind="oddity", breaks=()),
        trial(kind="oddity", failed=("INV-1.a",)),
        ["careless: INV-1.a accuses it"],
    ),
    "an oddity that was not wholly tried": (
        mutant(kind="oddity", breaks=()),
        trial(Verdict.INCOMPLETE, kind="oddity", untried=("INV-1.a",)),
        ["careless: INV-1.a could not run"],
    ),
    "an oddity without any answer": (
        mutant(kind="oddity", breaks=()),
        trial(Verdict.NOTHING_TESTED, kind="oddity"),
        ["careless: its verdict is nothing_tested"],
    ),
}


@pytest.mark.parametrize(("tried", "shown", "faults"), FAULTS.values(), ids=FAULTS.keys())
def test_a_trial_shows_what_is_wrong_with_the_suite(tried: Mutant, shown: Trial, faults: list[str]) -> None:
    assert faults_of(tried, shown, CHECKS) == faults


# --- Measured with servers of our own


async def sees_nothing(target: TargetProbe) -> Findings:
    await target.control()
    return ()


def killing(requirement: Requirement, *names: str) -> Requirement:
    return dataclasses.replace(requirement, kills=frozenset(names))


#: A sound little suite: two checks, each with its mutant, and an oddity.
SUITE = catalogue_of(killing(CHECKS["HLT-1.a"], "ailing"), killing(CHECKS["INV-2.a"], "careless"))
SERVERS = {
    server.name: server
    for server in (
        mutant(),
        mutant("ailing", Ailing, breaks=("HLT-1.a",)),
        mutant("ordinary", BaseTarget, kind="oddity", breaks=()),
    )
}


def test_a_sound_suite_has_no_faults_and_its_matrix_says_what_caught_what() -> None:
    matrix = measure(SUITE, SERVERS, jobs=1)
    assert matrix.faults == ()
    assert matrix.kills() == {"HLT-1.a": ["ailing"], "INV-2.a": ["careless"]}
    text = to_text(matrix)
    assert "careless  caught by INV-2.a" in text
    assert "ordinary  oddity: conformant" in text
    assert "Requirements: 2, of which 2 MUST; 2 of these catch a mutant." in text


def test_a_check_that_sees_nothing_is_told() -> None:
    blind = {**SUITE, "INV-2.a": dataclasses.replace(SUITE["INV-2.a"], check=sees_nothing)}
    assert measure(blind, SERVERS, jobs=1).faults == (
        "careless: INV-2.a does not catch it",
        "careless: it is found conformant",
        "INV-2.a catches no mutant",
    )


def test_a_check_that_accuses_an_innocent_is_told() -> None:
    servers = {**SERVERS, "ailing": dataclasses.replace(SERVERS["ailing"], kind="oddity", breaks=frozenset())}
    assert "ailing: HLT-1.a accuses it" in measure(SUITE, servers, jobs=1).faults


def test_a_must_without_a_mutant_is_told_and_a_should_is_not() -> None:
    more = {
        **SUITE,
        "INV-1.a": made("INV-1.a", sees_nothing),
        "INV-6.a": made("INV-6.a", sees_nothing, level=Level.SHOULD),
    }
    faults = measure(more, SERVERS, jobs=1).faults
    assert "INV-1.a catches no mutant" in faults
    assert "INV-1.a kills a-mutant, which does not break it" in faults
    assert "INV-6.a catches no mutant" not in faults


def test_a_part_of_the_servers_is_held_only_against_itself() -> None:
    matrix = measure(SUITE, SERVERS, jobs=1, only=["careless"])
    assert [trial.name for trial in matrix.trials] == ["careless"]
    assert matrix.faults == ()
    assert "Requirements" not in to_text(matrix)
    with pytest.raises(ValueError, match="no mutant tea"):
        measure(SUITE, SERVERS, jobs=1, only=["tea"])


# --- The page


def test_the_table_is_the_same_for_every_sound_run() -> None:
    first, second = (to_markdown(measure(SUITE, SERVERS, jobs=1)) for _ in range(2))
    assert first == second
    assert "| `careless` | It does \\| something. | INV-2.a |  |" in first


def test_the_table_goes_between_its_markers_and_a_second_time_changes_nothing() -> None:
    page = f"# Title\n\n{BEGIN}\n\nold\n\n{END}\n\nAfter.\n"
    once = in_page(page, "| new |\n")
    assert once == f"# Title\n\n{BEGIN}\n\n| new |\n\n{END}\n\nAfter.\n"
    assert in_page(once, "| new |\n") == once


@pytest.mark.parametrize(
    "page",
    ["", BEGIN, END, f"{END}\n{BEGIN}", f"{BEGIN}\n{BEGIN}\n{END}", f"{BEGIN}\n{END}\n{END}"],
    ids=["none", "no-end", "no-begin", "wrong-order", "two-begins", "two-ends"],
)
def test_a_page_without_exactly_two_markers_is_refused(page: str) -> None:
    with pytest.raises(ValueError, match="expected one line"):
        in_page(page, "| new |")


# --- The suite itself


@pytest.mark.long
def test_the_suite_kills_every_mutant_accuses_no_innocent_and_the_page_says_so() -> None:
    """One test, since the self-test takes a while.

    If only the page differs: `agentbeat conformance self-test --write-docs docs/conformance.md`.
    """
    matrix = self_test(jobs=2)
    assert matrix.faults == ()
    counts = {kind: len(matrix.of_kind(kind)) for kind in ("target", "controller", "degenerate", "oddity")}
    least = {"target": 70, "controller": 40, "degenerate": 12, "oddity": 30}
    assert {kind: min(counts[kind], count) for kind, count in least.items()} == least
    kills = matrix.kills()
    musts = [made for made in matrix.catalogue.values() if made.level is Level.MUST]
    assert [made.id for made in musts if not kills[made.id]] == []
    page = PAGE.read_text(encoding="utf-8")
    assert in_page(page, to_markdown(matrix)) == page
