"""The private opening of one receipt: the nonce, and everything that the receipt commits to.

Traces and attempts keep their order. Raw output of a model is base64 of its bytes, so that no reader changes
it; what was parsed from it is exact JSON in normal form C, as are profiles and events.
"""

from __future__ import annotations

import base64
from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field, model_validator

from agentbeat_protocol.models import Array, Digest, Strict, rule_error
from agentbeat_protocol.strict_json import MAX_DEPTH
from agentbeat_receipts.canonical import check_exact
from agentbeat_receipts.commitments import Tag
from agentbeat_receipts.objects.base import Base64, Body, ExactJSON, Id, Positive, Value, type_name
from agentbeat_receipts.objects.contents import Contents
from agentbeat_receipts.objects.receipts import EvidenceName, Status

__all__ = [
    "INITIAL",
    "Attempt",
    "Choice",
    "Envelope",
    "OfferStages",
    "Opening",
    "TraceEvent",
    "TreatmentEvent",
]

#: The cause of every first attempt.
INITIAL = "initial"


class TraceEvent(Strict):
    """Something that happened, in order; hidden from the counterpart or visible to it."""

    type: Id
    visibility: Literal["hidden", "visible"]
    data: ExactJSON


class OfferStages(Strict):
    """One offer as it came, as it was read, and as it was let through."""

    raw: Base64
    parsed: ExactJSON
    enforced: ExactJSON


class Choice(Strict):
    """What the chooser was given and what it chose."""

    input: ExactJSON
    output: ExactJSON


class TreatmentEvent(Strict):
    """A decision of a treatment, such as a guardrail, at one stage."""

    flag: Id
    stage: Id
    decision: Literal["applied", "nothing_to_do"]
    data: ExactJSON


class Attempt(Strict):
    """One try at the assignment."""

    number: Positive
    #: `initial`, or the failure of the attempt before.
    cause: Id
    status: Status
    #: Why it failed; null when it did not.
    failure: Id | None
    events: Array[TraceEvent]
    offers: Array[OfferStages]
    choice: Choice | None
    treatments: Array[TreatmentEvent]

    @model_validator(mode="after")
    def _failure_is_named_when_there_is_one(self) -> Self:
        if (self.failure is not None) != (self.status == "failed"):
            raise rule_error("X-ATTEMPT", "a failure exactly where the attempt failed")
        return self


class Opening(Body):
    """Everything private of one run."""

    TYPE: ClassVar[str] = type_name("opening")

    manifest: Digest
    assignment: Id
    ticket: Digest | None
    #: 32 bytes. Its length is the verifier's to judge, so that a wrong one has its own reason.
    nonce: Base64
    #: The domain that replays it.
    domain: Id
    profile: ExactJSON
    #: What the run was made with, in full (see `materials`).
    materials: dict[Id, ExactJSON]
    attempts: Annotated[Array[Attempt], Field(min_length=1)]
    #: Scalars as the runner reported them: no evidence, but held against what is replayed.
    reported: dict[Id, Value]

    def nonce_bytes(self) -> bytes:
        """The nonce itself."""
        return base64.b64decode(self.nonce)

    def contents(self) -> Contents:
        """The canonical bytes of every commitment, made in one go.

        Raises:
            CanonicalError: a member that was given in Python has no exact form.
        """
        whole = self.model_dump(mode="json")
        # One level less than is read back: a document is around it when it is delivered.
        check_exact(whole, MAX_DEPTH - 1)
        return Contents.of(whole)

    def evidence(self) -> dict[EvidenceName, int]:
        """How much evidence of each kind there is, over all attempts; the receipt says so in public."""
        return {
            "attempts": len(self.attempts),
            "decisions": sum(len(attempt.treatments) for attempt in self.attempts),
            "events": sum(len(attempt.events) for attempt in self.attempts),
            "offers": sum(len(attempt.offers) for attempt in self.attempts),
        }

    def content(self, tag: Tag) -> bytes:
        """The canonical bytes that the receipt's commitment of this tag is over; see also `contents`."""
        return self.contents().under(tag)

    def commitment(self, tag: Tag) -> str:
        """The commitment of this tag, or ValueError when the nonce is not 32 bytes long."""
        return self.contents().commitment(self.nonce_bytes(), tag)


class Envelope(Body):
    """The encrypted opening of one assignment, as it is delivered."""

    TYPE: ClassVar[str] = type_name("envelope")

    manifest: Digest
    assignment: Id
    #: Encapsulated key and ciphertext (see `envelopes`).
    envelope: Base64

    def envelope_bytes(self) -> bytes:
        """The envelope's bytes, whose digest the receipt carries."""
        return base64.b64decode(self.envelope)
