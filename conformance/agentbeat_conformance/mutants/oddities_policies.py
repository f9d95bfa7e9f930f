"""Legal oddities of behaviour: limits, order of refusals, and what a Target may leave undone."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from agentbeat_conformance.mutants.base_evidence import Recording
from agentbeat_conformance.mutants.base_target import Asked, BaseTarget, Refused, Reply
from agentbeat_conformance.mutants.registry import oddity
from agentbeat_protocol import EVIDENCE_PATH, HEALTH_PATH, INVOCATION_PATH, Invocation

__all__: list[str] = []


@oddity("open-target", secret=None, text="It is registered without a secret, and ignores one that is sent.")
class OpenTarget(BaseTarget):
    secret = None


@oddity("slow-agent", text="Its Agent takes its time, and answers within it.")
class SlowAgent(BaseTarget):
    async def agent(self, recording: Recording) -> str:
        await asyncio.sleep(0.15 if "tools" in recording.invocation.input.text else 0)
        return await super().agent(recording)


@oddity("one-run-at-a-time", text="It has room for one run at a time.")
class OneRunAtATime(BaseTarget):
    max_runs = 1


@oddity("runs-without-limit", text="It takes as many runs at once as there are.")
class RunsWithoutLimit(BaseTarget):
    max_runs = 1_000_000


@oddity("larger-body-limit", text="It takes bodies up to 4 MiB.")
class LargerBodyLimit(BaseTarget):
    max_body = 4 * 1024 * 1024


@oddity("unknown-routes-first", text="It answers 404 for a route that there is not, whoever asks.")
class UnknownRoutesFirst(BaseTarget):
    async def route(self, asked: Asked) -> Reply:
        known = (HEALTH_PATH, INVOCATION_PATH)
        if asked.path not in known and not asked.path.startswith(EVIDENCE_PATH):
            raise Refused("not_found", "no such route")
        return await super().route(asked)


@oddity("methods-first", text="It answers 405 for another method before it looks at anything else.")
class MethodsFirst(BaseTarget):
    async def route(self, asked: Asked) -> Reply:
        if asked.path == INVOCATION_PATH:
            self.allow(asked, "POST")
        return await super().route(asked)


@oddity("secret-compared-in-pieces", text="It takes the scheme in any case and blanks around the secret.")
class SecretComparedInPieces(BaseTarget):
    def authorise(self, asked: Asked) -> None:
        scheme, *given = (asked.value("authorization") or "-").split()
        if scheme.lower() != "bearer" or given != [self.secret]:
            raise Refused("unauthorized", "expected the bearer secret")


@oddity("reads-before-it-judges", text="It reads the whole body before it looks at the media type.")
class ReadsBeforeItJudges(BaseTarget):
    async def invoke(self, asked: Asked) -> Reply:
        raw = await self.read_body(asked)
        self.check_media_type(asked)
        invocation = self.read(raw)
        self.check_correlation(invocation, asked)
        self.check_metadata(invocation.metadata)
        self.admit(invocation.run_id)
        self.claim(invocation.run_id)
        return await self.completed(invocation)


@oddity(
    "one-code-for-all", text="It answers every request that it does not take with the code invalid_request."
)
class OneCodeForAll(BaseTarget):
    def refusal(self, refused: Refused, asked: Asked) -> Reply:
        code = "invalid_request" if refused.status == 400 else refused.code
        return super().refusal(Refused(code, refused.message, *refused.fields, status=refused.status), asked)


@oddity(
    "no-more-than-it-must",
    text="It keeps every MUST and not one SHOULD, as the oldest Targets do.",
)
class NoMoreThanItMust(BaseTarget):
    max_runs = 1_000_000

    def decode(self, raw: bytes) -> Any:
        try:
            return json.loads(raw.decode("utf-8-sig", "replace"))
        except (ValueError, RecursionError):
            raise Refused("invalid_json", "expected JSON") from None

    def check_correlation(self, invocation: Invocation, asked: Asked) -> None:
        """INV-6 is a SHOULD."""

    def finished(self, reply: Reply, asked: Asked) -> Reply:  # noqa: ARG002 - INV-11 is a SHOULD
        return reply

    def identity(self) -> dict[str, Any]:
        return {"status": "ok"}

    def document(self, recording: Recording) -> dict[str, Any]:
        document = recording.document()
        events = document["events"]
        events.pop()
        events[0]["data"]["text"] = recording.invocation.input.text
        for event in events:
            event["sequence"] *= 10
            event["occurred_at"] = "1970-01-01T00:00:00Z"
        return document


@oddity("answer-alone", tier="target-L1", text="It declares L1: no evidence, no evidence_ref, no such route.")
class AnswerAlone(BaseTarget):
    level = "L1"
