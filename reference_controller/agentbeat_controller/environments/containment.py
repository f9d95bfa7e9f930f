"""Where an environment's code is called: whatever it raises, it does not end its caller.

An environment is somebody else's code, and such code calls `sys.exit`, or a library in it raises something
that is no `Exception`. A handler of faults does not see that: it would end a worker thread, or the process
with both planes. So the code is called where it is `contained`, and what comes out is an `Exception`, which
the caller turns into its answer as any other fault.

    with contained():
        state = environment.state(connection, environment_id)

What is ours passes: a question that begins the work anew (`asides`), and Ctrl-C. Python gives Ctrl-C to the
main thread only, so a `KeyboardInterrupt` in any other thread is the environment's own.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar

from anyio import to_thread

from agentbeat_controller.asides import Aside

if TYPE_CHECKING:
    from anyio import CapacityLimiter

__all__ = ["EnvironmentExitError", "contained", "in_thread", "kind_of"]

T = TypeVar("T")


class EnvironmentExitError(Exception):
    """An environment's code raised what would have ended its caller; that is the cause of this error."""


@contextmanager
def contained() -> Iterator[None]:
    """Call an environment's code.

    Raises:
        EnvironmentExitError: it raised what is no `Exception`.
    """
    try:
        yield
    except Exception:
        raise
    except BaseException as error:
        if isinstance(error, Aside) or _is_interrupt(error):
            raise
        raise EnvironmentExitError(f"the environment raised {type(error).__name__}") from error


async def in_thread(work: Callable[[], T], *, limiter: CapacityLimiter | None = None) -> T:
    """What `work` gives in a worker thread; nothing that it raises reaches the event loop but an `Exception`.

    A client that goes away does not stop it half-way.

    Args:
        limiter: how many may work at the same time; None: as many as the library has it.
    """
    return await to_thread.run_sync(contained()(work), limiter=limiter)


def kind_of(error: Exception) -> str:
    """What was raised, in one word: its type, never its text."""
    raised = error.__cause__ if isinstance(error, EnvironmentExitError) and error.__cause__ else error
    return type(raised).__name__


def _is_interrupt(error: BaseException) -> bool:
    return isinstance(error, KeyboardInterrupt) and threading.current_thread() is threading.main_thread()
