"""What an epoch is: profiles under arms, so many times, with what the manifest says of comparing them.

    epoch = scripted_epoch(seed)
    manifest = epoch.manifest()               # titled as ours
    epoch.size                                # how many receipts it will have

An epoch says how runs are made. It says nothing of verdicts, and nothing of it but the manifest and what was
run reaches a verifier.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from agentbeat_receipts.corpus.origins import OURS
from agentbeat_receipts.domains.market import ArmPlan, Profile, market_manifest
from agentbeat_receipts.objects import (
    ComparisonGroup,
    ComponentName,
    Contract,
    Contrast,
    DirectionContract,
    Manifest,
    RetryPolicy,
    Sign,
    StabilityContract,
)

__all__ = ["ONE_ATTEMPT", "TREATMENTS", "TWO_ATTEMPTS", "Epoch", "compared", "rising", "steady"]

ONE_ATTEMPT: Final = RetryPolicy(max_attempts=1, retry_on=())
TWO_ATTEMPTS: Final = RetryPolicy(max_attempts=2, retry_on=("empty", "timeout", "unparseable"))

#: The guards that are on under each treatment.
TREATMENTS: Final[Mapping[str, tuple[str, ...]]] = {
    "none": (),
    "info": ("info",),
    "conduct": ("conduct",),
    "both": ("conduct", "info"),
}


@dataclass(frozen=True, kw_only=True)
class Epoch:
    """One batch of the corpus, before it is run.

    Args:
        key: a short name, such as `E1`; the runs' seeds are made from it.
        about: what is run, in a few words.
        profiles: the buyers by id.
        plans: what each arm runs with.
        groups: which arms are compared, and where they may differ.
        replicates: how often each profile meets each arm.
        contracts: what the epoch asserts; without one C1 and C3 are not claimed.
        retry: how many attempts a run has.
        prospective: whether it has an anchor, tickets and encrypted openings (CR-3).
    """

    key: str
    about: str
    profiles: Mapping[str, Profile]
    plans: Mapping[str, ArmPlan]
    groups: tuple[ComparisonGroup, ...]
    replicates: int = 1
    contracts: tuple[Contract, ...] = ()
    retry: RetryPolicy = ONE_ATTEMPT
    prospective: bool = False

    @property
    def size(self) -> int:
        """How many runs it promises."""
        return len(self.profiles) * len(self.plans) * self.replicates

    def manifest(self, name: str | None = None) -> Manifest:
        """What is promised.

        Args:
            name: what the title calls the epoch; its key unless given.
        """
        return market_manifest(
            title=f"{OURS}: {self.key if name is None else name}, {self.about}",
            profiles=tuple(self.profiles),
            plans=self.plans,
            replicates=self.replicates,
            mode="prospective" if self.prospective else "retrospective",
            nonces="derived_from_seed",
            comparison_groups=self.groups,
            contracts=self.contracts,
            retry=self.retry,
        )


def compared(plans: Mapping[str, ArmPlan], *may_differ: ComponentName) -> tuple[ComparisonGroup, ...]:
    """One group of all arms, which may differ in these components only."""
    return (ComparisonGroup(group="arms", arms=tuple(plans), may_differ=may_differ),)


def rising(outcome: str, *levels: str) -> DirectionContract:
    """C1: an outcome rises from the first level to the last."""
    return DirectionContract(
        contract=f"{outcome.replace('_', '-')}-rises",
        outcome=outcome,
        nesting="replicates_in_cells_in_profiles",
        pairing="within_profile",
        estimator="exact",
        seed=None,
        draws=None,
        input_order="manifest",
        interval="ceil_rank",
        claim="C1",
        estimand="strongest_minus_weakest",
        levels=levels,
        direction="increasing",
        threshold=0,
    )


def steady(outcome: str, *, minuend: str, subtrahend: str) -> StabilityContract:
    """C3: one arm beats another in an outcome, and keeps doing so."""
    return StabilityContract(
        contract=f"{outcome.replace('_', '-')}-differs",
        outcome=outcome,
        nesting="replicates_in_cells_in_profiles",
        pairing="within_profile",
        estimator="exact",
        seed=None,
        draws=None,
        input_order="manifest",
        interval="ceil_rank",
        claim="C3",
        estimand="mean_contrast",
        contrast=Contrast(minuend=minuend, subtrahend=subtrahend),
        boundary=Sign(kind="sign", at=0),
        max_variance=None,
    )
