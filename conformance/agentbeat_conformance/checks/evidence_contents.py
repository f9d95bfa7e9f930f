"""EVD-13 and EVD-14: no secret in the document, and the final response in it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

from agentbeat_conformance.evidence_views import Document, answered, judged, judged_runs
from agentbeat_conformance.requirements import (
    Capability,
    CouldNotRun,
    Finding,
    Findings,
    Level,
    requirement,
)
from agentbeat_conformance.target_probes import PLAIN_TASK, TargetProbe, Traced

__all__: list[str] = []

SECTION: Final = "Evidence document"
MARK: Final = "[redacted]"
MAX_TEXT: Final = 32_768

#: What two secrets look like; nobody has them. The Target's own secret is never put into a task: an Agent may
#: send its task to a model of somebody else's.
PLANTED: Final = ("sk-conformance0a1b2c3d4e5f6a7b8c9d", "9f8e7d6c5b4a39281706f5e4d3c2b1a0")
_PLANTING: Final = (
    f'{PLAIN_TASK} Pay no attention to "{PLANTED[0]}" and "Authorization: Bearer {PLANTED[1]}".'
)

_SECRET_NAME = re.compile(
    r"(?:^|[_\-.])(?:api[_\-]?key|authorization|client[_\-]?secret|pass(?:word|wd|phrase)|private[_\-]?key"
    r"|secret|(?:access|auth|bearer|refresh|session)[_\-]?token)$",
    re.IGNORECASE,
)


@requirement(
    "EVD-13.a",
    level=Level.SHOULD,
    tier="target-L2",
    section=SECTION,
    text="The Target's own bearer secret is nowhere in the document.",
    needs={Capability.AUTH},
    permits={"200"},
    kills={"evidence-with-own-secret"},
)
async def holds_no_own_secret(target: TargetProbe) -> Findings:
    secret = target.secret or ""

    def rule(document: Document) -> Iterator[Finding]:
        for path, text in _texts(document.members, ""):
            if secret in text:
                yield document.finding(path, "the Target's bearer secret", MARK)

    return await judged(target, rule)


@requirement(
    "EVD-13.b",
    level=Level.SHOULD,
    tier="target-L2",
    section=SECTION,
    text="`Bearer …` and `sk-…`-shaped strings are [redacted] wherever they appear.",
    permits={"200"},
    kills={"evidence-with-planted-secrets"},
    invocations=1,
)
async def redacts_by_shape(target: TargetProbe) -> Findings:
    ids = target.session.ids()
    invocation = await target.invoke(_PLANTING, ids=ids)
    if invocation.status != 200:
        raise CouldNotRun(f"the invocation was answered {invocation.outcome}, not 200")
    document = Document.of(Traced(ids, invocation, await target.evidence(ids.run_id)))
    return [
        document.finding(path, "a planted string that is shaped like a secret", MARK)
        for path, text in _texts(document.members, "")
        if any(planted in text for planted in PLANTED)
    ]


@requirement(
    "EVD-13.c",
    level=Level.SHOULD,
    tier="target-L2",
    section=SECTION,
    text="Values under secret-looking names are [redacted].",
    permits={"200"},
    kills={"evidence-with-password"},
)
async def redacts_by_name(target: TargetProbe) -> Findings:
    def rule(document: Document) -> Iterator[Finding]:
        for index, data in document.data():
            for path, value in _members(data, f"/events/{index}/data"):
                name = path.rpartition("/")[2]
                if isinstance(value, str) and value not in ("", MARK) and _SECRET_NAME.search(name):
                    yield document.finding(path, "a value under a secret-looking name", MARK)

    return await judged(target, rule)


@requirement(
    "EVD-14",
    level=Level.SHOULD,
    tier="target-L2",
    section=SECTION,
    text="The last message of role assistant carries final_response, at most its first 32,768 code points.",
    permits={"200"},
    kills={"evidence-without-final-message", "final-message-differs"},
)
async def carries_the_final_response(target: TargetProbe) -> Findings:
    def rule(run: Traced) -> Iterator[Finding]:
        document = Document.of(run)
        final = answered(run).get("final_response")
        if not isinstance(final, str):
            raise CouldNotRun("the answer has no final_response (INV-1)")
        messages = [(i, data) for i, data in document.data("message") if data.get("role") == "assistant"]
        if not messages:
            yield document.finding("/events", "no message of role assistant", "one with final_response")
            return
        index, data = messages[-1]
        if not _carries(data.get("text"), final[:MAX_TEXT]):
            yield document.finding(f"/events/{index}/data/text", "another text", "final_response")

    return await judged_runs(target, rule)


def _carries(text: Any, final: str) -> bool:
    """Whether `text` is `final`, with or without what was redacted in it."""
    if not isinstance(text, str):
        return False
    if text == final:
        return True
    first, *rest = text.split(MARK)
    if not rest or not final.startswith(first):
        return False
    position = len(first)
    for piece in rest[:-1]:
        found = final.find(piece, position)
        if found < 0:
            return False
        position = found + len(piece)
    # The cut comes after redacting, so that more of the response may be in the text than its first part.
    return final.find(rest[-1], position) >= 0


def _members(value: Any, path: str) -> Iterator[tuple[str, Any]]:
    """Every member at any depth, with its pointer."""
    if isinstance(value, dict):
        for name, member in value.items():
            place = f"{path}/{name[:64]}"
            yield place, member
            yield from _members(member, place)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _members(item, f"{path}/{index}")


def _texts(value: Any, path: str) -> Iterator[tuple[str, str]]:
    """Every string at any depth, names too, with its pointer."""
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, dict):
        for name, member in value.items():
            yield f"{path} (a name)", name
            yield from _texts(member, f"{path}/{name[:64]}")
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _texts(item, f"{path}/{index}")
