"""What the desk's operations show and do."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest

from support.desk import Desk
from support.postgres import both_databases

pytestmark = both_databases


@pytest.fixture
def desk(tmp_path: Path, database: Path | str) -> Desk:
    return Desk(tmp_path, url=database if isinstance(database, str) else None)


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
