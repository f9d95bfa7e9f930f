"""Targets that break INV-10 and INV-11: refusals without the envelope, or that tell too much."""

from __future__ import annotations

import json
import traceback
from typing import Any, ClassVar

from agentbeat_conformance.mutants.base_target import SECRET, Asked, BaseTarget, Refused, Reply, json_reply
from agentbeat_conformance.mutants.registry import target_mutant
from agentbeat_protocol import INVOCATION_PATH, Invocation, JSONError, check_media_type

__all__: list[str] = []


class _Refusing(BaseTarget):
    """Refuses with some statuses in its own way."""

    statuses: ClassVar[frozenset[int]] = frozenset({400})

    def other(self, refused: Refused) -> Reply:
        raise NotImplementedError

    def refusal(self, refused: Refused, asked: Asked) -> Reply:
        right = super().refusal(refused, asked)
        return self.other(refused) if refused.status in self.statuses else right


@target_mutant(
    "errors-as-text", breaks={"INV-10.a"}, text="It says in a plain text what is wrong with a body."
)
class ErrorsAsText(_Refusing):
    def other(self, refused: Refused) -> Reply:
        return Reply(refused.status, b"Bad Request", [("Content-Type", "text/plain; charset=utf-8")])


@target_mutant(
    "errors-as-html", breaks={"INV-10.a"}, text="It says in HTML that it does not take a media type."
)
class ErrorsAsHTML(_Refusing):
    statuses = frozenset({415})

    def other(self, refused: Refused) -> Reply:
        page = b"<!doctype html><title>415</title><h1>Unsupported Media Type</h1>"
        return Reply(refused.status, page, [("Content-Type", "text/html")])


@target_mutant(
    "envelope-as-text", breaks={"INV-10.a"}, text="Its envelope is right but for the media type text/plain."
)
class EnvelopeAsText(_Refusing):
    def other(self, refused: Refused) -> Reply:
        body = json.dumps({"error": {"code": refused.code, "message": refused.message}})
        return Reply(refused.status, body.encode(), [("Content-Type", "text/plain")])


@target_mutant(
    "code-in-words", breaks={"INV-10.a"}, text="Its error codes are words with capitals and spaces."
)
class CodeInWords(_Refusing):
    def other(self, refused: Refused) -> Reply:
        return json_reply(refused.status, {"error": {"code": "Bad Request", "message": refused.message}})


@target_mutant("error-is-a-string", breaks={"INV-10.a"}, text="Its error is a string.")
class ErrorIsAString(_Refusing):
    def other(self, refused: Refused) -> Reply:
        return json_reply(refused.status, {"error": refused.message})


@target_mutant(
    "bare-error", breaks={"INV-10.a"}, text="It refuses replays without the envelope around the error."
)
class BareError(_Refusing):
    statuses = frozenset({409})

    def other(self, refused: Refused) -> Reply:
        return json_reply(refused.status, {"code": refused.code, "message": refused.message})


class _Bare(_Refusing):
    def other(self, refused: Refused) -> Reply:
        return Reply(refused.status, b"", list(refused.fields))


@target_mutant("bare-401", breaks={"INV-10.b"}, text="Its 401 has no body.")
class Bare401(_Bare):
    statuses = frozenset({401})


@target_mutant("bare-413", breaks={"INV-10.c"}, text="Its 413 has no body.")
class Bare413(_Bare):
    statuses = frozenset({413})


@target_mutant("bare-404", breaks={"INV-10.d"}, text="Its 404 has no body.")
class Bare404(_Bare):
    statuses = frozenset({404})


@target_mutant(
    "any-route-will-do", breaks={"INV-10.d"}, text="It takes a POST to any path for an invocation."
)
class AnyRouteWillDo(BaseTarget):
    async def route(self, asked: Asked) -> Reply:
        if asked.method == "POST" and asked.path != INVOCATION_PATH:
            self.authorise(asked)
            return await self.invoke(asked)
        return await super().route(asked)


@target_mutant("tells-its-stack", breaks={"INV-10.e"}, text="It says where in its code the JSON was refused.")
class TellsItsStack(BaseTarget):
    def decode(self, raw: bytes) -> Any:
        try:
            return super().decode(raw)
        except JSONError as error:
            raise Refused(error.code, traceback.format_exc()) from None


@target_mutant("repeats-values", breaks={"INV-10.f"}, text="It says which value it was given instead.")
class RepeatsValues(BaseTarget):
    def validate(self, value: object) -> Invocation:
        if isinstance(value, dict) and value.get("schema_version") != "target-invocation-v1":
            raise Refused("invalid_request_schema", f"got version {value.get('schema_version')!r}")
        return super().validate(value)


@target_mutant(
    "repeats-the-body", breaks={"INV-10.f"}, text="It repeats the beginning of a body that is no JSON."
)
class RepeatsTheBody(BaseTarget):
    def decode(self, raw: bytes) -> Any:
        try:
            return super().decode(raw)
        except JSONError as error:
            raise Refused(error.code, f"cannot read {raw[:200]!r}") from None


@target_mutant("repeats-the-run-id", breaks={"INV-10.f"}, text="It repeats the run_id that was used before.")
class RepeatsTheRunId(BaseTarget):
    def admit(self, run_id: str) -> None:
        if self.is_claimed(run_id):
            raise Refused("run_id_reused", f"{run_id} was accepted before")
        super().admit(run_id)


@target_mutant(
    "repeats-the-media-type", breaks={"INV-10.f"}, text="It repeats the media type it does not take."
)
class RepeatsTheMediaType(BaseTarget):
    def check_media_type(self, asked: Asked) -> None:
        given = asked.value("content-type")
        try:
            check_media_type(given)
        except ValueError:
            raise Refused("unsupported_media_type", f"got {given}") from None


@target_mutant("tells-its-secret", breaks={"INV-10.g"}, text="It says which secret it expected.")
class TellsItsSecret(BaseTarget):
    def authorise(self, asked: Asked) -> None:
        try:
            super().authorise(asked)
        except Refused:
            raise Refused("unauthorized", f"expected {SECRET}") from None


@target_mutant("repeats-the-tried-secret", breaks={"INV-10.g"}, text="It says which secret was wrong.")
class RepeatsTheTriedSecret(BaseTarget):
    def authorise(self, asked: Asked) -> None:
        try:
            super().authorise(asked)
        except Refused:
            raise Refused("unauthorized", f"{asked.value('authorization')!r} is wrong") from None


@target_mutant(
    "repeats-names-whole", breaks={"INV-10.h"}, text="It repeats unknown names however long they are."
)
class RepeatsNamesWhole(BaseTarget):
    def tolerate(self, members: dict[str, Any]) -> dict[str, Any]:
        known = {"schema_version", "run_id", "case_id", "input", "metadata"}
        for name in members:
            if name not in known:
                raise Refused("invalid_request_schema", f"unknown member {name}")
        return members


@target_mutant(
    "get-is-200", breaks={"INV-10.i"}, text="It answers a GET of the invocation route with a greeting."
)
class GetIs200(BaseTarget):
    def allow(self, asked: Asked, method: str) -> None:
        super().allow(asked, asked.method if asked.path == INVOCATION_PATH else method)

    async def invoke(self, asked: Asked) -> Reply:
        return await super().invoke(asked) if asked.method == "POST" else json_reply(200, {"hello": "there"})


@target_mutant("405-without-allow", breaks={"INV-10.i"}, text="Its 405 does not say which method it takes.")
class MethodsUntold(BaseTarget):
    def allow(self, asked: Asked, method: str) -> None:
        if asked.method != method:
            raise Refused("method_not_allowed", f"expected {method}")


class _Undressed(BaseTarget):
    """Leaves a header field out of some answers."""

    leaves_out: ClassVar[str] = "Cache-Control"
    from_status: ClassVar[int] = 0

    def finished(self, reply: Reply, asked: Asked) -> Reply:
        reply = super().finished(reply, asked)
        if reply.status >= self.from_status:
            reply.fields = [field for field in reply.fields if field[0] != self.leaves_out]
        return reply


@target_mutant("lets-caches-store", breaks={"INV-11.a"}, text="It sends no Cache-Control.")
class LetsCachesStore(_Undressed):
    pass


@target_mutant("lets-caches-store-refusals", breaks={"INV-11.a"}, text="Its refusals have no Cache-Control.")
class LetsCachesStoreRefusals(_Undressed):
    from_status = 400


@target_mutant("lets-clients-sniff", breaks={"INV-11.b"}, text="It sends no X-Content-Type-Options.")
class LetsClientsSniff(_Undressed):
    leaves_out = "X-Content-Type-Options"
