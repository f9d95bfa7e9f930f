"""The commands of a report repeat the very bytes of the exchange, and hold no secret."""

from __future__ import annotations

import dataclasses
import os
import shutil
import socket
import subprocess
import threading

import pytest

from agentbeat_conformance.exchanges import Request
from agentbeat_conformance.reports.curls import repeat_command
from agentbeat_conformance.reports.shells import word, writer

SECRET = "s3cret-5f0c"
VARIABLES = {SECRET: "AGENT_TOKEN"}
ANSWER = b"HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n"
BEARER = ("Authorization", f"Bearer {SECRET}")
JSON = ("Content-Type", "application/json")


def built(method="POST", target="/v1/agent/invocations", fields=(BEARER, JSON), body=b"{}", **changes):
    request = Request.build(method, target, host=changes.pop("host", "HOST"), fields=fields, body=body)
    return dataclasses.replace(request, **changes)


def raw(head, body=b"", **changes):
    return Request(raw=head + body, method="POST", target="/", fields=(), body=body, **changes)


class Recorder:
    """Takes one connection, keeps all that came over it, and answers when it has `length` bytes."""

    def __init__(self, length):
        self.length = length
        self.received = b""
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.listener.settimeout(10)
        self.origin = f"http://127.0.0.1:{self.listener.getsockname()[1]}"
        self.thread = threading.Thread(target=self.serve)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.thread.join(20)
        self.listener.close()

    def serve(self):
        connection, _ = self.listener.accept()
        with connection:
            connection.settimeout(10)
            while len(self.received) < self.length and (part := connection.recv(1 << 16)):
                self.received += part
            connection.sendall(ANSWER)


def shell(command, **options):
    return subprocess.run(
        ["sh", "-c", command],
        capture_output=True,
        timeout=30,
        env={"PATH": os.environ["PATH"], "AGENT_TOKEN": SECRET},
        check=False,
        **options,
    )


BY_CURL = {
    "an invocation": built(),
    "a GET": built("GET", "/v1/evidence/run-a", body=None),
    "a method of its own": built("DELETE", body=None),
    "an empty body": built(body=b""),
    "a body without a media type": built(fields=(BEARER,)),
    "quotes, blanks and a secret in the body's neighbour": built(body=b"""{"a": "it's \\"$HOME\\" `x`"}"""),
    "a body that begins with @": built(body=b"@/etc/hostname"),
    "Chinese": built(body='{"input": {"text": "退款"}}'.encode()),
    "invalid UTF-8": built(body=b'{"a": "\xff"}'),
    "a body of two lines": built(body=b'{\n"a":\t1}\r\n'),
    "a NUL": built(body=b'{"a": "\0001"}'),
    "a deep body": built(body=b'{"metadata":' + b"[" * 5000 + b"]" * 5000 + b"}"),
    "a body over a mebibyte": built(body=b'{"a": "' + b"x" * 1_048_577 + b'"}'),
    "a body of long units": built(body=b'{"a":' * 3000 + b"1" + b"}" * 3000),
    "fields twice": built(fields=(BEARER, JSON, JSON, ("X-AIBeat-Run-ID", "run-a"))),
    "a field of its own in the place of one of curl's": built(fields=(BEARER, ("Accept", "text/html"))),
    "dots and brackets in the path": built(target="/v1/../v1/{a}[0-9]?b=%2e"),
    "another host": built(host="other.example"),
    "a secret that something follows": built(fields=(("Authorization", f"Bearer {SECRET}x"), JSON)),
    "another scheme of authorization": built(fields=(("Authorization", f"Basic {SECRET}=!$(x)"), JSON)),
    "a target that is no path": built("OPTIONS", "*", body=None),
}


@pytest.mark.skipif(
    not shutil.which("curl") and not os.environ.get("CI"), reason="no curl on this machine; CI has it"
)
@pytest.mark.parametrize("lines", [False, True], ids=["in one line", "in lines"])
@pytest.mark.parametrize("request_", BY_CURL.values(), ids=BY_CURL)
def test_curl_sends_the_very_bytes(request_, lines):
    with Recorder(len(request_.raw)) as server:
        host = server.origin.removeprefix("http://")
        sent = dataclasses.replace(
            request_,
            raw=request_.raw.replace(b"Host: HOST", f"Host: {host}".encode()),
            fields=tuple((name, host if value == "HOST" else value) for name, value in request_.fields),
        )
        server.length = len(sent.raw)
        command = repeat_command(sent, origin=server.origin, variables=VARIABLES, lines=lines)
        assert command is not None
        done = shell(command)
    assert "curl -isS" in command
    assert server.received == sent.raw
    assert done.stdout.startswith(b"HTTP/1.1 204"), done.stderr
    assert SECRET not in command


BY_SOCKET = {
    "a head that ends its lines oddly": raw(b"GET / HTTP/1.1\nHost: a\n\n"),
    "two lengths": raw(
        b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n", b"{}"
    ),
    "chunks": raw(
        b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n", b"2\r\n{}\r\n0\r\n\r\n"
    ),
    "bytes above ASCII in the head": raw(b"GET / HTTP/1.1\r\nHost: a\r\nX: \xe9\x80%s'\\-9\r\n\r\n"),
    "a hyphen in front": raw(b"-GET / HTTP/1.1\r\n\r\n"),
    "no host": raw(b"GET / HTTP/1.0\r\n\r\n"),
    "a secret": raw(b"GET / HTTP/1.1\nAuthorization: Bearer " + SECRET.encode() + b"\n\n"),
    "a length behind other fields": raw(
        b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\nConnection: close\r\n\r\n", b"{}"
    ),
    "units that are no text": raw(b"POST / HTTP/1.1\r\n\r\n" + b"\xe9\x00" * 1000),
    "units that look like an option": raw(b"POST / HTTP/1.1\r\n\r\n" + b"--" * 1000),
}


@pytest.mark.parametrize("request_", BY_SOCKET.values(), ids=BY_SOCKET)
def test_what_curl_would_repair_is_written_by_the_shell(request_):
    command = repeat_command(request_, origin="http://127.0.0.1:9", variables=VARIABLES)
    assert command is not None
    written, _, listener = command.rpartition(" | ")
    assert listener == "nc 127.0.0.1 9"
    assert shell(written).stdout == request_.raw
    assert SECRET not in command


def test_bytes_that_are_held_back_are_not_sent_while_the_answer_is_waited_for():
    request = built(withhold=1, seconds=0.01)
    command = repeat_command(request, origin="http://127.0.0.1:9")
    written, _, _ = command.rpartition(" | ")
    assert written.endswith("; sleep 1; }")
    assert shell(written.replace("sleep 1", "true")).stdout == request.raw[:-1]


@pytest.mark.parametrize(
    ("origin", "listener"),
    [
        ("http://agent.example", "nc agent.example 80"),
        ("http://[::1]:8080", "nc ::1 8080"),
        (
            "https://agent.example",
            "openssl s_client -quiet -connect agent.example:443 -servername agent.example",
        ),
        ("https://[::1]:8443", "openssl s_client -quiet -connect '[::1]:8443' -servername ::1"),
    ],
)
def test_the_bytes_go_where_the_endpoint_is(origin, listener):
    assert repeat_command(raw(b"GET / HTTP/1.0\n\n"), origin=origin).endswith(f" | {listener}")


def test_over_https_curl_speaks_http_1():
    assert "--http1.1" in repeat_command(built(host="a.example"), origin="https://a.example")


def test_a_command_that_nobody_would_copy_is_none():
    noise = b"".join(b"%d," % (number * number) for number in range(2000))
    assert repeat_command(built(body=noise), origin="http://127.0.0.1:9") is None
    assert repeat_command(raw(b"POST / HTTP/1.1\n\n", noise), origin="http://127.0.0.1:9") is None


@pytest.mark.parametrize(
    "text",
    [
        "a",
        "a b",
        SECRET,
        f"x{SECRET}",
        f"{SECRET}x",
        f"`$x`{SECRET}!\"'\\",
        f"{SECRET}{SECRET}",
        "",
        f"a: {SECRET}",
    ],
)
def test_a_word_is_read_back_by_the_shell_as_it_was(text):
    assert shell(f"printf %s {word(text, VARIABLES)}").stdout == text.encode()
    assert SECRET not in word(text, VARIABLES)


@pytest.mark.parametrize("size", [0, 1, 511, 512, 4096])
def test_a_writer_writes_what_it_was_given(size):
    data = bytes(number % 256 for number in range(64)) + b"\xe9" * size + b"7\n\n"
    assert shell(writer(data, {})).stdout == data
