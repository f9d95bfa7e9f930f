"""Exchanges as text that is safe to show: shortened, and nothing in it but printable characters.

What a server answered may hold terminal commands, right-to-left marks or a million bytes. Here every
character that does not print is written as an escape, and what is left out is counted.

>>> visible("a\\x1b[2J\\u202eb")
'a\\\\x1b[2J\\\\u202eb'
"""

from __future__ import annotations

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
    """A body as text of about `limit` characters; what is left out is counted in bytes."""
    part = body[: limit * _BYTES_EACH]
    text = part.decode("utf-8", "backslashreplace")
    kept = text[:limit]
    if len(part) == len(body) and kept == text:
        return visible(kept, lines=True)
    return f"{visible(kept, lines=True)}… ({len(body):,} bytes in all)"


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
