"""Objects of which a batch has one, as they were sighted in a stream."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import cast

from agentbeat_receipts.keys import PublicKeyring
from agentbeat_receipts.objects import Body, Document, SignatureFault, signature_fault
from agentbeat_receipts.verification.holdings import is_altered

__all__ = ["Whole"]


@dataclass(slots=True)
class Whole:
    """One object with its copies (a `Sighting`); the bytes that are signed are not kept."""

    body: Body
    keyring: PublicKeyring
    copies: dict[tuple[bytes | None, str | None], Document] = field(default_factory=dict)
    found: set[SignatureFault | None] = field(default_factory=set)

    def take(self, copy: Document, message: bytes | memoryview) -> None:
        """One more copy of it, and what its signature is over."""
        one = Document(body=self.body, signature=copy.signature, key_id=copy.key_id)
        if self.copies.setdefault((copy.signature, copy.key_id), one) is one:
            self.found.add(signature_fault(one, self.keyring, message=message))

    @property
    def kind(self) -> type[Body]:
        return type(self.body)

    @property
    def cited(self) -> str | None:
        return cast(str | None, getattr(self.body, "manifest", None))

    @property
    def facts(self) -> object:
        return self.body

    @property
    def faults(self) -> frozenset[SignatureFault | None]:
        return frozenset(self.found)

    def is_altered(self, ours: str) -> bool:
        return any(is_altered(copy, ours, self.keyring) for copy in self.copies.values())
