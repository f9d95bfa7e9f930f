"""The manifest: everything that is promised before the first run, signed by the manifest authority.

It lists the whole assignment matrix, so that coverage can be measured against it, and the contracts, so that
no analysis is chosen after the fact. It must agree with itself (X-MANIFEST): every id once, every reference
to something declared, every promised cell with its replicates 1..n.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Annotated, Any, ClassVar, Final, Literal, Self, get_args

from pydantic import (
    Field,
    SerializerFunctionWrapHandler,
    ValidatorFunctionWrapHandler,
    WrapSerializer,
    WrapValidator,
    model_validator,
)

from agentbeat_protocol.models import Array, Digest, Strict, rule_error
from agentbeat_receipts.objects.assignments import Assignment, AssignmentTable, Replicates, promised_cells
from agentbeat_receipts.objects.base import Body, Id, Positive, SetOf, Text, type_name
from agentbeat_receipts.objects.contracts import Contract, DirectionContract

__all__ = [
    "COMPONENTS",
    "Arm",
    "Assignment",
    "ComparisonGroup",
    "ComponentName",
    "Manifest",
    "RetryPolicy",
    "contract_arms",
]

ComponentName = Literal[
    "prompt", "schema", "parser", "normaliser", "enforcer", "chooser", "scorer", "model", "horizon"
]

#: What every arm has a digest of, and what a comparison group may allow to differ.
COMPONENTS: Final[tuple[ComponentName, ...]] = get_args(ComponentName)


class Arm(Strict):
    """One condition, and what it runs with."""

    arm: Id
    #: The digest of each component; an arm without one, such as a prompt, says so with a fixed digest.
    components: Annotated[dict[ComponentName, Digest], Field(min_length=len(COMPONENTS))]
    #: The treatment flags that are on; all others of the manifest are off.
    treatments: SetOf[Id]


class ComparisonGroup(Strict):
    """Arms that are compared, and the components in which they may differ."""

    group: Id
    arms: SetOf[Id]
    may_differ: SetOf[ComponentName]


class RetryPolicy(Strict):
    """How many attempts a run may take, and after which failures."""

    max_attempts: Positive
    retry_on: SetOf[Id]


def _entries(value: Any, handler: ValidatorFunctionWrapHandler) -> Any:
    # The entries of a table were checked one by one.
    return value if isinstance(value, AssignmentTable) else handler(value)


def _written_entries(value: Any, handler: SerializerFunctionWrapHandler) -> Any:
    return handler(tuple(value))


class Manifest(Body):
    """What is promised."""

    TYPE: ClassVar[str] = type_name("manifest")

    title: Text
    domain: Id
    #: `prospective`: tickets and checkpoint precede the first outcome (CR-3); else coverage is not claimed.
    mode: Literal["prospective", "retrospective"]
    #: `derived_from_seed`: the commitments bind, but hide nothing.
    nonces: Literal["fresh", "derived_from_seed"]
    profiles: Annotated[Array[Id], Field(min_length=1)]
    arms: Annotated[Array[Arm], Field(min_length=1)]
    #: A tuple, or where the matrix is long the table that equals it.
    assignments: Annotated[
        Array[Assignment], Field(min_length=1), WrapValidator(_entries), WrapSerializer(_written_entries)
    ]
    comparison_groups: Array[ComparisonGroup]
    replicates: Positive
    retry: RetryPolicy
    treatment_flags: SetOf[Id]
    #: One unit of money is 10^money_exponent of its currency.
    money_exponent: Annotated[int, Field(ge=-18, le=18)]
    #: The values that public receipts disclose.
    disclosed: SetOf[Id]
    #: Each costs an analysis, so there are not too many.
    contracts: Annotated[Array[Contract], Field(max_length=64)]
    #: The digest of each material that is the same in every run, such as a catalogue.
    materials: dict[Id, Digest]

    @model_validator(mode="after")
    def _agrees_with_itself(self) -> Self:
        for fault in self._faults():
            raise rule_error("X-MANIFEST", fault)
        return self

    def _faults(self) -> Iterator[str]:
        arms = {arm.arm for arm in self.arms}
        yield from _repeated("profile", self.profiles)
        yield from _repeated("arm", (arm.arm for arm in self.arms))
        if not isinstance(self.assignments, AssignmentTable):
            yield from _repeated("assignment", (entry.assignment for entry in self.assignments))
        yield from _repeated("comparison group", (group.group for group in self.comparison_groups))
        yield from _repeated("contract", (contract.contract for contract in self.contracts))
        cells = promised_cells(self.assignments)
        yield from _undeclared("profiles", (profile for profile, _ in cells), set(self.profiles))
        yield from _undeclared("arms", (arm for _, arm in cells), arms)
        yield from _undeclared("arms", (arm for g in self.comparison_groups for arm in g.arms), arms)
        yield from _undeclared("arms", (arm for c in self.contracts for arm in contract_arms(c)), arms)
        for contract in self.contracts:
            if isinstance(contract, DirectionContract):
                yield from _repeated("level of a contract", contract.levels)
        yield from _undeclared("values", (c.outcome for c in self.contracts), set(self.disclosed))
        flags = set(self.treatment_flags)
        yield from _undeclared(
            "treatment flags", (flag for arm in self.arms for flag in arm.treatments), flags
        )
        whole = Replicates(*[self.replicates] * 3)
        if any(found != whole for found in cells.values()):
            yield "each cell with the replicates 1 to its declared number, once each"

    def cells(self) -> Mapping[tuple[str, str], int]:
        """How many runs are promised, by profile and arm, in the order of the assignments."""
        return {cell: found.runs for cell, found in promised_cells(self.assignments).items()}


def contract_arms(contract: Contract) -> tuple[str, ...]:
    """The arms that a contract speaks of."""
    if isinstance(contract, DirectionContract):
        return contract.levels
    return (contract.contrast.minuend, contract.contrast.subtrahend)


def _repeated(kind: str, ids: Iterable[str]) -> Iterator[str]:
    if any(count > 1 for count in Counter(ids).values()):
        yield f"each {kind} once"


def _undeclared(kind: str, used: Iterable[str], declared: set[str]) -> Iterator[str]:
    if not declared.issuperset(used):
        yield f"only declared {kind}"
