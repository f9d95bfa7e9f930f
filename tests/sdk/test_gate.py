"""The gate judges the head of a request, and nothing but the head."""

from __future__ import annotations

from typing import Any

import pytest

from agentbeat_sdk.answers import RefusedError
from agentbeat_sdk.gate import Gate, Head
from agentbeat_sdk.limits import Limits

SECRET = "test-token"
HOST = (b"host", b"127.0.0.1")
BEARER = (b"authorization", b"Bearer test-token")

Fields = list[tuple[bytes, bytes]]


def scope(*fields: tuple[bytes, bytes], **others: Any) -> dict[str, Any]:
    head = {"http_version": "1.1", "method": "POST", "path": "/v1/agent/invocations", "headers": list(fields)}
    return head | others


def admit(*fields: tuple[bytes, bytes], token: str | None = SECRET, **others: Any) -> Head:
    return Gate(token, Limits()).admit(scope(*fields, **others))


def refusal(*fields: tuple[bytes, bytes], token: str | None = SECRET, **others: Any) -> RefusedError:
    with pytest.raises(RefusedError) as caught:
        admit(*fields, token=token, **others)
    return caught.value


class TestSecret:
    """INV-2."""

    @pytest.mark.parametrize(
        "value",
        [
            b"Bearer test-token",
            b"bearer test-token",
            b"BEARER test-token",
            b"Bearer   test-token",
            b" Bearer test-token\t",
        ],
        ids=repr,
    )
    def test_the_secret_opens_in_any_spelling_that_http_allows(self, value: bytes) -> None:
        assert admit(HOST, (b"authorization", value)).path == "/v1/agent/invocations"

    @pytest.mark.parametrize(
        "value",
        [
            b"",
            b"test-token",
            b"Bearer",
            b"Bearer ",
            b"Bearertest-token",
            b"Bearer\ttest-token",
            b"Bearer test-tokenx",
            b"Bearer test-toke",
            b"Bearer Test-Token",
            b"Bearer test-token test-token",
            b"Bearer test-token,Bearer test-token",
            b'Bearer "test-token"',
            b"Basic dGVzdC10b2tlbg==",
            b"Basic test-token",
            "Bearer café".encode("latin-1"),
            "Bearer кот".encode(),
            b"Bearer \xff\xfe",
            b"Bearer " + b"a" * 16_384,
        ],
        ids=lambda value: repr(value[:40]),
    )
    def test_everything_else_is_401(self, value: bytes) -> None:
        refused = refusal(HOST, (b"authorization", value))
        assert (refused.code, refused.extra) == ("unauthorized", ((b"www-authenticate", b"Bearer"),))

    def test_no_secret_is_401(self) -> None:
        assert refusal(HOST).code == "unauthorized"

    @pytest.mark.parametrize("others", [b"Bearer nope", b"Bearer test-token"], ids=repr)
    def test_two_secrets_are_none(self, others: bytes) -> None:
        second = (b"authorization", others)
        assert refusal(HOST, BEARER, second).code == "unauthorized"
        assert refusal(HOST, second, BEARER).code == "unauthorized"

    def test_a_secret_in_the_query_is_none(self) -> None:
        assert refusal(HOST, query_string=b"access_token=test-token").code == "unauthorized"

    def test_health_needs_none(self) -> None:
        assert admit(HOST, path="/healthz", method="GET").path == "/healthz"

    @pytest.mark.parametrize("path", ["/v1/nope", "/", "/healthz/", "/healthz%2f", "/v1/evidence/run-a"])
    def test_every_other_path_does(self, path: str) -> None:
        assert refusal(HOST, path=path).code == "unauthorized"

    def test_an_open_target_asks_for_none_and_looks_at_none(self) -> None:
        assert admit(HOST, token=None).path == "/v1/agent/invocations"
        assert admit(HOST, (b"authorization", b"Basic x"), token=None).path == "/v1/agent/invocations"

    def test_a_refusal_says_nothing_of_either_secret(self) -> None:
        answer = refusal(HOST, (b"authorization", b"Bearer almost-test-token")).answer()
        assert b"test-token" not in answer.body
        assert b"almost" not in answer.body

    def test_it_comes_before_everything_but_the_framing(self) -> None:
        many = [(b"content-type", b"text/plain"), (b"content-length", b"99999999999999")]
        assert refusal(HOST, *many, method="PATCH", path="/%6e").code == "unauthorized"
        assert refusal(HOST, HOST, *many, BEARER).code == "invalid_request"


@pytest.mark.parametrize(
    ("fields", "version"),
    [
        pytest.param([], "1.1", id="no Host"),
        pytest.param([HOST, HOST], "1.1", id="two Hosts, equal"),
        pytest.param([HOST, (b"host", b"other")], "1.0", id="two Hosts in HTTP/1.0"),
        pytest.param([(b"host", b"a, b")], "1.1", id="a list of hosts"),
        pytest.param([(b"host", b"user@a")], "1.1", id="Host with user information"),
        pytest.param([(b"host", b"a/b")], "1.1", id="Host with a path"),
        pytest.param([(b"host", b"a:b")], "1.1", id="Host with a word for a port"),
        pytest.param([(b"host", b"a:80:80")], "1.1", id="Host with two ports"),
        pytest.param([(b"host", b"::1")], "1.1", id="IPv6 without brackets"),
        pytest.param([(b"host", b"[::1")], "1.1", id="half a bracket"),
        pytest.param([(b"host", b"[::1]evil")], "1.1", id="text behind the bracket"),
        pytest.param([(b"host", b"caf\xe9")], "1.1", id="Host that is not ASCII"),
        pytest.param([(b"host", b"a%0")], "1.1", id="Host with half an escape"),
        pytest.param([HOST, (b"content-length", b"")], "1.1", id="empty Content-Length"),
        pytest.param([HOST, (b"content-length", b"-1")], "1.1", id="negative Content-Length"),
        pytest.param([HOST, (b"content-length", b"+1")], "1.1", id="Content-Length with a sign"),
        pytest.param([HOST, (b"content-length", b"1_0")], "1.1", id="Content-Length with an underscore"),
        pytest.param([HOST, (b"content-length", b"0x1")], "1.1", id="hexadecimal Content-Length"),
        pytest.param([HOST, (b"content-length", b"1.0")], "1.1", id="Content-Length with a fraction"),
        pytest.param([HOST, (b"content-length", b"\xa01")], "1.1", id="Content-Length with NBSP"),
        pytest.param([HOST, (b"content-length", "١".encode())], "1.1", id="Arabic digit"),
        pytest.param([HOST, (b"content-length", b"1, 1")], "1.1", id="list of equal lengths"),
        pytest.param([HOST, *[(b"content-length", b"1")] * 2], "1.1", id="two equal Content-Lengths"),
        pytest.param([HOST, (b"transfer-encoding", b"gzip, chunked")], "1.1", id="gzip, chunked"),
        pytest.param([HOST, (b"transfer-encoding", b"identity")], "1.1", id="identity"),
        pytest.param([HOST, (b"transfer-encoding", b"xchunked")], "1.1", id="xchunked"),
        pytest.param([HOST, (b"transfer-encoding", b"chunked, chunked")], "1.1", id="chunked twice, a list"),
        pytest.param([HOST, *[(b"transfer-encoding", b"chunked")] * 2], "1.1", id="chunked twice"),
        pytest.param([HOST, (b"transfer-encoding", b"chunked;q=1")], "1.1", id="chunked with a parameter"),
        pytest.param([HOST, (b"transfer-encoding", b"")], "1.1", id="empty Transfer-Encoding"),
        pytest.param([HOST, (b"transfer-encoding", b"chunked")], "1.0", id="chunked in HTTP/1.0"),
        pytest.param(
            [HOST, (b"transfer-encoding", b"chunked"), (b"content-length", b"1")],
            "1.1",
            id="chunked and length",
        ),
        pytest.param([HOST], "0.9", id="HTTP/0.9"),
        pytest.param([HOST], "2.0", id="HTTP/2.0 in a request line"),
    ],
)
@pytest.mark.parametrize("token", [SECRET, None], ids=["with a secret", "open"])
def test_framing_that_two_readers_could_understand_differently_is_400(
    fields: Fields, version: str, token: str | None
) -> None:
    refused = refusal(*fields, BEARER, token=token, http_version=version)
    assert refused.answer().status == 400
    assert refused.code == "invalid_request"


@pytest.mark.parametrize(
    ("fields", "version", "length"),
    [
        pytest.param([HOST], "1.1", None, id="no body"),
        pytest.param([], "1.0", None, id="no Host in HTTP/1.0"),
        pytest.param([(b"host", b"")], "1.1", None, id="empty Host"),
        pytest.param([(b"host", b"[::1]:8080")], "1.1", None, id="IPv6"),
        pytest.param([(b"host", b"my_agent.Example:")], "1.1", None, id="name with an empty port"),
        pytest.param([HOST, (b"content-length", b"0")], "1.1", 0, id="length 0"),
        pytest.param([HOST, (b"content-length", b" 122\t")], "1.1", 122, id="white space around"),
        pytest.param([HOST, (b"content-length", b"000122")], "1.1", 122, id="leading zeros"),
        pytest.param([HOST, (b"content-length", b"1" * 18)], "1.1", int("1" * 18), id="18 digits"),
        pytest.param([HOST, (b"transfer-encoding", b"Chunked")], "1.1", None, id="chunked in any case"),
        pytest.param([HOST], "2", None, id="HTTP/2 under another server"),
    ],
)
def test_framing_that_is_valid_passes(fields: Fields, version: str, length: int | None) -> None:
    assert admit(*fields, BEARER, http_version=version).content_length == length


def test_a_length_of_5000_digits_is_a_large_number_and_no_crash() -> None:
    length = admit(HOST, BEARER, (b"content-length", b"9" * 5_000)).content_length
    assert length is not None
    assert length > 2**60


class TestSize:
    """The head's own bounds hold under any server."""

    def test_100_fields_pass_and_101_do_not(self) -> None:
        assert admit(HOST, BEARER, *[(b"x-a", b"1")] * 98).method == "POST"
        assert refusal(HOST, BEARER, *[(b"x-a", b"1")] * 99).answer().status == 431

    def test_32_kib_of_fields_pass_and_more_do_not(self) -> None:
        used = sum(len(name) + len(value) for name, value in (HOST, BEARER)) + len(b"x-a")
        assert admit(HOST, BEARER, (b"x-a", b"v" * (32_768 - used))).method == "POST"
        assert refusal(HOST, BEARER, (b"x-a", b"v" * (32_769 - used))).code == "request_header_too_large"


class TestPath:
    """The path is read once."""

    @pytest.mark.parametrize(
        ("path", "raw_path"),
        [
            ("/v1/agent/invocations", b"/v1/agent/%69nvocations"),
            ("/v1/evidence/run-a\n", b"/v1/evidence/run-a%0A"),
            ("/v1/evidence/../x", b"/v1/evidence/..%2fx"),
            ("/v1/evidence/%E0%A4%A", b"/v1/evidence/%E0%A4%A"),
            ("/v1/evidence/%41", None),
            ("/healthz", b"/health%7A"),
        ],
        ids=repr,
    )
    def test_a_path_with_an_escape_is_nobodys(self, path: str, raw_path: bytes | None) -> None:
        assert refusal(HOST, BEARER, path=path, raw_path=raw_path).code == "not_found"

    def test_an_escape_in_the_query_is_nothing_to_the_path(self) -> None:
        # Some servers keep the query in raw_path.
        head = admit(HOST, BEARER, path="/v1/agent/invocations", raw_path=b"/v1/agent/invocations?a=%20")
        assert head.path == "/v1/agent/invocations"

    @pytest.mark.parametrize(
        ("given", "root", "path"),
        [
            pytest.param("http://127.0.0.1:80/v1/agent/invocations", "", "/v1/agent/invocations", id="http"),
            pytest.param("HTTPS://a/v1/agent/invocations", "", "/v1/agent/invocations", id="https"),
            pytest.param("http://a", "", "", id="an origin alone"),
            pytest.param("http://me@a/v1/agent", "", "http://me@a/v1/agent", id="userinfo"),
            pytest.param(
                "ftp://a/v1/agent/invocations", "", "ftp://a/v1/agent/invocations", id="another scheme"
            ),
            pytest.param(
                "/agents/one/v1/agent/invocations", "/agents/one", "/v1/agent/invocations", id="mounted"
            ),
            pytest.param("/agents/onev1", "/agents/one", "/agents/onev1", id="beside the mount point"),
            pytest.param(
                "/v1/agent/invocations", "/agents/one", "/v1/agent/invocations", id="root path not in it"
            ),
            pytest.param("//v1/agent/invocations", "", "//v1/agent/invocations", id="two slashes"),
            pytest.param("*", "", "*", id="asterisk"),
        ],
    )
    def test_the_path_is_the_one_below_the_mount_point(self, given: str, root: str, path: str) -> None:
        assert admit(HOST, BEARER, path=given, root_path=root).path == path


class TestHead:
    """What the routes see."""

    def test_one_content_type(self) -> None:
        assert admit(HOST, BEARER).content_type() is None
        assert admit(HOST, BEARER, (b"content-type", b" a/b ")).content_type() == "a/b"

    def test_two_content_types_are_415(self) -> None:
        head = admit(HOST, BEARER, *[(b"content-type", b"application/json")] * 2)
        with pytest.raises(RefusedError, match="one Content-Type") as caught:
            head.content_type()
        assert caught.value.answer().status == 415

    def test_repeated_correlation_headers_are_all_there(self) -> None:
        fields = [
            (b"x-aibeat-run-id", b"run-a"),
            (b"x-aibeat-case-id", b"case-a "),
            (b"x-aibeat-run-id", b"run-b"),
        ]
        assert sorted(admit(HOST, BEARER, *fields).correlation()) == [
            (b"x-aibeat-case-id", b"case-a"),
            (b"x-aibeat-run-id", b"run-a"),
            (b"x-aibeat-run-id", b"run-b"),
        ]

    def test_other_fields_are_not(self) -> None:
        assert set(admit(HOST, BEARER, (b"cookie", b"a=b"), (b"x-forwarded-host", b"evil")).fields) == {
            b"host",
            b"authorization",
        }
