"""The writer's side of a batch of evaluation runs: its manifest, and the opening of each run.

    tree = CaseTree(files)
    manifest = eval_manifest(title=…, tree=tree, arms=arms, replicates=2, retry=policy, …)
    batch = Batch(manifest, keyring, anchor=…)
    opening = eval_opening(run, ticket=batch.ticket_digest(run.entry.assignment), attempts=records, …)
    batch.receipt(opening, eval_facts(run, replayed_values(run, opening)))

The values that a receipt discloses are those of the replay: whoever writes it computes them as whoever
verifies it will.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from agentbeat_receipts.batches import Facts
from agentbeat_receipts.claims import Case, ClaimValue, Unreplayed
from agentbeat_receipts.commitments import fresh_nonce
from agentbeat_receipts.domains.agent_eval.case_documents import CaseFile, CaseTree
from agentbeat_receipts.domains.agent_eval.domain import DOMAIN
from agentbeat_receipts.domains.agent_eval.materials import Chooser, component_digests
from agentbeat_receipts.domains.agent_eval.records import AttemptRecord, attempt_of
from agentbeat_receipts.domains.agent_eval.run_ids import run_id_of
from agentbeat_receipts.objects import (
    INITIAL,
    Arm,
    Assignment,
    ComparisonGroup,
    Contract,
    Manifest,
    Null,
    Opening,
    Receipt,
    RetryPolicy,
    material_digest,
)

__all__ = ["EvalArm", "EvalRun", "eval_facts", "eval_manifest", "eval_opening", "replayed_values"]

#: What the verdict of a claim that is not observed is disclosed as.
_UNKNOWN = Null(null="not_observed")
_NO_COMMITMENT = "hmac-sha256:" + "0" * 64


@dataclass(frozen=True, slots=True, kw_only=True)
class EvalArm:
    """One condition.

    Args:
        arm: its id.
        treatments: the treatment flags that are on.
        materials: the content of each of the nine components, by name.
    """

    arm: str
    treatments: tuple[str, ...]
    materials: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class EvalRun:
    """One promised run, with everything that its opening needs of the batch.

    Args:
        manifest_digest: the manifest's, made once: it is long, and each run names it several times.
    """

    manifest: Manifest
    manifest_digest: str
    entry: Assignment
    arm: EvalArm
    tree: CaseTree

    @property
    def file(self) -> CaseFile:
        """The run's case."""
        return self.tree.files[self.entry.profile]

    def run_id(self, ticket: str | None, attempt: int) -> str:
        """The run id of an attempt."""
        return run_id_of(
            manifest=self.manifest_digest,
            ticket=ticket,
            assignment=self.entry.assignment,
            attempt=attempt,
        )


def eval_manifest(
    *,
    title: str,
    tree: CaseTree,
    arms: Sequence[EvalArm],
    replicates: int,
    retry: RetryPolicy,
    comparison_groups: Sequence[ComparisonGroup],
    contracts: Sequence[Contract],
    disclosed: Iterable[str],
) -> Manifest:
    """The manifest of a prospective batch: every case under every arm, arms side by side.

    Raises:
        ValidationError: the parts do not agree with one another.
    """
    profiles = tuple(tree.files)
    assignments = tuple(
        Assignment(assignment=f"a-{place:05d}", profile=profile, arm=arm, replicate=replicate)
        for place, (replicate, profile, arm) in enumerate(
            (
                (replicate, profile, arm.arm)
                for replicate in range(1, replicates + 1)
                for profile in profiles
                for arm in arms
            ),
            1,
        )
    )
    return Manifest(
        title=title,
        domain=DOMAIN.name,
        mode="prospective",
        nonces="fresh",
        profiles=profiles,
        arms=tuple(
            Arm(arm=arm.arm, components=component_digests(arm.materials), treatments=arm.treatments)
            for arm in arms
        ),
        assignments=assignments,
        comparison_groups=tuple(comparison_groups),
        replicates=replicates,
        retry=retry,
        treatment_flags=tuple({flag for arm in arms for flag in arm.treatments}),
        money_exponent=0,
        disclosed=tuple(disclosed),
        contracts=tuple(contracts),
        materials={"catalogue": material_digest("catalogue", _catalogue(tree))},
    )


def eval_opening(
    run: EvalRun,
    *,
    ticket: str | None,
    case_id: str,
    attempts: Sequence[AttemptRecord],
    reported: Mapping[str, ClaimValue],
    nonce: bytes | None = None,
) -> Opening:
    """The opening of one run.

    Args:
        ticket: digest of its ticket; None in a retrospective batch.
        attempts: what each attempt left behind, in order.
        reported: what was published of the run, to be held against the replay.
        nonce: 32 bytes; fresh ones by default.

    Raises:
        Contradiction: a record contradicts itself.
    """
    file, tree = run.file, run.tree
    chooser = Chooser.model_validate(run.arm.materials["chooser"])
    tier = run.arm.materials["scorer"]["observation_tier"]
    causes = (INITIAL, *(record.failure or INITIAL for record in attempts))
    last = attempts[-1]
    case = {
        "public": base64.b64encode(file.public).decode(),
        "private": file.private_digest,
        "place": tree.place(file.profile),
        "proof": list(tree.proof(file.profile)),
    }
    return Opening(
        manifest=run.manifest_digest,
        assignment=run.entry.assignment,
        ticket=ticket,
        nonce=base64.b64encode(fresh_nonce() if nonce is None else nonce).decode(),
        domain=DOMAIN.name,
        profile={"document": base64.b64encode(file.private).decode()},
        materials={
            **run.arm.materials,
            "catalogue": _catalogue(tree),
            "case": case,
            "state": None if last.state is None else last.state.model_dump(mode="json"),
        },
        attempts=tuple(
            attempt_of(
                record,
                number=number,
                cause=cause,
                run_id=run.run_id(ticket, number),
                case_id=case_id,
                tier=tier,
                chooser=chooser,
            )
            for number, (record, cause) in enumerate(zip(attempts, causes, strict=False), 1)
        ),
        reported=dict(reported),
    )


def replayed_values(run: EvalRun, opening: Opening) -> dict[str, ClaimValue]:
    """The value of each claim as a verifier will compute it; claims that are not determined are left out."""
    arm = {arm.arm: arm for arm in run.manifest.arms}[run.entry.arm]
    replay = DOMAIN.replay(
        Case(
            subject=run.entry.assignment,
            receipt=_draft(opening, arm),
            opening=opening,
            assignment=run.entry,
            arm=arm,
            groups=DOMAIN.materials,
        )
    )
    values = {}
    for claim in DOMAIN.claims:
        try:
            values[claim] = replay.value(claim)
        except Unreplayed:
            continue
    return values


def eval_facts(run: EvalRun, values: Mapping[str, ClaimValue]) -> Facts:
    """What the receipt discloses: the promised values and the arm's components."""
    arm = {arm.arm: arm for arm in run.manifest.arms}[run.entry.arm]
    return Facts(
        components=arm.components,
        values={claim: values.get(claim, _UNKNOWN) for claim in run.manifest.disclosed},
    )


def _catalogue(tree: CaseTree) -> dict[str, Any]:
    return {"root": tree.root, "size": tree.size}


def _draft(opening: Opening, arm: Arm) -> Receipt:
    """A receipt for the replay alone, which looks at what it is about and at the components that ran."""
    return Receipt(
        manifest=opening.manifest,
        assignment=opening.assignment,
        ticket=opening.ticket,
        sequence=1,
        previous=opening.manifest,
        attempts=len(opening.attempts),
        status=opening.attempts[-1].status,
        components=dict(arm.components),
        commitment=_NO_COMMITMENT,
        trace=_NO_COMMITMENT,
        offers=_NO_COMMITMENT,
        outcome=_NO_COMMITMENT,
        values={},
        evidence=opening.evidence(),
        envelope=None,
    )
