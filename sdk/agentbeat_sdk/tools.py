"""Tools that record themselves.

`tool` wraps a function that the Agent may call. In a run (`current_run`), each call is recorded with its
arguments by name, and what came of it: the result, or the exception, which is raised again as it was. Outside
of a run the function is just called. The wrapper looks like the function: name, signature, docstring, types.

>>> @tool
... def search(query: str, limit: int = 10) -> list[str]:
...     return ["T-1"][:limit]
>>> search("refund")
['T-1']

Options keep things out of the evidence that are no secret by their name or shape:

>>> @tool(name="charge", redact=["card_number", "return"])
... def charge_card(card_number: str, amount: int) -> str:
...     return "receipt " + card_number

A text that `redact` hides is hidden in all of the call's two events, also inside of an error's message.

Kinds of function: plain ones, `async def`, methods (`self` and `cls` are not recorded), static and class
methods, callables with a signature. A plain function that returns a coroutine or a future is recorded when
that is done. A generator has no single result, so a generator function is refused; one that is *returned* is
recorded by its type and not consumed.
"""

from __future__ import annotations

import asyncio
import functools
import inspect
from collections.abc import Awaitable, Callable
from concurrent import futures
from typing import Any, Final, ParamSpec, TypeVar, overload

from agentbeat_sdk.runs import Run, current_run
from agentbeat_sdk.tool_arguments import RETURN, Arguments, Redaction

__all__ = ["tool"]

P = ParamSpec("P")
R = TypeVar("R")
Function = Callable[..., Any]

#: Where a wrapper keeps itself and what it wraps.
_WRAPPED: Final = "__agentbeat_tool__"
_LONGEST_NAME: Final = 256


@overload
def tool(function: Callable[P, R], /) -> Callable[P, R]: ...


@overload
def tool(
    *, name: str | None = None, redact: Redaction = ()
) -> Callable[[Callable[P, R]], Callable[P, R]]: ...


def tool(function: Function | None = None, /, *, name: str | None = None, redact: Redaction = ()) -> Any:
    """Make a function record its calls, as `@tool` or as `@tool(name=…, redact=…)`.

    Args:
        name: the tool's name in the evidence, 1–256 code points; the function's own without it.
        redact: names of arguments, and `"return"` for the result, that are recorded as `[redacted]`; or a
            function that is given a name and its value and returns what is recorded instead. If that one
            raises, `[redacted]` is recorded.

    Raises:
        TypeError: the function is a class or a generator function, or `redact` names no parameter of it.
        ValueError: the name is empty or too long.
    """
    if not callable(redact):
        redact = (redact,) if isinstance(redact, str) else tuple(redact)
    if function is None:
        return lambda later: _made(later, name, redact)
    return _made(function, name, redact)


def _made(function: Any, name: str | None, redact: Redaction) -> Any:
    if isinstance(function, staticmethod | classmethod):
        return type(function)(_made(function.__func__, name, redact))
    if hasattr(function, _WRAPPED):
        # A tool already: a call is recorded once, and new options take the place of the old ones.
        if name is None and not redact:
            return function
        function = _before(function)
    called = getattr(function, "__call__", None)  # noqa: B004 - of a callable object, where its kind is seen
    if inspect.isclass(function) or not callable(function):
        raise TypeError(f"tool: got {type(function).__name__}, expected a function")
    if any(map(inspect.isgeneratorfunction, (function, called))) or any(
        map(inspect.isasyncgenfunction, (function, called))
    ):
        raise TypeError("tool: got a generator function, expected one that returns its whole result")
    record = _Recording(_tool_name(function, name), Arguments(function, redact))
    is_async = any(map(inspect.iscoroutinefunction, (function, called)))
    wrapper = (_async_wrapper if is_async else _wrapper)(function, record)
    setattr(wrapper, _WRAPPED, (wrapper, function))
    return wrapper


def _before(function: Any) -> Any:
    """What a tool was made of; a function around a tool, which only carries its mark, is itself."""
    wrapper, wrapped = getattr(function, _WRAPPED)
    if function is wrapper:
        return wrapped
    if inspect.ismethod(function) and function.__func__ is wrapper:
        return wrapped.__get__(function.__self__)
    return function


def _tool_name(function: Function, name: str | None) -> str:
    chosen = getattr(function, "__name__", type(function).__name__) if name is None else name
    if not isinstance(chosen, str) or not 1 <= len(chosen) <= _LONGEST_NAME:
        raise ValueError(f"tool name: expected 1 to {_LONGEST_NAME} characters")
    return chosen


def _wrapper(function: Function, record: _Recording) -> Function:
    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        run = current_run()
        if run is None:
            return function(*args, **kwargs)
        pending = record.begin(run, args, kwargs)
        try:
            result = function(*args, **kwargs)
        except BaseException as error:
            pending.raised(error)
            raise
        if inspect.iscoroutine(result):
            return _awaited(pending, lambda: result)
        if isinstance(result, asyncio.Future | futures.Future):
            result.add_done_callback(pending.done)
        else:
            pending.returned(result)
        return result

    return call


def _async_wrapper(function: Function, record: _Recording) -> Function:
    @functools.wraps(function)
    async def call(*args: Any, **kwargs: Any) -> Any:
        run = current_run()
        if run is None:
            return await function(*args, **kwargs)
        return await _awaited(record.begin(run, args, kwargs), lambda: function(*args, **kwargs))

    return call


async def _awaited(pending: _Pending, start: Callable[[], Awaitable[Any]]) -> Any:
    try:
        result = await start()
    except BaseException as error:
        pending.raised(error)
        raise
    pending.returned(result)
    return result


class _Recording:
    """How the calls of one tool are recorded."""

    def __init__(self, name: str, arguments: Arguments) -> None:
        self.name = name
        self.arguments = arguments

    def begin(self, run: Run, args: tuple[Any, ...], kwargs: dict[str, Any]) -> _Pending:
        """Record the call, before the function can change its arguments."""
        shown, hidden = self.arguments.shown(args, kwargs)
        call_id = run.record.tool_call(self.name, shown, hide=hidden)
        return _Pending(run, call_id, self.arguments, hidden)


class _Pending:
    """A call that has been recorded and has not returned."""

    def __init__(self, run: Run, call_id: str, arguments: Arguments, hidden: list[str]) -> None:
        self._record = run.record
        self._call_id = call_id
        self._arguments = arguments
        self._hidden = hidden

    def returned(self, result: object) -> None:
        """Record the result."""
        shown = self._arguments.shown_value(RETURN, result)
        self._record.tool_result(self._call_id, shown, hide=self._hidden)

    def raised(self, error: BaseException) -> None:
        """Record an exception in the place of a result."""
        cancelled = isinstance(error, asyncio.CancelledError | futures.CancelledError)
        self._record.tool_result(
            self._call_id,
            is_error=True,
            error=error,
            status="cancelled" if cancelled else "error",
            hide=self._hidden,
        )

    def done(self, future: Any) -> None:
        """Record what came of a future, which is done."""
        if future.cancelled():
            self.raised(asyncio.CancelledError())
        elif (error := future.exception()) is not None:
            self.raised(error)
        else:
            self.returned(future.result())
