"""Servers that are hardly Targets at all: none may be found conformant, and none may keep the suite waiting.

Those here answer over HTTP; `degenerate_connections` has those that do not get that far.
"""

# ruff: noqa: ARG002 - an override keeps its parent's signature

from __future__ import annotations

from agentbeat_conformance.mutants.base_target import Asked, BaseTarget, Refused, Reply, json_reply
from agentbeat_conformance.mutants.registry import degenerate
from agentbeat_protocol import CASE_ID_HEADER, HEALTH_PATH, INVOCATION_PATH, RUN_ID_HEADER, Invocation

__all__: list[str] = []


@degenerate("refuses-all", text="It answers 401 to everybody, whatever they ask.")
class RefusesAll(BaseTarget):
    async def route(self, asked: Asked) -> Reply:
        raise Refused("unauthorized", "expected the bearer secret")


@degenerate("refuses-every-invocation", text="Every invocation is an invalid request to it.")
class RefusesEveryInvocation(BaseTarget):
    async def invoke(self, asked: Asked) -> Reply:
        raise Refused("invalid_request", "expected another request")


@degenerate("only-health", text="It is healthy and has no other route.")
class OnlyHealth(BaseTarget):
    async def route(self, asked: Asked) -> Reply:
        if asked.path == HEALTH_PATH:
            return self.health(asked)
        raise Refused("not_found", "no such route")


@degenerate("fails-always", text="Every invocation makes it fail.")
class FailsAlways(BaseTarget):
    async def invoke(self, asked: Asked) -> Reply:
        raise Refused("internal_error", "the Target failed")


@degenerate("empty-200", text="It answers 200 and nothing to everything.")
class Empty200(BaseTarget):
    async def route(self, asked: Asked) -> Reply:
        return Reply(200)


@degenerate("empty-object", text="It answers 200 and an empty JSON object to everything.")
class EmptyObject(BaseTarget):
    async def route(self, asked: Asked) -> Reply:
        return json_reply(200, {})


@degenerate("echoes-the-request", text="It sends back the body that it was sent.")
class EchoesTheRequest(BaseTarget):
    async def route(self, asked: Asked) -> Reply:
        return Reply(200, await asked.body.read(1 << 24), [("Content-Type", "application/json")])


@degenerate("completes-everything", text="It answers every request as a completed run, by its headers alone.")
class CompletesEverything(BaseTarget):
    async def route(self, asked: Asked) -> Reply:
        if asked.path == HEALTH_PATH:
            return self.health(asked)
        members = {
            "schema_version": "target-invocation-v1",
            "run_id": asked.value(RUN_ID_HEADER) or "",
            "case_id": asked.value(CASE_ID_HEADER) or "",
            "status": "completed",
            "final_response": "Done.",
        }
        return json_reply(200, members)


@degenerate("completes-with-secret", text="With the secret it completes every request, by its headers alone.")
class CompletesWithSecret(CompletesEverything):
    async def route(self, asked: Asked) -> Reply:
        if asked.path != HEALTH_PATH:
            self.authorise(asked)
        return await super().route(asked)


@degenerate(
    "one-run-only", text="It accepts one run in its life and says of all others that they were there."
)
class OneRunOnly(BaseTarget):
    def is_claimed(self, run_id: str) -> bool:
        return bool(self.claims)


@degenerate("works-once", text="After its first run every request makes it raise.")
class WorksOnce(BaseTarget):
    async def answer(self, asked: Asked) -> Reply:
        if self.claims:
            raise RuntimeError("the second request")
        return await super().answer(asked)


@degenerate("html-errors", text="Whatever it refuses, it refuses with 500 and a page of HTML.")
class HTMLErrors(BaseTarget):
    def refusal(self, refused: Refused, asked: Asked) -> Reply:
        return Reply(500, b"<!doctype html><h1>Server Error</h1>", [("Content-Type", "text/html")])


@degenerate("all-is-html", text="All it says is JSON, and all of it is called text/html.")
class AllIsHTML(BaseTarget):
    def finished(self, reply: Reply, asked: Asked) -> Reply:
        reply.fields = [("Content-Type", "text/html")]
        return reply


@degenerate("redirects-elsewhere", text="It sends every invocation to another host.")
class RedirectsElsewhere(BaseTarget):
    async def invoke(self, asked: Asked) -> Reply:
        return Reply(307, b"", [("Location", f"http://198.51.100.7{INVOCATION_PATH}")])


@degenerate("redirects-to-itself", text="It sends every request to itself.")
class RedirectsToItself(BaseTarget):
    async def route(self, asked: Asked) -> Reply:
        return Reply(302, b"", [("Location", asked.path)])


@degenerate("answers-the-run-before", text="It answers every run with what the run before it got.")
class AnswersTheRunBefore(BaseTarget):
    def __init__(self) -> None:
        super().__init__()
        self._before: dict[str, object] = {}

    async def completed(self, invocation: Invocation) -> Reply:
        reply = await super().completed(invocation)
        now = reply.members()
        before, self._before = self._before or now, now
        return json_reply(200, before)
