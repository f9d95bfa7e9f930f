"""How an operation is called over HTTP, as the business plane's OpenAPI document says.

>>> routes = routes_of({"paths": {"/v1/orders/{order_id}/status": {"put": {"operationId": "set_status"}}}})
>>> routes["set_status"].request({"order_id": "ORD-1", "status": "packed"})
Request(method='PUT', path='/v1/orders/ORD-1/status', query={}, body={'status': 'packed'})
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, Final, NamedTuple
from urllib.parse import quote

__all__ = ["Request", "Route", "routes_of"]

_PLACEHOLDER: Final = re.compile(r"\{(\w+)\}")
#: How the document names `Route.failure`.
_FAILURE: Final = "x-failure-member"
_METHODS: Final = frozenset({"get", "post", "put", "patch", "delete"})


class Request(NamedTuple):
    """A call as it goes out; `body` None: there is none."""

    method: str
    path: str
    query: dict[str, str]
    body: dict[str, Any] | None


class Route(NamedTuple):
    """Where an operation is: a method, and a path with placeholders.

    `failure` is the member of an answer in which the operation says why it failed, where it has one.
    """

    method: str
    path: str
    failure: str | None = None

    def request(self, arguments: Mapping[str, Any]) -> Request:
        """Arguments that the path names stand there; the others in the query of a GET, else in the body.

        Raises:
            ValueError: the path names an argument that is not given.
        """
        in_path = set(_PLACEHOLDER.findall(self.path))
        if missing := sorted(in_path - arguments.keys()):
            raise ValueError(f"no argument {missing[0]}, which the path needs")
        path = _PLACEHOLDER.sub(lambda match: quote(_text(arguments[match[1]]), safe=""), self.path)
        others = {name: value for name, value in arguments.items() if name not in in_path}
        if self.method == "GET":
            return Request(self.method, path, {name: _text(value) for name, value in others.items()}, None)
        return Request(self.method, path, {}, others)

    def failed(self, answer: Any) -> bool:
        """Whether the operation says in its answer that it failed."""
        return (
            self.failure is not None and isinstance(answer, Mapping) and answer.get(self.failure) is not None
        )


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def routes_of(document: Any) -> dict[str, Route]:
    """Operation id to route; whatever is no operation is passed over."""
    paths = document.get("paths") if isinstance(document, Mapping) else None
    found: dict[str, Route] = {}
    for path, item in (paths if isinstance(paths, Mapping) else {}).items():
        for method, operation in (item if isinstance(item, Mapping) else {}).items():
            name = operation.get("operationId") if isinstance(operation, Mapping) else None
            if isinstance(name, str) and method in _METHODS:
                failure = operation.get(_FAILURE)
                found[name] = Route(method.upper(), path, failure if isinstance(failure, str) else None)
    return found
