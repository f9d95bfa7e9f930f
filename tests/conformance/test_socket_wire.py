"""Requests over real connections: what goes out, and what each way of answering (or not) becomes."""

from __future__ import annotations

import asyncio
import ipaddress
import socket
import ssl
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from agentbeat_conformance.exchanges import Answer, Exchange, Failure, Request
from agentbeat_conformance.mutants.streams import listening
from agentbeat_conformance.wires import SocketWire
from agentbeat_protocol import URLError

Stream = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]

HEAD_END = b"\r\n\r\n"


def request(method: str = "GET", body: bytes | None = None, *, seconds: float | None = None) -> Request:
    return Request.build(method, "/path", host="127.0.0.1", body=body, seconds=seconds)


def writes(answer: bytes, *, then_waits: bool = False) -> Stream:
    """A server that reads a head, writes these bytes and ends the connection."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(HEAD_END)
        writer.write(answer)
        await writer.drain()
        if then_waits:
            await asyncio.sleep(60)
        writer.close()

    return serve


async def exchanged(
    stream: Stream, asked: Request, *, timeout: float = 5.0, max_bytes: int = 1000
) -> Exchange:
    async with listening(stream) as port:
        wire = SocketWire(f"http://127.0.0.1:{port}", timeout=timeout, max_bytes=max_bytes)
        return await wire.exchange(asked, scope="a-check")


ANSWERS = {
    "a body of a declared length": (b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}", 200, b"{}"),
    "no body": (b"HTTP/1.1 204 No Content\r\n\r\n", 204, b""),
    "an empty body": (b"HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n", 401, b""),
    "chunks": (
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n{\r\n1\r\n}\r\n0\r\n\r\n",
        200,
        b"{}",
    ),
    "chunks with extensions and a trailer": (
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2;a=b\r\n{}\r\n0\r\nDigest: x\r\n\r\n",
        200,
        b"{}",
    ),
    "a body that ends with the connection": (b"HTTP/1.1 200 OK\r\n\r\n{}", 200, b"{}"),
    "HTTP/1.0": (b"HTTP/1.0 200 OK\r\nContent-Type: application/json\r\n\r\n{}", 200, b"{}"),
    "a status without words": (b"HTTP/1.1 200\r\nContent-Length: 2\r\n\r\n{}", 200, b"{}"),
    "lower-case names": (b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}", 200, b"{}"),
    "bytes behind the answer": (b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}HTTP/1.1", 200, b"{}"),
    "interim answers first": (
        b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n"
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}",
        200,
        b"{}",
    ),
    "a redirect, which nobody follows": (
        b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n",
        302,
        b"",
    ),
    "a body as long as is read": (
        b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n" + b"x" * 1000,
        200,
        b"x" * 1000,
    ),
}


@pytest.mark.parametrize(("raw", "status", "body"), ANSWERS.values(), ids=ANSWERS.keys())
async def test_an_answer_is_read_however_it_is_framed(raw: bytes, status: int, body: bytes) -> None:
    exchange = await exchanged(writes(raw), request())
    assert exchange.failure is None
    assert exchange.answer is not None
    assert (exchange.answer.status, exchange.answer.body) == (status, body)


async def test_fields_keep_their_order_and_repetition_with_lower_case_names() -> None:
    raw = b"HTTP/1.1 200 OK\r\nB: 1\r\nA: \xe9\r\nB: 2\r\nContent-Length: 0\r\n\r\n"
    exchange = await exchanged(writes(raw), request())
    assert exchange.answer == Answer(
        status=200, fields=(("b", "1"), ("a", "\xe9"), ("b", "2"), ("content-length", "0")), body=b""
    )


async def test_the_answer_to_a_head_has_no_body_whatever_length_it_declares() -> None:
    raw = b"HTTP/1.1 200 OK\r\nContent-Length: 900\r\n\r\n"
    exchange = await exchanged(writes(raw, then_waits=True), request("HEAD"))
    assert exchange.answer is not None
    assert exchange.answer.body == b""


FAILURES = {
    "nothing": (b"", Failure.CLOSED),
    "half a head": (b"HTTP/1.1 200 OK\r\nContent-Le", Failure.CUT),
    "half a body": (b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n{}", Failure.CUT),
    "half a chunk": (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{}", Failure.CUT),
    "chunks without the last": (
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n",
        Failure.CUT,
    ),
    "an interim answer alone": (b"HTTP/1.1 100 Continue\r\n\r\n", Failure.CUT),
    "no HTTP": (b"220 mail.example ready\r\n\r\n", Failure.MALFORMED),
    "another version": (b"HTTP/2.0 200 OK\r\n\r\n", Failure.MALFORMED),
    "two lengths": (
        b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n{}",
        Failure.MALFORMED,
    ),
    "a length below 0": (b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n", Failure.MALFORMED),
    "a chunk size that is none": (
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nmany\r\n{}\r\n",
        Failure.MALFORMED,
    ),
    "a body one byte too long": (
        b"HTTP/1.1 200 OK\r\nContent-Length: 1001\r\n\r\n" + b"x" * 1001,
        Failure.TOO_LARGE,
    ),
    "a head without an end": (b"HTTP/1.1 200 OK\r\n" + b"A: b\r\n" * 60_000, Failure.TOO_LARGE),
}


@pytest.mark.parametrize(("raw", "failure"), FAILURES.values(), ids=FAILURES.keys())
async def test_what_is_no_whole_answer_is_the_failure_that_it_is(raw: bytes, failure: Failure) -> None:
    exchange = await exchanged(writes(raw), request())
    assert exchange.answer is None
    assert exchange.failure is failure


async def test_an_endless_body_is_left_at_the_limit() -> None:
    async def endless(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(HEAD_END)
        writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        while True:
            writer.write(b"1\r\nx\r\n" * 100)
            await writer.drain()

    assert (await exchanged(endless, request())).failure is Failure.TOO_LARGE


async def test_endless_interim_answers_are_left_too() -> None:
    async def endless(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(HEAD_END)
        while True:
            writer.write(b"HTTP/1.1 103 Early Hints\r\n\r\n" * 1000)
            await writer.drain()

    assert (await exchanged(endless, request())).failure is Failure.TOO_LARGE


async def test_silence_is_a_time_out_after_the_requests_own_time() -> None:
    exchange = await exchanged(writes(b"", then_waits=True), request(seconds=0.05), timeout=60)
    assert exchange.failure is Failure.TIMEOUT


async def test_an_answer_that_drips_is_a_time_out_though_something_always_comes() -> None:
    async def drip(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(HEAD_END)
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 900\r\n\r\n")
        while True:
            writer.write(b"x")
            await writer.drain()
            await asyncio.sleep(0.01)

    assert (await exchanged(drip, request(), timeout=0.1)).failure is Failure.TIMEOUT


async def test_a_port_where_nobody_listens_is_unreachable_and_the_wire_knows_why() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        wire = SocketWire(f"http://127.0.0.1:{taken.getsockname()[1]}")
        exchange = await wire.exchange(request(), scope="a-check")
    assert exchange.failure is Failure.UNREACHABLE
    assert wire.trouble is not None
    assert "refused" in wire.trouble or "Connect" in wire.trouble


async def test_the_bytes_go_out_as_they_are_written_and_nothing_beside_them() -> None:
    raw = b"pOST  /odd path HTTP/1.1\nHost:x\r\n folded\r\nContent-Length: 5\r\n\r\n\x00\xff{\r\n"
    seen: list[bytes] = []

    async def collect(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        seen.append(await reader.readexactly(len(raw)))
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
        await writer.drain()
        seen.append(await reader.read())
        writer.close()

    await exchanged(collect, Request(raw=raw, method="pOST", target="/odd path", fields=()))
    await asyncio.sleep(0)
    assert seen[0] == raw
    assert seen[1:] in ([], [b""])


async def test_an_answer_before_the_body_is_read_survives_the_reset_that_follows_it() -> None:
    """The server closes with most of the body unread, so the rest of it meets a reset connection."""

    async def refuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(HEAD_END)
        writer.write(b"HTTP/1.1 413 Content Too Large\r\nContent-Length: 2\r\n\r\n{}")
        await writer.drain()
        writer.transport.abort()

    asked = request("POST", body=b"x" * 20_000_000)
    for _ in range(5):
        exchange = await exchanged(refuse, asked)
        assert exchange.status == 413


async def test_an_answer_that_comes_while_the_request_still_goes_out_is_read() -> None:
    """The server never reads the body and keeps the connection: sending would never end."""

    async def refuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(HEAD_END)
        writer.write(b"HTTP/1.1 413 Content Too Large\r\nContent-Length: 2\r\n\r\n{}")
        await writer.drain()
        await asyncio.sleep(60)

    assert (await exchanged(refuse, request("POST", body=b"x" * 20_000_000))).status == 413


async def test_withheld_bytes_are_not_sent_when_the_answer_comes_without_them() -> None:
    seen: list[bytes] = []

    async def refuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(HEAD_END)
        writer.write(b"HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n")
        await writer.drain()
        seen.append(await reader.read())

    asked = request("POST", body=b"0123456789")
    asked = Request(
        raw=asked.raw, method="POST", target="/path", fields=asked.fields, body=asked.body, withhold=8
    )
    async with listening(refuse) as port:
        exchange = await SocketWire(f"http://127.0.0.1:{port}").exchange(asked, scope="a-check")
        while not seen:
            await asyncio.sleep(0.001)
    assert exchange.status == 401
    assert seen == [b"01"]


async def test_withheld_bytes_are_sent_when_a_100_asks_for_them() -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(HEAD_END)
        writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        body = await reader.readexactly(10)
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n" + body)
        await writer.drain()
        writer.close()

    built = request("POST", body=b"0123456789")
    asked = Request(raw=built.raw, method="POST", target="/path", fields=(), body=built.body, withhold=10)
    exchange = await exchanged(serve, asked)
    assert exchange.answer is not None
    assert exchange.answer.body == b"0123456789"


async def test_a_server_that_waits_for_withheld_bytes_times_out_and_never_gets_them() -> None:
    seen: list[bytes] = []

    async def wait(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(HEAD_END)
        seen.append(await reader.read())
        writer.close()

    built = request("POST", body=b"0123456789", seconds=0.05)
    asked = Request(
        raw=built.raw, method="POST", target="/path", fields=(), body=built.body, withhold=10, seconds=0.05
    )
    async with listening(wait) as port:
        exchange = await SocketWire(f"http://127.0.0.1:{port}").exchange(asked, scope="a-check")
        while not seen:
            await asyncio.sleep(0.001)
    assert exchange.failure is Failure.TIMEOUT
    assert seen == [b""]


async def test_an_exchange_that_is_cancelled_leaves_no_connection_behind() -> None:
    ended = asyncio.Event()

    async def wait(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(HEAD_END)
        await reader.read()
        ended.set()

    async with listening(wait) as port:
        wire = SocketWire(f"http://127.0.0.1:{port}")
        task = asyncio.create_task(wire.exchange(request(), scope="a-check"))
        await asyncio.sleep(0.02)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await asyncio.wait_for(ended.wait(), 5)


@pytest.mark.parametrize(
    "url",
    ["127.0.0.1:80", "ftp://127.0.0.1", "http://user:pass@127.0.0.1", "http://127.0.0.1/?a=b", "http://[::1"],
)
def test_what_is_no_url_of_an_endpoint_is_refused_without_repeating_it(url: str) -> None:
    with pytest.raises(URLError) as caught:
        SocketWire(url)
    assert "pass" not in str(caught.value)


# --- TLS


@pytest.fixture
def certificate(tmp_path: Path) -> Path:
    """A certificate for 127.0.0.1 that vouches for itself, with its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "127.0.0.1")])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(hours=1))
        .add_extension(
            x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), critical=False
        )
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    path = tmp_path / "certificate.pem"
    path.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
        + made.public_bytes(serialization.Encoding.PEM)
    )
    return path


async def over_tls(certificate: Path, asked: Request, *, trusted: bool = True) -> tuple[Exchange, SocketWire]:
    """The exchange with a server that echoes the body twice, in small pieces."""

    async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(HEAD_END)
        size = int(head.split(b"Content-Length: ")[1].split(b"\r\n")[0])
        body = await reader.readexactly(size)
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % (2 * size))
        writer.write(body)
        await writer.drain()
        writer.write(body)
        await writer.drain()
        writer.close()

    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate)
    server = await asyncio.start_server(echo, "127.0.0.1", 0, ssl=context)
    async with server:
        port = server.sockets[0].getsockname()[1]
        trust = ssl.create_default_context(cafile=certificate) if trusted else None
        wire = SocketWire(f"https://127.0.0.1:{port}", context=trust, timeout=10)
        return await wire.exchange(asked, scope="a-check"), wire


async def test_https_carries_large_bodies_in_both_directions(certificate: Path) -> None:
    body = b"0123456789" * 300_000
    exchange, _ = await over_tls(certificate, request("POST", body=body))
    assert exchange.answer is not None
    assert exchange.answer.body == body + body


async def test_a_certificate_that_nobody_trusts_is_unreachable_and_gets_no_request(certificate: Path) -> None:
    exchange, wire = await over_tls(certificate, request("POST", body=b"{}"), trusted=False)
    assert exchange.failure is Failure.UNREACHABLE
    assert wire.trouble is not None
    assert "certificate" in wire.trouble


async def test_https_to_a_server_without_tls_is_unreachable() -> None:
    async with listening(writes(b"HTTP/1.1 400 Bad Request\r\n\r\n")) as port:
        wire = SocketWire(f"https://127.0.0.1:{port}", timeout=0.1)
        exchange = await wire.exchange(request(), scope="a-check")
    assert exchange.failure is Failure.UNREACHABLE
