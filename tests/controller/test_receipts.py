"""Receipts: one form, and any change to it shows in the digest or in the signature (RCP-2, RCP-6)."""

import copy

import pytest
from cryptography.hazmat.primitives.asymmetric.rsa import generate_private_key
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from agentbeat_controller import ReceiptSigner, signature_holds
from agentbeat_controller.leases import Lease
from agentbeat_controller.receipts import Findings, build_receipt, checks_digest
from agentbeat_controller.store import Snapshot
from agentbeat_protocol import Check, Instant, StateReceipt, digest_text, receipt_digest, verdicts_from_checks
from agentbeat_protocol.models import validated

SIGNER = ReceiptSigner.generate()
OTHER = ReceiptSigner.generate()
DIGESTS = {letter: "sha256:" + letter * 64 for letter in "abcdef"}
CHECKS = (
    Check(
        check_id="refunded", dimension="utility", weight=2, passed=True, reason=None,
        expected={"state": "full"}, actual={"state": "full"}, path="/refunds/1",
    ),
    Check(
        check_id="rest", dimension="security", weight=1, passed=False, reason=None,
        expected=[], actual=["order-2"], path="/orders",
    ),
)  # fmt: skip
LEASE = Lease(
    lease_id="lease-1",
    run_id="run-a",
    case_id="case-a",
    profile_id="desk-refund",
    profile_digest=DIGESTS["a"],
    deployment_profile_id="deployment-a",
    binding_mode="catalog",
    environment_id="env-1",
    attempt_nonce="0123456789abcdef" * 2,
    snapshots=True,
    injection_digest=DIGESTS["b"],
    state_digest=DIGESTS["c"],
    stage="after",
    status="active",
    expires_at=0,
)


def build(signer=SIGNER):
    at = Instant.parse("2026-03-01T10:00:00.000000001Z").unix_nanoseconds
    return build_receipt(
        LEASE,
        controller_id="controller-a",
        receipt_id="receipt-1",
        before=Snapshot(snapshot_ref="snapshot-1", digest=DIGESTS["c"], taken_at=at, content=b"{}"),
        after=Snapshot(snapshot_ref="snapshot-2", digest=DIGESTS["d"], taken_at=at + 1, content=b"{}"),
        final_response="It is r\u00e9funded.",
        findings=Findings(
            checks=CHECKS,
            checks_digest=checks_digest(CHECKS),
            verdicts=verdicts_from_checks(CHECKS, empty={"attack": "none"}),
        ),
        issued_at=Instant.from_nanoseconds(at + 2),
        signer=signer,
    )


def members():
    return build().model_dump(mode="json")


def places(value, trail=()):
    """Every scalar of a JSON value, by its path."""
    if isinstance(value, dict):
        for name, item in value.items():
            yield from places(item, (*trail, name))
    else:
        yield trail


#: Another valid value where one character more or less would be none.
OTHER_VALUES = {
    "binding_mode": "deployment_static",
    "taken_at": "2026-03-01T10:00:01Z",
    "issued_at": "2026-03-01T10:00:01Z",
    "verdict": "not_observed",
    "reason": "there is one now",
    "value": 0.5,
}


def changed(receipt, trail):
    """The receipt with one scalar changed to another valid one."""
    other = copy.deepcopy(receipt)
    *way, last = trail
    holder = other
    for name in way:
        holder = holder[name]
    old = holder[last]
    if last in OTHER_VALUES:
        holder[last] = OTHER_VALUES[last]
    elif isinstance(old, int):
        holder[last] = old + 1
    else:
        holder[last] = old[:-1] + ("1" if old.endswith("0") else "0")
    return other


COVERED = [trail for trail in places(members()) if trail[0] not in ("signature", "receipt_digest")]


def test_a_receipt_is_signed_by_its_key_and_binds_its_members():
    receipt = build()
    assert receipt_digest(receipt.model_dump(mode="json")) == receipt.receipt_digest
    assert signature_holds(receipt, SIGNER.verify_key)
    assert receipt.signature.key_id == SIGNER.key_id
    assert receipt.final_response_digest == digest_text("It is r\u00e9funded.")
    assert receipt.checks_digest == checks_digest(CHECKS)
    assert (receipt.native_score.numerator, receipt.native_score.denominator) == (2, 3)
    assert receipt.before.taken_at < receipt.after.taken_at < receipt.issued_at


def test_the_same_inputs_give_the_same_receipt_to_the_last_byte():
    assert build() == build()


@pytest.mark.parametrize("trail", COVERED, ids="/".join)
def test_a_change_to_any_covered_place_shows_in_the_digest(trail):
    tampered = changed(members(), trail)
    assert receipt_digest(tampered) != tampered["receipt_digest"]


@pytest.mark.parametrize("trail", [trail for trail in COVERED if trail != ("schema_version",)], ids="/".join)
def test_a_change_with_a_digest_made_to_fit_shows_in_the_signature(trail):
    """Who recomputes the digest cannot sign it; and with the old digest it does not hold either."""
    tampered = changed(members(), trail)
    assert not signature_holds(validated(StateReceipt, tampered), SIGNER.verify_key)
    tampered["receipt_digest"] = receipt_digest(tampered)
    assert not signature_holds(validated(StateReceipt, tampered), SIGNER.verify_key)


@pytest.mark.parametrize(
    "key",
    [OTHER.verify_key, "", "A" * 43, "AA", "no base64!", "\u00e9" * 43],
    ids=["another", "empty", "low-order", "short", "no-base64", "no-ascii"],
)
def test_under_another_key_it_does_not_hold(key):
    assert not signature_holds(build(), key)


def test_another_keys_signature_under_the_first_keys_name_does_not_hold():
    receipt = members()
    receipt["signature"] = OTHER.sign(receipt["receipt_digest"]).model_dump(mode="json")
    receipt["signature"]["key_id"] = SIGNER.key_id
    assert not signature_holds(validated(StateReceipt, receipt), SIGNER.verify_key)


def test_a_signature_of_another_receipt_does_not_hold():
    receipt = members()
    receipt["signature"] = SIGNER.sign(DIGESTS["e"]).model_dump(mode="json")
    assert not signature_holds(validated(StateReceipt, receipt), SIGNER.verify_key)


def test_an_unsigned_receipt_has_the_same_digest_and_does_not_hold():
    unsigned = build(signer=None)
    assert unsigned.signature is None
    assert unsigned.receipt_digest == build().receipt_digest
    assert not signature_holds(unsigned, SIGNER.verify_key)


def test_a_signer_is_the_same_after_a_trip_through_pem():
    again = ReceiptSigner.from_pem(SIGNER.to_pem())
    assert (again.verify_key, again.key_id) == (SIGNER.verify_key, SIGNER.key_id)
    assert again.sign(DIGESTS["a"]) == SIGNER.sign(DIGESTS["a"])
    assert len(SIGNER.verify_key) == 43


def test_another_kind_of_key_is_refused_without_being_shown():
    pem = generate_private_key(65537, 2048).private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    with pytest.raises(ValueError, match="Ed25519") as caught:
        ReceiptSigner.from_pem(pem)
    assert pem.decode()[30:60] not in str(caught.value)


def test_a_signer_does_not_show_its_key():
    assert repr(SIGNER) == f"ReceiptSigner({SIGNER.key_id})"
