"""RCP-2, RCP-4, RCP-5, RCP-6: a receipt's digests and signature hold; its verdicts follow from the checks."""

from __future__ import annotations

import base64
import binascii
from typing import Final, Literal

from agentbeat_conformance.controller_answers import read_answer
from agentbeat_conformance.controller_expectations import differs
from agentbeat_conformance.controller_probes import ControllerProbe
from agentbeat_conformance.controller_runs import FINAL_RESPONSE, SNAPSHOTS
from agentbeat_conformance.expectations import permitted
from agentbeat_conformance.requirements import Capability, CouldNotRun, Finding, Findings, Level, requirement
from agentbeat_protocol import (
    CanonicalError,
    ControllerHealth,
    ProtocolError,
    digest,
    digest_bytes,
    digest_text,
    native_score,
    receipt_digest,
    signing_payload,
    verdicts_follow,
)

__all__: list[str] = []

RECEIPT: Final = "Receipt: `state-receipt-v1`"
VERDICT: Final = "Native verdict"
_PHASES: Final[tuple[Literal["before"], Literal["after"]]] = ("before", "after")


@requirement(
    "RCP-2",
    level=Level.MUST,
    tier="controller",
    section=RECEIPT,
    text="receipt_digest is that of the canonical JSON of all members but itself and signature.",
    permits={"200"},
    kills={"receipt-digest-is-off", "receipt-changed-after-its-digest"},
)
async def digest_recomputes(controller: ControllerProbe) -> Findings:
    run = await controller.control()
    members = run.members("verify").get("receipt")
    try:
        recomputed = receipt_digest(members if isinstance(members, dict) else {})
    except CanonicalError as error:
        return [Finding(f"receipt: {error}", run.granted["verify"].index)]
    given = run.verified.receipt.receipt_digest
    expected = "that of the members"
    return differs(given, recomputed, "receipt_digest", run.granted["verify"], expected=expected)


@requirement(
    "RCP-4",
    level=Level.MUST,
    tier="controller",
    section=RECEIPT,
    text="Both snapshots can be read after verify and release, and their bytes hash as the receipt says.",
    permits={"200"},
    kills={"release-drops-the-snapshots", "snapshot-content-changes-later"},
)
async def snapshots_can_be_read(controller: ControllerProbe) -> Findings:
    run = await controller.control()
    found: list[Finding] = []
    for phase in _PHASES:
        read = await controller.get(SNAPSHOTS + run.taken(phase).snapshot_ref)
        found += permitted(read, {"200"}, f"snapshot {phase} after release")
        if read.status == 200 and read.answer is not None:
            bound = getattr(run.verified.receipt, phase).digest
            what = f"the digest of snapshot {phase} after release"
            found += differs(digest_bytes(read.answer.body), bound, what, read, expected="the receipt's")
    return found


@requirement(
    "RCP-5.a",
    level=Level.MUST,
    tier="controller",
    section=RECEIPT,
    text="checks_digest is that of the canonical JSON of the checks that verify answers.",
    permits={"200"},
    kills={"checks-digest-is-off"},
)
async def checks_are_digested(controller: ControllerProbe) -> Findings:
    run = await controller.control()
    given, checks = run.verified.receipt.checks_digest, run.members("verify").get("checks")
    return differs(
        given, digest(checks), "checks_digest", run.granted["verify"], expected="that of the checks"
    )


@requirement(
    "RCP-5.b",
    level=Level.MUST,
    tier="controller",
    section=RECEIPT,
    text="final_response_digest is that of the UTF-8 of final_response.",
    permits={"200"},
    kills={"final-response-digest-over-json"},
)
async def response_is_digested(controller: ControllerProbe) -> Findings:
    run = await controller.control()
    given = run.verified.receipt.final_response_digest
    what, verify = "final_response_digest", run.granted["verify"]
    return differs(given, digest_text(FINAL_RESPONSE), what, verify, expected="that of the text")


@requirement(
    "RCP-5.c",
    level=Level.MUST,
    tier="controller",
    section=VERDICT,
    text="native_score is the passed share of the decided checks' weights, as an exact ratio and a number.",
    permits={"200"},
    kills={"native-score-counts-the-undecided", "native-score-number-is-off"},
)
async def score_follows(controller: ControllerProbe) -> Findings:
    run = await controller.control()
    answer, verify = run.verified, run.granted["verify"]
    wanted, given = native_score(answer.checks), answer.native_score
    if wanted is None or given is None:
        return differs(
            given, wanted, "native_score", verify, expected="null exactly when nothing was decided"
        )
    found: list[Finding] = []
    if given.numerator * wanted.denominator != wanted.numerator * given.denominator:
        found.append(Finding("native_score: got another ratio than the checks give", verify.index))
    if given.denominator <= 0 or given.value != given.numerator / given.denominator:
        found.append(Finding("native_score: got a number that is not its ratio", verify.index))
    return found


@requirement(
    "RCP-5.d",
    level=Level.MUST,
    tier="controller",
    section=VERDICT,
    text="The verdicts follow from the checks: a failed one decides its dimension bad, else a null opens it.",
    permits={"200"},
    kills={"failed-check-passes", "undecided-check-passes"},
)
async def verdicts_follow_from_checks(controller: ControllerProbe) -> Findings:
    run = await controller.control()
    if verdicts_follow(run.verified.verdicts, run.verified.checks):
        return ()
    message = "verdicts: got others than the checks give"
    return [Finding(message, run.granted["verify"].index)]


@requirement(
    "RCP-5.e",
    level=Level.MUST,
    tier="controller",
    section=RECEIPT,
    text="Verdicts and native_score of the receipt are those of verify's answer.",
    permits={"200"},
    kills={"receipt-has-other-verdicts", "receipt-has-another-score"},
)
async def receipt_says_the_same(controller: ControllerProbe) -> Findings:
    run = await controller.control()
    answer, verify = run.verified, run.granted["verify"]
    receipt = answer.receipt
    return [
        *differs(receipt.verdicts, answer.verdicts, "receipt.verdicts", verify, expected="the answer's"),
        *differs(
            receipt.native_score, answer.native_score, "receipt.native_score", verify, expected="the answer's"
        ),
    ]


@requirement(
    "RCP-6.a",
    level=Level.MUST,
    tier="controller",
    section=RECEIPT,
    text="The registered key verifies the signature over `state-receipt-v1`, newline, receipt digest.",
    needs={Capability.VERIFY_KEY},
    permits={"200"},
    kills={"receipt-is-unsigned", "signature-over-the-digest-alone", "signature-of-another-key"},
)
async def signature_verifies(controller: ControllerProbe) -> Findings:
    run = await controller.control()
    receipt, verify = run.verified.receipt, run.granted["verify"]
    if receipt.signature is None:
        return [Finding("signature: got none, expected one of the registered key", verify.index)]
    if _verifies(controller.verify_key or b"", receipt.signature.value, receipt.receipt_digest):
        return ()
    return [Finding("signature: got one that the registered key does not verify", verify.index)]


@requirement(
    "RCP-6.b",
    level=Level.MUST,
    tier="controller",
    section=RECEIPT,
    text="The signature's key_id is the health route's signing_key_id; null there means unsigned receipts.",
    permits={"200"},
    kills={"signature-names-another-key"},
)
async def key_id_is_the_healths(controller: ControllerProbe) -> Findings:
    run = await controller.control()
    health = await controller.health()
    try:
        named = read_answer(health, ControllerHealth).signing_key_id
    except ProtocolError as error:
        raise CouldNotRun(f"the health document is unreadable: {error}") from None
    signature = run.verified.receipt.signature
    given = None if signature is None else signature.key_id
    return differs(given, named, "signature.key_id", run.granted["verify"], expected="signing_key_id")


def _verifies(key: bytes, signature: str, digest: str) -> bool:
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    try:
        raw = base64.b64decode(signature + "=" * (-len(signature) % 4), altchars=b"-_", validate=True)
        Ed25519PublicKey.from_public_bytes(key).verify(raw, signing_payload(digest))
    except (InvalidSignature, ValueError, binascii.Error):
        return False
    return True
