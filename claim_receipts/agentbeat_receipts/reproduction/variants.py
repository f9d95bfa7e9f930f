"""The prospective epoch, whole and with something kept back: what survives, and what does not.

Nothing is forged in any of them, so nothing may become Invalid.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from agentbeat_receipts.claims import ClaimReport, Licence
from agentbeat_receipts.deliveries import Delivery
from agentbeat_receipts.objects import Ticket
from agentbeat_receipts.reproduction.verifying import Bench, Verified
from agentbeat_receipts.reproduction.wordings import verdict_letter
from agentbeat_receipts.verification import Verdict

__all__ = ["variant_rows", "without"]


def variant_rows(bench: Bench, prospective: Verified) -> Iterator[tuple[str, str]]:
    """The prospective epoch as it is, with one terminal kept back, and unopened."""
    whole, delivered = prospective.report, prospective.deliveries
    yield "tickets before the first answer", f"{len(whole.chain.held.get(Ticket, ()))}, {whole.chain.level}"
    statuses = whole.statuses
    yield "accepted and rejected", f"{statuses.get('accepted', 0)} and {statuses.get('rejected', 0)}"
    yield "all delivered and opened", _summary(whole)
    order = [run.assignment for run in prospective.made.batch.runs]
    for name, kept_back in (
        ("29 of 30 terminals", order[len(order) // 2]),
        ("without the last one", order[-1]),
    ):
        yield name, _summary(bench.report(without(delivered, kept_back)))
    sealed = [delivery for delivery in delivered if not delivery.path.startswith("envelopes/")]
    yield "no openings", _summary(bench.report(sealed))
    yield "public view, without the auditor's key", _summary(bench.report(delivered, opened=False))


def without(deliveries: Iterable[Delivery], assignment: str) -> tuple[Delivery, ...]:
    """The deliveries without one run's receipt and envelope."""
    names = {f"{kind}/{assignment}.json" for kind in ("receipts", "envelopes")}
    return tuple(delivery for delivery in deliveries if delivery.path not in names)


def _summary(report: ClaimReport) -> str:
    """The verdicts in one line: coverage, the transactions' claims, C2 and C4, and the licence."""
    fidelity = ("information_fidelity", "conduct_fidelity")
    claims = {verdict.claim: verdict.verdict for verdict in report.claims}
    transactions = [claim.claim for claim in report.claims if claim.kind == "transaction"]
    economic = [claims[claim] for claim in transactions if claim not in fidelity]
    parts = [
        f"coverage {verdict_letter(report.chain.coverage)}",
        f"{len(economic)} economic {_common(economic)}",
        f"{len(fidelity)} fidelity {_common([claims[claim] for claim in fidelity])}",
        f"C2 {verdict_letter(claims['C2'])}",
        f"C4 {verdict_letter(claims['C4'])}",
    ]
    blocked = any(blocker.licence is Licence.DESCRIPTIVE for blocker in report.licences.blockers)
    parts.append("descriptive blocked" if blocked else f"licence {report.licences.granted}")
    return ", ".join(parts)


def _common(verdicts: list[Verdict]) -> str:
    return "/".join(dict.fromkeys(verdict_letter(verdict) for verdict in verdicts))
