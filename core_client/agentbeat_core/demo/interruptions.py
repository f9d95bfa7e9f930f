"""Work that ends in order when a signal asks for it: Ctrl-C, SIGTERM, SIGHUP.

    try:
        result = await until_signal(work(), impatient=supervisor.kill)
    except InterruptedBySignal as interrupted:
        return interrupted.exit_code

The first signal cancels the work, which cleans up. A second one does not wait for that.
"""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Coroutine
from typing import Any, Final, TypeVar

__all__ = ["InterruptedBySignal", "until_signal"]

Result = TypeVar("Result")

_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class InterruptedBySignal(Exception):  # noqa: N818 - it is no error
    """A signal has ended the work, which has cleaned up."""

    def __init__(self, caught: signal.Signals) -> None:
        super().__init__(caught.name)
        self.signal = caught

    @property
    def exit_code(self) -> int:
        """128 and the signal's number, as shells have it."""
        return 128 + self.signal


async def until_signal(work: Coroutine[Any, Any, Result], *, impatient: Callable[[], None]) -> Result:
    """The result of `work`, which a signal cancels. A signal that is ignored (`nohup`) stays ignored.

    Args:
        impatient: called at each signal after the first.

    Raises:
        InterruptedBySignal: the last signal; the work has ended.
    """
    working = asyncio.ensure_future(work)
    caught: list[signal.Signals] = []

    def stop(number: signal.Signals) -> None:
        if caught:
            impatient()
        caught.append(number)
        working.cancel()

    for number in _SIGNALS:
        if signal.getsignal(number) is not signal.SIG_IGN:
            asyncio.get_running_loop().add_signal_handler(number, stop, number)
    try:
        return await working
    except asyncio.CancelledError:
        if not caught:
            raise
        raise InterruptedBySignal(caught[-1]) from None
