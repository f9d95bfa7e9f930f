"""Exchanges as text that is safe to show: shortened, and nothing in it but printable characters.

What a server answered may hold terminal commands, right-to-left marks or a million bytes. Here every
character that does not print is written as an escape, and what is left out is counted.

>>> visible("a\\x1b[2J\\u202eb")
'a\\\\x1b[2J\\\\u202eb'
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from agentbeat_conformance.exchanges import Answer, Exchange, Failure, Fields, Request

__all__ = ["FAILURES", "answer_text", "body_text", "head_text", "request_text", "shortened", "visible"]

#: What stands in the place of an answer, for people.
FAILURES: Final = {
    Failure.UNREACHABLE: "no connection",
    Failure.CLOSED: "the connection was closed without an answer",
    Failure.CUT: "the connection ended inside the answer",
    Failure.TIMEOUT: "no whole answer in time",
    Failure.TOO_LARGE: "the answer went on past the limit of reading",
    Failure.MALFORMED: "what came is no HTTP/1.x answer",
}

#: A unit of 1 to 12 bytes again and again, looked for in so many bytes, so many times.
_REPEATS: Final = re.compile(rb"(.{1,12}?)\1{63,}", re.DOTALL)
_NEAR: Final = 8192
_RUNS: Final = 4
#: How often the unit is then shown.
_SHOWN: Final = 4
#: How many bytes of a text are decoded at most for each character that is wanted: UTF-8 needs four.
_BYTES_EACH: Final = 4


def visible(text: str, *, lines: bool = False) -> str:
    """`text` with every character that does not print as an escape.

    Args:
        lines: whether line feeds and tabs stand as they are.
    """
    kept = "\n\t" if lines else ""
    return "".join(
        character
        if character.isprintable() or character in kept
        else character.encode("unicode_escape").decode("ascii")
        for character in text
    )


def shortened(text: str, limit: int) -> str:
    """At most `limit` characters of `text`, with an ellipsis in the place of the rest."""
    return text if len(text) <= limit else text[: limit - 1] + "…"


def body_text(body: bytes, limit: int) -> str:
    """A body as text of about `limit` characters, and how many bytes it has when that is not all of it.

    What repeats itself is shown a few times and counted; of what is still too long the middle is left out.
    """
    folded = _folded(body)
    total = f"({len(body):,} bytes in all)"
    if len(folded) <= limit * _BYTES_EACH:
        whole = folded.decode("utf-8", "backslashreplace")
        if len(whole) <= limit:
            shown = visible(whole, lines=True)
            return shown if folded == body else f"{shown} {total}"
    begin, end = limit * 2 // 3, limit // 3
    first = folded[: begin * _BYTES_EACH].decode("utf-8", "backslashreplace")[:begin]
    # The rest may begin inside a character.
    rest = folded[-end * _BYTES_EACH :].lstrip(bytes(range(0x80, 0xC0)))
    last = rest.decode("utf-8", "backslashreplace")[-end:]
    return f"{visible(first, lines=True)} … {total} … {visible(last, lines=True)}"


def _folded(body: bytes) -> bytes:
    """`body` with what repeats itself near its begin written as a few times and a count."""
    parts: list[bytes] = []
    for _ in range(_RUNS):
        found = _REPEATS.search(body, 0, _NEAR)
        if found is None:
            break
        unit = found[1]
        run = re.compile(b"(?:" + re.escape(unit) + b")+").match(body, found.start())
        end = run.end() if run else found.end()
        times = (end - found.start()) // len(unit)
        parts += [body[: found.start()], unit * _SHOWN, f"…(×{times:,})".encode()]
        body = body[end:]
    return b"".join([*parts, body])


def head_text(first: str, fields: Fields, limit: int) -> str:
    """A head: its first line, then a line for each field, each line at most `limit` characters."""
    lines = [first, *(f"{name}: {value}" for name, value in fields)]
    return "\n".join(shortened(visible(line), limit) for line in lines)


def request_text(request: Request, *, limit: int = 2000) -> str:
    """The request as its bytes say, the head first; a body of at most about `limit` characters.

    The head is read from the bytes and not from the fields, since some heads are odd on purpose.
    """
    head = request.raw[: len(request.raw) - len(request.body)] if request.body else request.raw
    text = shortened(visible(head.decode("latin-1").replace("\r\n", "\n"), lines=True).rstrip("\n"), limit)
    parts = [text]
    if request.body:
        parts += ["", body_text(request.body, limit)]
    if request.withhold:
        parts += ["", f"(the last {request.withhold:,} bytes held back)"]
    return "\n".join(parts)


def answer_text(exchange: Exchange, *, limit: int = 2000, fields: Iterable[str] | None = None) -> str:
    """The answer, or what stands in its place.

    Args:
        limit: about how many characters of the body.
        fields: the header fields to show, in lower case; None for all.
    """
    answer = exchange.answer
    if answer is None:
        return f"({FAILURES.get(exchange.failure, 'no answer') if exchange.failure else 'no answer'})"
    return _whole(answer, limit, None if fields is None else frozenset(fields))


def _whole(answer: Answer, limit: int, wanted: frozenset[str] | None) -> str:
    shown = tuple(field for field in answer.fields if wanted is None or field[0] in wanted)
    head = head_text(f"{answer.status}", shown, 200)
    return f"{head}\n\n{body_text(answer.body, limit)}" if answer.body else head
