"""ClaimReceipts: whether a reported number can be recomputed, and whether these are all the runs (spec 4).

A `Batch` signs what is promised before the runs, and a receipt for each of them. `verify` says of what was
delivered whether bytes, chain and openings are sound (L1), whether every claim comes out again (L2), and
whether everything that was promised arrived (L3):

    report = verify(read_bundle(Path("claim")), public, domains=known_domains(), auditor=auditor, trust=trust)
    report.claim("C2").verdict, report.licences.granted

Where to look: `objects` are what is signed and delivered, `verification` the checks of bytes and coverage,
`claims` the engine and the Protocol of a domain, `domains` the two that are known, `analyses` with
`statistics` the numbers of C1 and C3, `anchors` the proofs of time, `streams` the verification of more than
fits in memory.

The room imports only `agentbeat_protocol`. It is pure but for the modules that read and write files, and for
the random bytes of keys, nonces and envelopes. The names below are loaded when they are first used: the
`agentbeat` command looks at this package even where the extra `receipts` is not installed.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from agentbeat_receipts.anchors import AnchorTrust, request_token
    from agentbeat_receipts.batches import Batch, Facts, OrderError, Written
    from agentbeat_receipts.bundles import BundleError, read_bundle, stream_bundle, write_bundle
    from agentbeat_receipts.claims.faults import Fault
    from agentbeat_receipts.claims.results import ClaimReport, ClaimVerdict, Licence
    from agentbeat_receipts.claims.verifier import verify
    from agentbeat_receipts.commitments import derived_nonce, fresh_nonce
    from agentbeat_receipts.deliveries import Delivery
    from agentbeat_receipts.domains import known_domains
    from agentbeat_receipts.keyring_files import (
        create_keyring,
        load_keyring,
        public_keyring_bytes,
        read_public_keyring,
    )
    from agentbeat_receipts.keys import KeyRefused, Keyring, PublicKeyring, Role
    from agentbeat_receipts.stream_errors import StreamError
    from agentbeat_receipts.streams import verify_stream
    from agentbeat_receipts.verification import (
        ChainReport,
        Finding,
        Level,
        ProvenAnchor,
        Reason,
        Verdict,
        verify_chain,
    )

__all__ = [
    "AnchorTrust",
    "Batch",
    "BundleError",
    "ChainReport",
    "ClaimReport",
    "ClaimVerdict",
    "Delivery",
    "Facts",
    "Fault",
    "Finding",
    "KeyRefused",
    "Keyring",
    "Level",
    "Licence",
    "OrderError",
    "ProvenAnchor",
    "PublicKeyring",
    "Reason",
    "Role",
    "StreamError",
    "Verdict",
    "Written",
    "create_keyring",
    "derived_nonce",
    "fresh_nonce",
    "known_domains",
    "load_keyring",
    "public_keyring_bytes",
    "read_bundle",
    "read_public_keyring",
    "request_token",
    "stream_bundle",
    "verify",
    "verify_chain",
    "verify_stream",
    "write_bundle",
]

_HOMES: Final = {
    "AnchorTrust": "anchors",
    "Batch": "batches",
    "BundleError": "bundles",
    "ChainReport": "verification",
    "ClaimReport": "claims.results",
    "ClaimVerdict": "claims.results",
    "Delivery": "deliveries",
    "Facts": "batches",
    "Fault": "claims.faults",
    "Finding": "verification",
    "KeyRefused": "keys",
    "Keyring": "keys",
    "Level": "verification",
    "Licence": "claims.results",
    "OrderError": "batches",
    "ProvenAnchor": "verification",
    "PublicKeyring": "keys",
    "Reason": "verification",
    "Role": "keys",
    "StreamError": "stream_errors",
    "Verdict": "verification",
    "Written": "batches",
    "create_keyring": "keyring_files",
    "derived_nonce": "commitments",
    "fresh_nonce": "commitments",
    "known_domains": "domains",
    "load_keyring": "keyring_files",
    "public_keyring_bytes": "keyring_files",
    "read_bundle": "bundles",
    "read_public_keyring": "keyring_files",
    "request_token": "anchors",
    "stream_bundle": "bundles",
    "verify": "claims.verifier",
    "verify_chain": "verification",
    "verify_stream": "streams",
    "write_bundle": "bundles",
}


def __getattr__(name: str) -> Any:
    """Load a public name from the module that defines it."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
