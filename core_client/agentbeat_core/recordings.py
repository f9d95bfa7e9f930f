"""The very bytes of one run, kept for whoever must show later what happened.

A result holds what is for reading: cut, and with secrets taken out. A `Recording` holds what was received as
it was received, secrets and all, so it goes nowhere but into evidence that is encrypted. Each member is None
until it came.

    recording = Recording()
    response = await core.evaluate(request, recording=recording)
"""

from __future__ import annotations

from dataclasses import dataclass, field

from agentbeat_protocol.scoring import JudgeOutcome

__all__ = ["Recording", "StateRecording"]


@dataclass(slots=True)
class StateRecording:
    """What the State Controller answered.

    Attributes:
        reset, before, after, verify: its answers.
        nonce: the attempt's nonce, as reset was asked with.
        read_before, read_after: the digests of the snapshots' bytes as they were read.
        order: before held, invoked, invocation ended, after asked: nanoseconds of one clock.
        reason: why there is no report; None where there is one, and below L3.
    """

    reset: bytes | None = None
    nonce: str | None = None
    before: bytes | None = None
    after: bytes | None = None
    verify: bytes | None = None
    read_before: str | None = None
    read_after: str | None = None
    order: tuple[int, int, int, int] | None = None
    reason: str | None = None


@dataclass(slots=True)
class Recording:
    """What was sent and received in one run.

    Attributes:
        task: the text that the Target was sent, whether or not it started the Agent.
        response: the body of the Target's 200.
        evidence: the evidence document, accepted or not.
        evidence_reason: why nothing of it was observed.
        judge: what came of asking the judge.
    """

    task: str | None = None
    response: bytes | None = None
    evidence: bytes | None = None
    evidence_reason: str | None = None
    state: StateRecording = field(default_factory=StateRecording)
    judge: JudgeOutcome | None = None
