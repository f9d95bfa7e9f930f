"""Moves of the two-run model, written short: `A reset, B verify response`."""

from __future__ import annotations

from hypothesis import strategies as st

from agentbeat_conformance.state_model import Move, programs
from agentbeat_protocol import digest

STEPS = ("reset", "before", "after", "verify", "renew", "renew-again", "release")
TWISTS = ("", "case", "nonce", "response", "lease")


def moves_of(text):
    """The moves of a text; a third word is the twist."""
    return tuple(Move(*move.split(" ")) for move in text.split(", "))


def any_moves(*, most=14):
    """Any sequence, with more plain moves than others."""
    twist = st.one_of(st.just(""), st.just(""), st.sampled_from(TWISTS))
    move = st.builds(Move, st.sampled_from("AB"), st.sampled_from(STEPS), twist)
    return st.lists(move, min_size=1, max_size=most).map(tuple)


def spelt_digest():
    """What stands for the sequences that the suite tries."""
    return digest(
        [
            [str(move) for move in moves]
            for mode in ("catalog", "deployment_static")
            for moves in programs(mode, count=12, length=12)
        ]
    )
