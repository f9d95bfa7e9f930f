"""Step 2: one receipt with its opening becomes sums (L2).

The domain replays; the engine holds what is on record against what comes out again, and adds both to a
`Tally`. Of each transaction:

    1 counts        its terminal; under its arm, its run and the digests of its components
    2 bindings      the opening is of the domain, and each material has the digest that was promised
    3 claims        each value, against the disclosed and the reported one
    4 whole replay  each stage, and the domain's identity
    5 cells         the disclosed values, under profile and arm

What contradicts a binding refutes the claims that need it: they have no value at all, because a replay with
another chooser is no replay. What is absent leaves a claim undetermined. A value that comes out again but not
as it was recorded counts in its cell as it came out, since the cell is to be recomputed. One that rests on
less evidence than was promised is counted as such beside it.

A domain raises `Unreplayed` for evidence that does not let it go on. Whatever else it raises is a defect of
the domain and goes through to the caller: a verdict is never made of a crash.

    settler = Settler(domain, manifest)
    for receipt, opening in …:
        settler.add(receipt, opening)
    settler.tally
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from agentbeat_protocol import cut
from agentbeat_receipts.claims.bindings import Broken, ContentDigests, broken_bindings
from agentbeat_receipts.claims.cases import Case, ClaimValue, Unreplayed
from agentbeat_receipts.claims.domains import Domain, Replay
from agentbeat_receipts.claims.faults import Fault
from agentbeat_receipts.claims.groups import Group
from agentbeat_receipts.claims.tallies import Cell, ClaimTally, Tally
from agentbeat_receipts.claims.tallying import PROFILE_DIGESTS, note
from agentbeat_receipts.objects import COMPONENTS, Arm, Assignment, Manifest, Null, Opening, Pair, Receipt
from agentbeat_receipts.verification.results import ChainReport

__all__ = ["Settler", "settle"]

_LONGEST_DETAIL = 200


def settle(chain: ChainReport, domain: Domain | None, *, removed: frozenset[Group] = frozenset()) -> Tally:
    """The sums over every terminal of a verified chain.

    Args:
        domain: None where it is not known; then only counts are made, which is all that C2 needs.
        removed: groups that are to be absent.
    """
    settler = Settler(domain, chain.manifest, removed=removed)
    for assignment, receipt in chain.terminals.items():
        settler.add(receipt, chain.opened.get(assignment))
    return settler.tally


class Settler:
    """Adds one transaction after another to a tally.

    Args:
        domain: whose transactions these are; None where it is not known.
        manifest: what was promised; None at CR-1.
        removed: groups that are to be absent.
    """

    def __init__(
        self, domain: Domain | None, manifest: Manifest | None, *, removed: frozenset[Group] = frozenset()
    ) -> None:
        self.tally = Tally()
        self._removed = removed
        self._digests = ContentDigests()
        self._places: Mapping[str, tuple[Assignment, Arm]] = {}
        self._disclosed: frozenset[str] | None = None
        self._promised: Mapping[str, str] = {}
        self._exponent: int | None = None
        self._listed: frozenset[str] | None = None
        if manifest is not None:
            arms = {arm.arm: arm for arm in manifest.arms}
            self._places = {entry.assignment: (entry, arms[entry.arm]) for entry in manifest.assignments}
            self._disclosed = frozenset(manifest.disclosed)
            self._promised, self._listed = manifest.materials, frozenset(manifest.materials)
            self._exponent = None if Group.Q in removed else manifest.money_exponent
        self._replayer = None if domain is None else _Replayer(domain, self.tally)
        self._domain = domain
        self._groups = {} if domain is None else dict(domain.materials)

    def add(self, receipt: Receipt, opening: Opening | None) -> None:
        """One more transaction.

        Args:
            receipt: the sound terminal of its assignment.
            opening: its sound opening; None where it was not opened.
        """
        tally, subject = self.tally, receipt.assignment
        tally.received += 1
        tally.opened += opening is not None
        tally.statuses[receipt.status] += 1
        assignment, arm = self._places.get(subject, (None, None))
        placed = assignment if Group.A not in self._removed else None
        if placed is not None:
            self._count(receipt, opening, placed)
        if self._disclosed is not None and receipt.values.keys() != self._disclosed:
            named = sorted(receipt.values.keys() ^ self._disclosed)
            detail = cut(f"disclosed or promised only: {', '.join(named)}", _LONGEST_DETAIL)
            note(tally.disclosures, Fault.DISCLOSURE_DIFFERS, subject, detail)
        if self._domain is None or self._replayer is None:
            return
        case = Case(
            subject=subject,
            receipt=receipt,
            opening=opening,
            assignment=assignment,
            arm=arm,
            groups=self._groups,
            removed=self._removed,
            money_exponent=self._exponent,
            promised_materials=self._listed,
        )
        broken = broken_bindings(
            case, domain=self._domain.name, promised=self._promised, digests=self._digests
        )
        values = self._replayer.add(case, broken)
        if placed is not None and self._disclosed:
            self._fill(placed, values)

    def _count(self, receipt: Receipt, opening: Opening | None, placed: Assignment) -> None:
        tally = self.tally
        tally.runs[placed.profile, placed.arm] += 1
        if Group.Q not in self._removed:
            ran = tuple([receipt.components[name] for name in COMPONENTS])
            counted = tally.components.get(placed.arm)
            if counted is None:
                counted = tally.components[placed.arm] = Counter()
            counted[ran] += 1
        if opening is not None and Group.P not in self._removed:
            digests = tally.profiles.setdefault(placed.profile, set())
            if len(digests) < PROFILE_DIGESTS:
                digests.add(self._digests.profile(opening.profile))

    def _fill(self, placed: Assignment, values: Mapping[str, ClaimValue]) -> None:
        cells = self.tally.cells
        for name in self._disclosed or ():
            value = values.get(name)
            if value is not None:
                place = (placed.profile, placed.arm, name)
                cell = cells.get(place)
                if cell is None:
                    cell = cells[place] = Cell()
                cell.add(value)


class _Replayer:
    """Steps 3 and 4: what comes out again, and what of it is not as it was recorded."""

    def __init__(self, domain: Domain, tally: Tally) -> None:
        self._domain = domain
        self._tally = tally
        self._account = frozenset(domain.claims) - domain.fidelity
        undeclared = [claim for claim in domain.claims if claim not in domain.needs]
        if undeclared:
            raise ValueError(f"{domain.name} declares no needs of {', '.join(undeclared)}")
        self._needs = {claim: domain.needs[claim] for claim in domain.claims}
        tally.claims = {claim: ClaimTally() for claim in domain.claims}

    def add(self, case: Case, broken: tuple[Broken, ...]) -> dict[str, ClaimValue]:
        """The values that came out again."""
        replay = self._domain.replay(case)
        values: dict[str, ClaimValue] = {}
        for claim, counted in self._tally.claims.items():
            fault = self._refuting(claim, broken) if broken else None
            if fault is not None:
                note(counted, fault.fault, case.subject, fault.detail)
                continue
            try:
                value = replay.value(claim)
            except Unreplayed as error:
                note(counted, error.fault, case.subject, cut(error.detail, _LONGEST_DETAIL))
                continue
            values[claim] = value
            counted.total.add(value)
            if isinstance(value, int):
                counted.weaker.update(replay.weaknesses(claim))
            recorded = _other_record(case, claim, value)
            if recorded is None:
                counted.determined += 1
            else:
                note(counted, Fault.VALUE_CONTRADICTS_REPLAY, case.subject, recorded)
        self._whole(case, replay, broken)
        if self._account <= values.keys():
            wrong = self._domain.identity(values)
            if wrong is not None:
                detail = cut(wrong, _LONGEST_DETAIL)
                note(self._tally.identity, Fault.IDENTITY_BROKEN, case.subject, detail)
        return values

    def _refuting(self, claim: str, broken: tuple[Broken, ...]) -> Broken | None:
        needs = self._needs[claim]
        return next((fault for fault in broken if fault.group is None or fault.group in needs), None)

    def _whole(self, case: Case, replay: Replay, broken: tuple[Broken, ...]) -> None:
        whole = self._tally.whole
        if broken:
            note(whole, broken[0].fault, case.subject, broken[0].detail)
            return
        try:
            stages = replay.whole()
        except Unreplayed as error:
            note(whole, error.fault, case.subject, cut(error.detail, _LONGEST_DETAIL))
            return
        whole.determined += 1
        for stage in stages:
            self._tally.stages[stage] += 1


def _other_record(case: Case, claim: str, value: ClaimValue) -> str | None:
    """What was recorded of a value, when it is another one."""
    disclosed = case.receipt.values.get(claim, value)
    if disclosed != value:
        return f"got {_shown(disclosed)} disclosed, expected {_shown(value)}"
    if case.opening is not None:
        reported = case.opening.reported.get(claim, value)
        if reported != value:
            return f"got {_shown(reported)} reported, expected {_shown(value)}"
    return None


def _shown(value: ClaimValue) -> str:
    if isinstance(value, Pair):
        return cut(f"({value.pair[0]}, {value.pair[1]})", 60)
    if isinstance(value, Null):
        return cut(f"null for {value.null}", 60)
    return cut(str(value), 60)
