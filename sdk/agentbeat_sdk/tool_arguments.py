"""The arguments of a tool's call, by name, and what of them is not to be recorded.

>>> def charge(card: str, amount: int, *notes: str, **fields: str) -> None: ...
>>> Arguments(charge, ["card"]).shown(("4111-1111", 5, "a", "b"), {"currency": "EUR"})
({'card': '[redacted]', 'amount': 5, 'notes': ['a', 'b'], 'currency': 'EUR'}, ['4111-1111'])
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any, Final

from agentbeat_sdk.redaction import MARK

__all__ = ["RETURN", "Arguments", "Redaction"]

#: The name under which `redact` means the result; no parameter can have it.
RETURN: Final = "return"

#: Names to hide, or a function of a name and its value that gives what is recorded instead.
Redaction = Iterable[str] | Callable[[str, Any], Any]

#: A hidden text is also looked for inside of others, unless it is so short that it is part of many, or so
#: long that nobody repeats it.
_SHORTEST: Final = 4
_LONGEST: Final = 4_096
_MOST_TEXTS: Final = 100


class Arguments:
    """Binds the arguments of one function's calls to their names.

    Args:
        function: what is called. Its parameters `self` and `cls`, standing first, are left out.
        redact: see `tool`.

    Raises:
        TypeError: `redact` names no parameter of the function, or the function does not tell its parameters.
    """

    def __init__(self, function: Callable[..., Any], redact: Redaction = ()) -> None:
        self._signature = _signature(function)
        self._left_out = _left_out(self._signature)
        self._replace = redact if callable(redact) else None
        self._hidden = frozenset(() if callable(redact) else redact)
        self._check_hidden()

    def _check_hidden(self) -> None:
        names = self._hidden - {RETURN}
        if not names:
            return
        if self._signature is None:
            raise TypeError("redact: got names, expected a function that tells its parameters")
        parameters = self._signature.parameters
        if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values()):
            return
        unknown = sorted(map(repr, names - set(parameters)))
        if unknown:
            raise TypeError(f"redact: got {', '.join(unknown)}, expected names of parameters or 'return'")

    def shown(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[dict[str, Any], list[str]]:
        """The arguments that are recorded, and the texts that were hidden among them."""
        shown: dict[str, Any] = {}
        hidden: list[str] = []
        for name, value in self._named(args, kwargs).items():
            shown[name] = self.shown_value(name, value)
            if shown[name] is not value:
                hidden += islice(_texts(value), _MOST_TEXTS)
        return shown, hidden

    def shown_value(self, name: str, value: Any) -> Any:
        """What is recorded of one argument, or of the result under the name `RETURN`."""
        if name in self._hidden:
            return MARK
        if self._replace is None:
            return value
        try:
            return self._replace(name, value)
        except Exception:  # noqa: BLE001 - a tool does not fail for its record, and what is in doubt is hidden
            return MARK

    def _named(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        if self._signature is None:
            return _unbound(args, kwargs)
        try:
            bound = self._signature.bind(*args, **kwargs).arguments
        except TypeError:
            # The call does not fit, and the function is about to say so.
            return dict.fromkeys(_unbound(args, kwargs), MARK) if self._hidden else _unbound(args, kwargs)
        named: dict[str, Any] = {}
        for name, value in bound.items():
            kind = self._signature.parameters[name].kind
            if kind is inspect.Parameter.VAR_POSITIONAL:
                named[name] = list(value)
            elif kind is inspect.Parameter.VAR_KEYWORD and not value.keys() & bound.keys():
                named.update(value)
            elif name != self._left_out:
                named[name] = value
        return named


def _signature(function: Callable[..., Any]) -> inspect.Signature | None:
    try:
        return inspect.signature(function)
    except (TypeError, ValueError):
        return None  # some functions written in C do not tell


def _left_out(signature: inspect.Signature | None) -> str | None:
    first = next(iter(signature.parameters.values()), None) if signature is not None else None
    by_position = first is not None and first.kind in (first.POSITIONAL_ONLY, first.POSITIONAL_OR_KEYWORD)
    return first.name if first is not None and by_position and first.name in ("self", "cls") else None


def _unbound(args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    return {"args": list(args), "kwargs": dict(kwargs)}


def _texts(value: Any, depth: int = 0) -> Iterator[str]:
    """The texts and numbers in a hidden value that are long enough to be looked for elsewhere."""
    kind = type(value)
    if kind is str or kind is int:
        text = str(value) if kind is str or value.bit_length() <= 256 else ""
        if _SHORTEST <= len(text) <= _LONGEST:
            yield text
    elif depth < 4 and kind in (list, tuple, set, frozenset):
        for item in value:
            yield from _texts(item, depth + 1)
    elif depth < 4 and kind is dict:
        for item in value.values():
            yield from _texts(item, depth + 1)
