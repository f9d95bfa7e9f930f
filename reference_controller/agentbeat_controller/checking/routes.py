"""How an operation is called over HTTP, read from the business plane's own OpenAPI document.

>>> route = Route("PUT", "/v1/orders/{order_id}/status", frozenset({"order_id"}), frozenset(), {})
>>> route.request({"order_id": "ORD-1", "status": "packed"})
('PUT', '/v1/orders/ORD-1/status', '', b'{"status": "packed"}')
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlencode

from agentbeat_controller.environments.openapi import FAILURE

__all__ = ["Route", "routes_of"]


@dataclass(frozen=True)
class Route:
    """One operation.

    Args:
        in_path: the arguments that stand in the path.
        in_query: those that stand in the query; all others are in the body.
        schemas: the JSON Schema of each argument.
        failure: the member of an answer in which the operation says why it failed; None: it has none.
    """

    method: str
    path: str
    in_path: frozenset[str]
    in_query: frozenset[str]
    schemas: Mapping[str, Any]
    failure: str | None = None

    def failed(self, answer: Any) -> bool:
        """Whether the operation says in its answer that it failed."""
        return (
            self.failure is not None and isinstance(answer, Mapping) and answer.get(self.failure) is not None
        )

    def request(self, arguments: Mapping[str, Any]) -> tuple[str, str, str, bytes]:
        """Method, path, query and body of a call."""
        path = re.sub(r"\{(\w+)\}", lambda match: quote(str(arguments.get(match[1], "")), safe=""), self.path)
        if self.method == "GET":
            query = {name: _in_query(value) for name, value in arguments.items() if name not in self.in_path}
            return self.method, path, urlencode(query), b""
        body = {name: value for name, value in arguments.items() if name not in self.in_path}
        return self.method, path, "", json.dumps(body).encode()


def _in_query(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def routes_of(document: Mapping[str, Any]) -> dict[str, Route]:
    """Operation name to route."""
    found: dict[str, Route] = {}
    for path, methods in document.get("paths", {}).items():
        for method, operation in methods.items():
            if not isinstance(operation, Mapping) or "operationId" not in operation:
                continue
            parameters = {
                (each["in"], each["name"]): each.get("schema", {})
                for each in operation.get("parameters", ())
                if each["in"] in ("path", "query")
            }
            body = (
                operation.get("requestBody", {})
                .get("content", {})
                .get("application/json", {})
                .get("schema", {})
                .get("properties", {})
            )
            found[operation["operationId"]] = Route(
                method=method.upper(),
                path=path,
                in_path=frozenset(name for place, name in parameters if place == "path"),
                in_query=frozenset(name for place, name in parameters if place == "query"),
                schemas={**{name: schema for (_, name), schema in parameters.items()}, **body},
                failure=operation.get(FAILURE),
            )
    return found
