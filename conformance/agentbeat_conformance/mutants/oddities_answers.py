"""Legal oddities of answers: their members, references and header fields."""

from __future__ import annotations

import base64
import hashlib
import json
from typing import Any

from agentbeat_conformance.mutants.base_target import Asked, BaseTarget, Refused, Reply
from agentbeat_conformance.mutants.evidence_references import Referring
from agentbeat_conformance.mutants.registry import oddity
from agentbeat_protocol import EVIDENCE_PATH, HEALTH_PATH, INVOCATION_PATH, Invocation, digest_bytes

__all__: list[str] = []

# --- Members


@oddity("no-task-id", text="Its answers have no task_id.")
class NoTaskId(BaseTarget):
    def response(self, invocation: Invocation, final_response: str) -> dict[str, Any]:
        members = super().response(invocation, final_response)
        del members["task_id"]
        return members


@oddity("extra-response-members", text="Its answers have members that nobody asked for, and usage in detail.")
class ExtraResponseMembers(BaseTarget):
    def response(self, invocation: Invocation, final_response: str) -> dict[str, Any]:
        more = {"usage": {"tokens": 12, "cost": None}, "metadata": {"model": "m", "evidence_digest_of": 1}}
        return {**super().response(invocation, final_response), **more, "trace": [], "": None}


@oddity(
    "answer-of-many-lines", text="Its final response begins and ends with white space and has no ASCII in it."
)
class AnswerOfManyLines(BaseTarget):
    async def agent(self, recording: Any) -> str:
        await super().agent(recording)
        answer = "\n\u3000お茶は\u2028二分。\U0001f375\t\n"
        recording.message("assistant", answer)
        return answer


@oddity(
    "answers-pretty-printed", text="Its answers are JSON with blanks before and behind, and escaped solidi."
)
class AnswersPrettyPrinted(BaseTarget):
    def finished(self, reply: Reply, asked: Asked) -> Reply:
        if not asked.path.startswith(EVIDENCE_PATH) or reply.status != 200:
            text = json.dumps(json.loads(reply.body), indent=2)
            reply.body = f"\r\n {text} \n".replace("/", "\\/").encode()
        return super().finished(reply, asked)


@oddity("health-says-more", text="Its health names versions and dependencies.")
class HealthSaysMore(BaseTarget):
    def identity(self) -> dict[str, Any]:
        return {**super().identity(), "version": "1.2.3+g0", "dependencies": {"model": "up"}, "uptime": 1.5}


@oddity("refusals-in-other-words", text="Its refusals speak another language.")
class RefusalsInOtherWords(BaseTarget):
    def refusal(self, refused: Refused, asked: Asked) -> Reply:
        return super().refusal(
            Refused(refused.code, "Так не можна. ☕", *refused.fields, status=refused.status), asked
        )


# --- References


@oddity("evidence-ref-absolute", text="Its evidence_ref is a full URL, its port spelt out.")
class EvidenceRefAbsolute(Referring):
    def reference(self, route: str) -> object:
        name, colon, port = self.host.partition(":")
        return f"http://{name}:{port if colon else '80'}{route}"


@oddity("evidence-ref-in-capitals", text="Its evidence_ref has scheme and host in capitals, and an odd port.")
class EvidenceRefInCapitals(Referring):
    def reference(self, route: str) -> object:
        name, colon, port = self.host.partition(":")
        return f"HTTP://{name.upper()}:{f'0{port}' if colon else ''}{route}"


@oddity("evidence-ref-without-scheme", text="Its evidence_ref begins with two slashes and the host.")
class EvidenceRefWithoutScheme(Referring):
    def reference(self, route: str) -> object:
        return f"//{self.host}{route}"


@oddity("evidence-ref-escaped", text="Its evidence_ref escapes hyphens and letters that need none.")
class EvidenceRefEscaped(Referring):
    def reference(self, route: str) -> object:
        return route.replace("-", "%2d").replace("/evidence/r", "/%65vidence/%72")


# --- Header fields and media types


class _Fields(BaseTarget):
    """A Target whose answers have other header fields."""

    def finished(self, reply: Reply, asked: Asked) -> Reply:
        reply = super().finished(reply, asked)
        self.dress(reply)
        return reply

    def dress(self, reply: Reply) -> None:
        """Change the header fields."""
        raise NotImplementedError


@oddity("charset-in-media-type", text="Its media type says application/json;charset=UTF-8.")
class CharsetInMediaType(_Fields):
    def dress(self, reply: Reply) -> None:
        _typed(reply, "application/json;charset=UTF-8")


@oddity(
    "media-type-in-capitals", text="Its media type is Application/JSON with a parameter that says nothing."
)
class MediaTypeInCapitals(_Fields):
    def dress(self, reply: Reply) -> None:
        _typed(reply, 'Application/JSON ; profile="a;b"')


def _typed(reply: Reply, media_type: str) -> None:
    reply.fields = [
        (name, media_type if name.lower() == "content-type" else value) for name, value in reply.fields
    ]


@oddity("more-header-fields", text="Its answers say who sent them, when, and under which number.")
class MoreHeaderFields(_Fields):
    number = 0

    def dress(self, reply: Reply) -> None:
        self.number += 1
        reply.fields += [
            ("Date", "Sun, 01 Mar 2026 10:00:00 GMT"),
            ("Server", "desk/1.0 (odd)"),
            ("X-Request-Id", str(self.number)),
            ("Set-Cookie", f"seen={self.number}; HttpOnly"),
            ("Set-Cookie", "lang=en"),
            ("Vary", "Authorization, Accept"),
            ("Strict-Transport-Security", "max-age=1"),
            ("Link", "<https://docs.example/>; rel=help"),
        ]


@oddity("etag-and-digests", text="Its evidence has an ETag and digests by several algorithms.")
class ETagAndDigests(BaseTarget):
    def evidence(self, run_id: str, asked: Asked) -> Reply:
        reply = super().evidence(run_id, asked)
        right = base64.b64encode(hashlib.sha256(reply.body).digest()).decode()
        longer = base64.b64encode(hashlib.sha512(reply.body).digest()).decode()
        reply.fields += [
            ("ETag", f'W/"{right}"'),
            ("Repr-Digest", f"sha-512=:{longer}:"),
            ("Repr-Digest", f"unixsum=:AAA=:;odd, sha-256=:{right}:;q=1"),
        ]
        return reply

    def response(self, invocation: Invocation, final_response: str) -> dict[str, Any]:
        digest = digest_bytes(self.documents[invocation.run_id])
        return {**super().response(invocation, final_response), "metadata": {"evidence_digest": digest}}


@oddity("digest-by-another-algorithm", text="Its Repr-Digest has an algorithm that nobody here computes.")
class DigestByAnotherAlgorithm(BaseTarget):
    def evidence(self, run_id: str, asked: Asked) -> Reply:
        reply = super().evidence(run_id, asked)
        reply.fields.append(("Repr-Digest", "sha-3=:AAAA:"))
        return reply


@oddity("challenge-in-detail", text="Its 401 has a challenge with realm and error, as OAuth says it.")
class ChallengeInDetail(_Fields):
    def dress(self, reply: Reply) -> None:
        if reply.status == 401:
            challenge = 'Bearer realm="desk", error="invalid_token"'
            fields = [field for field in reply.fields if field[0].lower() != "www-authenticate"]
            reply.fields = [*fields, ("WWW-Authenticate", challenge)]


@oddity("cache-control-in-detail", text="It forbids caching in more words than one.")
class CacheControlInDetail(_Fields):
    def dress(self, reply: Reply) -> None:
        fields = [field for field in reply.fields if field[0].lower() != "cache-control"]
        reply.fields = [*fields, ("Cache-Control", "private, No-Store, max-age=0"), ("Pragma", "no-cache")]


@oddity("head-and-options", text="It answers HEAD like GET, and OPTIONS with what it allows.")
class HeadAndOptions(BaseTarget):
    def allow(self, asked: Asked, method: str) -> None:
        allowed = {"GET": ("GET", "HEAD", "OPTIONS"), "POST": ("POST", "OPTIONS")}[method]
        if asked.method not in allowed:
            raise Refused("method_not_allowed", f"expected {method}", ("Allow", ", ".join(allowed)))

    async def route(self, asked: Asked) -> Reply:
        if asked.method == "OPTIONS" and asked.path in (HEALTH_PATH, INVOCATION_PATH):
            return Reply(204, b"", [("Allow", "GET, HEAD, POST, OPTIONS")])
        return await super().route(asked)
