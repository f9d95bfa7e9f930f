"""The verifier: from bytes to a verdict on every claim.

    1 chain    bytes, signatures, coverage, openings, retries      `verify_chain`   (L1, L3)
    2 settle   each transaction replayed and summed                `settle`         (L2)
    3 judge    a verdict on each claim, and the licences           `judge`

Pure: deliveries, public keys, domains and proven anchors in, a report out; no network, no file, no clock.
Nothing is believed because it is stored: what cannot be computed again is Inconclusive at best.
"""

from __future__ import annotations

from collections.abc import Iterable

from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from agentbeat_receipts.anchors import AnchorTrust
from agentbeat_receipts.claims.domains import Domain
from agentbeat_receipts.claims.judging import judge
from agentbeat_receipts.claims.results import ClaimReport
from agentbeat_receipts.claims.settling import settle
from agentbeat_receipts.deliveries import Delivery
from agentbeat_receipts.keys import PublicKeyring
from agentbeat_receipts.objects import Manifest, Opening
from agentbeat_receipts.verification import ProvenAnchor, verify_chain

__all__ = ["choose_domain", "verify"]


def verify(
    deliveries: Iterable[Delivery],
    keyring: PublicKeyring,
    *,
    domains: Iterable[Domain],
    manifest: str | None = None,
    anchors: Iterable[ProvenAnchor] = (),
    trust: AnchorTrust | None = None,
    auditor: X25519PrivateKey | None = None,
) -> ClaimReport:
    """The verdict on every claim of what was delivered.

    Args:
        deliveries: paths and bytes, in any order, repeated or not.
        keyring: who may sign what; never taken from the deliveries.
        domains: what the verifier can replay. The manifest names one of them; without a manifest the openings
            do.
        manifest: digest of the manifest that is meant; needed when several are delivered.
        anchors: what was proven of time anchors before.
        trust: what delivered time anchors are checked against; never taken from the deliveries.
        auditor: the auditor's private key, to open envelopes.

    Raises:
        KeyRefused: `auditor` is not the private key of the keyring's auditor.
        ValueError: two domains of one name.
    """
    known = tuple(domains)
    if len({domain.name for domain in known}) != len(known):
        raise ValueError("two domains of one name, expected each name once")
    chain = verify_chain(
        deliveries, keyring, manifest=manifest, anchors=anchors, trust=trust, auditor=auditor
    )
    domain = choose_domain(chain.manifest, chain.opened.values(), known)
    return judge(chain, settle(chain, domain), domain)


def choose_domain(
    manifest: Manifest | None, openings: Iterable[Opening], domains: Iterable[Domain]
) -> Domain | None:
    """The domain that the manifest names; without a manifest, the one that all openings name.

    Returns:
        None when it is not among `domains`, or when nothing names one.
    """
    named = {opening.domain for opening in openings} if manifest is None else {manifest.domain}
    return next((domain for domain in domains if {domain.name} == named), None)
