"""The suite's own checks over transcripts of real runs: judged again they say the same, word for word."""

from __future__ import annotations

import pytest

from agentbeat_conformance.catalogues import load_catalogue
from agentbeat_conformance.judging import judge_async
from agentbeat_conformance.mutants import load
from agentbeat_conformance.mutants.registry import SECRET
from agentbeat_conformance.transcripts import read_transcript, write_transcript
from agentbeat_conformance.trials import run_of

#: Every so many-th server of the register; those that hang take long and say little.
EACH = 24
NAMES = [mutant.name for mutant in load().values() if mutant.kind != "degenerate"][::EACH]


def test_the_sample_has_servers_of_every_kind() -> None:
    tried = [load()[name] for name in NAMES]
    assert {mutant.kind for mutant in tried} == {"target", "controller", "oddity"}


@pytest.mark.parametrize("name", NAMES)
async def test_a_run_judged_from_its_transcript_has_the_same_results(name: str) -> None:
    mutant = load()[name]
    run = await run_of(mutant, load_catalogue())
    raw = b"".join(write_transcript(run.transcript))
    assert (mutant.secret or SECRET).encode() not in raw
    again = await judge_async(read_transcript(raw))
    assert again.results == run.results
    assert again.exchanges == run.exchanges
    assert again.verdict is run.verdict
