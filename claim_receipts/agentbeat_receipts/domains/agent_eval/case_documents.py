"""A case in two documents: what may be known of it, and what the Agent must never learn.

*Public*: the task, what an attacker plants and where, which scenario it is, and the State Controller's
profile of each Deployment. *Private*: the expected values, the rubric, the rules that it is scored by, and a
salt, so that its digest cannot be guessed from a likely rubric.

Both are carried as the bytes that they were written in. A case may hold decimals and text of any form, and
what is scored by must be what was committed, to the last byte.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Final

from pydantic import Field, StringConstraints

from agentbeat_protocol import digest_bytes
from agentbeat_protocol.evaluation import AgentCase, PinnedProfile, Rule, read_exact_json
from agentbeat_protocol.identifiers import EntityId
from agentbeat_protocol.models import Array, Digest, JSONObject, Name, Strict, validated
from agentbeat_receipts.canonical import canonical_bytes
from agentbeat_receipts.domains.agent_eval.case_trees import proof_of, root_of

__all__ = [
    "CaseFile",
    "CaseTree",
    "Pin",
    "PrivatePart",
    "PublicPart",
    "join_case",
    "leaf_of",
    "read_private",
    "read_public",
    "split_case",
]

#: The members of a case that say what is expected.
PRIVATE_MEMBERS: Final = (
    "expected",
    "expected_action",
    "expected_behavior",
    "failure_condition",
    "judge_rubric",
)


class Pin(Strict):
    """The profile by which a Deployment's State Controller prepares and judges the case."""

    target_id: EntityId
    deployment_profile_id: Name
    profile: PinnedProfile


class PublicPart(Strict):
    """The public document."""

    profile: str
    case: JSONObject
    pins: Array[Pin]


class PrivatePart(Strict):
    """The private document."""

    #: 32 random bytes, new for each batch.
    salt: Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
    case: JSONObject
    rules: Annotated[Array[JSONObject], Field(max_length=10_000)]


@dataclass(frozen=True, slots=True)
class CaseFile:
    """The two documents of one case.

    Args:
        profile: the case's name in the manifest.
    """

    profile: str
    public: bytes
    private: bytes

    @property
    def leaf(self) -> bytes:
        """The case's leaf in the batch's tree."""
        return leaf_of(self.profile, digest_bytes(self.public), self.private_digest)

    @property
    def private_digest(self) -> str:
        """What the catalogue holds of the private document."""
        return digest_bytes(self.private)


def leaf_of(profile: str, public: Digest, private: Digest) -> bytes:
    """The leaf of a case with documents of these digests."""
    return canonical_bytes({"private": private, "profile": profile, "public": public})


def split_case(
    profile: str, case: AgentCase, *, rules: Sequence[Rule], pins: Sequence[Pin], salt: bytes
) -> CaseFile:
    """The two documents of a case.

    Args:
        profile: its name in the manifest.
        rules: what it is scored by, in the scoring profile's order.
        pins: one for each Deployment whose State Controller takes part.
        salt: 32 random bytes, the case's own.
    """
    members = case.model_dump(mode="json", exclude_unset=True)
    public = {name: value for name, value in members.items() if name not in PRIVATE_MEMBERS}
    private = {name: members[name] for name in PRIVATE_MEMBERS}
    return CaseFile(
        profile=profile,
        public=_written(
            {"profile": profile, "case": public, "pins": [pin.model_dump(mode="json") for pin in pins]}
        ),
        private=_written(
            {
                "salt": salt.hex(),
                "case": private,
                "rules": [rule.model_dump(mode="json", exclude_unset=True) for rule in rules],
            }
        ),
    )


def join_case(public: PublicPart, private: PrivatePart) -> AgentCase:
    """The whole case.

    Raises:
        ProtocolError: together they are none.
    """
    return validated(AgentCase, {**public.case, **private.case})


def read_public(raw: bytes) -> PublicPart:
    """The public document; ProtocolError when it is none."""
    return validated(PublicPart, read_exact_json(raw))


def read_private(raw: bytes) -> PrivatePart:
    """The private document; ProtocolError when it is none."""
    return validated(PrivatePart, read_exact_json(raw))


class CaseTree:
    """All cases of a batch, in manifest order."""

    def __init__(self, files: Sequence[CaseFile]) -> None:
        self.files = {file.profile: file for file in files}
        self._places = {file.profile: place for place, file in enumerate(files)}
        self._leaves = [file.leaf for file in files]

    @cached_property
    def root(self) -> str:
        """What the manifest commits to."""
        return root_of(self._leaves)

    @property
    def size(self) -> int:
        """How many cases there are."""
        return len(self._leaves)

    def place(self, profile: str) -> int:
        """A case's place among them, from 0."""
        return self._places[profile]

    def proof(self, profile: str) -> tuple[str, ...]:
        """The way from a case to the root."""
        return proof_of(self._leaves, self._places[profile])


def _written(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":")).encode()
