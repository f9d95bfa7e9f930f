"""ClaimReceipts: whether a reported number can be recomputed, and whether these are all the runs (spec 4).

A `Batch` signs what is promised before the runs, and a receipt for each of them; `verify_chain` says of what
was delivered whether bytes, chain and openings are sound (L1) and whether everything promised arrived (L3).
The objects are in `agentbeat_receipts.objects`, the reasons in `agentbeat_receipts.verification`.

The room imports only `agentbeat_protocol`. It is pure but for `bundles` and `keyring_files`, which read and
write files, and for the random bytes of keys, nonces and envelopes.
"""

from agentbeat_receipts.batches import Batch, Facts, OrderError, Written
from agentbeat_receipts.bundles import BundleError, read_bundle, write_bundle
from agentbeat_receipts.commitments import derived_nonce, fresh_nonce
from agentbeat_receipts.deliveries import Delivery
from agentbeat_receipts.keyring_files import (
    create_keyring,
    load_keyring,
    public_keyring_bytes,
    read_public_keyring,
)
from agentbeat_receipts.keys import KeyRefused, Keyring, PublicKeyring, Role
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
    "Batch",
    "BundleError",
    "ChainReport",
    "Delivery",
    "Facts",
    "Finding",
    "KeyRefused",
    "Keyring",
    "Level",
    "OrderError",
    "ProvenAnchor",
    "PublicKeyring",
    "Reason",
    "Role",
    "Verdict",
    "Written",
    "create_keyring",
    "derived_nonce",
    "fresh_nonce",
    "load_keyring",
    "public_keyring_bytes",
    "read_bundle",
    "read_public_keyring",
    "verify_chain",
    "write_bundle",
]
