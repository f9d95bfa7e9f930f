"""What checks expect of a State Controller's answers, each as a function that gives the findings."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Final

from agentbeat_conformance.controller_answers import error_code
from agentbeat_conformance.controller_runs import ControllerRun
from agentbeat_conformance.exchanges import Exchange
from agentbeat_conformance.expectations import permitted
from agentbeat_conformance.requirements import CouldNotRun, Finding
from agentbeat_protocol import cut

__all__ = ["LEASES", "ROUTES", "differs", "goes_on", "refused", "repeated"]

#: Headings of the specification.
ROUTES: Final = "Control routes"
LEASES: Final = "Environment, profile, catalogue, lease"


def refused(
    exchange: Exchange, permits: Collection[str], what: str, *, codes: Collection[str] = ()
) -> Iterator[Finding]:
    """The outcome is one of those permitted, and so is the code, if the refusal has a readable one.

    Args:
        what: the case in a few words, such as "a second run".
        codes: the permitted codes; none for any.
    """
    if exchange.outcome not in permits:
        yield from permitted(exchange, permits, what)
        return
    code = error_code(exchange)
    if codes and code is not None and code not in codes:
        expected = " or ".join(sorted(codes))
        yield Finding(f"{what}: got the code {cut(code)}, expected {expected}", exchange.index)


def repeated(first: Exchange, again: Exchange, what: str) -> Iterator[Finding]:
    """The same request again has the recorded 200 answer, byte for byte."""
    yield from permitted(again, {"200"}, what)
    if again.answer is not None and again.status == 200 and first.answer is not None:
        old, new = first.answer.body, again.answer.body
        if old != new:
            at = next((at for at, pair in enumerate(zip(old, new, strict=False)) if pair[0] != pair[1]), None)
            where = f"from byte {at} on" if at is not None else "in length"
            yield Finding(f"{what}: got an answer that differs {where}, expected the same bytes", again.index)


async def goes_on(run: ControllerRun, after_what: str) -> list[Finding]:
    """A run that was only reset goes on as if nothing had been tried: its state is that of the reset.

    Raises:
        CouldNotRun: even an undisturbed run does not start from the state of its reset (RCP-8).
    """
    control = await run.probe.control()
    if control.taken("before").digest != control.started.state_digest:
        raise CouldNotRun("an undisturbed run does not start from the state of its reset")
    before = await run.send("before")
    found = list(permitted(before, {"200"}, f"snapshot before, after {after_what}"))
    if not found:
        found += differs(
            run.taken("before").digest,
            run.started.state_digest,
            f"the state after {after_what}",
            before,
            expected="the state of the reset",
        )
    return found


def differs(
    got: object, wanted: object, what: str, exchange: Exchange, *, expected: str = "the same"
) -> Iterator[Finding]:
    """Two values are equal; the finding shows neither."""
    if got != wanted:
        yield Finding(f"{what}: got another, expected {expected}", exchange.index)
