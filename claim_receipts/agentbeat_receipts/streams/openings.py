"""The second pass, a worker's part: openings are held against their receipts, replayed and summed.

A task brings the records of the receipts that its deliveries seem to be of. An opening of another assignment
is a stray: it is named, and comes again with the right record. What comes back is sums and names.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from agentbeat_protocol import ProtocolError, cut
from agentbeat_receipts.claims.settling import Settler
from agentbeat_receipts.claims.tallies import Tally
from agentbeat_receipts.deliveries import Delivered
from agentbeat_receipts.objects import (
    Body,
    Contents,
    Envelope,
    Manifest,
    Opening,
    Receipt,
    read_whole,
)
from agentbeat_receipts.streams.pools import StreamError
from agentbeat_receipts.streams.settings import Settings
from agentbeat_receipts.streams.stored_lists import entry
from agentbeat_receipts.streams.stores import Row
from agentbeat_receipts.streams.terminals import Held
from agentbeat_receipts.verification.holdings import object_digest_of
from agentbeat_receipts.verification.reasons import Reason
from agentbeat_receipts.verification.results import Finding
from agentbeat_receipts.verification.retries import retry_findings
from agentbeat_receipts.verification.unsealing import opening_faults, unsealed

__all__ = ["Candidate", "Frame", "Opened", "OpeningTask", "UnopenedTask", "open_some", "settle_unopened"]


class Candidate(NamedTuple):
    """What could be the opening of a terminal, whatever is wrong with it.

    Args:
        nonce: what stands for its nonce, which is secret.
        terminal: the assignment whose receipt it was held against.
        sealed: whether it came in an envelope.
        digest: of the object that it came in.
        owner: the assignment that it names itself.
    """

    nonce: bytes
    terminal: str
    sealed: bool
    digest: str
    owner: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """What all tasks of a pass share.

    Args:
        ours: digest of our manifest; None when it is not known.
        manifest: our manifest without its long lists; None without one.
        domain: the name of the domain that replays; None where it is not known.
        settling: whether transactions are replayed and summed.
        listing: whether the digests of openings and envelopes are wanted.
    """

    ours: str | None
    manifest: Manifest | None
    domain: str | None
    settling: bool
    listing: bool = False


class OpeningTask(NamedTuple):
    """Deliveries that were put off, with what they are held against.

    Args:
        frame: what all tasks share.
        deliveries: the deliveries.
        held: the receipts of these assignments, with what else is known of them.
        settled: assignments that are settled already.
    """

    frame: Frame
    deliveries: Sequence[Delivered]
    held: Held
    settled: frozenset[str] = frozenset()


class UnopenedTask(NamedTuple):
    """Terminals without an opening."""

    frame: Frame
    held: Held


@dataclass(slots=True)
class Opened:
    """What came of some deliveries.

    Args:
        tally: sums over what was settled; None where nothing was to be.
        findings: what is wrong.
        opened: assignments whose terminal was opened.
        tried: assignments with a candidate.
        shut: assignments with an envelope that did not open.
        candidates: all of them.
        domains: what the openings name.
        digests: our objects, by kind.
        strays: index and assignment of a delivery for which no record came along.
        sound: whether there is an object of ours.
    """

    tally: Tally | None
    findings: list[Finding] = field(default_factory=list)
    opened: list[str] = field(default_factory=list)
    tried: list[str] = field(default_factory=list)
    shut: list[str] = field(default_factory=list)
    candidates: list[Candidate] = field(default_factory=list)
    domains: set[str] = field(default_factory=set)
    digests: list[tuple[type[Body], str]] = field(default_factory=list)
    strays: list[tuple[int, str]] = field(default_factory=list)
    sound: bool = False


def open_some(settings: Settings, task: OpeningTask) -> Opened:
    """Open, check and settle what can be."""
    return _Opener(settings, task).result()


def settle_unopened(settings: Settings, task: UnopenedTask) -> Tally:
    """The sums over terminals without their openings."""
    settler = _settler(settings, task.frame, task.held.places)
    for record in task.held.records.values():
        settler.add(record.receipt(), None)
    return settler.tally


def _settler(settings: Settings, frame: Frame, places: Iterable[Row]) -> Settler:
    domain = None if frame.domain is None else settings.domains[frame.domain]
    manifest = frame.manifest
    if manifest is not None:
        # Only what is said of these assignments: a whole manifest is long.
        entries = tuple(entry(*place) for place in places)
        manifest = manifest.model_copy(update={"assignments": entries})
    return Settler(domain, manifest)


class _Opener:
    """One task under way."""

    def __init__(self, settings: Settings, task: OpeningTask) -> None:
        self._settings = settings
        self._task = task
        self._frame = task.frame
        self._settler = _settler(settings, task.frame, task.held.places) if task.frame.settling else None
        self._done = set(task.settled)
        self._opened = Opened(None if self._settler is None else self._settler.tally)

    def result(self) -> Opened:
        """Everything that came of the task."""
        for index, delivery in enumerate(self._task.deliveries):
            self._read(index, delivery)
        return self._opened

    def _read(self, index: int, delivery: Delivered) -> None:
        try:
            reading = read_whole(delivery.content)
        except ProtocolError as error:
            finding = Finding(Reason.OBJECT_UNREADABLE, cut(delivery.path, 200), str(error))
            self._opened.findings.append(finding)
            return
        body = reading.document.body
        if not isinstance(body, Envelope | Opening):
            raise StreamError(f"{cut(delivery.path, 200)}: another object than in the first pass")
        digest, _ = object_digest_of(reading)
        if body.manifest != self._frame.ours:
            self._opened.findings.append(Finding(Reason.SET_ASIDE, digest, f"a {type(body).__name__}"))
            return
        self._opened.sound = True
        if self._frame.listing:
            self._opened.digests.append((type(body), digest))
        record = self._task.held.records.get(body.assignment)
        if record is None:
            self._opened.strays.append((index, body.assignment))
            return
        receipt = record.receipt()
        if isinstance(body, Opening):
            self._hold_against(receipt, body, reading.contents or body.contents(), digest, sealed=False)
            return
        found = unsealed(body, receipt, self._settings.auditor)
        if not isinstance(found, Reason):
            self._hold_against(receipt, *found, digest, sealed=True)
        elif found in (Reason.OPENING_SEALED, Reason.OPENING_UNDECRYPTABLE):
            self._opened.shut.append(body.assignment)
        else:
            self._opened.findings.append(Finding(found, body.assignment))

    def _hold_against(
        self, receipt: Receipt, opening: Opening, contents: Contents, digest: str, *, sealed: bool
    ) -> None:
        name, opened = receipt.assignment, self._opened
        faults = list(opening_faults(opening, contents, receipt))
        opened.findings += faults
        opened.tried.append(name)
        nonce = self._settings.stand_in(opening.nonce_bytes())
        opened.candidates.append(Candidate(nonce, name, sealed, digest, opening.assignment))
        if faults or name in self._done or (name, digest) in self._task.held.refused:
            return
        self._done.add(name)
        opened.opened.append(name)
        opened.domains.add(opening.domain)
        if self._frame.manifest is not None:
            opened.findings += retry_findings(opening, self._frame.manifest.retry)
        if self._settler is not None:
            self._settler.add(receipt, opening)
