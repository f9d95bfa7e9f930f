"""A model behind an endpoint is asked as the arm says, and its very words are what is recorded."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import httpx
import pytest

from agentbeat_receipts.domains.market import (
    ArmPlan,
    Endpoint,
    Enquiry,
    NoAnswer,
    market_manifest,
    write_market,
)
from agentbeat_receipts.domains.market.endpoints import MAX_RESPONSE, EndpointSeller, chat_request
from agentbeat_receipts.objects import RetryPolicy
from support.loopback import Answer, Loopback, Seen, json_answer
from support.markets import BUYER, case_of, found, ran, setting
from support.receipt_batches import keyring

KEY = "not-to-be-told"
MODEL = Endpoint(model="small", max_tokens=99, temperature="0.7")
OFFER = '{"offers": [{"components": ["room"], "price": "110"}], "note": "Welcome."}'


def completion(content: Any) -> dict[str, Any]:
    return {"id": "1", "choices": [{"index": 0, "message": {"role": "assistant", "content": content}}]}


def enquiry(**changes: Any) -> Enquiry:
    return Enquiry(setting=setting(MODEL, **changes), brief={"wants": ["room"]}, seed=b"\xff" * 32)


async def test_the_endpoint_is_asked_for_what_the_arm_says() -> None:
    async with Loopback(lambda _: json_answer(completion(OFFER))) as server:
        with EndpointSeller(f"{server.url}/v1/", key=KEY) as seller:
            raw = await asyncio.to_thread(seller.answer, enquiry())
    assert raw == OFFER.encode()
    (seen,) = server.seen
    assert (seen.method, seen.path) == ("POST", "/v1/chat/completions")
    assert seen.headers["authorization"] == f"Bearer {KEY}"
    asked = seen.json()
    assert asked == chat_request(enquiry())
    assert (asked["model"], asked["max_tokens"], asked["temperature"]) == ("small", 99, 0.7)
    assert 0 <= asked["seed"] < 2**31
    system, user = asked["messages"]
    assert system["content"].startswith(setting().prompt.text)
    assert "room 80.00" in system["content"]
    assert json.loads(user["content"]) == {"wants": ["room"]}


async def test_without_a_key_none_is_sent() -> None:
    async with Loopback(lambda _: json_answer(completion(""))) as server:
        with EndpointSeller(server.url) as seller:
            assert await asyncio.to_thread(seller.answer, enquiry()) == b""
    assert "authorization" not in server.seen[0].headers


@pytest.mark.parametrize("form", ["bundle", "itemised"])
def test_the_form_that_is_asked_for_is_the_one_that_is_read(form: str) -> None:
    text = chat_request(enquiry(form=form))["messages"][0]["content"]
    assert ('"prices"' in text) == (form == "itemised")
    filled = '{"offers": [{"components": ["room"], "price": "110", "surcharge": "0"}], "note": ""}'
    if form == "itemised":
        filled = '{"offers": [{"prices": {"room": "110"}, "surcharge": "0"}], "note": ""}'
    (offer,) = setting(form=form).reader.read(filled.encode()).parsed["offers"]
    assert offer["price"] == 11000


NO_ANSWER: dict[str, tuple[Answer, str]] = {
    "an overloaded server": (json_answer({"error": "busy"}, status=503), "http_error"),
    "a refused key": (json_answer({"error": "key"}, status=401), "http_error"),
    "a redirect": (Answer(307, b"", {"Location": "http://127.0.0.1:1/"}), "http_error"),
    "no JSON": (Answer(200, b"<html>"), "malformed"),
    "no choices": (json_answer({"choices": []}), "malformed"),
    "content in parts": (json_answer(completion([{"text": OFFER}])), "malformed"),
    "a body without end": (Answer(200, b" " * (MAX_RESPONSE + 1)), "malformed"),
}


@pytest.mark.parametrize("what", NO_ANSWER)
async def test_what_is_no_message_is_no_answer_and_says_why(what: str) -> None:
    answer, reason = NO_ANSWER[what]
    async with Loopback(lambda _: answer) as server:
        with EndpointSeller(server.url, key=KEY) as seller, pytest.raises(NoAnswer) as silence:
            await asyncio.to_thread(seller.answer, enquiry())
    assert silence.value.reason == reason
    assert KEY not in repr(silence.value)
    assert len(server.seen) == 1, "a failed request is not repeated here: retries are attempts"


@pytest.mark.parametrize(
    ("error", "reason"), [(httpx.ReadTimeout, "timeout"), (httpx.ConnectError, "unreachable")]
)
def test_a_connection_that_fails_is_no_answer(error: type[httpx.HTTPError], reason: str) -> None:
    def fail(request: httpx.Request) -> httpx.Response:
        raise error("no")

    seller = EndpointSeller("http://model", transport=httpx.MockTransport(fail))
    with seller, pytest.raises(NoAnswer, match=f"^{reason}$"):
        seller.answer(enquiry())


def test_content_that_is_null_is_an_empty_answer() -> None:
    def empty(request: httpx.Request) -> httpx.Response:
        return httpx.Response(200, json=completion(None))

    with EndpointSeller("http://model", transport=httpx.MockTransport(empty)) as seller:
        assert ran(MODEL, seller=seller).attempts[0].failure == "empty"


def test_another_sellers_setting_is_refused() -> None:
    with pytest.raises(TypeError, match="expected an endpoint's"):
        chat_request(Enquiry(setting=setting(), brief={}, seed=b"seed"))


async def test_a_batch_of_a_model_is_run_retried_and_replayed() -> None:
    def model(request: Seen) -> Answer:
        # The first call fails; later ones answer in prose, fenced JSON, and a refusal in turn.
        texts = ["Offer 1: room for EUR 110.00\n", f"Here you are:\n```json\n{OFFER}\n```", "I cannot."]
        calls = len(server.seen)
        return Answer(500) if calls == 1 else json_answer(completion(texts[calls % 3]))

    async with Loopback(model) as server:
        with EndpointSeller(server.url) as seller:
            plans = {"model": ArmPlan(setting(MODEL), ("info", "conduct"), seller)}
            of = market_manifest(
                title="Model",
                profiles=("p-1",),
                plans=plans,
                replicates=4,
                retry=RetryPolicy(max_attempts=2, retry_on=("http_error",)),
            )
            batch = await asyncio.to_thread(
                write_market, of, keyring(), profiles={"p-1": BUYER}, plans=plans, seed=b"seed"
            )
    ends = [[attempt.failure or attempt.status for attempt in made.run.attempts] for made in batch.runs]
    assert ends == [["http_error", "refusal"], ["accepted"], ["accepted"], ["refusal"]]
    for made in batch.runs:
        outcome = found(case_of(made.run, ("info", "conduct")))
        assert outcome.pop("whole") == ("parser", "trace", "choice", "metrics")
        assert outcome == made.run.values
    assert "outside" not in server.seen[0].body.decode(), "the guard stands before the endpoint"
