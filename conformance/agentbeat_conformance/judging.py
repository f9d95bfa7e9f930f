"""A transcript judged again: the same checks over the recorded answers, with no server.

    run = judge(read_transcript(path.read_bytes()))

The verdict of a run is a function of its transcript and the catalogue, of nothing else: no clock, no network,
no chance. Whoever doubts a report needs only its transcript.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Mapping

from agentbeat_conformance.catalogues import load_catalogue
from agentbeat_conformance.executions import INTERRUPTED, Execution
from agentbeat_conformance.outcomes import Outcome, Result
from agentbeat_conformance.plans import BY_COMMAND, Plan
from agentbeat_conformance.requirements import Capability, Requirement, catalogue_digest
from agentbeat_conformance.runs import Run
from agentbeat_conformance.sessions import Session
from agentbeat_conformance.subjects import probe_of
from agentbeat_conformance.transcript_records import Header, Transcript
from agentbeat_conformance.transcripts import TranscriptError
from agentbeat_conformance.wires.replay import Replay, ReplayCommands, ReplayWire, Stopped
from agentbeat_protocol import cut

__all__ = ["judge", "judge_async"]


def judge(transcript: Transcript, *, catalogue: Mapping[str, Requirement] | None = None) -> Run:
    """The run that the transcript is of.

    Args:
        catalogue: the requirements; by default the version that the transcript names.

    Raises:
        TranscriptError: it names requirements that there are not, or a subject that cannot be asked.
        UnknownVersionError: the suite does not have its version of the catalogue.
    """
    return asyncio.run(judge_async(transcript, catalogue=catalogue))


async def judge_async(transcript: Transcript, *, catalogue: Mapping[str, Requirement] | None = None) -> Run:
    """The same inside an event loop."""
    header = transcript.header
    plan = _plan(header, load_catalogue(header.catalogue) if catalogue is None else catalogue)
    replay = Replay(transcript.entries)
    session = Session(
        wire=ReplayWire(replay, has_sockets=Capability.SOCKET in header.capabilities),
        seed=header.seed,
        budget=header.budget,
        safe=header.safe,
        commands=None if header.capabilities.isdisjoint(BY_COMMAND) else ReplayCommands(replay),
        pause=_no_time,
    )
    try:
        execution = Execution(plan, probe_of(header.subject, session))
    except (TypeError, ValueError) as error:
        raise TranscriptError(f"the subject's options: {cut(str(error), 200)}") from error
    results = [result async for result in _results(plan, execution, transcript)]
    return execution.finished(results, transcript)


async def _results(plan: Plan, execution: Execution, transcript: Transcript) -> AsyncIterator[Result]:
    with contextlib.suppress(Stopped):
        await execution.begin()
    interrupted = False
    for made in plan.requirements:
        interrupted = interrupted or made.id == transcript.interrupted
        result = execution.foregone(made)
        if result is None and interrupted:
            result = Result(requirement=made, outcome=Outcome.COULD_NOT_RUN, reason=INTERRUPTED)
        yield result or await _checked(made, execution, transcript)


async def _checked(made: Requirement, execution: Execution, transcript: Transcript) -> Result:
    try:
        result = await execution.check(made)
    except Stopped:
        if made.id not in transcript.timed_out:
            reason = "the transcript ends inside this check, and does not say why"
            return Result(requirement=made, outcome=Outcome.ERROR, reason=reason)
    else:
        if made.id not in transcript.timed_out:
            return result
    return execution.timed_out(made)


def _plan(header: Header, catalogue: Mapping[str, Requirement]) -> Plan:
    digest = catalogue_digest(catalogue)
    if digest != header.catalogue_digest:
        raise TranscriptError(
            f"it was made with the catalogue {header.catalogue_digest}, and this suite has {digest}"
        )
    unknown = [id for id in (*header.planned, *header.left_out) if id not in catalogue]
    if unknown or not header.planned:
        raise TranscriptError(
            f"expected requirements of the catalogue, got {cut(', '.join(unknown)) or 'none'}"
        )
    tasks = header.subject.options.get("tasks", ())
    return Plan(
        tier=header.tier,
        catalogue=header.catalogue,
        catalogue_digest=digest,
        requirements=tuple(catalogue[id] for id in header.planned),
        left_out=tuple(catalogue[id] for id in header.left_out),
        capabilities=header.capabilities,
        tasks=len(tasks) if isinstance(tasks, list | tuple) else 0,
        budget=header.budget,
        safe=header.safe,
    )


async def _no_time(_seconds: float) -> None:
    """A replay does not wait."""
