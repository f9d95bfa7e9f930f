"""INV-10, what a refusal must not say: stack traces, secrets, values of the request, long names."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from agentbeat_conformance.refusals import Refusal, among, refusals, replayed
from agentbeat_conformance.requirements import Capability, Finding, Findings, Level, requirement
from agentbeat_conformance.sessions import Ids
from agentbeat_conformance.target_probes import PLAIN_TASK, TargetProbe
from agentbeat_conformance.wrong_requests import Wrong

__all__ = ["TRACES"]

SECTION: Final = "Invocation request"
#: The longest excerpt of a member name, in characters.
EXCERPT: Final = 64
_REFUSED: Final = frozenset({"400", "409", "415"})
#: Frames as the languages print them, not mere mentions of files.
TRACES: Final = re.compile(
    r"Traceback \(most recent call last\)"  # Python
    r'|\bFile "[^"\n]*", line \d+'
    r"|^\s*at \S.*[(:]\S*:\d+\)?$"  # JavaScript, Java
    r"|^\s*at .* in .*:line \d+"  # .NET
    r"|^goroutine \d+ \["  # Go
    r"|\.go:\d+ \+0x"
    r"|\.rb:\d+:in "  # Ruby
    r"|^#\d+ \S+\(\d+\): "  # PHP
    r"|stack backtrace:|^thread '[^'\n]*' panicked",  # Rust
    re.MULTILINE,
)


@requirement(
    "INV-10.e",
    level=Level.MUST,
    tier="target-L1",
    section=SECTION,
    text="A refusal holds no stack trace.",
    permits=_REFUSED,
    kills={"tells-its-stack"},
)
async def no_stack_trace(target: TargetProbe) -> Findings:
    def rule(refusal: Refusal) -> Iterator[Finding]:
        if TRACES.search(refusal.said()):
            yield refusal.finding("got a stack trace, expected none")

    return among(await refusals(target), rule)


@requirement(
    "INV-10.f",
    level=Level.MUST,
    tier="target-L1",
    section=SECTION,
    text="A refusal repeats no value of the request.",
    permits=_REFUSED,
    kills={"repeats-values", "repeats-the-body", "repeats-the-run-id", "repeats-the-media-type"},
)
async def no_value(target: TargetProbe) -> Findings:
    wrongs = [
        Wrong("another schema_version", changes=lambda ids: {"schema_version": _value(ids)}),
        Wrong("a run_id off its pattern", changes=lambda ids: {"run_id": _value(ids)}),
        Wrong("a case_id off its pattern", changes=lambda ids: {"case_id": [_value(ids)]}),
        Wrong("input.text that is an array", changes=lambda ids: {"input": {"text": [_value(ids)]}}),
        Wrong("an unknown member", changes=lambda ids: {"extra": _value(ids)}),
        Wrong("metadata that is a string", changes=lambda ids: {"metadata": _value(ids)}),
        Wrong("a runtime override", changes=lambda ids: {"metadata": {"model": _value(ids)}}),
        Wrong("an object without its end", body=lambda right: right[:-1]),
        Wrong("another media type", fields=lambda ids: {"Content-Type": f"text/{_value(ids)}"}),
    ]

    def rule(refusal: Refusal) -> Iterator[Finding]:
        said = refusal.said()
        if refusal.ids.run_id.removeprefix("run-") in said or PLAIN_TASK in said:
            yield refusal.finding("got a value of the request, expected none")

    return among([*await refusals(target, wrongs), *await replayed(target)], rule)


def _value(ids: Ids) -> str:
    """A value that is no id, and holds what all values of one request have in common."""
    return f"VALUE-{ids.run_id.removeprefix('run-')}"


@requirement(
    "INV-10.g",
    level=Level.MUST,
    tier="target-L1",
    section=SECTION,
    text="A refusal holds no secret, neither the Target's nor the one that was tried.",
    needs={Capability.AUTH},
    permits={"400", "401", "409"},
    kills={"tells-its-secret", "repeats-the-tried-secret"},
)
async def no_secret(target: TargetProbe) -> Findings:
    secret, tried = target.secret or "", "conformance-suite-guess"
    wrongs = [
        Wrong("no secret", secret=None),
        Wrong("another secret", secret=tried),
        Wrong("a longer secret", secret=f"{secret}x"),
        Wrong("a body of `[]`", body=b"[]"),
    ]

    def rule(refusal: Refusal) -> Iterator[Finding]:
        said = refusal.said()
        if secret in said:
            yield refusal.finding("got the Target's secret, expected none")
        if tried in said:
            yield refusal.finding("got the secret that was tried, expected none")

    return among(await refusals(target, wrongs), rule)


@requirement(
    "INV-10.h",
    level=Level.MUST,
    tier="target-L1",
    section=SECTION,
    text="A refusal repeats at most 64 characters of a member name.",
    permits={"400"},
    kills={"repeats-names-whole"},
)
async def long_names(target: TargetProbe) -> Findings:
    name = "".join(f"n{number}-" for number in range(60))
    wrongs = [
        Wrong("an unknown member with a long name", changes={name: 1}),
        Wrong("an unknown member of input with a long name", changes={"input": {"text": "Hi", name: 1}}),
        Wrong("a runtime override with a long name", changes={"metadata": {f"model-{name}": "x"}}),
    ]
    pieces = [name[start : start + EXCERPT + 1] for start in range(len(name) - EXCERPT)]

    def rule(refusal: Refusal) -> Iterator[Finding]:
        said = refusal.said()
        if any(piece in said for piece in pieces):
            yield refusal.finding(f"got more than {EXCERPT} characters of it")

    return among(await refusals(target, wrongs), rule)
