"""The OpenAPI 3.1 document of a table of operations, made from the models that the routes use.

Nothing is written twice: a route, an argument or a refusal that the table gains is in the document.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Any, Final

from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from agentbeat_protocol import RUN_ID_HEADER

from .operations import Operation, status_of_code

__all__ = ["FAILURE", "openapi_document"]

#: The document's own member of an operation: `Operation.failure`, where there is one.
FAILURE: Final = "x-failure-member"

#: What any call may be answered, besides its operation's own refusals.
_COMMON: Final = (
    "invalid_request",
    "unauthorized",
    "not_found",
    "environment_closed",
    "lease_expired",
    "call_limit_reached",
    "internal_error",
    "controller_unavailable",
)
_WITH_BODY: Final = ("invalid_json", "request_timeout", "request_too_large", "unsupported_media_type")


class ErrorDetail(BaseModel):
    """Why a call was refused."""

    code: str
    message: str


class Error(BaseModel):
    """The body of every refusal."""

    error: ErrorDetail


def openapi_document(*, title: str, version: str, operations: Iterable[Operation]) -> dict[str, Any]:
    """The document for `operations`, as plain JSON."""
    listed = tuple(operations)
    models = {operation.answer for operation in listed} | {Error}
    _, definitions = models_json_schema(
        [(model, "serialization") for model in sorted(models, key=lambda model: model.__name__)],
        ref_template="#/components/schemas/{model}",
    )
    paths: dict[str, dict[str, Any]] = defaultdict(dict)
    for operation in listed:
        paths[operation.path][operation.method.lower()] = _operation(operation)
    return {
        "openapi": "3.1.0",
        "info": {"title": title, "version": version},
        "paths": dict(paths),
        "components": {
            "schemas": definitions["$defs"],
            "securitySchemes": {"business": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{"business": []}],
    }


def _operation(operation: Operation) -> dict[str, Any]:
    schema = operation.arguments_schema()
    properties, required = schema.get("properties", {}), schema.get("required", [])
    in_path = operation.path_arguments
    rest = {name: shape for name, shape in properties.items() if name not in in_path}
    document: dict[str, Any] = {
        "operationId": operation.name,
        "summary": operation.summary,
        "description": schema.get("description", ""),
        "parameters": [
            *(_parameter(name, properties[name], where="path", required=True) for name in in_path),
            _run_id_parameter(),
        ],
        "responses": _responses(operation),
    }
    if operation.failure is not None:
        document[FAILURE] = operation.failure
    if operation.method == "GET":
        document["parameters"] += [
            _parameter(name, shape, where="query", required=name in required) for name, shape in rest.items()
        ]
        return document
    document["requestBody"] = {
        "required": True,
        "content": {
            "application/json": {
                "schema": {
                    "type": "object",
                    "properties": rest,
                    "required": [name for name in required if name not in in_path],
                    "additionalProperties": False,
                }
            }
        },
    }
    return document


def _parameter(name: str, shape: dict[str, Any], *, where: str, required: bool) -> dict[str, Any]:
    return {"name": name, "in": where, "required": required, "schema": shape}


def _run_id_parameter() -> dict[str, Any]:
    return {
        "name": RUN_ID_HEADER,
        "in": "header",
        "required": False,
        "description": "The run whose environment is meant; needed where each run has one of its own.",
        "schema": {"type": "string"},
    }


def _responses(operation: Operation) -> dict[str, Any]:
    codes: dict[int, set[str]] = defaultdict(set)
    for code in (*_COMMON, *operation.refusals, *(() if operation.method == "GET" else _WITH_BODY)):
        codes[status_of_code(code)].add(code)
    answers = {str(operation.status): _content("The answer", operation.answer.__name__)}
    for status, names in sorted(codes.items()):
        answers[str(status)] = _content("Refused: " + ", ".join(sorted(names)), "Error")
    return answers


def _content(description: str, schema: str) -> dict[str, Any]:
    reference = {"$ref": f"#/components/schemas/{schema}"}
    return {"description": description, "content": {"application/json": {"schema": reference}}}
