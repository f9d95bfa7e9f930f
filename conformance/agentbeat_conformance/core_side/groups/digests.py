"""Digests that lie: the invocation response or the evidence answer's head names another document's."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Callable
from typing import Any, Final

from agentbeat_conformance.core_side.expectations import complete, without_trace
from agentbeat_conformance.core_side.scenarios import Scenario
from agentbeat_conformance.core_side.stages import Stage
from agentbeat_conformance.core_side.targets import evidence_document
from agentbeat_conformance.exchanges import Fields
from agentbeat_protocol import digest_bytes

__all__ = ["SCENARIOS"]

Object = dict[str, Any]
Arrange = Callable[[Stage], Any]


def _repr_digest(raw: bytes) -> str:
    return f"sha-256=:{base64.b64encode(hashlib.sha256(raw).digest()).decode()}:"


def _claims(metadata: Callable[[bytes], Object], fields: Callable[[bytes], Fields]) -> Arrange:
    """Digests of the document in the invocation response and in the evidence answer's head."""

    def arrange(stage: Stage) -> None:
        raw = json.dumps(evidence_document(stage.run_id, stage.case_id)).encode()
        stage.target.reply = lambda reply: reply | {"metadata": metadata(raw)}
        stage.target.evidence_fields = fields

    return arrange


def _no_metadata(raw: bytes) -> Object:
    del raw
    return {}


def _no_fields(raw: bytes) -> Fields:
    del raw
    return ()


_LIE: Final = b"another document"

_DIGESTS: Final[tuple[tuple[str, str, Arrange, bool], ...]] = (
    (
        "response-lies",
        "metadata.evidence_digest of another document",
        _claims(lambda _: {"evidence_digest": digest_bytes(_LIE)}, _no_fields),
        False,
    ),
    (
        "header-lies",
        "Repr-Digest of another document",
        _claims(_no_metadata, lambda _: (("Repr-Digest", _repr_digest(_LIE)),)),
        False,
    ),
    (
        "header-lies-lower-case",
        "repr-digest of another document, beside one of an unknown algorithm",
        _claims(_no_metadata, lambda _: (("repr-digest", f"md5=:AAAA:, {_repr_digest(_LIE)}"),)),
        False,
    ),
    (
        "response-lies-header-right",
        "metadata.evidence_digest of another document, Repr-Digest right",
        _claims(
            lambda _: {"evidence_digest": digest_bytes(_LIE)},
            lambda raw: (("Repr-Digest", _repr_digest(raw)),),
        ),
        False,
    ),
    (
        "both-right",
        "both digests right",
        _claims(
            lambda raw: {"evidence_digest": digest_bytes(raw)},
            lambda raw: (("Repr-Digest", _repr_digest(raw)),),
        ),
        True,
    ),
    (
        "unknown-algorithm",
        "a Repr-Digest of an algorithm that nobody has to know",
        _claims(_no_metadata, lambda _: (("Repr-Digest", "unixsum=:AAAA:"),)),
        True,
    ),
)

SCENARIOS: Final = tuple(
    Scenario(
        id=f"core.digest.{name}",
        rule="EVD-11",
        tier="L2",
        served=served,
        expects=complete("L2") if right else without_trace(),
        arrange=arrange,
    )
    for name, served, arrange, right in _DIGESTS
)
