"""The secret's way past the checks: they hold a marker, the endpoint gets the secret, nobody else does.

A check is given the marker `[redacted-secret]` where it would use the bearer secret. On the way out the
marker becomes the secret; on the way back the secret becomes the marker, however it is spelt: plain, with
JSON or percent escapes, in base64. So no finding, report or transcript can hold a secret, and a re-judged
transcript shows the checks what the live run showed them, byte for byte.

A check may also send a near miss: the marker with something before or behind it, or without its last
character; the endpoint then gets the secret altered in the same way. The marker is not the `[redacted]` that
Targets themselves write.

>>> concealment = Concealment({"secret": "tea-and-biscuits"})
>>> concealment.reveal(b"Bearer [redacted-secret]")
b'Bearer tea-and-biscuits'
>>> concealment.conceal(b'{"authorization": "Bearer tea-and-biscuits"}')
b'{"authorization": "Bearer [redacted-secret]"}'
"""

from __future__ import annotations

import base64
import dataclasses
import re
from collections.abc import Iterable, Mapping
from typing import Final

from agentbeat_conformance.exchanges import Answer, Exchange, Fields, Request
from agentbeat_conformance.sessions import Wire
from agentbeat_protocol import CASE_ID_HEADER, EVIDENCE_PATH, HEALTH_PATH, INVOCATION_PATH, RUN_ID_HEADER

__all__ = ["MIN_SECRET_LENGTH", "ConcealingWire", "Concealment", "marker"]

#: How every marker begins.
_OPENING: Final = b"[redacted-"

#: A shorter secret could not be told from other text.
MIN_SECRET_LENGTH: Final = 8

#: What every conversation holds: a secret that is part of it could not be told from it either.
_WORDS: Final = " ".join(
    (
        f"{INVOCATION_PATH} {EVIDENCE_PATH} {HEALTH_PATH} {RUN_ID_HEADER} {CASE_ID_HEADER}".lower(),
        "target-invocation-v1 target-evidence-v1 state-controller-v1 state-receipt-v1",
        "schema_version run_id case_id metadata final_response evidence_ref task_id assurance_level",
        "observed_channels started_at finished_at occurred_at event_id sequence attributes arguments",
        "message.delta tool.call tool.result command.result file.change run.error lifecycle assistant",
        "completed messages",
        "application/json content-type content-length authorization unauthorized connection /v1/environment/",
        "[redacted-secret] [redacted-control] [redacted-business]",
    )
)


def marker(name: str = "secret") -> str:
    """What checks, reports and transcripts show in the place of the secret with that name."""
    return f"{_OPENING.decode()}{name}]"


class Concealment:
    """Secrets and the markers that stand for them.

    Args:
        secrets: the secrets by their names, which are words of `a` to `z`.

    Raises:
        ValueError: a secret is too short to be told from other text, or part of what is always said, or
            two are alike; it is not repeated.
    """

    def __init__(self, secrets: Mapping[str, str]) -> None:
        if len(set(secrets.values())) < len(secrets):
            raise ValueError("got the same secret twice, expected a secret for each plane")
        self._revealed: list[tuple[bytes, bytes]] = []
        self._concealed: list[tuple[bytes, bytes]] = []
        self._escaped: list[tuple[re.Pattern[bytes], bytes]] = []
        self._shortest = min(map(len, secrets.values()), default=0) - 1
        # The longest first: one secret may be a part of another.
        for name, secret in sorted(secrets.items(), key=lambda item: -len(item[1])):
            self._add(marker(name), secret)

    def _add(self, shown: str, secret: str) -> None:
        if len(secret) < MIN_SECRET_LENGTH:
            raise ValueError(
                f"got a secret of {len(secret)} characters, expected at least {MIN_SECRET_LENGTH}: "
                "a shorter one could not be told from other text in the transcript"
            )
        if secret.lower() in _WORDS:
            raise ValueError(
                "got a secret that is a word of the protocol, expected one that nothing else says"
            )
        if not secret.isascii() or not secret.isprintable():
            raise ValueError("got a secret with characters beyond printable ASCII, expected a bearer token")
        for given, real in ((shown, secret), (shown[:-1], secret[:-1])):
            self._revealed.append((given.encode(), real.encode()))
            self._concealed.append((real.encode(), given.encode()))
            self._escaped.append((_any_spelling(real), given.encode()))
        self._concealed += [(way, shown.encode()) for way in _in_base64(secret)]

    def reveal(self, data: bytes) -> bytes:
        """`data` with the secrets in place of their markers."""
        if _OPENING in data:
            for given, real in self._revealed:
                data = data.replace(given, real)
        return data

    def conceal(self, data: bytes) -> bytes:
        """`data` with markers in place of the secrets and their spellings."""
        if len(data) < self._shortest:
            return data
        for real, given in self._concealed:
            data = data.replace(real, given)
        if b"\\" in data or b"%" in data or b"&" in data:
            for pattern, given in self._escaped:
                data = pattern.sub(given, data)
        return data

    def conceal_text(self, text: str) -> str:
        """The same for text."""
        return self.conceal(text.encode("utf-8", "surrogatepass")).decode("utf-8", "surrogatepass")


class ConcealingWire:
    """A wire between checks that hold markers and an endpoint that wants secrets."""

    def __init__(self, wire: Wire, concealment: Concealment) -> None:
        self._wire = wire
        self._concealment = concealment

    @property
    def has_sockets(self) -> bool:
        """See `Wire`."""
        return self._wire.has_sockets

    async def exchange(self, request: Request, *, scope: str) -> Exchange:
        """See `Wire`; the exchange holds the request as the check made it."""
        exchange = await self._wire.exchange(self._revealed(request), scope=scope)
        answer = exchange.answer and self._concealed(exchange.answer)
        return dataclasses.replace(exchange, request=request, answer=answer)

    def _revealed(self, request: Request) -> Request:
        reveal = self._concealment.reveal
        raw = reveal(request.raw)
        if raw == request.raw:
            return request
        body = reveal(request.body)
        fields = tuple(
            (name, reveal(value.encode("latin-1")).decode("latin-1")) for name, value in request.fields
        )
        if len(body) != len(request.body):
            raw, fields = _with_length(raw, fields, len(request.body), len(body))
        return dataclasses.replace(request, raw=raw, fields=fields, body=body)

    def _concealed(self, answer: Answer) -> Answer:
        conceal = self._concealment.conceal
        fields = tuple(
            (name, conceal(value.encode("latin-1")).decode("latin-1")) for name, value in answer.fields
        )
        return Answer(status=answer.status, fields=fields, body=conceal(answer.body))


def _with_length(raw: bytes, fields: Fields, before: int, now: int) -> tuple[bytes, Fields]:
    """Head and fields with the Content-Length of the body as it goes out."""
    head, gap, body = raw.partition(b"\r\n\r\n")
    stated = re.compile(rb"(?im)^(content-length:[ \t]*)%d(?=[ \t]*\r?$)" % before)
    altered = tuple(
        (name, str(now) if name.lower() == "content-length" and value.strip() == str(before) else value)
        for name, value in fields
    )
    return stated.sub(rb"\g<1>%d" % now, head) + gap + body, altered


def _any_spelling(secret: str) -> re.Pattern[bytes]:
    r"""The secret with any of its characters escaped: `\u002F`, `\/`, `%2F`, `&#47;`, `&#x2f;`."""
    return re.compile(b"".join(_spellings(character) for character in secret))


def _spellings(character: str) -> bytes:
    code = ord(character)
    ways: Iterable[bytes] = (
        re.escape(character.encode()),
        rb"\\" + re.escape(character.encode()),
        rb"\\[uU]00(?i:%02x)" % code,
        rb"%%(?i:%02x)" % code,
        rb"&#0*%d;" % code,
        rb"&#[xX]0*(?i:%x);" % code,
    )
    return b"(?:" + b"|".join(ways) + b")"


def _in_base64(secret: str) -> list[bytes]:
    """The secret inside a text in base64, at each of the three places where it may begin in a group.

    The characters at both ends that also depend on what stands beside the secret are left out.
    """
    ways = []
    for before in range(3):
        encoded = base64.b64encode(b"\0" * before + secret.encode())
        first = (0, 2, 3)[before]
        last = len(encoded) if (before + len(secret)) % 3 == 0 else len(encoded.rstrip(b"=")) - 1
        plain = encoded[first:last]
        ways += [plain, plain.replace(b"+", b"-").replace(b"/", b"_")]
    return list(dict.fromkeys(ways))
