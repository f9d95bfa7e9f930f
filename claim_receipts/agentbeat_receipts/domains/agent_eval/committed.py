"""The committed side of a run: its case, its scoring profile and its Agent, from the opening's materials."""

from __future__ import annotations

from functools import cached_property

from agentbeat_protocol import digest_bytes
from agentbeat_protocol.evaluation import AgentCase, PinnedProfile, ScoringProfile
from agentbeat_protocol.models import Strict, validated
from agentbeat_receipts.claims import Case, Contradiction, Fault, Group
from agentbeat_receipts.domains.agent_eval.case_documents import (
    PrivatePart,
    PublicPart,
    join_case,
    leaf_of,
    read_private,
    read_public,
)
from agentbeat_receipts.domains.agent_eval.case_trees import root_from
from agentbeat_receipts.domains.agent_eval.materials import CaseMaterial, Catalogue, Model, Scorer
from agentbeat_receipts.domains.agent_eval.readings import decoded, read_as, reading
from agentbeat_receipts.objects.base import Base64

__all__ = ["Committed", "ProfileContent"]


class ProfileContent(Strict):
    """What an opening holds as its private profile: the case's private document."""

    document: Base64


class Committed:
    """What was fixed before the run. Each property belongs to the groups that it names."""

    def __init__(self, case: Case) -> None:
        self._case = case

    @cached_property
    def material(self) -> CaseMaterial:
        """The case's place in the catalogue (K).

        Raises:
            Absent: a manifest without the root over all cases has committed to none of them.
            Contradiction: material_contradicts_manifest, when it is none of the committed cases.
        """
        material = read_as(CaseMaterial, self._case.material("case"), "case")
        catalogue = read_as(Catalogue, self._case.promised_material("catalogue"), "catalogue")
        public = decoded(material.public)
        leaf = leaf_of(self._public(public).profile, digest_bytes(public), material.private)
        if root_from(leaf, material.place, catalogue.size, material.proof) != catalogue.root:
            raise Contradiction(
                Fault.MATERIAL_CONTRADICTS_MANIFEST, "case: not at its place in the catalogue"
            )
        return material

    @cached_property
    def public(self) -> PublicPart:
        """The public document (K).

        Raises:
            Contradiction: material_contradicts_manifest; also when it is the case of another profile.
        """
        public = self._public(decoded(self.material.public))
        placed = self._case.assignment
        if placed is not None and Group.A not in self._case.removed and placed.profile != public.profile:
            raise Contradiction(Fault.MATERIAL_CONTRADICTS_MANIFEST, "case: of another profile")
        return public

    @cached_property
    def private(self) -> PrivatePart:
        """The private document (P, K).

        Raises:
            Contradiction: material_contradicts_manifest, when it is another one than was committed.
        """
        raw = decoded(read_as(ProfileContent, self._case.profile, "profile").document)
        if digest_bytes(raw) != self.material.private:
            raise Contradiction(Fault.MATERIAL_CONTRADICTS_MANIFEST, "profile: another private document")
        with reading("profile"):
            return read_private(raw)

    @cached_property
    def case(self) -> AgentCase:
        """The whole case (P, K)."""
        with reading("case"):
            return join_case(self.public, self.private)

    @cached_property
    def task_case(self) -> AgentCase:
        """The case without what is expected of it (K): its private members are blank."""
        blank = dict.fromkeys(("expected_action", "expected_behavior", "failure_condition"), "")
        nothing = {"applicability": "review"}
        expected = dict.fromkeys(("utility", "security", "asr", "overall"), nothing)
        with reading("case"):
            members = {**self.public.case, **blank, "judge_rubric": "", "expected": expected}
            return validated(AgentCase, members)

    @cached_property
    def scoring_profile(self) -> ScoringProfile:
        """The scoring profile with the case's rules (F, P, K)."""
        scorer = read_as(Scorer, self._case.material("scorer"), "scorer")
        with reading("scoring profile"):
            profile = scorer.profile_for(self.private)
        if not profile.weights_are_sound():
            raise Contradiction(
                Fault.EVIDENCE_MALFORMED, "scoring profile: expected two positive weights of sum 1"
            )
        return profile

    @cached_property
    def model(self) -> Model:
        """The Agent under test (K)."""
        return read_as(Model, self._case.material("model"), "model")

    def pinned(self) -> PinnedProfile:
        """The State Controller's profile of the case, for the Agent's Deployment (K).

        Raises:
            Contradiction: evidence_malformed, when the case has none.
        """
        for pin in self.public.pins:
            if (pin.target_id, pin.deployment_profile_id) == (
                self.model.target_id,
                self.model.deployment_profile_id,
            ):
                return pin.profile
        raise Contradiction(Fault.EVIDENCE_MALFORMED, "case: no profile for this Deployment")

    def _public(self, raw: bytes) -> PublicPart:
        with reading("case"):
            return read_public(raw)
