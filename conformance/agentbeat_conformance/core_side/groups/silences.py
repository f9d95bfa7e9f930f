"""State Controllers that fall silent, are late, or answer verify with something else than a verify answer.

Before the Agent runs a Core may end the run, or go on without the State Controller's word. Afterwards the run
stands, and only the L3 channels are missing.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from agentbeat_conformance.core_side.controllers import HostileController
from agentbeat_conformance.core_side.deliveries import (
    Answer,
    Cut,
    Endless,
    HangUp,
    Late,
    html_error,
    refusal,
)
from agentbeat_conformance.core_side.expectations import either, failed, without_state
from agentbeat_conformance.core_side.groups.deliveries import ENDLESS
from agentbeat_conformance.core_side.groups.receipts import Arrange, receipt_scenario
from agentbeat_conformance.core_side.scenarios import Scenario
from agentbeat_conformance.core_side.servers import Line
from agentbeat_conformance.core_side.targets import Change

__all__ = ["SCENARIOS"]

#: The time-out holds for each step, the honest ones too, so it is longer than elsewhere; in seconds.
_SHORT: Final = 2.0
_LATE: Final = 5.0

# Name, rule, what is served: none of it is a verify answer.
_ANSWERS: Final[tuple[tuple[str, str, str, Change], ...]] = (
    ("verify-409", "RCP-5", "verify answers 409 lease_expired", lambda _: refusal("lease_expired", 409)),
    ("verify-500", "RCP-5", "verify answers 500", lambda _: refusal("internal_error", 500)),
    (
        "verify-500-good",
        "RCP-5",
        "verify answers 500 with a good answer in the body",
        lambda a: Answer(status=500, body=a.body),
    ),
    ("verify-html", "RCP-5", "verify answers 200 with an HTML page", lambda _: html_error(200)),
    ("verify-cut", "RCP-5", "half a verify answer, then the connection ends", Cut),
    ("verify-hang-up", "RCP-5", "verify ends the connection", lambda _: HangUp()),
)


class _Stops:
    """The Controller dies in the middle of its answer."""

    def __init__(self, controller: HostileController) -> None:
        self._controller = controller

    async def send(self, line: Line) -> None:
        self._controller.die()
        line.abort()


def _stops(step: str) -> Arrange:
    return lambda stage: stage.controller.change.update({step: lambda _: _Stops(stage.controller)})


def _late(step: str) -> Arrange:
    return lambda stage: stage.controller.change.update({step: lambda answer: Late(answer, _LATE)})


#: Before the Agent runs a Core may end the run, or go on without the State Controller's word.
_NO_L3: Final = either(
    "failed without an evaluation, or L3 channels missing and no final_score",
    failed(),
    without_state(),
)


def _silences() -> Iterator[Scenario]:
    """A Controller that stops, or is late, at each of its steps."""
    for step in ("reset", "snapshot_before"):
        yield receipt_scenario(
            f"stops-at-{step.replace('_', '-')}",
            "RCP-3",
            f"it dies at {step}",
            _stops(step),
            expects=_NO_L3,
            posts=(0, 1),
        )
    for step in ("snapshot_after", "verify"):
        yield receipt_scenario(
            f"stops-at-{step.replace('_', '-')}", "RCP-3", f"it dies at {step}", _stops(step)
        )
    yield receipt_scenario(
        "verify-late",
        "Request",
        "a good verify answer after the time-out",
        _late("verify"),
        request={"timeouts.controller": _SHORT},
    )
    yield receipt_scenario(
        "after-late",
        "Request",
        "the answer to snapshot after comes after the time-out",
        _late("snapshot_after"),
        request={"timeouts.controller": _SHORT},
    )


def _verify(change: Change) -> Arrange:
    return lambda stage: stage.controller.change.update(verify=change)


def _scenarios() -> Iterator[Scenario]:
    for name, rule, served, change in _ANSWERS:
        yield receipt_scenario(name, rule, served, _verify(change))
    yield receipt_scenario(
        "verify-endless",
        "RCP-5",
        "a verify answer, and white space without an end",
        _verify(Endless),
        request={"timeouts.controller": ENDLESS},
    )
    yield from _silences()


SCENARIOS: Final = tuple(_scenarios())
