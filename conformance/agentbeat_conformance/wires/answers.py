"""One HTTP/1.x answer out of bytes; h11 does the parsing, and nothing here reads or waits.

>>> reader = AnswerReader("GET", max_bytes=1000)
>>> reader.feed(b"HTTP/1.1 200 OK\\r\\nContent-Length: 2\\r\\n\\r\\n{")
>>> reader.feed(b"}").body
b'{}'
"""

from __future__ import annotations

from typing import Final

import h11

from agentbeat_conformance.exchanges import Answer, Failure

__all__ = ["AnswerReader", "NoAnswerError"]

#: The longest head of an answer, in bytes.
MAX_HEAD_BYTES: Final = 256 * 1024
#: How many bytes may stand around the body's own: heads, interim answers, chunk sizes. One byte per chunk has
#: five bytes of framing.
_FRAMING: Final = 8

_HEAD_TOO_LARGE: Final = 431


class NoAnswerError(Exception):
    """There is no whole answer, and there will be none."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure)
        self.failure = failure


class AnswerReader:
    """Reads the final answer to one request; interim answers (1xx) are passed over.

    Args:
        method: the request's; the answer to a HEAD has no body.
        max_bytes: the longest body that is read.

    Attributes:
        go_on: whether a 100 (Continue) came.
    """

    def __init__(self, method: str, *, max_bytes: int) -> None:
        self.go_on = False
        self._max_bytes = max_bytes
        self._received = 0
        self._head: h11.Response | None = None
        self._body = bytearray()
        self._parser = h11.Connection(h11.CLIENT, max_incomplete_event_size=MAX_HEAD_BYTES)
        # The parser wants to have sent the request. All it has to know of it is whether it was a HEAD.
        told = "HEAD" if method == "HEAD" else "GET"
        self._parser.send(h11.Request(method=told, target="/", headers=[("Host", "endpoint")]))
        self._parser.send(h11.EndOfMessage())

    def feed(self, data: bytes) -> Answer | None:
        """Take the next bytes; empty ones say that the connection has ended.

        Returns:
            The answer as soon as it is whole.

        Raises:
            NoAnswerError: what came is no answer, or too much of one, or ended too early.
        """
        self._received += len(data)
        if self._received > _FRAMING * self._max_bytes + MAX_HEAD_BYTES:
            raise NoAnswerError(Failure.TOO_LARGE)
        try:
            self._parser.receive_data(data)
            while (event := self._parser.next_event()) is not h11.NEED_DATA:
                if isinstance(event, h11.EndOfMessage) or event is h11.PAUSED:
                    return self._answer()
                self._take(event)
        except h11.RemoteProtocolError as error:
            raise NoAnswerError(self._failure(error, ended=not data)) from error
        return None

    def _take(self, event: object) -> None:
        match event:
            case h11.InformationalResponse():
                self.go_on = self.go_on or event.status_code == 100
            case h11.Response():
                if not event.http_version.startswith(b"1."):
                    raise NoAnswerError(Failure.MALFORMED)
                self._head = event
            case h11.Data():
                self._body += event.data
                if len(self._body) > self._max_bytes:
                    raise NoAnswerError(Failure.TOO_LARGE)
            case _:
                raise NoAnswerError(Failure.CUT if self._received else Failure.CLOSED)

    def _failure(self, error: h11.RemoteProtocolError, *, ended: bool) -> Failure:
        if ended:
            return Failure.CUT if self._received else Failure.CLOSED
        too_large = error.error_status_hint == _HEAD_TOO_LARGE
        return Failure.TOO_LARGE if too_large else Failure.MALFORMED

    def _answer(self) -> Answer:
        if self._head is None:
            raise NoAnswerError(Failure.MALFORMED)
        fields = tuple(
            (name.decode("latin-1"), value.decode("latin-1")) for name, value in self._head.headers
        )
        return Answer(status=self._head.status_code, fields=fields, body=bytes(self._body))
