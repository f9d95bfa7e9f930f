"""Domains: kinds of transactions that the verifier knows how to replay.

A domain is loaded when it is first asked for, so that a verification loads what its receipts need only.

>>> sorted(known_domains())
['agent_eval', 'market']
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from types import MappingProxyType
from typing import Final, cast

from agentbeat_receipts.claims.domains import Domain

__all__ = ["known_domains"]

#: Where each domain's `DOMAIN` is.
_MODULES: Final = MappingProxyType(
    {
        "agent_eval": "agentbeat_receipts.domains.agent_eval",
        "market": "agentbeat_receipts.domains.market",
    }
)


class _Known(Mapping[str, Domain]):
    """The domains by name, each imported when it is looked up."""

    def __getitem__(self, name: str) -> Domain:
        return cast(Domain, import_module(_MODULES[name]).DOMAIN)

    def __iter__(self) -> Iterator[str]:
        return iter(_MODULES)

    def __len__(self) -> int:
        return len(_MODULES)


def known_domains() -> Mapping[str, Domain]:
    """Every domain of this package by the name that manifests and openings give."""
    return _Known()
