"""An environment of the benchmark as plain JSON, and back, with nothing lost.

Pydantic's own way loses state: the models' "after" validators rebuild mail, events and files from their
initial lists. So the fields are written and read one by one, as they are, by their declared types:

- a model is an object of its fields; a mapping is a list of [key, value] pairs, because the order of
  insertion counts (the benchmark takes "the first" of many things) and canonical JSON would lose it;
- one object that stands at two places (an invitation holds the event itself, not a copy) is written once,
  and `{"$ref": "/calendar/events/3/1"}` elsewhere, so that a change is still seen at both after reading.

>>> shape = EnvironmentShape(Box)
>>> shape.load(shape.dump(box)) == box
True
"""

from __future__ import annotations

import datetime
import enum
import math
import types
import typing
from collections.abc import Mapping
from typing import Any, Final, Protocol

from pydantic import BaseModel
from pydantic.networks import EmailStr

__all__ = ["EnvironmentShape", "StateError"]

_REFERENCE: Final = "$ref"
_PLAIN: Final = (str, int, bool, type(None))
#: Numbers that JSON has no word for.
_ODD_FLOATS: Final = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}

#: Mail comes last: it refers to events, and an event is better found in the calendar.
_LAST: Final = "inbox"


class StateError(Exception):
    """A state that does not have the environment's shape; the message says where, not what."""


class _Shape(Protocol):
    """How a value of one declared type is written and read.

    `known` has what came before: an object's identity with its path, or a path with its object.
    """

    def dump(self, value: Any, path: str, known: dict[int, str]) -> Any: ...

    def load(self, value: Any, path: str, known: dict[str, Any]) -> Any: ...


class EnvironmentShape:
    """The shape of one suite's environment.

    Args:
        model: the suite's `environment_type`.
    """

    def __init__(self, model: type[BaseModel]) -> None:
        self._model = model
        shapes: dict[type[BaseModel], _Model] = {}
        names = sorted(model.model_fields, key=lambda name: name == _LAST)
        self._parts = {name: _shape_of(model.model_fields[name].annotation, shapes) for name in names}

    def dump(self, environment: BaseModel) -> dict[str, Any]:
        """The environment as plain JSON.

        Raises:
            StateError: it holds something that its types do not declare.
        """
        known: dict[int, str] = {}
        return {
            name: shape.dump(getattr(environment, name), f"/{name}", known)
            for name, shape in self._parts.items()
        }

    def load(self, state: Any) -> BaseModel:
        """The environment that was dumped.

        Raises:
            StateError: that is no dump of this environment.
        """
        known: dict[str, Any] = {}
        _expect(isinstance(state, Mapping) and state.keys() == self._parts.keys(), "")
        parts = {name: shape.load(state[name], f"/{name}", known) for name, shape in self._parts.items()}
        return self._model.model_construct(_fields_set=set(parts), **parts)


def _expect(holds: bool, path: str) -> None:
    if not holds:
        raise StateError(f"at {path or '/'}: another shape than the environment has")


def _shape_of(annotation: Any, shapes: dict[type[BaseModel], _Model]) -> _Shape:
    """The shape of a declared type; models are met again, so `shapes` keeps them."""
    origin, inner = typing.get_origin(annotation), typing.get_args(annotation)
    if origin in (typing.Union, types.UnionType):
        return _Union(tuple(_shape_of(each, shapes) for each in inner))
    if origin is list:
        return _List(_shape_of(inner[0], shapes))
    if origin is dict:
        return _Mapping(_shape_of(inner[1], shapes))
    if annotation is list:
        return _List(_Plain((str,)))
    if annotation is EmailStr:
        return _Plain((str,))
    if annotation is float:
        return _Float()
    if annotation in _PLAIN:
        return _Plain((annotation,))
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        if annotation not in shapes:
            shapes[annotation] = _Model(annotation)
            shapes[annotation].fields = {
                name: _shape_of(field.annotation, shapes) for name, field in annotation.model_fields.items()
            }
        return shapes[annotation]
    if isinstance(annotation, type) and issubclass(annotation, enum.Enum):
        return _Text(annotation, write=lambda value: value.value, read=annotation)
    if annotation in (datetime.datetime, datetime.date):
        return _Text(annotation, write=lambda value: value.isoformat(), read=annotation.fromisoformat)
    raise StateError(f"no shape is known for {annotation!r}")


class _Plain:
    """A value that JSON has, of exactly this type."""

    def __init__(self, kinds: tuple[type, ...]) -> None:
        self._kinds = kinds

    def dump(self, value: Any, path: str, known: dict[int, str]) -> Any:  # noqa: ARG002
        _expect(type(value) in self._kinds, path)
        return value

    def load(self, value: Any, path: str, known: dict[str, Any]) -> Any:  # noqa: ARG002
        _expect(type(value) in self._kinds, path)
        return value


class _Float:
    """A number. Canonical JSON writes 4.0 as 4, and has neither NaN nor the infinities."""

    def dump(self, value: Any, path: str, known: dict[int, str]) -> Any:  # noqa: ARG002
        _expect(type(value) in (int, float), path)
        if math.isfinite(value):
            return float(value)
        return next(word for word, odd in _ODD_FLOATS.items() if repr(odd) == repr(value))

    def load(self, value: Any, path: str, known: dict[str, Any]) -> Any:  # noqa: ARG002
        if isinstance(value, str) and value in _ODD_FLOATS:
            return _ODD_FLOATS[value]
        _expect(type(value) in (int, float), path)
        return float(value)


class _Text:
    """A value that is written as a word of its own."""

    def __init__(self, kind: type, *, write: Any, read: Any) -> None:
        self._kind, self._write, self._read = kind, write, read

    def dump(self, value: Any, path: str, known: dict[int, str]) -> Any:  # noqa: ARG002
        _expect(type(value) is self._kind, path)
        return self._write(value)

    def load(self, value: Any, path: str, known: dict[str, Any]) -> Any:  # noqa: ARG002
        _expect(isinstance(value, str), path)
        try:
            return self._read(value)
        except ValueError:
            raise StateError(f"at {path}: another word than the environment has") from None


class _List:
    def __init__(self, item: _Shape) -> None:
        self._item = item

    def dump(self, value: Any, path: str, known: dict[int, str]) -> Any:
        _expect(type(value) is list, path)
        dump = self._item.dump
        return [dump(item, f"{path}/{place}", known) for place, item in enumerate(value)]

    def load(self, value: Any, path: str, known: dict[str, Any]) -> Any:
        _expect(isinstance(value, list), path)
        load = self._item.load
        return [load(item, f"{path}/{place}", known) for place, item in enumerate(value)]


class _Mapping:
    """Keys are texts; the pairs keep their order."""

    def __init__(self, item: _Shape) -> None:
        self._item = item

    def dump(self, value: Any, path: str, known: dict[int, str]) -> Any:
        _expect(type(value) is dict and all(type(key) is str for key in value), path)
        dump = self._item.dump
        return [[key, dump(each, f"{path}/{at}/1", known)] for at, (key, each) in enumerate(value.items())]

    def load(self, value: Any, path: str, known: dict[str, Any]) -> Any:
        _expect(isinstance(value, list) and all(_is_pair(pair) for pair in value), path)
        load = self._item.load
        loaded = {key: load(each, f"{path}/{at}/1", known) for at, (key, each) in enumerate(value)}
        _expect(len(loaded) == len(value), path)
        return loaded


def _is_pair(value: Any) -> bool:
    return isinstance(value, list) and len(value) == 2 and isinstance(value[0], str)


class _Model:
    """A record; one that was met before is a reference."""

    def __init__(self, model: type[BaseModel]) -> None:
        self._model = model
        self.fields: dict[str, _Shape] = {}

    def dump(self, value: Any, path: str, known: dict[int, str]) -> Any:
        _expect(type(value) is self._model, path)
        if (first := known.get(id(value))) is not None:
            return {_REFERENCE: first}
        known[id(value)] = path
        held = value.__dict__
        _expect(held.keys() == self.fields.keys(), path)
        return {name: shape.dump(held[name], f"{path}/{name}", known) for name, shape in self.fields.items()}

    def load(self, value: Any, path: str, known: dict[str, Any]) -> Any:
        _expect(isinstance(value, Mapping), path)
        if value.keys() == {_REFERENCE}:
            first = known.get(value[_REFERENCE]) if isinstance(value[_REFERENCE], str) else None
            _expect(type(first) is self._model, path)
            return first
        _expect(value.keys() == self.fields.keys(), path)
        read = {name: shape.load(value[name], f"{path}/{name}", known) for name, shape in self.fields.items()}
        known[path] = loaded = self._model.model_construct(_fields_set=set(read), **read)
        return loaded


class _Union:
    """One of several shapes: the first that fits."""

    def __init__(self, options: tuple[_Shape, ...]) -> None:
        self._options = options

    def dump(self, value: Any, path: str, known: dict[int, str]) -> Any:
        return self._first("dump", value, path, known)

    def load(self, value: Any, path: str, known: dict[str, Any]) -> Any:
        return self._first("load", value, path, known)

    def _first(self, act: str, value: Any, path: str, known: Any) -> Any:
        for option in self._options:
            try:
                return getattr(option, act)(value, path, known)
            except StateError:
                continue
        raise StateError(f"at {path or '/'}: another shape than the environment has")
