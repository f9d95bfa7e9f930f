"""What the HTTP libraries may log of an exchange: that a step happened, and nothing that the peer said.

At DEBUG httpcore logs an answer's head and the bytes that are no HTTP, and at INFO httpx logs the reason
phrase. A peer that echoes its bearer secret there would put it into a log. Inside `quiet_logs` only the name
of the step is let through; what an embedding program does with the same libraries is logged as ever.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final

__all__ = ["quiet_logs"]

#: The loggers that write what a peer sent.
_LOGGERS: Final = ("httpcore.connection", "httpcore.http11", "httpx")

_quiet: ContextVar[bool] = ContextVar("quiet", default=False)


@contextmanager
def quiet_logs() -> Iterator[None]:
    """For the block, in this task alone, the libraries log names of steps only."""
    for name in _LOGGERS:
        # Adding a filter again changes nothing.
        logging.getLogger(name).addFilter(_only_the_step)
    token = _quiet.set(True)
    try:
        yield
    finally:
        _quiet.reset(token)


def _only_the_step(record: logging.LogRecord) -> bool:
    if _quiet.get():
        # httpcore: `receive_response_headers.complete return_value=…`; httpx: `HTTP Request: GET …`.
        record.msg, record.args = record.getMessage().partition(" ")[0], None
    return True
