"""INV-4: a run_id is accepted at most once, whatever came of it, and only by what is accepted.

That a *failed* run is not replayed has no check: from outside no Agent can be made to fail.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, Final

from agentbeat_conformance.exchanges import Exchange
from agentbeat_conformance.expectations import permitted
from agentbeat_conformance.requirements import (
    Capability,
    CouldNotRun,
    Finding,
    Findings,
    Level,
    requirement,
)
from agentbeat_conformance.sessions import Ids
from agentbeat_conformance.target_probes import TargetProbe
from agentbeat_conformance.wrong_requests import Wrong, claims_nothing

__all__: list[str] = []

SECTION: Final = "Invocation request"
#: How many other runs lie between a run and its replay, beside those that other checks make.
OTHER_RUNS: Final = 2


@requirement(
    "INV-4.a",
    level=Level.MUST,
    tier="target-L1",
    section=SECTION,
    text="An invocation that was accepted is answered 409 the second time.",
    permits={"409"},
    kills={"accepts-replays", "repeats-its-answer", "replays-are-400"},
)
async def same_invocation_again(target: TargetProbe) -> Findings:
    await target.control()
    ids, _ = await target.invoked()
    return list(permitted(await target.post(ids=ids), {"409"}, "the control once more"))


@requirement(
    "INV-4.b",
    level=Level.MUST,
    tier="target-L1",
    section=SECTION,
    text="A run_id that was accepted is answered 409 with another case_id and another text too.",
    permits={"409"},
    kills={"claims-run-and-case", "claims-run-and-text"},
)
async def same_run_otherwise(target: TargetProbe) -> Findings:
    await target.control()
    ids, _ = await target.invoked()
    other_case = await target.post(ids=Ids(ids.run_id, target.session.ids().case_id))
    text = "Reply with one word. Change nothing."
    other_text = await target.post(ids=ids, changes={"input": {"text": text}})
    return [
        *permitted(other_case, {"409"}, "the control's run_id with another case_id"),
        *permitted(other_text, {"409"}, "the control's run_id with another text"),
    ]


@requirement(
    "INV-4.c",
    level=Level.MUST,
    tier="target-L1",
    section=SECTION,
    text="A request that is refused for its body runs nothing: its run_id may be used afterwards.",
    permits={"200"},
    kills={"claims-before-reading", "claims-before-metadata", "runs-before-metadata"},
    invocations=1,
)
async def refused_body_claims_nothing(target: TargetProbe) -> Findings:
    wrongs = [
        Wrong("an object without its end", body=lambda right: right[:-1]),
        Wrong("another schema_version", changes={"schema_version": "target-invocation-v2"}),
        Wrong("an unknown member", changes={"extra": 1}),
        Wrong("a blank text", changes={"input": {"text": " "}}),
        Wrong("metadata that is no object", changes={"metadata": []}),
        Wrong("a runtime override", changes={"metadata": {"model": "x"}}),
    ]
    return await claims_nothing(target, wrongs)


@requirement(
    "INV-4.d",
    level=Level.MUST,
    tier="target-L1",
    section=SECTION,
    text="A run_id that was accepted is answered 409 after other runs too.",
    permits={"409"},
    kills={"remembers-ten-runs"},
    invocations=OTHER_RUNS,
)
async def not_forgotten_after_others(target: TargetProbe) -> Findings:
    await target.control()
    ids, _ = await target.invoked()
    for _ in range(OTHER_RUNS):
        other = await target.invoke()
        if other.status != 200:
            raise CouldNotRun(f"another run was answered {other.outcome}, not 200")
    return list(permitted(await target.post(ids=ids), {"409"}, "the control once more, after other runs"))


@requirement(
    "INV-4.e",
    level=Level.MUST,
    tier="target-L1",
    section=SECTION,
    text="A run_id that was accepted is answered 409 after a restart too.",
    needs={Capability.RESTART},
    permits={"409"},
    kills={"forgets-at-restart"},
)
async def not_forgotten_at_restart(target: TargetProbe) -> Findings:
    await target.control()
    ids, _ = await target.invoked()
    await target.session.restart()
    return list(permitted(await target.post(ids=ids), {"409"}, "the control once more, after a restart"))


@requirement(
    "INV-4.f",
    level=Level.MUST,
    tier="target-L1",
    section=SECTION,
    text="Of two invocations with one run_id that come at the same time, at most one is accepted.",
    permits={"200", "409", "503"},
    kills={"claims-after-the-run"},
    invocations=1,
)
async def two_at_once(target: TargetProbe) -> Findings:
    await target.control()
    request = target.request()
    pair = await _both(target.session.send(request, runs=1), target.session.send(request))
    accepted = [exchange for exchange in pair if exchange.status == 200]
    findings = [
        finding
        for exchange in pair
        for finding in permitted(exchange, {"200", "409", "503"}, "two invocations with one run_id at once")
    ]
    if len(accepted) == len(pair):
        findings.append(Finding("both were answered 200, expected at most one", accepted[-1].index))
    if not accepted and not findings:
        raise CouldNotRun("none of the two was accepted")
    return findings


async def _both(
    first: Coroutine[Any, Any, Exchange], second: Coroutine[Any, Any, Exchange]
) -> list[Exchange]:
    """Both exchanges, of which the second begins once the first is under way.

    Raises:
        CouldNotRun: the first could not be sent, and then the second is not; or one had no connection.
    """
    beginning = asyncio.ensure_future(first)
    await asyncio.sleep(0)
    if beginning.done() and (fault := beginning.exception()):
        second.close()
        raise fault
    ends = await asyncio.gather(beginning, second, return_exceptions=True)
    for end in ends:
        if isinstance(end, BaseException):
            raise end
    return [end for end in ends if isinstance(end, Exchange)]
