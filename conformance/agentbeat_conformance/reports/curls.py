"""How to repeat an exchange by hand: a curl command, or `printf | nc` for bytes that curl would not send.

A command repeats the very bytes of the request. curl does so for ordinary requests, once it is told to leave
out what it adds. Heads that a client library repairs, and bytes that are held back, go through nc (through
openssl for https). The secret never stands in a command: a variable does.

>>> request = Request.build("GET", "/healthz", host="127.0.0.1:8080")
>>> print(repeat_command(request, origin="http://127.0.0.1:8080"))
curl -isS http://127.0.0.1:8080/healthz -H 'User-Agent:' -H 'Accept:' -H 'Connection: close'
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final
from urllib.parse import urlsplit

from agentbeat_conformance.exchanges import Fields, Request
from agentbeat_conformance.reports.shells import LONGEST_COMMAND, Variables, word, writer

__all__ = ["repeat_command"]

NO_VARIABLES: Final[Variables] = MappingProxyType({})

#: curl asks for leave (`Expect: 100-continue`) before a body of this size, in its older releases.
_ASKS_FIRST: Final = 1024
#: How long to wait where bytes are held back and the request has no bound of its own, in seconds.
_HOLD_BACK: Final = 5
#: Fields that curl writes or reads itself.
_CURLS_OWN: Final = frozenset({"content-length", "expect", "host", "te", "transfer-encoding", "upgrade"})
_TARGET: Final = re.compile(r"[!$-~]+")
_METHOD: Final = re.compile(r"[A-Z]+")
_FIELD_NAME: Final = re.compile(r"[A-Za-z0-9-]+")
_FIELD_VALUE: Final = re.compile(r"[!-~]([ -~]*[!-~])?")
_PORTS: Final[Mapping[str, int]] = MappingProxyType({"http": 80, "https": 443})


def repeat_command(
    request: Request, *, origin: str, variables: Variables = NO_VARIABLES, lines: bool = False
) -> str | None:
    """The command that sends the bytes of `request` again and shows the answer.

    Args:
        origin: scheme, host and port of the endpoint, `https://agent.example:8443`.
        variables: each secret (or what stands in its place in the request), and the shell variable for it.
        lines: whether to break a curl command into lines.

    Returns:
        None when the command would be too long to copy: the transcript holds the bytes.
    """
    command = _curl(request, origin, variables, " \\\n  " if lines else " ")
    if command is None:
        command = _through_socket(request, origin, variables)
    return command if command is not None and len(command) <= LONGEST_COMMAND else None


def _curl(request: Request, origin: str, variables: Variables, between: str) -> str | None:
    head = _plain_head(request)
    if head is None:
        return None
    host, fields = head
    words = ["curl -isS", *_method(request)]
    if urlsplit(origin).scheme == "https":
        words.append("--http1.1")
    if request.seconds is not None:
        words.append(f"--max-time {math.ceil(request.seconds)}")
    if any(mark in request.target for mark in "[]{}"):
        words.append("--globoff")
    if "/." in request.target:
        words.append("--path-as-is")
    if request.target.startswith("/"):
        words.append(word(origin + request.target, variables))
    else:
        words += [f"--request-target {word(request.target, variables)}", word(origin + "/", variables)]
    if host != urlsplit(origin).netloc:
        words.append(f"-H {word(f'Host: {host}', variables)}")
    names = {name.lower() for name, _ in fields}
    words += [f"-H '{name}:'" for name in ("User-Agent", "Accept") if name.lower() not in names]
    words += [f"-H {word(f'{name}: {value}', variables)}" for name, value in fields]
    if _has_body(request):
        if "content-type" not in names:
            words.append("-H 'Content-Type:'")
        if len(request.body) >= _ASKS_FIRST:
            words.append("-H 'Expect:'")
        return _with_body(words, request.body, variables, between)
    return between.join(words)


def _with_body(words: list[str], body: bytes, variables: Variables, between: str) -> str | None:
    try:
        text = body.decode()
    except UnicodeDecodeError:
        text = "\0"
    if text.isprintable() and len(text) < LONGEST_COMMAND // 2:
        return between.join([*words, f"--data-raw {word(text, variables)}"])
    written = writer(body, variables)
    return None if written is None else f"{written} | {between.join([*words, '--data-binary @-'])}"


def _method(request: Request) -> list[str]:
    if request.method == "HEAD":
        return ["--head"]
    usual = "POST" if _has_body(request) else "GET"
    return [] if request.method == usual else [f"-X {request.method}"]


def _has_body(request: Request) -> bool:
    return any(name.lower() == "content-length" for name, _ in request.fields)


def _plain_head(request: Request) -> tuple[str, Fields] | None:
    """The host and curl's share of the header fields, when curl writes just this head; else None."""
    fields = request.fields
    if request.withhold or not fields or fields[0][0] != "Host":
        return None
    host, own = fields[0][1], fields[1:]
    if own and own[-1] == ("Content-Length", str(len(request.body))) and request.method != "HEAD":
        own = own[:-1]
    elif request.body:
        return None
    plain = (
        _METHOD.fullmatch(request.method)
        and _TARGET.fullmatch(request.target)
        and _FIELD_VALUE.fullmatch(host)
        and all(
            _FIELD_NAME.fullmatch(name) and _FIELD_VALUE.fullmatch(value) and name.lower() not in _CURLS_OWN
            for name, value in own
        )
    )
    lines = [
        f"{request.method} {request.target} HTTP/1.1",
        *(f"{name}: {value}" for name, value in fields),
        "",
        "",
    ]
    as_curl_writes = "\r\n".join(lines).encode("latin-1", "replace") + request.body
    return (host, own) if plain and request.raw == as_curl_writes else None


def _through_socket(request: Request, origin: str, variables: Variables) -> str | None:
    where = urlsplit(origin)
    host, port = where.hostname or "", where.port or _PORTS.get(where.scheme, 80)
    if where.scheme == "https":
        address = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        listener = f"openssl s_client -quiet -connect {word(address, {})} -servername {word(host, {})}"
    else:
        listener = f"nc {word(host, {})} {port}"
    if not request.withhold:
        written = writer(request.raw, variables)
        return None if written is None else f"{written} | {listener}"
    # The suite sends the rest only when it is asked to, so a command that repeats it does not.
    first = writer(request.raw[: max(0, len(request.raw) - request.withhold)], variables)
    pause = math.ceil(request.seconds) if request.seconds is not None else _HOLD_BACK
    return None if first is None else f"{{ {first}; sleep {pause}; }} | {listener}"
