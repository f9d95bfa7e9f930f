"""One call of the Agent: in a task or in a thread, bounded in time, and what came of it.

A plain function runs in a thread of its own, with the ContextVars of the call copied, so that it never holds
up the event loop. A thread cannot be stopped from outside, and a coroutine may ignore that it is cancelled:
the call counts as going on until its code has really ended, however early its answer was given up.
"""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from agentbeat_sdk.completions import checked_completion
from agentbeat_sdk.limits import Limits
from agentbeat_sdk.runs import Completion, Run, enter

__all__ = ["AgentCall", "Failure", "Handler"]

#: What `@target.invoke` decorates: takes the run, returns or awaits a str or a Completion.
Handler = Callable[[Run], Any]

logger = logging.getLogger("agentbeat_sdk")


@dataclass(frozen=True, slots=True)
class Failure:
    """The Agent gave no answer.

    Args:
        code: the wire's error code.
        message: for the one who called; nothing of the Agent's own words.
        cause: for the evidence, where it is redacted like everything else.
    """

    code: str
    message: str
    cause: str


class AgentCall:
    """The call of a handler for one run. It starts at once.

    Args:
        handler: the Agent.
        run: what it is called with, and the current run of everything that it does.
        on_end: called once, on the event loop, when the handler's code has ended.
    """

    def __init__(self, handler: Handler, run: Run, on_end: Callable[[], None]) -> None:
        self._run = run
        self._on_end = on_end
        self._in_thread = False
        self._given_up = False
        self._stopped = False
        self._ended = False
        loop = asyncio.get_running_loop()
        #: Done when its waiter has something to look at: the end of the call, its stop or its deadline.
        self._news: asyncio.Future[None] = loop.create_future()
        self._task = loop.create_task(self._call(handler))
        self._task.add_done_callback(self._look)

    def stop(self) -> None:
        """Give the call up now: the Target stops."""
        self._stopped = True
        self._wake()

    async def outcome(self, limits: Limits) -> Completion | Failure:
        """What came of the call. Given up after `run_timeout`, at `stop`, or when its waiter is cancelled.

        A call that is given up is cancelled and gets `cancel_timeout` to wind up.
        """
        deadline = self._news.get_loop().call_later(limits.run_timeout, self._wake)
        try:
            await self._news
        except asyncio.CancelledError:
            # The event loop ends. What was recorded is still to be kept, so the waiter goes on.
            if (waiter := asyncio.current_task()) is not None:
                waiter.uncancel()
            self.stop()
        finally:
            deadline.cancel()
        if self._task.done():
            return self._result()
        await self._give_up(limits)
        if self._stopped:
            return _stopped()
        message = f"the Agent took longer than {limits.run_timeout:g} seconds"
        return Failure("target_timeout", message, message)

    async def _give_up(self, limits: Limits) -> None:
        self._given_up = True
        if not self._in_thread:
            self._task.cancel()
            await asyncio.wait({self._task}, timeout=limits.cancel_timeout)

    def _result(self) -> Completion | Failure:
        if self._task.cancelled():
            if self._stopped:
                return _stopped()  # the event loop cancels all its tasks at once, in any order
            return _failed("the Agent's task was cancelled from inside")
        if (error := self._task.exception()) is not None:
            logger.error("the Agent failed in %s", self._run.run_id, exc_info=error)
            return _failed(_describe(error))
        try:
            return checked_completion(self._task.result())
        except ValueError as error:
            logger.error("the Agent gave no usable answer in %s: %s", self._run.run_id, error)
            return _failed(str(error))

    async def _call(self, handler: Handler) -> Any:
        enter(self._run)
        try:
            if _is_async(handler):
                result = handler(self._run)
            else:
                self._in_thread = True
                result = await _in_thread(handler, self._run)
                self._in_thread = False
            if not inspect.isawaitable(result):
                return result
            if self._given_up and inspect.iscoroutine(result):
                result.close()
                return None
            return await result
        except (SystemExit, _ThreadExitError) as error:
            # asyncio would let SystemExit end the whole server.
            raise RuntimeError("the Agent tried to end the process") from error
        finally:
            # Whoever waits comes after this step of the task, which is its last one.
            self._end()

    def _wake(self) -> None:
        if not self._news.done():
            self._news.set_result(None)

    def _end(self) -> None:
        if not self._ended:
            self._ended = True
            self._on_end()
            self._wake()

    def _look(self, task: asyncio.Task[Any]) -> None:
        self._end()  # also of a task that was cancelled before its first step
        if not task.cancelled():
            task.exception()  # one that nobody asks for any more is no warning


def _stopped() -> Failure:
    message = "the Target stopped before the Agent had finished"
    return Failure("target_execution_failed", message, message)


def _failed(cause: str) -> Failure:
    return Failure("target_execution_failed", "the Agent failed", cause)


def _describe(error: BaseException) -> str:
    """The type and the text of an error, which may itself fail to give one."""
    try:
        text = str(error)
    except Exception:  # noqa: BLE001 - any code may stand in a __str__ of the Agent's
        text = "(no text)"
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def _is_async(handler: Handler) -> bool:
    """Whether calling `handler` only makes a coroutine. A wrapper that hides one is called in a thread."""
    return inspect.iscoroutinefunction(handler) or inspect.iscoroutinefunction(type(handler).__call__)


class _ThreadExitError(Exception):
    """The Agent's thread was to end the interpreter."""


async def _in_thread(function: Handler, run: Run) -> Any:
    """The result of `function(run)`, called in a thread that does not keep the process from ending."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[tuple[Any, BaseException | None]] = loop.create_future()
    context = contextvars.copy_context()

    def work() -> None:
        outcome: tuple[Any, BaseException | None]
        try:
            outcome = (context.run(function, run), None)
        except BaseException as error:  # noqa: BLE001 - it is raised again on the event loop
            outcome = (None, error)
        try:
            loop.call_soon_threadsafe(_settle, future, outcome)
        except RuntimeError:
            logger.warning("the Agent ended in %s after its Target had stopped", run.run_id)

    threading.Thread(target=work, name=f"agent-{run.run_id}", daemon=True).start()
    result, error = await future
    if isinstance(error, SystemExit | KeyboardInterrupt):
        raise _ThreadExitError from error
    if error is not None:
        raise error
    return result


def _settle(future: asyncio.Future[Any], outcome: tuple[Any, BaseException | None]) -> None:
    if not future.done():
        future.set_result(outcome)
