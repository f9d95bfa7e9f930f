"""A judge behind any OpenAI-compatible endpoint: `POST {AIBEAT_JUDGE_BASE_URL}/chat/completions`.

What cannot be had is no score: `JudgeOutcome.reason` says why, and the component is unavailable, never 0.
Every call is recorded, the failed ones too.

A call is made a second time only when the first got no answer of the model: no connection, a broken one, 429
or a fault of the server; or 400, then without the `temperature` that some models refuse. What the model said
is never asked for again, whatever it is: asking until an answer pleases would be a bias. A time-out is not
repeated either.

    judge = judge_from_environment()
    outcome = await judge.assess(judge_messages(case, projection, nonce=nonce), seconds=60)
"""

from __future__ import annotations

import asyncio
import json
import os
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Protocol

from agentbeat_core.clients import ClientPool, Peer, Reply, TransportError
from agentbeat_core.credentials import Redactor, Secret
from agentbeat_core.judge.prompts import JudgePrompt
from agentbeat_core.plans import DEFAULT_TIMEOUTS, Endpoint
from agentbeat_protocol import ProtocolError, read_json
from agentbeat_protocol.evaluation import JudgeCall, JudgeScores
from agentbeat_protocol.models import MAX_SAFE_INTEGER
from agentbeat_protocol.origins import Origin, split_url
from agentbeat_protocol.scoring import JudgeOutcome, JudgeRefusal, parse_judge_answer

__all__ = ["ChatJudge", "Judge", "UnavailableJudge", "judge_from_environment"]

BASE_URL_VARIABLE: Final = "AIBEAT_JUDGE_BASE_URL"
MODEL_VARIABLE: Final = "AIBEAT_JUDGE_MODEL"
API_KEY_VARIABLE: Final = "AIBEAT_JUDGE_API_KEY"

#: Where Core stops reading a chat completion, in bytes.
MAX_COMPLETION_BYTES: Final = 1024 * 1024

_ATTEMPTS: Final = 2
_PAUSE_SECONDS: Final = 0.5
_LONGEST_PAUSE: Final = 5.0
#: The statuses after which the same question may get an answer; 400 is asked again without `temperature`.
_ANOTHER_TRY: Final = frozenset({400, 429, 500, 502, 503})


class Judge(Protocol):
    """Whoever scores a run by its rubric."""

    async def assess(self, prompt: JudgePrompt, *, seconds: float) -> JudgeOutcome:
        """The scores, or the reason why there are none. Does not raise for anything the judge does.

        Args:
            seconds: the total deadline of one call.
        """
        ...


@dataclass(frozen=True, slots=True)
class UnavailableJudge:
    """No judge; `reason` says why, such as `judge_model_not_set`. Nothing is called."""

    reason: str

    async def assess(self, prompt: JudgePrompt, *, seconds: float) -> JudgeOutcome:
        """No scores."""
        del prompt, seconds
        return JudgeOutcome(scores=None, reason=self.reason)


@dataclass(frozen=True, kw_only=True, slots=True)
class ChatJudge:
    """A model behind a chat completion endpoint.

    Attributes:
        endpoint: the base that `/chat/completions` is appended to, with the API key as its secret.
        model: the name that the endpoint knows the model by.
    """

    endpoint: Endpoint
    model: str
    connect_seconds: float = DEFAULT_TIMEOUTS.connect

    async def assess(self, prompt: JudgePrompt, *, seconds: float) -> JudgeOutcome:
        """Ask the model, at most twice."""
        calls: list[JudgeCall] = []
        temperature: float | None = 0
        async with ClientPool() as pool:
            peer = Peer(
                pool=pool, endpoint=self.endpoint, keep_alive=False, connect_seconds=self.connect_seconds
            )
            while True:
                answer = await self._call(peer, prompt, temperature, seconds)
                calls.append(self._record(prompt, answer, attempt=len(calls) + 1))
                if answer.pause is None or len(calls) == _ATTEMPTS:
                    return JudgeOutcome(
                        scores=answer.scores, reason=answer.reason, calls=tuple(calls), answer=answer.text
                    )
                temperature = None if answer.reason == "judge_http_400" else temperature
                await asyncio.sleep(answer.pause)

    async def _call(
        self, peer: Peer, prompt: JudgePrompt, temperature: float | None, seconds: float
    ) -> _Answer:
        question: dict[str, Any] = {"model": self.model, "messages": prompt.messages, "stream": False}
        if temperature is not None:
            question["temperature"] = temperature
        start = time.monotonic_ns()
        try:
            reply = await peer.send(
                "POST",
                "/chat/completions",
                seconds=seconds,
                max_bytes=MAX_COMPLETION_BYTES,
                content=json.dumps(question).encode(),
            )
        except TransportError as error:
            pause = _PAUSE_SECONDS if error.kind in ("no_connection", "connection_lost") else None
            return _Answer(time.monotonic_ns() - start, reason=f"judge_{error.kind}", pause=pause)
        latency = time.monotonic_ns() - start
        if reply.status != 200:
            return _Answer(latency, reason=f"judge_http_{reply.status}", pause=_pause_after(reply))
        return self._read(reply, latency)

    def _read(self, reply: Reply, latency: int) -> _Answer:
        try:
            completion = read_json(reply.body, max_bytes=MAX_COMPLETION_BYTES)
        except ProtocolError:
            return _Answer(latency, reason="judge_completion_invalid")
        usage = _member(completion, "usage")
        tokens = _count(_member(usage, "prompt_tokens")), _count(_member(usage, "completion_tokens"))
        redactor = Redactor([self.endpoint.secret] if self.endpoint.secret else [])
        text: str | None = None
        try:
            content = _content(completion)
            text = redactor.text(content)
            scores = parse_judge_answer(content)
        except JudgeRefusal as error:
            return _Answer(latency, *tokens, reason=error.reason, text=text)
        reason = redactor.text(scores.reason)
        return _Answer(latency, *tokens, scores=scores.model_copy(update={"reason": reason}), text=text)

    def _record(self, prompt: JudgePrompt, answer: _Answer, *, attempt: int) -> JudgeCall:
        return JudgeCall(
            model=self.model,
            prompt_digest=prompt.digest,
            prompt_tokens=answer.prompt_tokens,
            completion_tokens=answer.completion_tokens,
            latency_ns=answer.latency_ns,
            attempt=attempt,
            outcome="unavailable" if answer.scores is None else "answered",
            reason=answer.reason,
        )


@dataclass(frozen=True, slots=True)
class _Answer:
    """What came of one call; `pause` is how long to wait before another, None for no other."""

    latency_ns: int
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    scores: JudgeScores | None = None
    reason: str | None = None
    pause: float | None = None
    text: str | None = None


def judge_from_environment(environ: Mapping[str, str] | None = None) -> Judge:
    """The judge that the environment names; one that is unavailable, with the reason, where it names none.

    Plain HTTP to another machine is taken as long as no API key would go over it.
    """
    environ = os.environ if environ is None else environ
    url, model = environ.get(BASE_URL_VARIABLE, ""), environ.get(MODEL_VARIABLE, "")
    if not url:
        return UnavailableJudge("judge_not_configured")
    if not model:
        return UnavailableJudge("judge_model_not_set")
    key = Secret(environ[API_KEY_VARIABLE]) if environ.get(API_KEY_VARIABLE) else None
    if key is not None and not key.fits_a_header:
        return UnavailableJudge("judge_api_key_invalid")
    try:
        origin, parts = Origin.parse(url), split_url(url)
    except ProtocolError:
        return UnavailableJudge("judge_url_invalid")
    if parts.query is not None or parts.fragment is not None:
        return UnavailableJudge("judge_url_invalid")
    if key is not None and origin.scheme == "http" and not origin.is_loopback:
        return UnavailableJudge("judge_insecure_http")
    endpoint = Endpoint(base=f"{origin}{parts.path.rstrip('/')}", origin=origin, secret=key)
    return ChatJudge(endpoint=endpoint, model=model)


def _pause_after(reply: Reply) -> float | None:
    if reply.status not in _ANOTHER_TRY:
        return None
    if reply.status == 400:
        return 0.0
    asked = reply.retry_after()
    return _PAUSE_SECONDS if asked is None else min(asked, _LONGEST_PAUSE)


def _content(completion: object) -> str:
    """The text of the first choice.

    Raises:
        JudgeRefusal: there is none, or the model did not end it by itself.
    """
    choices = _member(completion, "choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    message = _member(choice, "message")
    if _member(message, "refusal"):
        raise JudgeRefusal("judge_refused", "the completion is a refusal")
    content = _member(message, "content")
    if not isinstance(content, str):
        raise JudgeRefusal("judge_completion_invalid", "no choices[0].message.content")
    if _member(choice, "finish_reason") not in (None, "stop"):
        raise JudgeRefusal("judge_answer_cut", "the model did not end its answer")
    return content


def _member(value: object, name: str) -> Any:
    return value.get(name) if isinstance(value, dict) else None


def _count(value: object) -> int | None:
    if isinstance(value, bool) or not isinstance(value, int):
        return None
    # A larger one is no count, and not every reader of a result would keep it.
    return value if 0 <= value <= MAX_SAFE_INTEGER else None
