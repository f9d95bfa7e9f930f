"""JSON documents of a database, exactly: two documents that differ have two forms.

    whole numbers                    as they are up to 2^53 - 1, else {"integer": "9007199254740993"}
    other numbers                    as they are where a double spells them alike, else {"decimal": "1.50"}
    a document that is null or text  {"json": null}: null is a column without a document, and a text is the
                                     text of a document
    an object like one of these      {"object": {"integer": "5"}}

Everything else is as it is. A form can be written again.

>>> document_form('{"a": [1, 1.5, 1.0, null]}'), document_form("null"), document_form('{"json": 1}')
({'a': [1, 1.5, {'decimal': '1.0'}, None]}, {'json': None}, {'object': {'json': 1}})
>>> document_text({"a": [1, {"decimal": "1.0"}]}), document_text({"object": {"json": 1}})
('{"a": [1, 1.0]}', '{"json": 1}')
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, Final

__all__ = ["document_form", "document_text"]

_NUMBERS: Final = frozenset({"integer", "decimal"})
_TAGS: Final = _NUMBERS | {"json", "object"}
_NUMBER: Final = re.compile(r"-?\d+(\.\d+)?([eE][+-]?\d+)?", re.ASCII)
_SAFE: Final = 2**53 - 1
#: The most characters of a whole number within it.
_LONGEST: Final = len(str(-_SAFE))


def document_form(text: str) -> Any:
    """A JSON text as plain JSON.

    Raises:
        ValueError: it is no JSON.
    """
    found = json.loads(
        text, parse_int=_integer, parse_float=_decimal, parse_constant=_no_number, object_pairs_hook=_object
    )
    return {"json": found} if found is None or isinstance(found, str) else found


def document_text(form: Any) -> str:
    """The JSON text of a form.

    Raises:
        ValueError: it is none.
    """
    if isinstance(form, Mapping):
        tag = next(iter(form)) if len(form) == 1 else None
        if tag in _NUMBERS:
            return _number(form[tag])
        if tag == "json":
            return document_text(form[tag])
        members = form[tag] if tag == "object" else form
        if not isinstance(members, Mapping):
            raise ValueError(f"an object: got a {type(members).__name__}")
        return (
            "{" + ", ".join(f"{json.dumps(name)}: {document_text(members[name])}" for name in members) + "}"
        )
    if isinstance(form, list | tuple):
        return "[" + ", ".join(document_text(item) for item in form) + "]"
    if form is None or isinstance(form, str | bool | int | float):
        return json.dumps(form, allow_nan=False)
    raise ValueError(f"a {type(form).__name__} has no place in a JSON document")


def _object(members: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(members)
    return {"object": found} if len(found) == 1 and not _TAGS.isdisjoint(found) else found


def _integer(text: str) -> Any:
    if len(text) <= _LONGEST and abs(value := int(text)) <= _SAFE and str(value) == text:
        return value
    return {"integer": text}


def _decimal(text: str) -> Any:
    value = float(text)
    return value if repr(value) == text and not value.is_integer() else {"decimal": text}


def _number(text: Any) -> str:
    if not (isinstance(text, str) and _NUMBER.fullmatch(text)):
        raise ValueError("a number in a JSON document: expected its digits as a text")
    return text


def _no_number(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")
