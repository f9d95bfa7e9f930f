"""The public receipt of one assignment: how it ended, and commitments to everything private behind it."""

from __future__ import annotations

from typing import Annotated, ClassVar, Final, Literal, get_args

from pydantic import Field

from agentbeat_protocol.models import Digest
from agentbeat_receipts.objects.base import Body, Commitment, Counted, Id, Positive, Value, type_name
from agentbeat_receipts.objects.manifests import COMPONENTS, ComponentName

__all__ = ["EVIDENCE", "EvidenceName", "Receipt", "Status"]

#: How an attempt, and so a run, ended.
Status = Literal["accepted", "rejected", "failed"]

#: What is counted of an opening, over all its attempts: these, decisions of treatments, events and offers.
EvidenceName = Literal["attempts", "decisions", "events", "offers"]
EVIDENCE: Final[tuple[EvidenceName, ...]] = get_args(EvidenceName)


class Receipt(Body):
    """One terminal of one assignment, in its place of the chain."""

    TYPE: ClassVar[str] = type_name("receipt")

    manifest: Digest
    assignment: Id
    #: Digest of the assignment's ticket; null in a retrospective batch.
    ticket: Digest | None
    #: Place in the chain, from 1.
    sequence: Positive
    #: Digest of the receipt before. The first one has the checkpoint's, in a retrospective batch the
    #: manifest's.
    previous: Digest
    attempts: Positive
    status: Status
    #: The digest of each component that ran; null where it was not recorded.
    components: Annotated[dict[ComponentName, Digest | None], Field(min_length=len(COMPONENTS))]
    #: To the opening without its nonce.
    commitment: Commitment
    trace: Commitment
    offers: Commitment
    outcome: Commitment
    #: The disclosed values, exact.
    values: dict[Id, Value]
    #: How much evidence of each kind the opening has.
    evidence: Annotated[dict[EvidenceName, Counted], Field(min_length=len(EVIDENCE))]
    #: SHA-256 over the envelope's bytes; null where no envelope was made.
    envelope: Digest | None

    @property
    def is_sealed(self) -> bool:
        """Whether an envelope was made."""
        return self.envelope is not None
