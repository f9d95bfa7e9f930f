"""What the check of a time anchor says: the time that it proves, or why it proves none.

>>> fault = AnchorFault(AnchorProblem.PENDING, "got pending attestations only")
>>> str(AnchorError(fault))
'pending: got pending attestations only'
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum, unique

from agentbeat_protocol import Instant

__all__ = ["AnchorError", "AnchorFault", "AnchorProblem", "ProvenAnchor", "refused"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ProvenAnchor:
    """What the check of a time anchor's token has shown: the manifest existed at that time.

    Args:
        token: `sha256:` digest of the token's bytes, as tickets cite it.
        manifest: digest of the manifest that the token is over.
        at: the time that the token proves, the latest that it allows.
    """

    token: str
    manifest: str
    at: Instant


@unique
class AnchorProblem(StrEnum):
    """Why a token proves no time."""

    #: Nothing was given to check it with: no roots, or no header of its blocks.
    UNCHECKED = "unchecked"
    #: It is no token of the form that it is said to be.
    UNREADABLE = "unreadable"
    #: It is over another digest, or answers another request.
    OTHER_CONTENT = "other_content"
    #: It does not hold against the given roots or block headers.
    UNTRUSTED = "untrusted"
    #: It promises a proof that is not there yet.
    PENDING = "pending"


@dataclass(frozen=True, slots=True)
class AnchorFault:
    """Why a token proves no time.

    Args:
        problem: the kind of fault.
        detail: got and expected, short; holds nothing unbounded of the token.
    """

    problem: AnchorProblem
    detail: str


class AnchorError(ValueError):
    """Raised where there is no time to go on with; carries the fault."""

    def __init__(self, fault: AnchorFault) -> None:
        super().__init__(f"{fault.problem}: {fault.detail}")
        self.fault = fault


def refused(problem: AnchorProblem, detail: str) -> AnchorError:
    """The exception for one fault."""
    return AnchorError(AnchorFault(problem, detail))
