"""The suite measured: every mutant is caught by its own check, and no legal oddity is accused.

    matrix = self_test(jobs=2)
    assert not matrix.faults

What makes a fault: a mutant that its own check does not catch; another MUST check that fails on it and is not
declared as a consequence; a degenerate server that is found conformant; an oddity that is not; a MUST
requirement that catches no mutant; a check that fails itself; the two registers contradicting each other.
"""

from __future__ import annotations

import asyncio
import dataclasses
import gc
import multiprocessing
import time
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from typing import Final

from agentbeat_conformance.catalogues import load_catalogue
from agentbeat_conformance.kill_matrix import Matrix
from agentbeat_conformance.mutants import load
from agentbeat_conformance.mutants.registry import Mutant, cross_check
from agentbeat_conformance.requirements import Level, Requirement
from agentbeat_conformance.trials import Trial, faults_of, try_mutant

__all__ = ["measure", "self_test"]

#: How many trials are under way at once in one process: a server that hangs keeps no other waiting.
_AT_ONCE: Final = 4
#: How many trials a process takes at a time.
_BATCH: Final = 12
#: After how many new objects a process of the self-test collects its garbage.
_YOUNG: Final = 50_000


def self_test(*, jobs: int = 2, only: Sequence[str] = ()) -> Matrix:
    """Try the suite on every server of the register, or only on those named.

    Args:
        jobs: how many processes.

    Raises:
        ValueError: there is no server of a name.
    """
    return measure(load_catalogue(), load(), jobs=jobs, only=only)


def measure(
    catalogue: Mapping[str, Requirement],
    mutants: Mapping[str, Mutant],
    *,
    jobs: int,
    only: Sequence[str] = (),
) -> Matrix:
    """The matrix of these requirements and these servers.

    Args:
        jobs: how many processes; with 1 all is done in this one, and both may be the caller's own.
    """
    unknown = sorted(set(only) - set(mutants))
    if unknown:
        raise ValueError(f"there is no mutant {', '.join(unknown)}")
    begun = time.monotonic()
    names = [name for name in mutants if not only or name in only]
    if jobs == 1:
        trials = asyncio.run(_try_all([mutants[name] for name in names], catalogue))
    else:
        trials = _in_processes(_slow_first(names, mutants), jobs)
    by_name = {trial.name: trial for trial in trials}
    ordered = tuple(by_name[name] for name in names)
    faults = [fault for trial in ordered for fault in faults_of(mutants[trial.name], trial, catalogue)]
    matrix = Matrix(
        catalogue=catalogue,
        mutants=mutants,
        trials=ordered,
        faults=(),
        is_whole=not only,
        seconds=time.monotonic() - begun,
    )
    if not only:
        faults += [*cross_check(catalogue, mutants), *_toothless(matrix)]
    return dataclasses.replace(matrix, faults=tuple(faults))


def _toothless(matrix: Matrix) -> list[str]:
    """The MUST requirements whose check caught no mutant of its own."""
    kills = matrix.kills()
    return [
        f"{made.id} catches no mutant"
        for made in matrix.catalogue.values()
        if made.level is Level.MUST and not kills[made.id]
    ]


def _slow_first(names: Iterable[str], mutants: Mapping[str, Mutant]) -> list[str]:
    """Those first that make the suite wait, so that they do not stand at the end alone."""
    return sorted(names, key=lambda name: (mutants[name].kind != "degenerate", not mutants[name].on_socket))


def _in_processes(names: list[str], jobs: int) -> list[Trial]:
    # Dealt out, so that no batch has all of the slow ones.
    count = max(jobs, -(-len(names) // _BATCH))
    batches = [names[start::count] for start in range(count)]
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(max_workers=jobs, mp_context=context) as pool:
        return [trial for trials in pool.map(_try_named, batches) for trial in trials]


def _try_named(names: list[str]) -> list[Trial]:
    mutants, catalogue = load(), load_catalogue()
    # What is loaded stays: a collector that does not look at it again and again saves a tenth of the time.
    gc.freeze()
    gc.set_threshold(_YOUNG)
    return asyncio.run(_try_all([mutants[name] for name in names], catalogue))


async def _try_all(mutants: Sequence[Mutant], catalogue: Mapping[str, Requirement]) -> list[Trial]:
    places = asyncio.Semaphore(_AT_ONCE)

    async def try_one(mutant: Mutant) -> Trial:
        async with places:
            return await try_mutant(mutant, catalogue)

    return list(await asyncio.gather(*(try_one(mutant) for mutant in mutants)))
