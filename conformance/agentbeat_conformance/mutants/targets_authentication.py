"""Targets that break INV-2: they serve strangers, or look at something else before the secret."""

# ruff: noqa: ARG002 - an override keeps its parent's signature
from __future__ import annotations

import dataclasses

from agentbeat_conformance.mutants.base_target import SECRET, Asked, BaseTarget, Refused, Reply
from agentbeat_conformance.mutants.registry import target_mutant
from agentbeat_conformance.mutants.streams import Reading
from agentbeat_protocol import INVOCATION_PATH, RUN_ID_HEADER

__all__: list[str] = []


class _Judging(BaseTarget):
    """Judges the one Authorization in its own way."""

    def is_right(self, scheme: str, given: str) -> bool:
        return scheme.lower() == "bearer" and given == SECRET

    def chosen(self, asked: Asked) -> str:
        return asked.value("authorization") or ""

    def authorise(self, asked: Asked) -> None:
        scheme, _, given = self.chosen(asked).partition(" ")
        if not self.is_right(scheme, given.strip(" ")):
            raise Refused("unauthorized", "expected the bearer secret", ("WWW-Authenticate", "Bearer"))


@target_mutant(
    "serves-without-secret",
    breaks={"INV-2.a"},
    consequences={"INV-2.d", "INV-2.e"},
    text="It takes a request that carries no secret, so all that is wrong with one is told.",
)
class ServesWithoutSecret(_Judging):
    def authorise(self, asked: Asked) -> None:
        if asked.values("authorization"):
            super().authorise(asked)


@target_mutant(
    "forbids-without-secret",
    breaks={"INV-2.a"},
    consequences={"INV-2.d", "INV-2.e"},
    text="It answers 403 where no secret is given, whatever else is wrong.",
)
class ForbidsWithoutSecret(_Judging):
    def authorise(self, asked: Asked) -> None:
        if not asked.values("authorization"):
            raise Refused("forbidden", "expected the bearer secret", status=403)
        super().authorise(asked)


@target_mutant(
    "any-secret-will-do",
    breaks={"INV-2.b"},
    consequences={"INV-2.c"},
    text="It takes any bearer secret, of whatever bytes.",
)
class AnySecretWillDo(_Judging):
    def is_right(self, scheme: str, given: str) -> bool:
        return scheme.lower() == "bearer" and bool(given)


@target_mutant("secret-by-its-beginning", breaks={"INV-2.b"}, text="It takes what begins with the secret.")
class SecretByItsBeginning(_Judging):
    def is_right(self, scheme: str, given: str) -> bool:
        return scheme.lower() == "bearer" and given.startswith(SECRET)


@target_mutant("secret-within", breaks={"INV-2.b"}, text="It takes what ends with the secret.")
class SecretWithin(_Judging):
    def is_right(self, scheme: str, given: str) -> bool:
        return scheme.lower() == "bearer" and given.endswith(SECRET)


@target_mutant("part-of-the-secret", breaks={"INV-2.b"}, text="It takes the first characters of the secret.")
class PartOfTheSecret(_Judging):
    def is_right(self, scheme: str, given: str) -> bool:
        return scheme.lower() == "bearer" and bool(given) and SECRET.startswith(given)


@target_mutant("any-scheme-will-do", breaks={"INV-2.c"}, text="It takes the secret behind any scheme.")
class AnySchemeWillDo(_Judging):
    def is_right(self, scheme: str, given: str) -> bool:
        return bool(scheme) and given == SECRET


@target_mutant("secret-without-scheme", breaks={"INV-2.c"}, text="It takes the secret without a scheme.")
class SecretWithoutScheme(_Judging):
    def is_right(self, scheme: str, given: str) -> bool:
        return super().is_right(scheme, given) or (scheme == SECRET and not given)


@target_mutant("empty-secret-will-do", breaks={"INV-2.c"}, text="It takes Bearer with nothing behind it.")
class EmptySecretWillDo(_Judging):
    def is_right(self, scheme: str, given: str) -> bool:
        return super().is_right(scheme, given) or (scheme == "Bearer" and not given)


@target_mutant("chokes-on-odd-secrets", breaks={"INV-2.c"}, text="A secret beyond ASCII makes it fail, 500.")
class ChokesOnOddSecrets(_Judging):
    def is_right(self, scheme: str, given: str) -> bool:
        if not given.isascii():
            raise Refused("internal_error", "the Target failed")
        return super().is_right(scheme, given)


class _BodyInHand(Reading):
    """A body that was read before."""

    def __init__(self, raw: bytes) -> None:
        super().__init__(None)
        self._raw = raw

    async def read(self, limit: int) -> bytes:
        return self._raw[:limit]


class _Late(BaseTarget):
    """Looks at an invocation before it looks at the secret."""

    async def look(self, asked: Asked, raw: bytes) -> None:
        """Refuse, or not."""

    async def route(self, asked: Asked) -> Reply:
        if asked.path == INVOCATION_PATH and asked.method == "POST":
            raw = await self.read_body(asked)
            await self.look(asked, raw)
            asked = dataclasses.replace(asked, body=_BodyInHand(raw))
        return await super().route(asked)


@target_mutant(
    "media-type-before-secret", breaks={"INV-2.d"}, text="It looks at the media type before the secret."
)
class MediaTypeBeforeSecret(BaseTarget):
    async def route(self, asked: Asked) -> Reply:
        if asked.path == INVOCATION_PATH:
            self.check_media_type(asked)
        return await super().route(asked)


@target_mutant(
    "body-before-secret",
    breaks={"INV-2.d"},
    consequences={"INV-2.e"},
    text="It reads and judges the body before the secret.",
)
class BodyBeforeSecret(_Late):
    async def look(self, asked: Asked, raw: bytes) -> None:
        self.check_metadata(self.read(raw).metadata)


@target_mutant(
    "replay-before-secret",
    breaks={"INV-2.d"},
    text="It tells strangers by 409 which run_ids were accepted.",
)
class ReplayBeforeSecret(BaseTarget):
    async def route(self, asked: Asked) -> Reply:
        if self.is_claimed(asked.value(RUN_ID_HEADER) or ""):
            raise Refused("run_id_reused", "this run_id was accepted before")
        return await super().route(asked)


@target_mutant(
    "waits-for-the-body",
    breaks={"INV-2.e"},
    on_socket=True,
    text="It waits for the body, and only then looks at the secret.",
)
class WaitsForTheBody(_Late):
    pass


@target_mutant(
    "claims-before-secret", breaks={"INV-2.f"}, text="It claims the run_id of a request without the secret."
)
class ClaimsBeforeSecret(BaseTarget):
    def authorise(self, asked: Asked) -> None:
        try:
            super().authorise(asked)
        except Refused:
            self.claim(asked.value(RUN_ID_HEADER) or "")
            raise


@target_mutant(
    "runs-before-secret",
    breaks={"INV-2.f"},
    text="It runs its Agent for everybody, and asks for the secret before it tells them what came of it.",
)
class RunsBeforeSecret(BaseTarget):
    def authorise(self, asked: Asked) -> None:
        try:
            super().authorise(asked)
        except Refused:
            run_id = asked.value(RUN_ID_HEADER) or ""
            self.documents[run_id] = self.encode({"run_id": run_id, "events": []})
            raise


@target_mutant(
    "first-authorization-counts", breaks={"INV-2.g"}, text="Of several Authorization fields the first counts."
)
class FirstAuthorizationCounts(_Judging):
    def chosen(self, asked: Asked) -> str:
        return next(iter(asked.values("authorization")), "")


@target_mutant(
    "last-authorization-counts", breaks={"INV-2.g"}, text="Of several Authorization fields the last counts."
)
class LastAuthorizationCounts(_Judging):
    def chosen(self, asked: Asked) -> str:
        return next(reversed(asked.values("authorization")), "")


@target_mutant(
    "scheme-to-the-letter", breaks={"INV-2.h"}, text="It takes no scheme but Bearer to the letter."
)
class SchemeToTheLetter(_Judging):
    def is_right(self, scheme: str, given: str) -> bool:
        return scheme == "Bearer" and given == SECRET
