"""Asking an authority for a token: over HTTP as it is, and with whatever may come back instead."""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Callable, Iterator

import httpx
import pytest

from agentbeat_receipts.anchors import (
    MAX_RESPONSE_BYTES,
    AnchorError,
    AnchorProblem,
    AnchorTrust,
    ProvenAnchor,
    TokenRequestError,
    make_request,
    prove,
    request_token,
)
from agentbeat_receipts.anchors.der import children, whole
from support.receipt_batches import manifest
from support.time_stamping import authority, issue, openssl, serving

MANIFEST = manifest().digest()
OTHER = manifest(title="another").digest()
URL = "http://user:hunter2@authority.example/tsr"
REPLY = {"Content-Type": "application/timestamp-reply"}


# Requests.


def test_a_request_asks_for_the_manifests_digest_with_a_nonce_and_the_certificate() -> None:
    request = make_request(MANIFEST, nonce=0x80)
    said = openssl("ts", "-query", "-in", "/dev/stdin", "-text", content=request.der).decode()
    digits = "".join(re.findall(r"\b[0-9a-f]{2}\b", "".join(re.findall(r"- (.{48})", said))))
    assert digits == MANIFEST.removeprefix("sha256:")
    assert "Hash Algorithm: sha256\n" in said
    assert "Nonce: 0x80\n" in said
    assert "Certificate required: yes\n" in said


def test_a_request_is_what_openssl_makes_of_the_digest() -> None:
    made = openssl("ts", "-query", "-digest", MANIFEST.removeprefix("sha256:"), "-sha256", "-cert")
    nonce = children(made, whole(made))[2]
    assert make_request(MANIFEST, nonce=int.from_bytes(made[nonce.start : nonce.end])).der == made


def test_every_request_has_a_nonce_of_its_own() -> None:
    nonces = {make_request(MANIFEST).nonce for _ in range(20)}
    assert len(nonces) == 20
    assert max(nonces).bit_length() > 56


@pytest.mark.parametrize("text", ["", "sha256:" + "0" * 63, "0" * 64, "sha512:" + "0" * 64, MANIFEST + "\n"])
def test_a_request_for_no_digest_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="digest"):
        make_request(text)


# The exchange.


def test_an_authority_is_asked_over_http_and_its_token_proves_the_manifest() -> None:
    with serving(authority().answer) as url:
        anchor = request_token(url, MANIFEST, trust=authority().trust(), transport=httpx.HTTPTransport())
    assert (anchor.manifest, anchor.form) == (MANIFEST, "rfc3161")
    assert isinstance(prove(anchor, authority().trust()), ProvenAnchor)


def asked(handler: Callable[[httpx.Request], httpx.Response], trust: AnchorTrust | None = None) -> None:
    request_token(URL, MANIFEST, trust=trust, transport=httpx.MockTransport(handler))


def honest(request: httpx.Request) -> httpx.Response:
    return httpx.Response(200, headers=REPLY, content=authority().answer(request.content))


def test_the_media_types_of_rfc_3161_are_sent_and_parameters_of_the_answers_type_do_not_matter() -> None:
    seen: list[httpx.Request] = []

    def answer(request: httpx.Request) -> httpx.Response:
        seen.append(request)
        kind = {"Content-Type": "Application/Timestamp-Reply; charset=binary"}
        return httpx.Response(200, headers=kind, content=authority().answer(request.content))

    asked(answer)
    assert seen[0].method == "POST"
    assert seen[0].headers["content-type"] == "application/timestamp-query"
    assert seen[0].headers["accept"] == "application/timestamp-reply"


def _fails(request: httpx.Request) -> httpx.Response:
    raise httpx.ConnectError("hunter2", request=request)


def _times_out(request: httpx.Request) -> httpx.Response:
    raise httpx.ReadTimeout("hunter2", request=request)


def _endless() -> Iterator[bytes]:
    while True:
        yield bytes(1024)


NO_TOKEN: dict[str, tuple[Callable[[httpx.Request], httpx.Response], str]] = {
    "server-error": (lambda _: httpx.Response(500, headers=REPLY), "status 500"),
    "redirection": (
        lambda _: httpx.Response(302, headers={"Location": "http://elsewhere.example"}),
        "status 302",
    ),
    "another-type": (lambda _: httpx.Response(200, text="<html>hunter2</html>"), "content type"),
    "no-type": (lambda _: httpx.Response(200, content=b"0"), "content type"),
    "too-long": (
        lambda _: httpx.Response(200, headers=REPLY, content=bytes(MAX_RESPONSE_BYTES + 1)),
        "more than 65536",
    ),
    "endless": (lambda _: httpx.Response(200, headers=REPLY, content=_endless()), "more than 65536"),
    "no-connection": (_fails, "ConnectError"),
    "time-out": (_times_out, "ReadTimeout"),
}


@pytest.mark.parametrize("name", NO_TOKEN)
def test_what_is_no_answer_is_told_by_its_kind_and_no_secret_is_repeated(name: str) -> None:
    handler, detail = NO_TOKEN[name]
    with pytest.raises(TokenRequestError, match=detail) as caught:
        asked(handler)
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize("url", ["authority.example", "ftp://authority.example", "http://[", "http://a b/"])
def test_an_address_that_is_none_is_told_and_not_repeated(url: str) -> None:
    with pytest.raises(TokenRequestError, match="exchange failed") as caught:
        request_token(url, MANIFEST, transport=httpx.HTTPTransport())
    assert url not in str(caught.value)


def test_an_answer_that_drips_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    ticks = iter(range(0, 1000, 5))
    monkeypatch.setattr(time, "monotonic", lambda: next(ticks))

    def drip(request: httpx.Request) -> httpx.Response:
        return httpx.Response(200, headers=REPLY, content=(bytes(1) for _ in range(100)))

    with pytest.raises(TokenRequestError, match="within 20 seconds"):
        asked(drip)


def _replayed(_: httpx.Request) -> httpx.Response:
    return httpx.Response(200, headers=REPLY, content=authority().stamp(MANIFEST))


def _of_another(_: httpx.Request) -> httpx.Response:
    return httpx.Response(200, headers=REPLY, content=authority().stamp(OTHER))


def _rejected(request: httpx.Request) -> httpx.Response:
    content = authority().answer(request.content, digests="sha512")
    return httpx.Response(200, headers=REPLY, content=content)


NO_PROOF: dict[str, tuple[Callable[[httpx.Request], httpx.Response], AnchorProblem]] = {
    "token-of-an-earlier-request": (_replayed, AnchorProblem.OTHER_CONTENT),
    "token-over-another-manifest": (_of_another, AnchorProblem.OTHER_CONTENT),
    "rejection": (_rejected, AnchorProblem.UNREADABLE),
    "nonsense": (lambda _: httpx.Response(200, headers=REPLY, content=b"0"), AnchorProblem.UNREADABLE),
}


@pytest.mark.parametrize("name", NO_PROOF)
def test_an_answer_to_another_question_is_refused(name: str) -> None:
    handler, problem = NO_PROOF[name]
    with pytest.raises(AnchorError) as caught:
        asked(handler)
    assert caught.value.fault.problem is problem


def test_with_trust_the_token_must_be_proven_at_once() -> None:
    asked(honest)
    asked(honest, authority().trust())
    with pytest.raises(AnchorError, match="untrusted"):
        asked(honest, AnchorTrust(roots=(issue("Another root", ca=True).certificate,)))


def test_a_manifest_that_is_no_digest_is_refused_before_anything_is_sent() -> None:
    with pytest.raises(ValueError, match="digest"):
        request_token(URL, "manifest", transport=httpx.MockTransport(_fails))


def test_without_httpx_everything_but_asking_works(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "httpx", None)
    assert make_request(MANIFEST).der
    with pytest.raises(TokenRequestError, match="needs httpx"):
        request_token(URL, MANIFEST)
