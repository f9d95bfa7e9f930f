"""The servers of Core's side: what they note, what they bring, and that they take any legal request."""

from __future__ import annotations

import asyncio
import json
from contextlib import suppress

import pytest

from agentbeat_conformance.core_side.corpus import CASE_ID
from agentbeat_conformance.core_side.deliveries import (
    Answer,
    Chunked,
    Cut,
    Delivery,
    Dripping,
    Endless,
    HangUp,
    Late,
    Pieces,
    json_answer,
)
from agentbeat_conformance.core_side.servers import Arrival, Journal, Server
from agentbeat_conformance.core_side.targets import HostileTarget, evidence_document
from agentbeat_protocol import read_evidence, read_invocation_response

SECRET = "a-secret-of-the-target"
GOOD = json_answer({"a": "b" * 40})


class One(Server):
    """Answers everything with one delivery."""

    def __init__(self, journal: Journal, delivery: Delivery) -> None:
        super().__init__("one", journal)
        self.delivery = delivery

    def answer(self, arrival: Arrival) -> Delivery:
        return self.delivery


async def told(port: int, raw: bytes, *, limit: int = 2**20) -> bytes:
    """What comes back for these bytes, up to a limit."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(raw)
    came = bytearray()
    while len(came) < limit and (chunk := await reader.read(65536)):
        came += chunk
    writer.close()
    return bytes(came)


def post(run_id: str, *, head: str = "", body: bytes | None = None) -> bytes:
    raw = json.dumps({"run_id": run_id, "case_id": CASE_ID}).encode() if body is None else body
    lines = "POST /v1/agent/invocations HTTP/1.1\r\nHost: here\r\n"
    lines += f"Authorization: Bearer {SECRET}\r\n{head or f'Content-Length: {len(raw)}'}\r\n\r\n"
    return lines.encode() + raw


async def test_an_honest_target_answers_as_the_protocol_asks() -> None:
    journal = Journal()
    async with HostileTarget(journal, secret=SECRET) as target:
        answer = (await told(target.port, post("run-1"))).partition(b"\r\n\r\n")[2]
        read = f"GET /v1/evidence/run-1 HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer {SECRET}\r\n\r\n"
        document = (await told(target.port, read.encode())).partition(b"\r\n\r\n")[2]
    assert read_invocation_response(answer, run_id="run-1", case_id=CASE_ID).status == "completed"
    assert len(read_evidence(document, run_id="run-1", case_id=CASE_ID).events) == 4
    assert [(each.method, each.path) for each in journal.of("target")] == [
        ("POST", "/v1/agent/invocations"),
        ("GET", "/v1/evidence/run-1"),
    ]
    assert journal.faults == []


@pytest.mark.parametrize(
    ("raw", "status"),
    [
        (post("run-1").replace(SECRET.encode(), b"another"), b"401"),
        (b"GET /v1/evidence/run-1 HTTP/1.1\r\nHost: h\r\n\r\n", b"401"),
        (post("run-1", body=b"no json"), b"400"),
        (post("run-1").replace(b"/agent/", b"/else/"), b"404"),
        (b"GET /healthz HTTP/1.1\r\nHost: h\r\n\r\n", b"200"),
    ],
    ids=["wrong-secret", "no-secret", "no-json", "no-route", "health"],
)
async def test_what_is_not_right_is_refused(raw: bytes, status: bytes) -> None:
    async with HostileTarget(Journal(), secret=SECRET) as target:
        came = await told(target.port, raw)
    assert came.split(b" ")[1] == status


async def test_a_chunked_request_that_waits_for_leave_to_go_on_is_read() -> None:
    body = json.dumps({"run_id": "run-1", "case_id": CASE_ID}).encode()
    chunked = b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body)
    raw = post("run-1", head="Transfer-Encoding: chunked\r\nExpect: 100-continue", body=b"")
    async with HostileTarget(Journal(), secret=SECRET) as target:
        reader, writer = await asyncio.open_connection("127.0.0.1", target.port)
        writer.write(raw)
        assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 100")
        writer.write(chunked)
        answer = await reader.read()
        writer.close()
    assert answer.startswith(b"HTTP/1.1 200")
    assert b'"run-1"' in answer


async def test_a_connection_without_a_request_is_no_fault_of_ours() -> None:
    journal = Journal()
    async with One(journal, json_answer({})) as server:
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        writer.write(b"\x16\x03\x01 no http\r\n\r\n")
        with suppress(ConnectionResetError):
            assert await reader.read() == b""
        writer.close()
        _, writer = await asyncio.open_connection("127.0.0.1", server.port)
        writer.close()
    assert (journal.of("one"), journal.faults) == ([], [])


@pytest.mark.parametrize(
    "raw",
    [
        b"GET /v1/run-7/x HTTP/1.1\r\nHost: h\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: h\r\nX-Any: Bearer the-secret\r\n\r\n",
        b'POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 7\r\n\r\n"run-7"',
    ],
    ids=["path", "field", "body"],
)
async def test_a_request_is_noted_that_names_the_run_or_a_secret(raw: bytes) -> None:
    journal = Journal(tokens=("run-7", "the-secret"))
    async with One(journal, GOOD) as server:
        assert await told(server.port, raw) == GOOD.raw()
        # Of somebody else, who looks whether a server of his own has come up.
        assert await told(server.port, b"GET /healthz HTTP/1.1\r\nHost: h\r\n\r\n") == GOOD.raw()
    assert len(journal.arrivals) == 1


async def test_nobody_listens_at_the_port_of_an_absent_server_and_nobody_else_can_have_it() -> None:
    server = One(Journal(), GOOD)
    server.listens = False
    async with server:
        with pytest.raises(ConnectionRefusedError):
            await asyncio.open_connection("127.0.0.1", server.port)
        other = One(Journal(), GOOD)
        other.port = server.port
        with pytest.raises(OSError, match="in use"):
            await other.__aenter__()


async def test_a_server_that_died_ends_every_connection() -> None:
    async with One(Journal(), GOOD) as server:
        assert await told(server.port, b"GET / HTTP/1.1\r\nHost: h\r\n\r\n") == GOOD.raw()
        server.die()
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        with suppress(ConnectionResetError):
            assert await reader.read() == b""
        writer.close()


@pytest.mark.parametrize(
    "delivery", [GOOD, Pieces(GOOD), Late(GOOD, 0.01), Dripping(GOOD, bytes=3, pause=0.01)]
)
async def test_a_good_answer_is_brought_whole(delivery: Delivery) -> None:
    async with One(Journal(), delivery) as server:
        came = await told(server.port, b"GET / HTTP/1.1\r\nHost: h\r\n\r\n")
    assert came == GOOD.raw()


async def test_chunks_add_up_to_the_body() -> None:
    async with One(Journal(), Chunked(GOOD, size=5)) as server:
        came = await told(server.port, b"GET / HTTP/1.1\r\nHost: h\r\n\r\n")
    head, _, framed = came.partition(b"\r\n\r\n")
    assert b"Content-Length" not in head
    assert b"".join(framed.split(b"\r\n")[1::2]) == GOOD.body
    assert framed.endswith(b"0\r\n\r\n")


async def test_a_cut_answer_ends_in_its_body_and_a_hang_up_before() -> None:
    async with One(Journal(), Cut(GOOD)) as server:
        came = await told(server.port, b"GET / HTTP/1.1\r\nHost: h\r\n\r\n")
    assert came == GOOD.raw()[: len(came)]
    assert len(GOOD.raw()) - len(came) == (len(GOOD.body) + 1) // 2
    async with One(Journal(), HangUp()) as server:
        assert await told(server.port, b"GET / HTTP/1.1\r\nHost: h\r\n\r\n") == b""


async def test_an_endless_answer_ends_with_who_reads_it_and_its_bytes_are_counted() -> None:
    journal = Journal()
    async with One(journal, Endless(GOOD)) as server:
        came = await told(server.port, b"GET / HTTP/1.1\r\nHost: h\r\n\r\n", limit=300_000)
        for _ in range(100):
            if journal.written["one"]:
                break
            await asyncio.sleep(0.01)
    assert GOOD.body in came
    assert 300_000 <= journal.written["one"] < 48 * 2**20


async def test_who_has_gone_is_not_waited_for() -> None:
    async with One(Journal(), Late(GOOD, 30.0)) as server:
        _, writer = await asyncio.open_connection("127.0.0.1", server.port)
        writer.write(b"GET / HTTP/1.1\r\nHost: h\r\n\r\n")
        await writer.drain()
        writer.close()
        await writer.wait_closed()


async def test_answers_are_counted_in_one_order_over_all_servers() -> None:
    journal = Journal()
    async with One(journal, Late(GOOD, 0.05)) as slow, One(journal, Answer()) as quick:
        slow.name, quick.name = "slow", "quick"
        waiting = asyncio.ensure_future(told(slow.port, b"GET / HTTP/1.1\r\nHost: h\r\n\r\n"))
        while not journal.of("slow"):
            await asyncio.sleep(0.001)
        await told(quick.port, b"GET / HTTP/1.1\r\nHost: h\r\n\r\n")
        await waiting
    first, second = journal.of("slow")[0], journal.of("quick")[0]
    assert first.order < second.order
    assert first.answered is not None
    assert second.answered is not None
    assert second.answered < first.answered


def test_the_documents_of_two_runs_differ_in_their_binding_alone() -> None:
    one, other = (json.dumps(evidence_document(run, CASE_ID)) for run in ("run-1", "run-2"))
    assert one.replace("run-1", "run-2") == other
