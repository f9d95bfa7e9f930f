"""The model of two runs, and the sequences that are tried with it."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from agentbeat_conformance.state_model import Model, Move, from_a, programs
from support.state_moves import moves_of, spelt_digest

GRANTED, REPEATED = "granted", "repeated"
#: What stands for the sequences of this version of the suite.
PINNED = "sha256:9c1d3f82fdd377a027d68451423cc48ef94d6e964095851d7483991bcae6e3df"


def expected(mode, text):
    """What becomes of the last move of a sequence: an outcome, or the codes of a refusal."""
    model = Model(mode)
    *earlier, last = moves_of(text)
    for move in earlier:
        model.note(move)
    expectation = model.expect(last)
    if expectation.outcome != "refused":
        return expectation.outcome
    return expectation.codes or expectation.permits


CASES = {
    "first reset": ("A reset", GRANTED),
    "reset again": ("A reset, A reset", REPEATED),
    "reset again when verified": ("A reset, A before, A after, A verify, A reset", REPEATED),
    "reset again when released": ("A reset, A release, A reset", REPEATED),
    "reset with another nonce": ("A reset, A reset nonce", {"binding_conflict"}),
    "reset of another case": ("A reset, A reset case", {"binding_conflict"}),
    "the right order": ("A reset, A before, A after, A verify", GRANTED),
    "after without before": ("A reset, A after", {"phase_out_of_order"}),
    "verify without after": ("A reset, A before, A verify", {"phase_out_of_order", "snapshot_mismatch"}),
    "before again in a later phase": ("A reset, A before, A after, A before", REPEATED),
    "verify again": ("A reset, A before, A after, A verify, A verify", REPEATED),
    "another response": ("A reset, A before, A after, A verify, A verify response", {"binding_conflict"}),
    "another response the first time": ("A reset, A before, A after, A verify response", GRANTED),
    "another case of a recorded step": ("A reset, A before, A before case", {"binding_conflict"}),
    "another case out of order": ("A reset, A after case", {"binding_conflict", "not_found"}),
    "a lease that is not there": ("A before", {"400", "404", "409"}),
    "a lease of the other run": ("A reset, B reset, A before lease", {"400", "404", "409"}),
    "renew": ("A reset, A renew", GRANTED),
    "renew later": ("A reset, A renew, A renew", GRANTED),
    "renew again": ("A reset, A renew, A renew, A renew-again", REPEATED),
    "renew again without a renewal": ("A reset, A renew-again", GRANTED),
    "renew when verified": ("A reset, A before, A after, A verify, A renew", GRANTED),
    "renew when released": ("A reset, A release, A renew", {"404", "409"}),
    "renew again when released": ("A reset, A renew, A release, A renew-again", REPEATED),
    "release right after reset": ("A reset, A release", GRANTED),
    "release again": ("A reset, A release, A release", REPEATED),
    "before when released": ("A reset, A release, A before", {"404", "409"}),
    "verify when released": ("A reset, A before, A after, A release, A verify", {"404", "409"}),
    "after again when released": ("A reset, A before, A after, A release, A after", REPEATED),
    "a refusal is not recorded": ("A reset, A after, A before, A after", GRANTED),
}


@pytest.mark.parametrize(("text", "outcome"), CASES.values(), ids=CASES)
def test_what_a_step_must_be_answered(text, outcome):
    assert expected("catalog", text) == outcome


@pytest.mark.parametrize(
    ("mode", "text", "outcome"),
    [
        ("catalog", "A reset, B reset", GRANTED),
        ("deployment_static", "A reset, B reset", {"environment_busy"}),
        ("deployment_static", "A reset, A release, B reset", GRANTED),
        ("deployment_static", "A reset, B reset, A release, B reset", GRANTED),
        ("deployment_static", "A reset, A release, B reset, A reset", REPEATED),
        ("deployment_static", "A reset, A release, B reset, A release, B before", GRANTED),
    ],
    ids=str,
)
def test_whether_two_runs_stand_in_each_others_way(mode, text, outcome):
    assert expected(mode, text) == outcome


@pytest.mark.parametrize("mode", ["catalog", "deployment_static"])
def test_the_sequences_meet_every_step_with_every_outcome(mode):
    met = Counter()
    for moves in programs(mode, count=12, length=12):
        model = Model(mode)
        for move in moves:
            met[move.step, model.expect(move).outcome] += 1
            model.note(move)
    steps = {"reset", "before", "after", "verify", "renew", "release"}
    possible = {(step, outcome) for step in steps for outcome in (GRANTED, REPEATED, "refused")}
    # A renewal that is no repeat asks for a later end each time.
    assert possible - {("renew", REPEATED)} - met.keys() == set()
    assert met["renew-again", REPEATED]


@pytest.mark.parametrize("mode", ["catalog", "deployment_static"])
def test_the_sequences_have_no_twist_that_changes_nothing(mode):
    for moves in programs(mode, count=12, length=12):
        model = Model(mode)
        for move in moves:
            assert model.plain(move) == move
            model.note(move)


def test_the_sequences_are_pinned():
    """A transcript holds what they ask: with others a transcript of this version could not be judged."""
    assert spelt_digest() == PINNED
    code = "import support.state_moves as s; print(s.spelt_digest())"
    elsewhere = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        cwd=Path(__file__).parent.parent,
        env={"PYTHONHASHSEED": "7"},
    )
    assert elsewhere.stdout.strip() == PINNED


def test_the_run_that_moves_first_is_called_a():
    assert from_a(moves_of("B reset, A reset, B after case")) == moves_of("A reset, B reset, A after case")
    assert from_a(moves_of("A reset, B reset")) == moves_of("A reset, B reset")
    assert from_a(()) == ()


def test_a_move_is_told_in_words():
    assert [
        str(move) for move in moves_of("A verify response, B before lease, A reset nonce, B after case")
    ] == [
        "A verify with another final_response",
        "B before with a lease that is not its own",
        "A reset with another attempt_nonce",
        "B after of another case",
    ]
    assert str(Move("A", "renew-again")) == "A renew-again"
