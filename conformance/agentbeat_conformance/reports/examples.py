"""An exchange for each requirement as a correct server has it: run here and now, not written down by hand.

    exchange = example_of(catalogue["INV-3.b"])

The servers are those of which the mutants break one rule each.
"""

from __future__ import annotations

import asyncio

from agentbeat_conformance.exchanges import Exchange
from agentbeat_conformance.mutants.base_controller import BaseController
from agentbeat_conformance.mutants.base_target import BaseTarget
from agentbeat_conformance.mutants.registry import SECRET, Mutant
from agentbeat_conformance.requirements import Capability, Requirement
from agentbeat_conformance.runs import Run
from agentbeat_conformance.trials import run_of

__all__ = ["example_of", "run_on_correct_server"]


def run_on_correct_server(made: Requirement, *, on_socket: bool = False) -> Run:
    """The run of one requirement against a new, correct server of its tier.

    Args:
        on_socket: whether over a real connection; else in process, where the requirement allows that.
    """
    correct = Mutant(
        name="correct",
        kind="oddity",
        tier=made.tier,
        breaks=frozenset(),
        consequences=frozenset(),
        text="It breaks nothing.",
        secret=SECRET,
        on_socket=on_socket or Capability.SOCKET in made.needs,
        make=BaseController if made.tier == "controller" else BaseTarget,
    )
    return asyncio.run(run_of(correct, {made.id: made}))


def example_of(made: Requirement, *, on_socket: bool = False) -> Exchange | None:
    """An exchange of the requirement's check with a permitted outcome; None when there is none.

    That is the last one; of evidence documents the first with tool calls in it. A check that only looks at
    the shared run of a Controller is shown by that run's end, or by its receipt.
    """
    run = run_on_correct_server(made, on_socket=on_socket)
    permitted = [exchange for exchange in run.exchanges if exchange.outcome in made.permits]
    own = {index for result in run.results for index in result.exchanges}
    shown = [exchange for exchange in permitted if exchange.index in own]
    if made.tier == "target-L2":
        return next((exchange for exchange in shown if _has_calls(exchange)), shown[-1] if shown else None)
    if not shown and Capability.WRITE not in made.needs:
        receipts = [exchange for exchange in permitted if exchange.request.target.endswith("/verify")]
        shown = receipts if made.rule.startswith("RCP-") else permitted
    return shown[-1] if shown else None


def _has_calls(exchange: Exchange) -> bool:
    return exchange.answer is not None and b'"tool.call"' in exchange.answer.body
