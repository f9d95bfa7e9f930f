"""The verdict on a batch of any length, in memory that does not grow with it.

The deliveries are read twice, in several processes:

    1 sighted    receipts and tickets become records, signatures are checked; objects of which a batch has
                 one are kept; envelopes and openings are put off
      between    the chain is checked on the records: `verification.framing`, `verification.chaining`
    2 opened     envelopes and openings are held against their receipts, replayed and summed

and each claim is judged from the sums. Steps, reasons and verdicts are those of `claims.verifier.verify`;
what the report does not have are the terminals and openings themselves.

What grows with the batch is a temporary file (`stores`, `tables`), by a kilobyte for each receipt with its
ticket, its place in the manifest and its opening's mark. In memory there are of the batch:

    one manifest or checkpoint while it is read, in bytes, as its signature is over all of them
    the cache of the temporary file, 2 MiB, and as much while something is sorted
    three tasks for each worker, of up to a megabyte
    cells, by profile, arm and value; findings, up to 10,000 of a reason
    manifests, checkpoints, closing records, reports and anchors, each once, without their long lists

With two workers the peak of this process was 61 MiB at 10,000 receipts and 66 at 100,000, of which 10 are
the manifest's bytes; that of each worker 47. This process took 0.16 ms of processor time for each receipt and
the workers 1.2, so that it can feed seven of them (`python -m benchmarks claims-stream`). A manifest or
checkpoint that is not written in its canonical form is read as one object, for the while with a kilobyte for
each assignment.

A third reading takes place where it cannot be helped: when objects of others carry signatures that are no
good (they may be ours, altered), when two receipts share a nonce (whose opening counts is then a matter of
their order), and when there is no manifest to name the domain.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from operator import itemgetter
from typing import Final, NamedTuple

from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from agentbeat_receipts.anchors.outcomes import ProvenAnchor
from agentbeat_receipts.anchors.trust import AnchorTrust
from agentbeat_receipts.claims.domains import Domain
from agentbeat_receipts.claims.judging import judge
from agentbeat_receipts.claims.results import ClaimReport
from agentbeat_receipts.deliveries import Delivered
from agentbeat_receipts.keys import PublicKeyring
from agentbeat_receipts.objects import Assignment, Body, Manifest
from agentbeat_receipts.streams.gathering import Gathering
from agentbeat_receipts.streams.ledgers import Ledger
from agentbeat_receipts.streams.openings import Frame
from agentbeat_receipts.streams.passes import Passes, Progress
from agentbeat_receipts.streams.pools import usable_cores, worker_pool
from agentbeat_receipts.streams.settings import Settings
from agentbeat_receipts.streams.settlements import Settlement
from agentbeat_receipts.streams.stored_lists import StoredAssignments
from agentbeat_receipts.streams.tables import Tables
from agentbeat_receipts.streams.terminals import Terminals
from agentbeat_receipts.verification.anchoring import Anchorage, take_anchors
from agentbeat_receipts.verification.holdings import Holdings
from agentbeat_receipts.verification.reasons import Reason
from agentbeat_receipts.verification.results import ChainReport, Finding
from agentbeat_receipts.verification.verifier import assemble, check_auditor, held_findings

__all__ = ["verify_stream"]

#: Up to so many receipts the report lists its openings and envelopes by digest.
LISTED: Final = 32


def verify_stream(
    source: Iterable[Delivered],
    keyring: PublicKeyring,
    *,
    domains: Iterable[Domain],
    manifest: str | None = None,
    anchors: Iterable[ProvenAnchor] = (),
    trust: AnchorTrust | None = None,
    auditor: X25519PrivateKey | None = None,
    workers: int | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> ClaimReport:
    """The verdict on every claim of what is delivered, as `claims.verifier.verify` gives it.

    Args:
        source: the deliveries, in one order each time that they are iterated over; see `stream_bundle`.
        keyring, domains, manifest, anchors, trust, auditor: as of `verify`.
        workers: how many processes read and replay; without it, as many as there are cores. With more than
            one, domains must be importable in another process.
        progress: called now and then.

    Returns:
        the report; its chain has no terminals and no openings, and of more than 32 receipts the digests of
        openings and envelopes are not among its evidence. Its long lists lie in the temporary file, which is
        there as long as the report.

    Raises:
        KeyRefused: `auditor` is not the private key of the keyring's auditor.
        StreamError: a worker has ended, the deliveries changed from one reading to the next, or the temporary
            file cannot be written.
        ValueError: two domains of one name, a source that can be read once only, or no worker.
    """
    known, count = tuple(domains), usable_cores() if workers is None else workers
    _check_asked(source, known, count)
    check_auditor(auditor, keyring)
    settings = Settings.of(keyring, auditor, known)
    tables, gathering = Tables(), Gathering()
    with worker_pool(count, settings) as pool:
        passes = Passes(source, pool, tables, progress or (lambda _: None))
        ledger = Ledger(keyring, gathering, tables)
        passes.sighted(ledger)
        choice = ledger.choose(manifest)
        if choice.digest is not None:
            passes.altered(ledger, choice.digest)
        holdings = ledger.sort_out(choice)
        if holdings.ambiguous:
            return _ambiguous(passes, ledger, holdings, tables, gathering)
        anchorage = take_anchors(holdings, tuple(anchors), trust)
        gathering.add(anchorage.findings)
        gathering.add(held_findings(holdings))
        settled = _settled(passes, ledger, holdings, known, tables, gathering)
    if not any(holdings.ours.values()) and not settled.settlement.sound:
        gathering.add((Finding(Reason.NOTHING_SOUND, ""),))
    shut = Reason.OPENING_SEALED if auditor is None else Reason.OPENING_UNDECRYPTABLE
    gathering.add(settled.settlement.missing(shut))
    chain = assemble(holdings, gathering.findings(), anchorage, settled.settlement.opened)
    chain = _listing(chain, settled.settlement.digests)
    return judge(chain, settled.settlement.tally, settled.domain)


def _check_asked(source: Iterable[Delivered], domains: tuple[Domain, ...], workers: int) -> None:
    if len({domain.name for domain in domains}) != len(domains):
        raise ValueError("two domains of one name, expected each name once")
    if iter(source) is source:
        raise ValueError("an iterator, expected deliveries that can be read more than once")
    if workers < 1:
        raise ValueError(f"{workers} workers, expected at least 1")


class _Settled(NamedTuple):
    settlement: Settlement
    domain: Domain | None


def _settled(
    passes: Passes,
    ledger: Ledger,
    holdings: Holdings,
    domains: tuple[Domain, ...],
    tables: Tables,
    gathering: Gathering,
) -> _Settled:
    """Openings against receipts, and the sums, in as few readings as it takes."""
    manifest = holdings.manifest
    terminals = Terminals(tables, holdings.manifest_digest, _list_number(manifest))
    domain = None if manifest is None else _named({manifest.domain}, domains)
    frame = Frame(
        ours=holdings.manifest_digest,
        manifest=None if manifest is None else _without_lists(manifest),
        domain=None if domain is None else domain.name,
        settling=manifest is not None,
        listing=len(terminals) <= LISTED,
    )
    found = passes.opened(ledger, frame, terminals)
    gathering.add(found.refuse())
    if found.refused:
        # What was found so far holds for openings that do not count: it is found again without them.
        found = passes.opened(ledger, frame, terminals)
    if manifest is None:
        domain = _named(found.domains, domains)
        frame = replace(frame, settling=True, domain=None if domain is None else domain.name)
        found = passes.opened(ledger, frame, terminals)
    gathering.add(found.gathering.findings())
    return _Settled(found, domain)


def _list_number(manifest: Manifest | None) -> int | None:
    entries: Sequence[Assignment] = () if manifest is None else manifest.assignments
    return entries.number if isinstance(entries, StoredAssignments) else None


def _named(names: set[str], domains: tuple[Domain, ...]) -> Domain | None:
    return next((domain for domain in domains if {domain.name} == names), None)


def _without_lists(manifest: Manifest) -> Manifest:
    """What a worker needs of it with every task; the assignments in question come beside."""
    return manifest.model_copy(update={"assignments": (), "profiles": (), "contracts": ()})


def _ambiguous(
    passes: Passes, ledger: Ledger, holdings: Holdings, tables: Tables, gathering: Gathering
) -> ClaimReport:
    """Of several manifests nothing is said, but that some deliveries cannot be read."""
    frame = Frame(ours=None, manifest=None, domain=None, settling=True)
    found = passes.opened(ledger, frame, Terminals(tables, None, None))
    unreadable = (f for f in found.gathering.findings() if f.reason is Reason.OBJECT_UNREADABLE)
    gathering.add(unreadable)
    return judge(assemble(holdings, gathering.findings(), Anchorage(), 0), found.tally, None)


def _listing(chain: ChainReport, digests: Iterable[tuple[type[Body], str]]) -> ChainReport:
    """The report with the digests of envelopes and openings, where they were asked for."""
    held = dict(chain.held)
    for kind, digest in sorted(digests, key=itemgetter(1)):
        held[kind] = (*held.get(kind, ()), digest)
    return replace(chain, held=held)
