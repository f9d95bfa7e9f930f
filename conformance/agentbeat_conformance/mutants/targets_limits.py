"""Targets that break INV-7: bodies of any length, or of any media type."""

from __future__ import annotations

from agentbeat_conformance.mutants.base_target import Asked, BaseTarget, Refused
from agentbeat_conformance.mutants.registry import target_mutant
from agentbeat_protocol import RUN_ID_HEADER, ProtocolError, check_media_type

__all__: list[str] = []


@target_mutant("no-body-limit", breaks={"INV-7.a"}, text="It reads bodies of any length.")
class NoBodyLimit(BaseTarget):
    max_body = 1 << 50


@target_mutant("body-limit-is-400", breaks={"INV-7.a"}, text="It refuses long bodies, but with 400.")
class BodyLimitIs400(BaseTarget):
    async def read_body(self, asked: Asked) -> bytes:
        try:
            return await super().read_body(asked)
        except Refused as refused:
            raise Refused("invalid_request", refused.message) from None


@target_mutant("any-media-type-will-do", breaks={"INV-7.b"}, text="It does not look at the media type.")
class AnyMediaTypeWillDo(BaseTarget):
    def check_media_type(self, asked: Asked) -> None:
        """Nothing."""


class _Lenient(BaseTarget):
    """Takes some values of Content-Type that are not right."""

    def is_right(self, value: str | None) -> bool:
        raise NotImplementedError

    def check_media_type(self, asked: Asked) -> None:
        if not self.is_right(asked.value("content-type")):
            super().check_media_type(asked)


@target_mutant(
    "no-media-type-will-do", breaks={"INV-7.b"}, text="It takes a body without a media type for JSON."
)
class NoMediaTypeWillDo(_Lenient):
    def is_right(self, value: str | None) -> bool:
        return value is None


@target_mutant(
    "media-type-by-its-beginning", breaks={"INV-7.b"}, text="It takes what begins with application/json."
)
class MediaTypeByItsBeginning(_Lenient):
    def is_right(self, value: str | None) -> bool:
        return value is not None and value.startswith("application/json")


@target_mutant(
    "json-suffix-will-do", breaks={"INV-7.b"}, text="It takes every media type that ends in +json."
)
class JsonSuffixWillDo(_Lenient):
    def is_right(self, value: str | None) -> bool:
        return value is not None and value.partition(";")[0].endswith("+json")


@target_mutant("any-charset-will-do", breaks={"INV-7.c"}, text="It does not look at the charset.")
class AnyCharsetWillDo(_Lenient):
    def is_right(self, value: str | None) -> bool:
        return value is not None and value.partition(";")[0].strip().lower() == "application/json"


@target_mutant(
    "first-media-type-counts", breaks={"INV-7.c"}, text="Of several Content-Type fields the first counts."
)
class FirstMediaTypeCounts(BaseTarget):
    def check_media_type(self, asked: Asked) -> None:
        check_media_type(next(iter(asked.values("content-type")), None))


@target_mutant(
    "claims-before-media-type",
    breaks={"INV-7.d"},
    text="It claims the run_id of a body of another media type.",
)
class ClaimsBeforeMediaType(BaseTarget):
    def check_media_type(self, asked: Asked) -> None:
        try:
            super().check_media_type(asked)
        except ProtocolError:
            self.claim(asked.value(RUN_ID_HEADER) or "")
            raise
