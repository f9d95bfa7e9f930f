"""The chain as it is held: links, runs of links, gaps, and what does not fit.

A short chain is shown link by link. In a long one, links that follow each other soundly are one run, so that
what is shown grows with what is wrong and not with the batch; and that is capped too.

    Run     places 1 to 58, each following the one before
    Gap     no receipt is held at place 59
    Link    a receipt by itself, with the reasons that name it
    Loose   a receipt that is not the one terminal of its assignment, and is named by a reason
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from agentbeat_receipts.objects import Receipt
from agentbeat_receipts.verification.reasons import Reason
from agentbeat_receipts.verification.results import ChainReport

__all__ = ["ChainView", "Entry", "Gap", "Link", "Loose", "Run", "chain_view"]

#: A chain of so many receipts is shown link by link.
SHORT: Final = 64
#: The most entries that are shown.
ENTRIES: Final = 200

_OF_LINKS: Final = frozenset(
    {Reason.CHAIN_HEAD, Reason.CHAIN_FORK, Reason.CHAIN_REORDER, Reason.CHAIN_GAP, Reason.CHAIN_SURPLUS}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """One receipt in the chain."""

    place: int
    assignment: str
    status: str
    digest: str
    previous: str
    reasons: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """Receipts at places that follow each other, none named by a reason."""

    first: Link
    last: Link

    @property
    def count(self) -> int:
        """How many receipts."""
        return self.last.place - self.first.place + 1


@dataclass(frozen=True, slots=True)
class Gap:
    """Places at which no receipt is held."""

    first: int
    last: int


@dataclass(frozen=True, slots=True)
class Loose:
    """A receipt beside the chain."""

    digest: str
    reasons: tuple[str, ...]


Entry = Link | Run | Gap | Loose


@dataclass(frozen=True, slots=True, kw_only=True)
class ChainView:
    """What is shown of a chain.

    Args:
        follows: what the first receipt is to follow.
        entries: in the order of places; those beside the chain last.
        more: how many entries are left out.
        held: how many receipts are held, each the one terminal of its assignment.
        listed: whether the receipts are known one by one; of a stream they are only counted.
    """

    follows: str
    entries: tuple[Entry, ...]
    more: int
    held: int
    listed: bool


def chain_view(chain: ChainReport, *, limit: int = ENTRIES) -> ChainView:
    """The chain; at most `limit` entries of it."""
    reasons = _reasons(chain)
    receipts = sorted(chain.terminals.values(), key=lambda receipt: (receipt.sequence, receipt.assignment))
    # Digests cost a canonicalisation each: in a long sound chain the next link's `previous` says them.
    digests = _digests(receipts, exact=bool(reasons) or len(receipts) <= SHORT)
    links = [
        Link(
            place=receipt.sequence,
            assignment=receipt.assignment,
            status=receipt.status,
            digest=digest,
            previous=receipt.previous,
            reasons=reasons.get(digest, ()),
        )
        for receipt, digest in zip(receipts, digests, strict=True)
    ]
    listed = len(links) >= chain.arrived
    entries = list(_entries(links, chain.expected if listed else None, single=len(links) <= SHORT))
    known = set(digests)
    entries += [Loose(digest, found) for digest, found in reasons.items() if digest not in known]
    prospective = chain.manifest is None or chain.manifest.mode == "prospective"
    return ChainView(
        follows="checkpoint" if prospective else "manifest",
        entries=tuple(entries[:limit]),
        more=max(0, len(entries) - limit),
        held=chain.arrived,
        listed=listed,
    )


def _reasons(chain: ChainReport) -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for finding in chain.findings:
        if finding.reason in _OF_LINKS:
            found[finding.subject] = (*found.get(finding.subject, ()), str(finding.reason))
    return found


def _digests(receipts: list[Receipt], *, exact: bool) -> list[str]:
    if exact or not receipts:
        return [receipt.digest() for receipt in receipts]
    return [*(after.previous for after in receipts[1:]), receipts[-1].digest()]


def _entries(links: list[Link], expected: int | None, *, single: bool) -> Iterator[Entry]:
    places: dict[int, list[Link]] = {}
    for link in links:
        places.setdefault(link.place, []).append(link)
    run: list[Link] = []
    last = 0
    for place, held in places.items():
        sound = len(held) == 1 and not held[0].reasons
        if run and (not sound or place != last + 1):
            yield from _closed(run, single=single)
            run = []
        if place > last + 1:
            yield Gap(last + 1, place - 1)
        if sound:
            run.append(held[0])
        else:
            yield from held
        last = place
    if run:
        yield from _closed(run, single=single)
    if expected is not None and last < expected:
        yield Gap(last + 1, expected)


def _closed(run: list[Link], *, single: bool) -> Iterator[Entry]:
    if single or len(run) == 1:
        yield from run
    else:
        yield Run(first=run[0], last=run[-1])
