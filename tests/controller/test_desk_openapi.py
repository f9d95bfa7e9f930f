"""The desk's OpenAPI document is valid, and says what the routes do."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from openapi_spec_validator import OpenAPIV31SpecValidator

from agentbeat_controller.environments.desk import DeskEnvironment
from agentbeat_controller.environments.desk.operations import OPERATIONS
from agentbeat_controller.environments.operations import BUSINESS_CODES, status_of_code
from support.desk import Desk

DOCUMENT: dict[str, Any] = DeskEnvironment().document
ROUTES = [(method, path) for path, item in DOCUMENT["paths"].items() for method in item]

#: One call for each operation that an untouched desk answers.
CALLS: dict[str, tuple[str, dict[str, Any] | None]] = {
    "list_tickets": ("/v1/tickets?status=open", None),
    "get_ticket": ("/v1/tickets/TCK-10", None),
    "add_ticket_reply": ("/v1/tickets/TCK-10/replies", {"body": "Sorry.", "visibility": "internal"}),
    "set_ticket_status": ("/v1/tickets/TCK-10/status", {"status": "pending"}),
    "find_customers": ("/v1/customers?name=fern", None),
    "get_customer": ("/v1/customers/CUS-6", None),
    "update_customer": ("/v1/customers/CUS-6", {"phone": "+32 2 555 0199"}),
    "list_customer_orders": ("/v1/customers/CUS-6/orders", None),
    "get_order": ("/v1/orders/ORD-1010", None),
    "issue_refund": ("/v1/orders/ORD-1010/refunds", {"amount_minor": 1, "reason": "Dent"}),
    "update_shipping_address": ("/v1/orders/ORD-1005/shipping-address", {"shipping_address": "2 Row"}),
    "set_order_status": ("/v1/orders/ORD-1005/status", {"status": "packed"}),
    "list_emails": ("/v1/emails", None),
    "send_email": ("/v1/emails", {"recipient": "a@b.example", "subject": "x", "body": "x"}),
}


def test_the_document_is_valid_openapi() -> None:
    OpenAPIV31SpecValidator(DOCUMENT).validate()


async def test_the_served_document_is_this_one(tmp_path: Path) -> None:
    async with Desk(tmp_path).client(secret=None) as client:
        assert (await client.get("/openapi.json")).json() == json.loads(json.dumps(DOCUMENT))


async def test_every_documented_route_is_served_and_no_other_method_of_it(tmp_path: Path) -> None:
    """A route is served when it answers anything but 404 `no such route` and 405."""
    desk = Desk(tmp_path)
    async with desk.client() as client:
        for path, item in DOCUMENT["paths"].items():
            real = re.sub(r"\{(...)[a-z]+_id\}", lambda found: f"{found[1].upper()}-1", path)
            for method in ("get", "post", "put", "patch", "delete"):
                answer = await client.request(method, real)
                assert (answer.status_code != 405) is (method in item), (method, path)
                assert "no such route" not in answer.text, (method, path)


def test_every_operation_is_documented_under_its_own_name() -> None:
    names = [DOCUMENT["paths"][path][method]["operationId"] for method, path in ROUTES]
    assert sorted(names) == sorted(operation.name for operation in OPERATIONS)
    assert CALLS.keys() == set(names)


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.name)
async def test_an_answer_and_a_body_fit_the_documents_schemas(operation: Any, tmp_path: Path) -> None:
    path, body = CALLS[operation.name]
    entry = DOCUMENT["paths"][operation.path][operation.method.lower()]
    if body is not None:
        schema = entry["requestBody"]["content"]["application/json"]["schema"]
        jsonschema.validate(body, schema)
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate({**body, "unknown": 1}, schema)
    async with Desk(tmp_path).client() as client:
        answer = await client.request(operation.method, path, json=body)
    assert answer.status_code == operation.status, answer.text
    reference = entry["responses"][str(answer.status_code)]["content"]["application/json"]["schema"]
    document = {**reference, "components": DOCUMENT["components"]}
    jsonschema.validate(answer.json(), document)


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.name)
def test_every_refusal_of_an_operation_is_documented(operation: Any) -> None:
    responses = DOCUMENT["paths"][operation.path][operation.method.lower()]["responses"]
    for code in (*operation.refusals, "environment_closed", "unauthorized", "controller_unavailable"):
        assert code in responses[str(status_of_code(code))]["description"]


def test_every_code_of_the_desk_is_some_operations() -> None:
    documented = json.dumps(DOCUMENT)
    assert all(code in documented for code in BUSINESS_CODES)
