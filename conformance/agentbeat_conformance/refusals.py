"""What a Target refused, and what it said: for the rules about refusals as such.

    for refusal in await refusals(target):
        ...  # refusal.what, refusal.ids, refusal.exchange, refusal.said()

Whether a request had to be refused, and with which status, is judged by other rules.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from agentbeat_conformance.exchanges import Exchange
from agentbeat_conformance.requirements import CouldNotRun, Finding
from agentbeat_conformance.sessions import Ids
from agentbeat_conformance.target_probes import TargetProbe
from agentbeat_conformance.wrong_requests import Wrong, is_accepted

__all__ = ["WRONGS", "Refusal", "among", "refusals", "replayed"]

#: One request for each way to be refused that any Target has.
WRONGS: Final = (
    Wrong("an object without its end", body=lambda right: right[:-1]),
    Wrong("a body of `[]`", body=b"[]"),
    Wrong("bytes that are no text", body=b"\xff\xfe\x00{"),
    Wrong("a run_id that is an array", changes={"run_id": ["run-a"]}),
    Wrong("input.text that is a number", changes={"input": {"text": 1}}),
    Wrong("metadata that is an array", changes={"metadata": []}),
    Wrong("a runtime override", changes={"metadata": {"model": "x"}}),
    Wrong("another media type", fields={"Content-Type": "text/plain"}),
)


@dataclass(frozen=True, slots=True)
class Refusal:
    """A request that was refused.

    Attributes:
        what: the request in a few words, for findings.
        ids: those that it had where it did not change them.
    """

    what: str
    ids: Ids
    exchange: Exchange

    def said(self) -> str:
        """The body as text, with the strings of its JSON as they are without escapes."""
        body = self.exchange.answer.body if self.exchange.answer else b""
        text = body.decode("utf-8", "replace")
        try:
            return "\n".join((text, *_strings(json.loads(text))))
        except (ValueError, RecursionError):
            return text

    def finding(self, message: str) -> Finding:
        """A finding against it."""
        return Finding(f"{self.what}: {message}", self.exchange.index)


async def refusals(target: TargetProbe, wrongs: Iterable[Wrong] = WRONGS) -> list[Refusal]:
    """What was refused of the requests. The first that is accepted ends it.

    Raises:
        CouldNotRun: the control was not accepted, or no refusal was answered.
    """
    await target.control()
    found: list[Refusal] = []
    for wrong in wrongs:
        ids = target.session.ids()
        exchange = await wrong.sent(target, ids=ids)
        if is_accepted(exchange):
            break
        if exchange.answer is not None:
            found.append(Refusal(wrong.what, ids, exchange))
    if not found:
        raise CouldNotRun("none of the requests was answered with a refusal")
    return found


async def replayed(target: TargetProbe) -> list[Refusal]:
    """The refusal of the control once more; none with `--safe`, or if it is accepted again."""
    if target.session.safe:
        return []
    ids, _ = await target.invoked()
    exchange = await target.post(ids=ids)
    if is_accepted(exchange) or exchange.answer is None:
        return []
    return [Refusal("the control once more", ids, exchange)]


def among(found: Iterable[Refusal], rule: Callable[[Refusal], Iterable[Finding]]) -> list[Finding]:
    """The findings of a rule about one refusal."""
    return [finding for refusal in found for finding in rule(refusal)]


def _strings(value: object) -> Iterator[str]:
    """Every string in a JSON value, member names too."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        yield from value
        for member in value.values():
            yield from _strings(member)
    elif isinstance(value, list):
        for item in value:
            yield from _strings(item)
