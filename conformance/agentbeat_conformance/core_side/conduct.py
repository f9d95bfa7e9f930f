"""What holds for every run: where a Core goes, with which secret, how often, and in what order.

Pure functions of the journal. A Core

1. calls no origin that is not registered: the canary hears nothing, and the Target is called by its own name;
2. hands no secret to anybody but the one it is for;
3. starts the Agent at most once, with an invocation as spec 1 asks for;
4. reads evidence of this run from the registered route alone, and none where the reference was refused;
5. asks a State Controller what spec 2 knows, in the order that RCP-3 demands;
6. shows a refused document to no judge;
7. stops reading an answer that does not end.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from agentbeat_conformance.core_side.deliveries import ENDLESS_BYTES
from agentbeat_conformance.core_side.servers import Arrival
from agentbeat_conformance.core_side.stages import Stage
from agentbeat_conformance.core_side.targets import MARKER
from agentbeat_protocol import (
    CONTROL_PATH,
    HEALTH_PATH,
    ControllerMessage,
    Origin,
    ProtocolError,
    ReleaseRequest,
    RenewRequest,
    ResetRequest,
    SnapshotRequest,
    VerifyRequest,
    check_media_type,
    cut,
    read_controller_request,
    read_invocation,
)

__all__ = ["conduct_findings"]

#: What may have been handed to the sockets before the reader's hanging up was noticed, beyond any limit.
_READ_ON: Final = ENDLESS_BYTES * 3 // 4

_STEPS: Final[dict[str, type[ControllerMessage]]] = {
    "reset": ResetRequest,
    "snapshot": SnapshotRequest,
    "verify": VerifyRequest,
    "renew": RenewRequest,
    "release": ReleaseRequest,
}


def conduct_findings(stage: Stage) -> Iterator[str]:
    """Everything that was not as it must be, in the order above."""
    yield from _origins(stage)
    yield from _secrets(stage)
    yield from _invocations(stage)
    yield from _evidence(stage)
    yield from _controller(stage)
    yield from _shown(stage)
    for server, written in stage.journal.written.items():
        if written > _READ_ON:
            yield f"read {written // 2**20} MiB of an endless answer of the {server}, expected it to stop"


def _origins(stage: Stage) -> Iterator[str]:
    called = stage.journal.of("canary")
    if called:
        asked = ", ".join(f"{each.method} {cut(each.path, 80)}" for each in called)
        yield f"called another origin ({asked}), expected never"
    for arrival in stage.journal.of("target"):
        host = arrival.value("host") or ""
        try:
            named = Origin.parse(f"http://{host}")
        except ProtocolError:
            named = None
        if named != stage.origin:
            yield f"called the Target as {cut(host, 80)}, expected {stage.origin}"


def _secrets(stage: Stage) -> Iterator[str]:
    for arrival in stage.journal.arrivals:
        text = "\n".join(value for _, value in arrival.fields) + arrival.path
        for owner, secret in stage.secrets.items():
            if owner != arrival.server and (secret in text or secret.encode() in arrival.body):
                yield f"sent the {owner}'s secret to the {arrival.server}"


def _invocations(stage: Stage) -> Iterator[str]:
    posts = [each for each in stage.journal.of("target") if each.method == "POST"]
    fewest, most = (count * stage.scenario.runs for count in stage.scenario.posts)
    if not fewest <= len(posts) <= most:
        expected = str(fewest) if fewest == most else f"{fewest} to {most}"
        yield f"invoked the Agent {len(posts)} times, expected {expected}"
    for post in posts:
        yield from _invocation(stage, post)


def _invocation(stage: Stage, post: Arrival) -> Iterator[str]:
    if post.path != stage.invocation_path:
        yield f"invoked {cut(post.path, 80)}, expected {stage.invocation_path}"
    try:
        check_media_type(post.value("content-type"))
        invocation = read_invocation(post.body, [(n.encode(), v.encode("latin-1")) for n, v in post.fields])
    except ProtocolError as error:
        yield f"the invocation breaks {error.rule}: got {error.got}, expected {error.expected}"
        return
    ids = (invocation.run_id, invocation.case_id)
    if ids != (stage.run_id, stage.case_id):
        yield f"invoked with other ids than the request's: {cut(str(ids), 160)}"
    if invocation.input.text != stage.requested()["case"]["prompt"]:
        yield "the invocation's text is not the case's prompt"


def _evidence(stage: Stage) -> Iterator[str]:
    reads = [each for each in stage.journal.of("target") if each.method != "POST"]
    for read in reads:
        if read.path == stage.place.prefix + HEALTH_PATH:
            continue
        if (read.method, read.path) != ("GET", stage.evidence_path):
            yield f"asked the Target for {read.method} {cut(read.path, 120)}, expected this run's evidence"
        elif stage.scenario.reads == "never":
            yield "read the evidence although its reference was refused or absent, expected no fallback"


# --- The State Controller -------------------------------------------------------------------------------


def _controller(stage: Stage) -> Iterator[str]:
    for arrival in stage.journal.of("controller"):
        step = arrival.path.removeprefix(CONTROL_PATH)
        if arrival.method == "GET" or step not in _STEPS:
            continue
        try:
            request = read_controller_request(arrival.body, _STEPS[step], max_bytes=2**24)
        except ProtocolError as error:
            yield f"{step} breaks {error.rule} at {error.path}: got {error.got}, expected {error.expected}"
            continue
        if (request.run_id, request.case_id) != (stage.run_id, stage.case_id):
            yield f"{step} names another run or case than the request"
    nonces = [str(each.get("attempt_nonce")) for each in stage.controller.resets]
    if stage.scenario.runs > 1 and len(set(nonces)) < stage.scenario.runs:
        yield "two attempts have the same attempt_nonce, expected a new one for each (RCP-7)"
    if stage.scenario.tier == "L3" and stage.scenario.runs == 1:
        yield from _order(stage)


def _order(stage: Stage) -> Iterator[str]:
    """RCP-3: the before answer is held before the Agent is invoked, after is asked for when it has ended."""
    invoked = [each for each in stage.journal.of("target") if each.method == "POST"]
    before, after = (_snapshots(stage, phase) for phase in (b"before", b"after"))
    for post in invoked:
        if not any(each.answered is not None and each.answered < post.order for each in before):
            yield "invoked the Agent before it held the snapshot before (RCP-3)"
        for each in after:
            if post.answered is not None and each.order < post.answered:
                yield "asked for the snapshot after before the invocation had ended (RCP-3)"


def _snapshots(stage: Stage, phase: bytes) -> list[Arrival]:
    return [
        each
        for each in stage.journal.of("controller")
        if each.path == f"{CONTROL_PATH}snapshot" and b'"%s"' % phase in each.body
    ]


def _shown(stage: Stage) -> Iterator[str]:
    if stage.scenario.expects.hides_trace and any(
        MARKER.encode() in arrival.body for arrival in stage.journal.of("judge")
    ):
        yield "showed the judge a document that it refused"
