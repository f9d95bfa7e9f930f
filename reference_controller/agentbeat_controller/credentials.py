"""Bearer secrets of the two planes, compared in constant time.

>>> secret = "s" * 32
>>> bearer(f"Bearer {secret}") == secret, bearer("Basic abc"), bearer(None)
(True, None, None)
"""

from __future__ import annotations

import hmac
import re
from collections.abc import Mapping
from typing import Final

from agentbeat_controller.refusals import unauthorized

__all__ = ["BusinessSecrets", "ControlSecret", "bearer"]

#: RFC 9110, section 11.4, and RFC 6750, section 2.1; which characters a secret has is for the comparison.
_BEARER: Final = re.compile(r"bearer +([^\s]+)", re.IGNORECASE | re.ASCII)


def bearer(authorization: str | None) -> str | None:
    """The secret in an `Authorization` header, or None where there is no bearer secret."""
    match = _BEARER.fullmatch(authorization or "")
    return match[1] if match else None


def _equal(given: str, secret: str) -> bool:
    return hmac.compare_digest(given.encode("utf-8", "surrogatepass"), secret.encode())


class ControlSecret:
    """The control plane's one secret."""

    def __init__(self, secret: str) -> None:
        self._secret = secret

    def check(self, authorization: str | None) -> None:
        """Let the control secret pass.

        Raises:
            ProtocolError: `unauthorized`.
        """
        given = bearer(authorization)
        if given is None or not _equal(given, self._secret):
            raise unauthorized()


class BusinessSecrets:
    """One secret per Deployment.

    Args:
        secrets: Deployment to secret.

    Raises:
        ValueError: two Deployments share a secret: then a call could not be told from another's.
    """

    def __init__(self, secrets: Mapping[str, str]) -> None:
        if len(set(secrets.values())) != len(secrets):
            raise ValueError("two Deployments have the same business secret")
        self._secrets = dict(secrets)

    def deployment(self, authorization: str | None) -> str:
        """The Deployment whose secret this is; all are compared, whichever fits.

        Raises:
            ProtocolError: `unauthorized`.
        """
        given = bearer(authorization)
        fits = [name for name, secret in self._secrets.items() if given is not None and _equal(given, secret)]
        if not fits:
            raise unauthorized()
        return fits[0]
