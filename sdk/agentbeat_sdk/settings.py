"""What a Target is, apart from its Agent: its name, its secret, what it offers and its bounds."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from typing import Any, Final, Literal, get_args

from agentbeat_sdk.limits import Limits

__all__ = ["UNSET", "Settings", "Tier", "Unset", "chosen_token"]

#: `L1`: the final response only. `L2`: the Target also serves its own record of the run.
Tier = Literal["L1", "L2"]

# As in EntityId of the protocol: not empty, no control characters, at most 256 code points.
_TARGET_ID: Final = re.compile(r"[^\x00-\x1f\x7f-\x9f\ud800-\udfff]{1,256}")
# What fits into a header field without a second reading: visible ASCII, no space.
_TOKEN: Final = re.compile(r"[\x21-\x7e]{1,4096}")


class Unset:
    """Stands for an argument that was not given, where None has a meaning of its own."""

    def __repr__(self) -> str:
        return "…"


UNSET: Final = Unset()


@dataclass(frozen=True, kw_only=True, slots=True)
class Settings:
    """A Target's settings, checked.

    Args:
        target_id: the Target's name, 1–256 code points without control characters.
        token: its bearer secret in visible ASCII; None makes it an open Target.
        tier: the evidence that it offers.
        limits: its bounds.
        files: whether it observes the files that the Agent changes.
        secrets: what must not appear in its evidence beside the token.
    """

    target_id: str
    token: str | None = field(repr=False)
    tier: Tier
    limits: Limits
    files: bool = False
    secrets: tuple[str, ...] = field(default=(), repr=False)

    def __post_init__(self) -> None:
        if not isinstance(self.target_id, str) or not _TARGET_ID.fullmatch(self.target_id):
            raise ValueError("target_id: expected 1 to 256 characters without control characters")
        if self.token is not None and not (isinstance(self.token, str) and _TOKEN.fullmatch(self.token)):
            # The secret itself is in no message, not even a part of it.
            raise ValueError("token: expected 1 to 4,096 visible ASCII characters without spaces")
        if self.tier not in get_args(Tier):
            raise ValueError(f"tier: got {self.tier!r}, expected 'L1' or 'L2'")
        if not isinstance(self.limits, Limits):
            raise TypeError(f"limits: got {type(self.limits).__name__}, expected Limits")
        if not all(isinstance(secret, str) for secret in self.secrets):
            raise TypeError("secrets: expected strings")


def chosen_token(token: Any, token_env: str | None) -> str | None:
    """The secret of a Target from the two ways to give it; exactly one must be used.

    Raises:
        TypeError: neither or both are given. A Target without a secret is made on purpose only.
        ValueError: the environment variable is not set or empty.
    """
    if token_env is None:
        if isinstance(token, Unset):
            raise TypeError("a Target needs token= or token_env=; token=None makes an open Target")
        secret: str | None = token
        return secret
    if not isinstance(token, Unset):
        raise TypeError("give a Target token= or token_env=, not both")
    secret = os.environ.get(token_env, "")
    if not secret:
        raise ValueError(f"token_env: the environment variable {token_env} is not set, or is empty")
    return secret
