"""Time anchors: what shows from outside by when a manifest existed (RFC 3161, OpenTimestamps).

`prove` checks one against an `AnchorTrust`, which the verifier is given and a bundle never holds. It is pure;
`request_token`, which asks an authority over HTTP, is the one function here that is not.
"""

from agentbeat_receipts.anchors.opentimestamps import MAX_PROOF_BYTES, Proof, read_proof
from agentbeat_receipts.anchors.outcomes import AnchorError, AnchorFault, AnchorProblem, ProvenAnchor
from agentbeat_receipts.anchors.proving import prove
from agentbeat_receipts.anchors.requesting import TokenRequestError, request_token
from agentbeat_receipts.anchors.rfc3161 import (
    MAX_RESPONSE_BYTES,
    TimestampRequest,
    check_response,
    make_request,
)
from agentbeat_receipts.anchors.trust import EASIEST_TARGET, AnchorTrust, TrustError, read_headers

__all__ = [
    "EASIEST_TARGET",
    "MAX_PROOF_BYTES",
    "MAX_RESPONSE_BYTES",
    "AnchorError",
    "AnchorFault",
    "AnchorProblem",
    "AnchorTrust",
    "Proof",
    "ProvenAnchor",
    "TimestampRequest",
    "TokenRequestError",
    "TrustError",
    "check_response",
    "make_request",
    "prove",
    "read_headers",
    "read_proof",
    "request_token",
]
