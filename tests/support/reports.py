"""A report with every outcome in it, and a server's answers that try to be more than text."""

from __future__ import annotations

import dataclasses

from agentbeat_conformance.exchanges import Answer, Exchange, Failure, Request
from agentbeat_conformance.outcomes import ExitCode, Outcome, Result, verdict_of
from agentbeat_conformance.reports.records import Report, shell_variables
from agentbeat_conformance.requirements import Capability, Finding, Level, Requirement

MARK = "[redacted-secret]"
#: Terminal commands, mark-up of HTML, XML and rich, and characters that XML 1.0 cannot hold.
HOSTILE = "\x1b[2J\x07<script>alert(1)</script>]]>&amp;[bold]b[/bold]\u202e\ud800\ufffe\x00:smile:"


async def unused(probe):
    return ()


def requirement(id, level=Level.MUST, **changes):
    members = {
        "id": id,
        "level": level,
        "tier": "target-L1",
        "section": "Invocation request",
        "text": f"What {id} asks for in one sentence.",
        "needs": frozenset(),
        "permits": frozenset({"200"}),
        "kills": frozenset({"some-mutant"}),
        "invocations": 0,
        "check": unused,
    }
    return Requirement(**{**members, **changes})


def exchange(
    index, *, status=200, body=b'{"ok": true}', failure=None, fields=(), target="/v1/agent/invocations"
):
    request = Request.build(
        "POST",
        target,
        host="127.0.0.1:8080",
        fields=[("Authorization", f"Bearer {MARK}"), ("Content-Type", "application/json")],
        body=b'{"run_id": "run-conf-%d"}' % index,
    )
    answer = None
    if failure is None:
        answer = Answer(status=status, fields=(("content-type", "application/json"), *fields), body=body)
    return Exchange(request=request, answer=answer, failure=failure, index=index)


def report(*results, exchanges=(), reachable=True, **changes):
    verdict = changes.pop("verdict", verdict_of(results, reachable=reachable))
    members = {
        "suite_version": "1.0",
        "catalogue": "1.0",
        "catalogue_digest": f"sha256:{'0c' * 32}",
        "specs": ("target-invocation-v1", "target-evidence-v1"),
        "tier": "target-L1",
        "endpoint": "http://127.0.0.1:8080",
        "seed": "k3v9",
        "started_at": "2026-03-02T09:00:00Z",
        "invocations": 7,
        "budget": None,
        "safe": False,
        "left_out": (),
        "results": results,
        "exchanges": exchanges,
        "verdict": verdict,
        "exit_code": ExitCode.of(verdict),
        "variables": shell_variables({"secret": "AGENT_TOKEN"}),
    }
    return Report(**{**members, **changes})


def passed(id="INV-1.a", **changes):
    return Result(requirement=requirement(id), outcome=Outcome.PASS, **changes)


def failed(id="INV-3.b", *findings, **changes):
    found = findings or (Finding("a body of `[]`: got 200, expected 400", 1),)
    return Result(requirement=requirement(id), outcome=Outcome.FAIL, findings=found, **changes)


def warned(id="INV-11"):
    return Result(
        requirement=requirement(id, Level.SHOULD),
        outcome=Outcome.WARN,
        findings=(Finding("no Cache-Control", 0),),
    )


def inapplicable(id="EVD-1.a"):
    return Result(
        requirement=requirement(id, needs=frozenset({Capability.TASK})),
        outcome=Outcome.NOT_APPLICABLE,
        reason="no task was given (--task)",
    )


def not_run(id="INV-4"):
    return Result(
        requirement=requirement(id),
        outcome=Outcome.COULD_NOT_RUN,
        reason="the positive control was answered 500, not 200",
        exchanges=(2,),
    )


def broken(id="HLT-1"):
    return Result(requirement=requirement(id), outcome=Outcome.ERROR, reason="KeyError in the check")


EXCHANGES = (
    exchange(0),
    exchange(1),
    exchange(2, failure=Failure.TIMEOUT),
    exchange(3, status=302, fields=(("location", HOSTILE),), body=HOSTILE.encode("utf-8", "surrogatepass")),
)


def every_outcome(**changes):
    """One result for each outcome but our own error; INV-10 stands in front of INV-2 on purpose."""
    hostile = failed("INV-10.a", Finding(f"got {HOSTILE}, expected an envelope", 3), exchanges=(3,))
    results = (passed(exchanges=(0,)), hostile, failed("INV-2.a"), warned(), inapplicable(), not_run())
    return dataclasses.replace(report(*results, exchanges=EXCHANGES, budget=20), **changes)
