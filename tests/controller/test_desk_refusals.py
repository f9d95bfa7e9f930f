"""What the desk refuses: no record changes, and the log has a line for each call all the same."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from agentbeat_controller.environments import calls
from support.desk import Desk

ADDRESS = "14 Mill Lane, 9000 Ghent, Belgium"


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


@pytest.fixture
async def client(desk: Desk) -> AsyncIterator[httpx.AsyncClient]:
    async with desk.client() as opened:
        yield opened


REFUSED: dict[str, tuple[str, str, dict[str, Any] | None, int, str]] = {
    "no such ticket": ("GET", "/v1/tickets/TCK-99", None, 404, "not_found"),
    "no such customer": ("GET", "/v1/customers/CUS-99", None, 404, "not_found"),
    "no such customer to change": ("PATCH", "/v1/customers/CUS-99", {"phone": "5550000"}, 404, "not_found"),
    "no such customer's orders": ("GET", "/v1/customers/CUS-99/orders", None, 404, "not_found"),
    "no such order": ("GET", "/v1/orders/ORD-9", None, 404, "not_found"),
    "an id of another kind": ("GET", "/v1/orders/TCK-1", None, 400, "invalid_request"),
    "an id that is none": ("GET", "/v1/orders/1003", None, 404, "not_found"),
    "refund of no order": (
        "POST",
        "/v1/orders/ORD-9/refunds",
        {"amount_minor": 1, "reason": "x"},
        404,
        "not_found",
    ),
    "reply on no ticket": ("POST", "/v1/tickets/TCK-99/replies", {"body": "x"}, 404, "not_found"),
    "refund over the total": (
        "POST",
        "/v1/orders/ORD-1003/refunds",
        {"amount_minor": 5941, "reason": "x"},
        409,
        "refund_exceeds_remaining",
    ),
    "refund before shipping": (
        "POST",
        "/v1/orders/ORD-1005/refunds",
        {"amount_minor": 1, "reason": "x"},
        409,
        "order_not_refundable",
    ),
    "refund of nothing": (
        "POST",
        "/v1/orders/ORD-1003/refunds",
        {"amount_minor": 0, "reason": "x"},
        400,
        "invalid_request",
    ),
    "refund below nothing": (
        "POST",
        "/v1/orders/ORD-1003/refunds",
        {"amount_minor": -5, "reason": "x"},
        400,
        "invalid_request",
    ),
    "refund of half a cent": (
        "POST",
        "/v1/orders/ORD-1003/refunds",
        {"amount_minor": 0.5, "reason": "x"},
        400,
        "invalid_request",
    ),
    "refund as text": (
        "POST",
        "/v1/orders/ORD-1003/refunds",
        {"amount_minor": "1", "reason": "x"},
        400,
        "invalid_request",
    ),
    "refund of true": (
        "POST",
        "/v1/orders/ORD-1003/refunds",
        {"amount_minor": True, "reason": "x"},
        400,
        "invalid_request",
    ),
    "refund without a reason": (
        "POST",
        "/v1/orders/ORD-1003/refunds",
        {"amount_minor": 1},
        400,
        "invalid_request",
    ),
    "a blank reason": (
        "POST",
        "/v1/orders/ORD-1003/refunds",
        {"amount_minor": 1, "reason": " \n"},
        400,
        "invalid_request",
    ),
    "a NUL, which PostgreSQL cannot hold": (
        "POST",
        "/v1/tickets/TCK-1/replies",
        {"body": "a\0b"},
        400,
        "invalid_request",
    ),
    "a reply too long": ("POST", "/v1/tickets/TCK-1/replies", {"body": "x" * 4097}, 400, "invalid_request"),
    "an unknown member": (
        "POST",
        "/v1/tickets/TCK-1/replies",
        {"body": "x", "author": "customer"},
        400,
        "invalid_request",
    ),
    "the path's id in the body": (
        "POST",
        "/v1/tickets/TCK-1/replies",
        {"body": "x", "ticket_id": "TCK-2"},
        400,
        "invalid_request",
    ),
    "reply on a closed ticket": ("POST", "/v1/tickets/TCK-13/replies", {"body": "x"}, 409, "ticket_closed"),
    "a closed ticket opened": (
        "PUT",
        "/v1/tickets/TCK-13/status",
        {"status": "open"},
        409,
        "ticket_closed",
    ),
    "no such ticket status": (
        "PUT",
        "/v1/tickets/TCK-1/status",
        {"status": "done"},
        400,
        "invalid_request",
    ),
    "address after shipping": (
        "PUT",
        "/v1/orders/ORD-1008/shipping-address",
        {"shipping_address": ADDRESS},
        409,
        "order_not_changeable",
    ),
    "cancelled after shipping": (
        "PUT",
        "/v1/orders/ORD-1008/status",
        {"status": "cancelled"},
        409,
        "status_conflict",
    ),
    "a step left out": ("PUT", "/v1/orders/ORD-1005/status", {"status": "shipped"}, 409, "status_conflict"),
    "an email of another customer": (
        "PATCH",
        "/v1/customers/CUS-6",
        {"email": "Desk@Cedar-Cycles.example"},
        409,
        "email_in_use",
    ),
    "no email at all": ("PATCH", "/v1/customers/CUS-6", {"email": "fern"}, 400, "invalid_request"),
    "nothing to change": ("PATCH", "/v1/customers/CUS-6", {}, 400, "invalid_request"),
    "a search for nothing": ("GET", "/v1/customers", None, 400, "invalid_request"),
    "a page of nothing": ("GET", "/v1/tickets?limit=0", None, 400, "invalid_request"),
    "a page of a word": ("GET", "/v1/tickets?limit=many", None, 400, "invalid_request"),
    "a name of the query twice": ("GET", "/v1/tickets?limit=1&limit=2", None, 400, "invalid_request"),
    "an unknown name in the query": ("GET", "/v1/tickets?deleted=1", None, 400, "invalid_request"),
    "email to nobody": (
        "POST",
        "/v1/emails",
        {"recipient": "", "subject": "x", "body": "x"},
        400,
        "invalid_request",
    ),
    "email with no such ticket": (
        "POST",
        "/v1/emails",
        {"recipient": "a@b.example", "subject": "x", "body": "x", "ticket_id": "TCK-99"},
        404,
        "not_found",
    ),
}


@pytest.mark.parametrize(("method", "path", "body", "status", "code"), REFUSED.values(), ids=REFUSED.keys())
async def test_a_refused_call_changes_no_record_and_is_in_the_log(
    desk: Desk, method: str, path: str, body: dict[str, Any] | None, status: int, code: str
) -> None:
    before = desk.state()
    async with desk.client() as client:
        answer = await client.request(method, path, json=body)
    assert (answer.status_code, answer.json()["error"]["code"]) == (status, code)
    after = desk.state()
    assert after["records"] == before["records"]
    assert [(line["status"], line["error"]) for line in after["calls"]] == [(status, code)]


async def test_the_log_keeps_every_call_in_order_with_its_arguments(
    desk: Desk, client: httpx.AsyncClient
) -> None:
    """CTL-8: reads, writes and refusals alike."""
    await client.get("/v1/tickets?status=open&limit=3")
    await client.post("/v1/tickets/TCK-2/replies", json={"body": "We are on it."})
    await client.get("/v1/orders/ORD-9")
    await client.post("/v1/emails", content=b"{", headers={"Content-Type": "application/json"})
    line = {"status": 200, "error": None}
    assert desk.state()["calls"] == [
        {"sequence": 1, "operation": "list_tickets", "arguments": {"status": "open", "limit": 3}, **line},
        {
            "sequence": 2,
            "operation": "add_ticket_reply",
            "arguments": {"ticket_id": "TCK-2", "body": "We are on it."},
            **line,
            "status": 201,
        },
        {
            "sequence": 3,
            "operation": "get_order",
            "arguments": {"order_id": "ORD-9"},
            "status": 404,
            "error": "not_found",
        },
        {
            "sequence": 4,
            "operation": "send_email",
            "arguments": None,
            "status": 400,
            "error": "invalid_json",
        },
    ]


@pytest.mark.parametrize("bound", ["MAX_CALLS", "MAX_LOG_BYTES"])
async def test_a_full_log_takes_no_call_and_nothing_happens_unseen(
    desk: Desk, client: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch, bound: str
) -> None:
    monkeypatch.setattr(calls, bound, 2)
    for _ in range(2):
        await client.post("/v1/tickets/TCK-2/replies", json={"body": "We are on it."})
    before = desk.state()
    answer = await client.post("/v1/tickets/TCK-2/replies", json={"body": "Once more."})
    assert (answer.status_code, answer.json()["error"]["code"]) == (429, "call_limit_reached")
    assert desk.state() == before
