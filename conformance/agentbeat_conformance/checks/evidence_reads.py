"""EVD-10: who may read evidence, and how reads of what is not there are answered."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Final

from agentbeat_conformance.evidence_views import served
from agentbeat_conformance.exchanges import Exchange
from agentbeat_conformance.expectations import enveloped, permitted
from agentbeat_conformance.requirements import (
    Capability,
    CouldNotRun,
    Finding,
    Findings,
    Level,
    requirement,
)
from agentbeat_conformance.sessions import Ids
from agentbeat_conformance.target_probes import TargetProbe, Traced
from agentbeat_protocol import cut, read_error

__all__: list[str] = []

SECTION: Final = "Evidence document"

#: How often the evidence of a run in progress is asked for.
READS: Final = 3


# --- The secret


@requirement(
    "EVD-10.a",
    level=Level.MUST,
    tier="target-L2",
    section=SECTION,
    text="Evidence is not served without the secret: 401.",
    needs={Capability.AUTH},
    permits={"401"},
    kills={"evidence-without-secret"},
)
async def needs_a_secret(target: TargetProbe) -> Findings:
    run = await _control(target)
    exchange = await target.evidence(run.ids.run_id, secret=None)
    return [*permitted(exchange, {"401"}, "a read without the secret"), *enveloped(exchange, "its answer")]


@requirement(
    "EVD-10.b",
    level=Level.MUST,
    tier="target-L2",
    section=SECTION,
    text="Evidence is not served for another secret, however alike: 401.",
    needs={Capability.AUTH},
    permits={"401"},
    kills={"evidence-for-secret-prefix", "evidence-for-any-secret"},
)
async def needs_the_secret(target: TargetProbe) -> Findings:
    run = await _control(target)
    secret = target.secret or ""
    findings: list[Finding] = []
    for other, what in ((f"{secret}x", "one character more"), (secret[:-1], "one character less")):
        exchange = await target.evidence(run.ids.run_id, secret=other)
        findings += permitted(exchange, {"401"}, f"a read with the secret and {what}")
    return findings


@requirement(
    "EVD-10.c",
    level=Level.MUST,
    tier="target-L2",
    section=SECTION,
    text="Without the secret nobody learns which runs there are: an unknown run is 401 like any other.",
    needs={Capability.AUTH},
    permits={"401"},
    kills={"evidence-404-before-401"},
)
async def tells_nothing_without_the_secret(target: TargetProbe) -> Findings:
    run = await _control(target)
    known = await target.evidence(run.ids.run_id, secret=None)
    if known.status != 401:
        raise CouldNotRun("evidence is served without the secret (EVD-10.a)")
    unknown = await target.evidence(target.session.ids().run_id, secret=None)
    return permitted(unknown, {"401"}, "an unknown run, read without the secret")


# --- What is not there


@requirement(
    "EVD-10.d",
    level=Level.MUST,
    tier="target-L2",
    section=SECTION,
    text="The evidence of an unknown run is 404 not_found.",
    permits={"404"},
    kills={"unknown-run-empty-document", "unknown-run-under-another-code"},
)
async def knows_no_other_run(target: TargetProbe) -> Findings:
    await _control(target)
    exchange = await target.evidence(target.session.ids().run_id)
    findings = [
        *permitted(exchange, {"404"}, "the evidence of an unknown run"),
        *enveloped(exchange, "its answer"),
    ]
    return findings or _not_found(exchange)


def _not_found(exchange: Exchange) -> Iterator[Finding]:
    if exchange.answer is not None:
        code = read_error(exchange.answer.body).code
        if code != "not_found":
            yield Finding(f"/error/code: got {cut(code)!r}, expected 'not_found'", exchange.index)


@requirement(
    "EVD-10.e",
    level=Level.MUST,
    tier="target-L2",
    section=SECTION,
    text="A malformed run id gets the same answer as an unknown run, byte for byte.",
    permits={"404"},
    kills={"malformed-run-400", "malformed-run-repaired", "malformed-run-told-apart"},
)
async def treats_malformed_as_unknown(target: TargetProbe) -> Findings:
    run = await _control(target)
    unknown = await _unknown(target)
    name = run.ids.run_id
    malformed = {
        "the run id in capitals": name.upper(),
        "the run id and a newline": f"{name}%0A",
        "the run id and a space": f"{name}%20",
        "a run id without its prefix": name.removeprefix("run-"),
        "a run id with two hyphens in front": f"run--{name}",
        "a run id of 161 characters": "run-" + "a" * 157,
    }
    findings: list[Finding] = []
    for what, text in malformed.items():
        findings += _alike(await target.evidence(text), unknown, what)
    return findings


@requirement(
    "EVD-10.f",
    level=Level.MUST,
    tier="target-L2",
    section=SECTION,
    text="The evidence of a run that goes on is answered like an unknown run's; what is served is whole.",
    permits={"200", "404"},
    kills={"unfinished-run-202", "unfinished-run-partial"},
    invocations=1,
)
async def shows_nothing_unfinished(target: TargetProbe) -> Findings:
    await _control(target)
    unknown = await _unknown(target)
    if not target.tasks:
        raise CouldNotRun("it needs a task that makes the Agent use tools (--task)")
    ids = target.session.ids()
    invocation, meanwhile = await _read_while_it_runs(target, ids)
    finished = [await target.evidence(ids.run_id) for _ in range(2)]
    if invocation.status != 200:
        raise CouldNotRun(f"the task was answered {invocation.outcome}, not 200")
    bodies = [exchange.answer.body for exchange in finished if exchange.answer and exchange.status == 200]
    if len(set(bodies)) != 1 or len(bodies) != len(finished):
        raise CouldNotRun("the finished run has no evidence that stays the same (EVD-1.a, EVD-11.a)")
    findings: list[Finding] = []
    for exchange in meanwhile:
        if exchange.answer is None or exchange.status != 200:
            findings += _alike(exchange, unknown, "a read while the run goes on")
        elif exchange.answer.body != bodies[0]:
            message = "a read while the run goes on: got another document than after it, expected 404"
            findings.append(Finding(message, exchange.index))
    return findings


async def _read_while_it_runs(target: TargetProbe, ids: Ids) -> tuple[Exchange, list[Exchange]]:
    """An invocation with a task, and the reads of its evidence before its answer was waited for."""
    invoking = asyncio.create_task(target.invoke(target.tasks[0], ids=ids))
    try:
        # The invocation goes out first. What the budget forbids has ended by now, and nothing is read.
        await asyncio.sleep(0)
        if invoking.done():
            invoking.result()
        meanwhile = [await target.evidence(ids.run_id) for _ in range(READS)]
        return await invoking, meanwhile
    finally:
        invoking.cancel()
        await asyncio.gather(invoking, return_exceptions=True)


async def _control(target: TargetProbe) -> Traced:
    """A finished run whose evidence is served: without one no refusal means anything."""
    run = await target.plain()
    served(run)
    return run


async def _unknown(target: TargetProbe) -> Exchange:
    """How an unknown run is answered: 404."""
    exchange = await target.evidence(target.session.ids().run_id)
    if exchange.status != 404:
        raise CouldNotRun(f"an unknown run was answered {exchange.outcome}, not 404 (EVD-10.d)")
    return exchange


def _alike(exchange: Exchange, model: Exchange, what: str) -> list[Finding]:
    """The answers are the same: status, media type and body. Dates and the like may differ."""
    if exchange.answer is None or model.answer is None or exchange.status != model.status:
        return list(permitted(exchange, {model.outcome}, what))
    if exchange.answer.value("content-type") != model.answer.value("content-type"):
        return [Finding(f"{what}: got another media type, expected the same answer", exchange.index)]
    if exchange.answer.body != model.answer.body:
        return [Finding(f"{what}: got another body, expected the same answer", exchange.index)]
    return []
