"""A small OpenAI-compatible judge for demos and tests: `POST /v1/chat/completions`, scored by keyword rules.

It holds no model. It reads the question that Core puts to every judge, applies the rubric's keyword rules
(`keyword_rules`) and answers in the form of a chat completion. A question of another form is 400. What stands
in the data of a question is searched and never obeyed.

    $ agentbeat judge serve --port 8095
    keyword judge on http://127.0.0.1:8095/v1
    $ export AIBEAT_JUDGE_BASE_URL=http://127.0.0.1:8095/v1 AIBEAT_JUDGE_MODEL=keyword-rules
"""

from __future__ import annotations

import json
import socket
import sys
from typing import Any, Final

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from agentbeat_core.credentials import Secret
from agentbeat_core.judge.keyword_rules import keyword_answer
from agentbeat_core.judge.prompts import read_judge_question
from agentbeat_protocol import ProtocolError, read_json

__all__ = ["MODEL", "judge_app", "serve"]

#: The name of the model that is none.
MODEL: Final = "keyword-rules"

#: The longest request that is read, in bytes; Core shows a judge at most 240,000 characters of evidence.
MAX_REQUEST_BYTES: Final = 8 * 1024 * 1024


def judge_app(*, api_key: Secret | None = None) -> Starlette:
    """The judge as an ASGI application.

    Args:
        api_key: where it is given, requests without it are 401.
    """

    async def completions(request: Request) -> Response:
        if api_key is not None and not _authorized(request, api_key):
            return _error(401, "invalid_api_key", "expected the API key as a bearer token")
        body = bytearray()
        async for chunk in request.stream():
            body += chunk
            if len(body) > MAX_REQUEST_BYTES:
                return _error(413, "request_too_large", f"expected at most {MAX_REQUEST_BYTES} bytes")
        try:
            content = _last_message(bytes(body))
            question = read_judge_question(content)
        except ValueError as error:
            return _error(400, "invalid_question", f"expected a question of AgentBeat's Core ({error})")
        answer = json.dumps(keyword_answer(question))
        return JSONResponse(_completion(answer, prompt=content))

    async def health(_: Request) -> Response:
        return JSONResponse({"status": "ok", "model": MODEL})

    return Starlette(
        routes=[
            Route("/v1/chat/completions", completions, methods=["POST"]),
            Route("/healthz", health, methods=["GET"]),
        ]
    )


def serve(*, host: str, port: int, api_key: Secret | None = None) -> int:
    """Serve until interrupted, and say where on standard error. Port 0 takes a free one.

    Raises:
        OSError: the address cannot be had.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # Named TCP: only then asyncio sets TCP_NODELAY, without which a kept connection stalls for 40 ms.
    with socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP) as listening:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((host, port))
        # From the line on that says where, a client is let in.
        listening.listen()
        shown = f"[{host}]" if ":" in host else host
        print(f"keyword judge on http://{shown}:{listening.getsockname()[1]}/v1", file=sys.stderr, flush=True)
        config = uvicorn.Config(judge_app(api_key=api_key), log_level="warning", server_header=False)
        uvicorn.Server(config).run(sockets=[listening])
    return 0


def _authorized(request: Request, api_key: Secret) -> bool:
    scheme, _, token = request.headers.get("Authorization", "").partition(" ")
    return scheme.lower() == "bearer" and Secret(token.strip()) == api_key


def _last_message(body: bytes) -> str:
    """The text of the last message.

    Raises:
        ValueError: the body is no chat request.
    """
    try:
        request: Any = read_json(body, max_bytes=MAX_REQUEST_BYTES)
    except ProtocolError as error:
        raise ValueError(error.rule) from None
    messages = request.get("messages") if isinstance(request, dict) else None
    last = messages[-1] if isinstance(messages, list) and messages else None
    content = last.get("content") if isinstance(last, dict) else None
    if not isinstance(content, str):
        raise ValueError("messages[-1].content is no text")
    return content


def _completion(answer: str, *, prompt: str) -> dict[str, Any]:
    # Words stand for tokens: there is no tokenizer without a model.
    prompt_tokens, completion_tokens = len(prompt.split()), len(answer.split())
    return {
        "id": "chatcmpl-keyword-rules",
        "object": "chat.completion",
        "created": 0,
        "model": MODEL,
        "choices": [
            {"index": 0, "message": {"role": "assistant", "content": answer}, "finish_reason": "stop"}
        ],
        "usage": {
            "prompt_tokens": prompt_tokens,
            "completion_tokens": completion_tokens,
            "total_tokens": prompt_tokens + completion_tokens,
        },
    }


def _error(status: int, code: str, message: str) -> JSONResponse:
    return JSONResponse({"error": {"code": code, "message": message, "type": code}}, status)
