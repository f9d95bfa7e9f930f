"""What the desk's operations do, and what they refuse: a refused call changes no record."""

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


async def test_an_order_shows_its_lines_its_refunds_and_what_can_still_be_refunded(
    client: httpx.AsyncClient,
) -> None:
    order = (await client.get("/v1/orders/ORD-1010")).json()
    assert [line["sku"] for line in order["lines"]] == ["COOL-09"]
    assert [refund["refund_id"] for refund in order["refunds"]] == ["REF-501"]
    assert (order["total_minor"], order["refundable_minor"]) == (15800, 10000)


async def test_a_ticket_shows_its_messages_oldest_first(client: httpx.AsyncClient) -> None:
    ticket = (await client.get("/v1/tickets/TCK-10")).json()
    assert [message["visibility"] for message in ticket["messages"]] == ["public", "internal"]
    assert ticket["customer_id"] == "CUS-5"


async def test_lists_are_ordered_by_number_and_bounded(client: httpx.AsyncClient) -> None:
    tickets = (await client.get("/v1/tickets")).json()["tickets"]
    assert [ticket["ticket_id"] for ticket in tickets] == [f"TCK-{number}" for number in range(1, 14)]
    assert len((await client.get("/v1/tickets?limit=2")).json()["tickets"]) == 2


@pytest.mark.parametrize(
    ("query", "ids"),
    [
        ("status=pending", ["TCK-9"]),
        ("customer_id=CUS-6", ["TCK-6", "TCK-7", "TCK-13"]),
        ("query=ADDRESS", ["TCK-4", "TCK-6"]),
        ("status=open&customer_id=CUS-6&query=parcel", ["TCK-7"]),
        ("customer_id=CUS-99", []),
    ],
)
async def test_tickets_are_found_by_what_is_asked(
    client: httpx.AsyncClient, query: str, ids: list[str]
) -> None:
    found = (await client.get(f"/v1/tickets?{query}")).json()["tickets"]
    assert [ticket["ticket_id"] for ticket in found] == ids


@pytest.mark.parametrize(
    ("query", "ids"),
    [
        ("email=HELLO@birch-bakery.example", ["CUS-2"]),
        ("email=nobody@birch-bakery.example", []),
        ("name=el", ["CUS-5"]),
        ("name=e&email=desk@cedar-cycles.example", ["CUS-3"]),
    ],
)
async def test_customers_are_found_by_email_or_name(
    client: httpx.AsyncClient, query: str, ids: list[str]
) -> None:
    found = (await client.get(f"/v1/customers?{query}")).json()["customers"]
    assert [customer["customer_id"] for customer in found] == ids


async def test_a_customers_orders_are_listed(client: httpx.AsyncClient) -> None:
    orders = (await client.get("/v1/customers/CUS-2/orders")).json()["orders"]
    assert [order["order_id"] for order in orders] == ["ORD-1002", "ORD-1003"]


async def test_a_refund_gets_the_next_number_and_the_desks_own_time(client: httpx.AsyncClient) -> None:
    path, body = "/v1/orders/ORD-1010/refunds", {"amount_minor": 4000, "reason": "Second dent"}
    first, second = await client.post(path, json=body), await client.post(path, json=body)
    assert (first.status_code, first.json()["refund_id"]) == (201, "REF-502")
    assert first.json()["created_at"] == "2026-03-02T09:00:01Z"
    assert second.json()["refund_id"] == "REF-503"
    assert (await client.get("/v1/orders/ORD-1010")).json()["refundable_minor"] == 2000


async def test_what_remains_can_be_refunded_to_the_last_cent(client: httpx.AsyncClient) -> None:
    path = "/v1/orders/ORD-1010/refunds"
    assert (await client.post(path, json={"amount_minor": 10001, "reason": "Dent"})).status_code == 409
    assert (await client.post(path, json={"amount_minor": 10000, "reason": "Dent"})).status_code == 201
    assert (await client.post(path, json={"amount_minor": 1, "reason": "Dent"})).status_code == 409


async def test_an_order_goes_from_placed_to_delivered(client: httpx.AsyncClient) -> None:
    path = "/v1/orders/ORD-1005/status"
    for status in ("packed", "packed", "shipped", "delivered"):
        answer = await client.put(path, json={"status": status})
        assert (answer.status_code, answer.json()["status"]) == (200, status)


async def test_an_email_is_in_the_outbox(client: httpx.AsyncClient) -> None:
    letter = {"recipient": "shop@fern-florists.example", "subject": "ORD-1008", "body": "It is on its way."}
    sent = await client.post("/v1/emails", json=letter)
    assert sent.status_code == 201
    assert (await client.get("/v1/emails")).json()["emails"] == [sent.json()]
    assert sent.json() == {
        **letter,
        "email_id": "EML-1",
        "ticket_id": None,
        "created_at": "2026-03-02T09:00:01Z",
    }


async def test_a_customers_phone_changes_and_the_email_stays(client: httpx.AsyncClient) -> None:
    answer = await client.patch("/v1/customers/CUS-6", json={"phone": "+32 2 555 0199"})
    assert (answer.json()["phone"], answer.json()["email"]) == (
        "+32 2 555 0199",
        "shop@fern-florists.example",
    )


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
