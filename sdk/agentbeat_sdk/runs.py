"""One run of the Agent: what it was asked, where it writes its evidence, and which run is the current one.

The current run lives in a ContextVar, so that a tool finds its run without being handed it. The variable
follows `await`, `asyncio.create_task` and `asyncio.to_thread`. A thread that the Agent starts by itself
(`threading.Thread`, an executor's `submit`) begins without a run; enter it there with `activate`:

>>> def work(run: "Run") -> None:
...     with activate(run):
...         assert current_run() is run
>>> current_run() is None
True
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from agentbeat_protocol import RUN_ID_HEADER

if TYPE_CHECKING:
    from agentbeat_sdk.recorder import EvidenceRecorder

__all__ = ["Completion", "Run", "activate", "current_run", "enter"]


@dataclass(frozen=True, slots=True)
class Completion:
    """What the Agent returns when a bare string is not enough.

    Args:
        final_response: the answer; it must hold a character that is not white space (INV-1).
        usage: token counts and the like, a JSON object; left out of the response when None.
        metadata: more about the answer, a JSON object; left out of the response when None.
    """

    final_response: str
    usage: Mapping[str, Any] | None = None
    metadata: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Run:
    """One accepted invocation, as the Agent sees it.

    Args:
        run_id: the run's id; it is accepted once (INV-4).
        case_id: the case's id.
        text: the task, `input.text` of the invocation.
        metadata: the invocation's metadata, already checked for runtime overrides (INV-5).
        record: where the Agent records what it does; tools made with `tool` record here by themselves.
    """

    run_id: str
    case_id: str
    text: str = field(repr=False)
    metadata: Mapping[str, Any] = field(repr=False)
    record: EvidenceRecorder = field(repr=False)

    def headers(self) -> dict[str, str]:
        """The headers that a business call carries to reach this run's environment of a catalogue."""
        return {RUN_ID_HEADER: self.run_id}


_current: ContextVar[Run | None] = ContextVar("agentbeat_current_run", default=None)


def current_run() -> Run | None:
    """The run that this code works for, or None outside of a run."""
    return _current.get()


def enter(run: Run) -> None:
    """Make `run` the current run for the rest of this context: of a task or a thread of its own."""
    _current.set(run)


@contextmanager
def activate(run: Run) -> Iterator[Run]:
    """Make `run` the current run inside the `with` block; the run before it is current again afterwards."""
    token = _current.set(run)
    try:
        yield run
    finally:
        _current.reset(token)
