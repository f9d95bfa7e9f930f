"""The registers of L1: which mutant breaks which rule, and servers that are hardly one.

That each mutant is caught by its own check, and by no other MUST, is the self-test's matrix to show.
"""

from __future__ import annotations

import pytest

from agentbeat_conformance.catalogues import load_catalogue
from agentbeat_conformance.mutants import load
from agentbeat_conformance.mutants.registry import (
    MUTANTS,
    SECRET,
    Mutant,
    cross_check,
    degenerate,
    oddity,
    target_mutant,
)
from agentbeat_conformance.outcomes import Verdict
from agentbeat_conformance.requirements import Level
from agentbeat_conformance.trials import try_mutant
from agentbeat_conformance.untested import UNTESTED

CATALOGUE = load_catalogue()
L1 = [made for made in CATALOGUE.values() if made.tier == "target-L1"]
SERVERS = {name: mutant for name, mutant in load().items() if mutant.tier == "target-L1"}
DEGENERATE = [name for name, mutant in SERVERS.items() if mutant.kind == "degenerate"]


@pytest.mark.parametrize("name", [name for name in DEGENERATE if not SERVERS[name].on_socket])
async def test_a_degenerate_server_fails(name: str) -> None:
    trial = await try_mutant(SERVERS[name], CATALOGUE)
    assert trial.verdict is Verdict.NOT_CONFORMANT
    assert trial.errors == ()


def test_there_is_a_degenerate_server_for_each_way_of_not_answering() -> None:
    """They are tried in the self-test: each takes its time."""
    assert {
        "closes",
        "closes-half-way",
        "drips",
        "endless-body",
        "endless-head",
        "hangs",
        "speaks-otherwise",
        "stops-half-way",
    } <= set(DEGENERATE)


def test_every_requirement_of_l1_has_a_mutant_that_breaks_it_alone() -> None:
    alone = {id for mutant in SERVERS.values() if len(mutant.breaks) == 1 for id in mutant.breaks}
    assert {made.id for made in CATALOGUE.values() if made.tier == "target-L1"} - alone == set()


def test_the_two_registers_agree() -> None:
    of_l1 = {id: made for id, made in CATALOGUE.items() if made.tier == "target-L1"}
    assert cross_check(of_l1, SERVERS) == []


def test_what_the_registers_say_of_each_other_is_looked_at_from_both_sides() -> None:
    made = CATALOGUE["INV-1.a"]
    mutant = SERVERS["status-success"]
    assert cross_check({made.id: made}, {mutant.name: mutant}) == [
        "INV-1.a kills always-busy, which does not break it",
        "INV-1.a kills answers-202, which does not break it",
        "status-success breaks INV-1.d, which does not kill it",
    ]


HALF = {
    "a name in capitals": (lambda: target_mutant("Loud", breaks={"INV-1.a"}, text="It is."), "name of"),
    "a name that is taken": (
        lambda: target_mutant("answers-202", breaks={"INV-1.a"}, text="It is."),
        "not taken",
    ),
    "no sentence": (lambda: target_mutant("new", breaks={"INV-1.a"}, text="it is"), "full stop"),
    "nothing broken": (lambda: target_mutant("new", breaks=(), text="It is."), "that it breaks"),
    "no requirement": (lambda: target_mutant("new", breaks={"INV-1.aa"}, text="It is."), "for each id"),
    "its own consequence": (
        lambda: target_mutant("new", breaks={"INV-1.a"}, consequences={"INV-1.a"}, text="It is."),
        "consequence",
    ),
    "an oddity in capitals": (lambda: oddity("Odd", text="It is."), "name of"),
    "a degenerate one without a text": (lambda: degenerate("new", text=" "), "full stop"),
}


@pytest.mark.parametrize(("register", "said"), HALF.values(), ids=HALF)
def test_half_an_entry_is_refused_and_not_registered(register, said) -> None:
    before = dict(MUTANTS)
    with pytest.raises(ValueError, match=said):
        register()(object)
    assert before == MUTANTS


def test_an_entry_holds_what_the_self_test_needs() -> None:
    mutant = SERVERS["waits-for-the-body"]
    assert mutant == Mutant(
        name="waits-for-the-body",
        kind="target",
        tier="target-L1",
        breaks=frozenset({"INV-2.e"}),
        consequences=frozenset(),
        text="It waits for the body, and only then looks at the secret.",
        secret=SECRET,
        on_socket=True,
        make=mutant.make,
    )
    assert mutant.make() is not mutant.make()


# --- The catalogue


def test_every_rule_of_the_target_is_in_the_catalogue_or_said_to_be_untested() -> None:
    rules = {f"INV-{number}" for number in range(1, 12)} | {"HLT-1", "HLT-2"}
    tried = {made.rule for made in L1}
    assert tried == rules - {"INV-9"}
    assert set(UNTESTED) <= rules
    assert "INV-9" in UNTESTED


def test_levels_are_those_of_the_spec() -> None:
    should = {"INV-6", "INV-8", "INV-9", "INV-11", "HLT-2"}
    for made in L1:
        if made.rule in should:
            assert made.level is Level.SHOULD, made.id


def test_what_is_judged_as_a_should_under_a_must_is_little_and_known() -> None:
    """The specs are silent there, or leave it to HTTP."""
    soft = {"INV-2.g", "INV-2.h", "INV-7.c", "INV-10.i"}
    must = {"INV-1", "INV-2", "INV-3", "INV-4", "INV-5", "INV-7", "INV-10", "HLT-1"}
    assert {made.id for made in L1 if made.rule in must and made.level is Level.SHOULD} == soft
