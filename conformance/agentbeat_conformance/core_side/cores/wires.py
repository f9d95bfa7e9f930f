"""What all sides of the small Core share: one exchange, and how a run ends without an observation."""

from __future__ import annotations

from collections.abc import Mapping

from agentbeat_conformance.core_side.cores.http import Got, exchange

__all__ = ["FailedError", "Wires"]


class FailedError(Exception):
    """There is no observation of the Agent; the argument is the code."""


class Wires:
    """How the small Core speaks to anybody."""

    async def asked(
        self,
        method: str,
        url: str,
        fields: Mapping[str, str],
        body: bytes | None,
        *,
        seconds: float,
        max_bytes: int,
    ) -> Got:
        """One exchange; no redirect is followed."""
        return await exchange(method, url, fields=fields, body=body, seconds=seconds, max_bytes=max_bytes)
