"""State Controllers whose receipts have a digest or a signature that does not hold (RCP-2, RCP-6)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agentbeat_conformance.mutants.base_controller import BaseController
from agentbeat_conformance.mutants.base_leases import Signer
from agentbeat_conformance.mutants.registry import controller_mutant
from agentbeat_protocol import Instant, signing_payload

__all__: list[str] = []


@controller_mutant(
    "receipt-digest-is-off",
    breaks={"RCP-2"},
    text="Its receipt_digest is over the members without their native_score.",
)
class ReceiptDigestIsOff(BaseController):
    def seal(self, members: Mapping[str, Any]) -> dict[str, Any]:
        part = {name: value for name, value in members.items() if name != "native_score"}
        return {**super().seal(part), "native_score": members["native_score"]}


@controller_mutant(
    "receipt-changed-after-its-digest",
    breaks={"RCP-2"},
    text="It sets issued_at once more when the receipt is signed.",
)
class ReceiptChangedAfterItsDigest(BaseController):
    def seal(self, members: Mapping[str, Any]) -> dict[str, Any]:
        return {**super().seal(members), "issued_at": str(Instant.from_nanoseconds(self.now()))}


@controller_mutant(
    "receipt-is-unsigned",
    breaks={"RCP-6.a"},
    text="Its receipts are not signed, although its health route names a key.",
    consequences={"RCP-6.b"},
)
class ReceiptIsUnsigned(BaseController):
    def seal(self, members: Mapping[str, Any]) -> dict[str, Any]:
        return {**super().seal(members), "signature": None}


@controller_mutant(
    "signature-over-the-digest-alone",
    breaks={"RCP-6.a"},
    text="Its signature is over the digest without the line before it.",
)
class SignatureOverTheDigestAlone(BaseController):
    def seal(self, members: Mapping[str, Any]) -> dict[str, Any]:
        receipt = super().seal(members)
        return {**receipt, "signature": self.signer.sign(receipt["receipt_digest"].encode())}


@controller_mutant(
    "signature-of-another-key",
    breaks={"RCP-6.a"},
    text="It signs with another key than the registered one, under that one's name.",
)
class SignatureOfAnotherKey(BaseController):
    def seal(self, members: Mapping[str, Any]) -> dict[str, Any]:
        receipt = super().seal(members)
        signature = Signer().sign(signing_payload(receipt["receipt_digest"]))
        return {**receipt, "signature": {**signature, "key_id": self.signer.key_id}}


@controller_mutant(
    "signature-names-another-key",
    breaks={"RCP-6.b"},
    text="Its signatures name another key than its health route does.",
)
class SignatureNamesAnotherKey(BaseController):
    def seal(self, members: Mapping[str, Any]) -> dict[str, Any]:
        receipt = super().seal(members)
        return {**receipt, "signature": {**receipt["signature"], "key_id": "key-another"}}
