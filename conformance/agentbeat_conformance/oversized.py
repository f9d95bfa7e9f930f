"""A body that is over any Target's limit, of which as little is sent as will do.

Nobody outside knows the limit: it is 1 MiB unless the Target says otherwise. On a real connection a length of
1 TiB is declared and nothing sent, which a Target may refuse at once. One that counts what arrives is sent
8 MiB instead; so is any Target in process, where lengths are not what holds the parts together. The body is
white space: a Target that reads it all runs nothing.
"""

from __future__ import annotations

import dataclasses
from typing import Final

from agentbeat_conformance.exchanges import Exchange, Request
from agentbeat_conformance.target_probes import TargetProbe
from agentbeat_conformance.wrong_requests import given_fields

__all__ = ["too_large"]

DECLARED_BYTES: Final = 1 << 40
SENT_BYTES: Final = 8 * 1024 * 1024
#: How long a Target may take to refuse what it need not read, in seconds.
PATIENCE: Final = 5.0


async def too_large(target: TargetProbe) -> tuple[Exchange, str]:
    """An exchange with such a body, and what it was in a few words."""
    if target.session.wire.has_sockets:
        exchange = await target.session.send(_declared(target))
        if exchange.status is not None:
            return exchange, "a declared length of 1 TiB, nothing sent"
    exchange = await target.post(body=b" " * SENT_BYTES)
    return exchange, "a body of 8 MiB"


def _declared(target: TargetProbe) -> Request:
    right = target.request()
    made = Request.build(
        "POST",
        right.target,
        host=target.host,
        fields=[*given_fields(right), ("Content-Length", str(DECLARED_BYTES))],
        seconds=PATIENCE,
    )
    return dataclasses.replace(made, needs_socket=True)
