"""Requests with one thing wrong about them, sent one after the other.

    JSON = (
        Wrong("a body of `[]`", body=b"[]"),
        Wrong("schema_version left out", changes={"schema_version": ...}),
    )
    findings = await refused(target, JSON, {"400"})

A refusal means something only beside an invocation that is accepted, so the control comes first. A Target
that accepts one of them has perhaps run its Agent, which may cost money: the rest are then not sent.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from agentbeat_conformance.exchanges import Exchange, Failure, Fields, Request
from agentbeat_conformance.expectations import permitted
from agentbeat_conformance.requirements import CouldNotRun, Finding
from agentbeat_conformance.sessions import Ids
from agentbeat_conformance.target_probes import KEEP, TargetProbe
from agentbeat_protocol import CASE_ID_HEADER, RUN_ID_HEADER

__all__ = ["Wrong", "claims_nothing", "given_fields", "is_accepted", "refused"]

_FIELD_VALUE = re.compile(r"[!-~]([ -~]*[!-~])?")
_BUILT: Final = frozenset({"Host", "Connection", "Content-Length"})
_BOUND: Final = ((RUN_ID_HEADER, "run_id"), (CASE_ID_HEADER, "case_id"))


@dataclass(frozen=True, slots=True)
class Wrong:
    """An invocation that is right but for what is given.

    The correlation headers follow the ids in `changes` where a header can hold them, so that a Target that
    compares them does not refuse for that.

    Attributes:
        what: the case in a few words, for findings.
        changes: members to set (`...` leaves one out), or a function of the ids that gives them.
        body: the exact body, or a function of the right one that spoils it.
        fields: header fields to set; None leaves one out.
        more: further header fields, also repeated ones.
        secret: another secret; None for no Authorization.
    """

    what: str
    changes: Mapping[str, Any] | Callable[[Ids], Mapping[str, Any]] | None = None
    body: bytes | Callable[[bytes], bytes] | None = None
    fields: Mapping[str, str | None] | Callable[[Ids], Mapping[str, str | None]] | None = None
    more: Fields | Callable[[Ids], Fields] = ()
    secret: Any = KEEP

    async def sent(self, target: TargetProbe, *, ids: Ids | None = None, runs: int = 0) -> Exchange:
        """Send it.

        Args:
            ids: the ids that it has where it does not change them; new ones unless given.
            runs: how often a conformant Target runs its Agent for it.
        """
        ids = ids or target.session.ids()
        changes = self.changes(ids) if callable(self.changes) else (self.changes or {})
        fields = self.fields(ids) if callable(self.fields) else (self.fields or {})
        body = self.body(target.invocation(ids, changes)) if callable(self.body) else self.body
        return await target.post(
            ids=ids,
            changes=changes,
            body=body,
            secret=self.secret,
            fields={**_following(changes), **fields},
            extra=self.more(ids) if callable(self.more) else self.more,
            runs=runs,
        )


async def refused(
    target: TargetProbe, wrongs: Iterable[Wrong], permits: Collection[str], *, lenient: bool = False
) -> list[Finding]:
    """The findings against a Target that has to answer each of the requests with a permitted outcome.

    Args:
        lenient: whether a conformant Target may accept them, so that its Agent may run, once at the most.

    Raises:
        CouldNotRun: the control is not accepted, or (`lenient`) the budget is used up.
    """
    await target.control()
    findings: list[Finding] = []
    for number, wrong in enumerate(wrongs):
        exchange = await wrong.sent(target, runs=1 if lenient and number == 0 else 0)
        findings += permitted(exchange, permits, wrong.what)
        if is_accepted(exchange) or exchange.failure is Failure.TIMEOUT:
            break
    return findings


async def claims_nothing(target: TargetProbe, wrongs: Iterable[Wrong]) -> list[Finding]:
    """The findings against a Target that runs what it refuses, or for which a run_id is used up by it.

    It takes one invocation of a conformant Target: all requests have one run_id, which is then used well.
    Before that, a Target with evidence has none of it.

    Raises:
        CouldNotRun: the control is not accepted, or one of the requests is.
    """
    await target.control()
    ids = target.session.ids()
    for wrong in wrongs:
        exchange = await wrong.sent(target, ids=ids)
        if is_accepted(exchange):
            raise CouldNotRun(
                f"{wrong.what}: got {exchange.outcome}, and only what is refused claims nothing"
            )
    findings = []
    evidence, unheard = await target.evidence(ids.run_id), target.session.ids()
    # A Target that serves a document for every run id (EVD-10.d) has not run them all.
    if _serves(evidence, ids) and not _serves(await target.evidence(unheard.run_id), unheard):
        findings.append(Finding("got evidence of a run that was refused, expected none", evidence.index))
    exchange = await target.invoke(ids=ids)
    findings += permitted(exchange, {"200"}, "a run_id that only refused requests have named")
    return findings


def _serves(evidence: Exchange, ids: Ids) -> bool:
    """Whether a read was answered with a document that names the run."""
    document = evidence.answer
    return document is not None and is_accepted(evidence) and ids.run_id.encode() in document.body


def is_accepted(exchange: Exchange) -> bool:
    """Whether the Target took the request for good."""
    return exchange.status is not None and 200 <= exchange.status < 300


def given_fields(request: Request) -> Fields:
    """The fields of a request but those that `Request.build` adds, to build another one of them."""
    return tuple((name, value) for name, value in request.fields if name not in _BUILT)


def _following(changes: Mapping[str, Any]) -> dict[str, str | None]:
    """The correlation headers for changed ids, as far as a header can hold them."""
    return {
        header: changes[member]
        for header, member in _BOUND
        if isinstance(changes.get(member), str) and _FIELD_VALUE.fullmatch(changes[member])
    }
