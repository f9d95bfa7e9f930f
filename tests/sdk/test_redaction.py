"""No secret is left in a text that is stored (EVD-13)."""

from __future__ import annotations

import json
import re
import sys
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from agentbeat_sdk import secret_shapes
from agentbeat_sdk.redaction import MARK, Redactor
from agentbeat_sdk.secret_shapes import is_secret_name, shaped_spans
from agentbeat_sdk.streams import DeltaStream, Piece

SECRET = 'tok-9f"Q/+ÿ 7K'
EVERYTHING = 100_000

#: A secret, and texts around it; `{}` is where it stands.
SHAPES = {
    "bearer": ("Authorized with {}.", "Bearer abc.DEF-123_x~+/=="),
    "bearer in small letters": ("got {} there", "bearer a1b2c3d4"),
    "bearer of letters only": ("got {} there", "Bearer hunterhunter"),
    "bearer in a URL": ("x={}&y", "Bearer%20a1b2c3d4"),
    "bearer over two lines": ("got {} there", "Bearer\r\n a1b2c3d4"),
    "model provider's key": ("key {}, ok", "sk-proj-A1b2C3d4"),
    "shortest such key": ("({})", "sk-abc123"),
    "payment key": ("({})", "sk_live_4eC39HqLyjW"),
    "code host": ("({})", "ghp_0123456789abcdefghij"),
    "chat": ("({})", "xoxb-1234567890-abc"),
    "cloud": ("({})", "AKIAABCDEFGHIJKLMNOP"),
    "web token": ("({})", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl"),
    "private key": ("a\n{}\nb", "-----BEGIN RSA PRIVATE KEY-----\nMIIE\nabc=\n-----END RSA PRIVATE KEY-----"),
    "private key without an end": ("a\n{}", "-----BEGIN PRIVATE KEY-----\nMIIE\nabc="),
    "password in a URL": ("at postgres://{}@db/desk", "ada:hunter2"),
    "header": ("GET /\nAuthorization: {}\nAccept: */*", "Basic YWRhOmh1bnRlcjI="),
    "cookie": ("Set-Cookie: {}\r\nx", "sid=31d4d96e; Secure"),
    "JSON member": ('{{"password": "{}", "n": 1}}', "correct horse battery"),
    "JSON in JSON": (r"{{\"password\": \"{}\", \"n\": 1}}", r"corr\\\"ect horse"),
    "JSON number": ('{{"pwd": {}}}', "31415926"),
    "JSON member, never closed": ('{{"password": "{}', "correct horse, battery"),
    "Python repr": ("Login(password='{}', n=1)", "correct horse"),
    "shell": ("API_KEY={} run", "k-31415"),
    "query": ("https://x/?access_token={}&n=1", "k-31415"),
    "option": ("cli --password {} --n 1", "hunter2"),
    "option with =": ("cli --api-key='{}' --n 1", "hunter two"),
}

HARMLESS = [
    "task-207f990f7ff5e780a7960f0e",
    "a desk-lamp123 and a disk-usage123",
    "the bearer must show this letter",
    "A Bearer token is needed.",
    "sk-learn",
    "max_tokens=512, total_tokens=9, token_count=3",
    '{"max_tokens": 512, "key": "value", "author": "Ada"}',
    "the token has expired; no secret was given",
    "http://desk.example:8080/path@x",
    "--verbose --task-id 5",
    "monkey=banana",
]


@pytest.mark.parametrize(("around", "secret"), SHAPES.values(), ids=SHAPES)
def test_what_is_shaped_like_a_secret_goes_and_the_text_around_it_stays(around: str, secret: str) -> None:
    cleaned = Redactor().clean(around.format(secret), EVERYTHING)
    assert cleaned.text == around.format(MARK)
    assert cleaned.whole


@pytest.mark.parametrize("text", HARMLESS)
def test_harmless_text_stays_as_it_is(text: str) -> None:
    assert Redactor().clean(text, EVERYTHING) == (text, True)


@pytest.mark.parametrize("around", ["{}", "a{}b", "Bearer {}", "Bearer {} and {}{}", "x={};", "[redacted]{}"])
@pytest.mark.parametrize(
    "spelling",
    [SECRET, json.dumps(SECRET)[1:-1], json.dumps(SECRET, ensure_ascii=False)[1:-1], quote(SECRET, safe="")],
    ids=["as it is", "in ASCII JSON", "in JSON", "in a URL"],
)
def test_the_targets_own_secret_goes_wherever_it_stands(around: str, spelling: str) -> None:
    text = Redactor(["other", SECRET]).clean(around.replace("{}", spelling), EVERYTHING).text
    assert spelling not in text
    assert "9f" not in text
    assert MARK in text


def test_overlapping_secrets_go_together() -> None:
    redactor = Redactor(["alpha-beta", "beta-gamma", "alpha"])
    assert redactor.clean("<alpha-beta-gamma> <alpha>", EVERYTHING).text == f"<{MARK}> <{MARK}>"


def test_a_secret_inside_of_another_one_does_not_end_it() -> None:
    assert Redactor(["alpha-beta-gamma", "beta"]).clean("alpha-beta-gamma", EVERYTHING).text == MARK


def test_what_announces_a_redacted_secret_goes_with_it() -> None:
    assert Redactor(['"quoted']).clean('Bearer "quoted', EVERYTHING).text == f"Bearer {MARK}"
    assert Redactor().clean(f"Bearer {MARK}", EVERYTHING).text == MARK


def test_a_secret_that_repeats_itself_goes_whole() -> None:
    assert Redactor(["abab"]).clean("xabababx", EVERYTHING).text == f"x{MARK}x"


@pytest.mark.parametrize("limit", range(50))
def test_a_secret_across_the_cut_leaves_no_beginning(limit: int) -> None:
    """Redaction comes before cutting."""
    for secret in (
        "hunter2-hunter2-hunter2",
        "Bearer abcdef123456",
        "sk-abcdef123456",
        "eyJabcdefgh.abcdefgh",
    ):
        cleaned = Redactor(["hunter2-hunter2-hunter2"]).clean(f"{'.' * 20}{secret}{'.' * 9_000}", limit)
        shown = cleaned.text
        assert shown == ("." * 20 + MARK + "." * 9_000)[: len(shown)]
        assert len(shown) <= limit
        assert not cleaned.whole


def test_of_a_long_text_exactly_the_beginning_up_to_the_limit_is_kept() -> None:
    text = "é€😀x" * 30_000
    assert Redactor([SECRET]).clean(text, 32_768) == (text[:32_768], False)
    assert Redactor([SECRET]).clean(text[:32_768], 32_768) == (text[:32_768], True)


def test_lone_surrogates_are_replaced_and_pairs_are_joined() -> None:
    assert Redactor().clean("a\ud800b\udc80c \ud83d\ude00", EVERYTHING) == ("a\ufffdb\ufffdc 😀", True)


def test_surrogate_pairs_that_shrink_the_text_leave_no_secret_at_its_end() -> None:
    text = "\ud83d\ude00" * 6_500 + "hunter2-hunter2" * 1_000
    cleaned = Redactor(["hunter2-hunter2"]).clean(text, 10_000)
    assert "hunt" not in cleaned.text
    assert cleaned.text.startswith("😀" * 1_000)
    assert not cleaned.whole


@pytest.mark.parametrize(
    "unit",
    [
        '"a":\'',
        "a=",
        "bearer ",
        "token=",
        '"token":"',
        "\\",
        "://a:b",
        "-----BEGIN PRIVATE KEY-----",
        "eyJaaaaaaaa.",
    ],
)
def test_a_long_hostile_text_is_read_in_one_pass(unit: str) -> None:
    """One that takes quadratic time would not come to an end here."""
    assert len(Redactor([SECRET]).clean(unit * 200_000, 32_768).text) <= 32_768


@given(
    st.lists(st.text(max_size=8) | st.sampled_from([SECRET, "sk-abcdef123", "Bearer abcdef123", MARK])),
    st.integers(0, 60),
)
def test_no_text_keeps_a_secret_and_redacting_twice_is_redacting_once(pieces: list[str], limit: int) -> None:
    redactor = Redactor([SECRET])
    text = " ".join(pieces)
    cleaned = redactor.clean(text, EVERYTHING).text
    assert SECRET not in cleaned
    assert "abcdef123" not in cleaned
    assert redactor.clean(cleaned, EVERYTHING).text == cleaned
    cut = redactor.clean(text, limit).text
    assert cleaned.startswith(cut)
    assert len(cut) <= limit


def _spans_without_looking_first(text: str) -> list[tuple[int, int]]:
    """What `shaped_spans` gives when every expression is tried on every text."""
    bearer = [
        match.span()
        for match in secret_shapes._BEARER.finditer(text)
        if not secret_shapes._is_prose(match["scheme"], match["token"] or "")
    ]
    tokens = [match.span() for match in secret_shapes._TOKENS.finditer(text)]
    headers = [match.span("value") for match in secret_shapes._HEADER.finditer(text)]
    return [*bearer, *tokens, *headers, *secret_shapes._named_values(text)]


class TestSigns:
    """What a text is looked through for first decides nothing but the time."""

    @given(
        st.lists(
            st.sampled_from(
                [around.replace("{}", secret) for around, secret in SHAPES.values()]
                + [around for around, _ in SHAPES.values()]
                + [secret for _, secret in SHAPES.values()]
                + ["BEARER abc123", "COO\u212aIE: x", "cook\u0131e: x", "X-AP\u0130-KEY: y", "gho_", "xo"]
                + list(" =-:@/'\"\\")
                + HARMLESS
            )
            | st.text(max_size=4),
            max_size=5,
        )
    )
    def test_the_same_is_found_as_without_them(self, pieces: list[str]) -> None:
        text = "".join(pieces)
        assert list(shaped_spans(text)) == _spans_without_looking_first(text)

    def test_each_letter_of_theirs_has_no_other_case_than_lower_knows(self) -> None:
        letters = {*secret_shapes._BEARER_SIGN, *"".join(secret_shapes._HEADER_SIGNS)} - {"-"}
        everything = "".join(map(chr, range(sys.maxunicode + 1)))
        for found in re.findall(f"[{''.join(letters)}]", everything, re.IGNORECASE):
            assert found.lower() in letters
            assert re.fullmatch(found.lower(), found, re.IGNORECASE)

    @pytest.mark.parametrize("shape", SHAPES)
    def test_each_shape_is_found_when_it_stands_alone(self, shape: str) -> None:
        around, secret = SHAPES[shape]
        assert list(shaped_spans(around.format(secret)))


@pytest.mark.parametrize("secrets", [[], [""], ["  "]])
def test_blank_secrets_hide_nothing(secrets: list[str]) -> None:
    assert Redactor(secrets).clean("a  b", EVERYTHING).text == "a  b"


def test_a_redactor_does_not_show_its_secrets() -> None:
    assert "tok-" not in repr(Redactor([SECRET]))


def test_a_single_text_or_another_type_is_no_collection_of_secrets() -> None:
    with pytest.raises(TypeError, match="iterable"):
        Redactor("secret")
    with pytest.raises(TypeError, match="int"):
        Redactor([5])  # type: ignore[list-item]


def test_more_secrets_can_be_added_and_the_first_redactor_stays_as_it_was() -> None:
    first = Redactor(["one-one"])
    second = first.including(["two two"])
    assert (
        second.clean("one-one two two, " + quote_plus("two two"), EVERYTHING).text == f"{MARK} {MARK}, {MARK}"
    )
    assert first.clean("one-one two two", EVERYTHING).text == f"{MARK} two two"


SECRET_NAMES = [
    *("password", "Password", "userPassword", "user_password", "dbpassword", "PASSWD", "pwd", "passphrase"),
    *("secret", "client_secret", "clientSecret", "secrets", "credentials", "awsCredential", "jwt", "otp"),
    *("token", "access_token", "accessToken", "refreshtoken", "id-token", "tokens", "X-CSRF-Token"),
    *(
        "api_key",
        "apiKey",
        "APIKey",
        "apikey",
        "X-Api-Key",
        "private key",
        "sshKey",
        "session_keys",
        "ＡＰＩ＿ＫＥＹ",
    ),
    *("Authorization", "proxy-authorization", "cookie", "Set-Cookie", "auth", "bearer"),
]
HARMLESS_NAMES = [
    "key",
    "keys",
    "name",
    "author",
    "secretary",
    "tokenizer",
    "monkey",
    "",
    "passenger",
    "case_id",
]


@pytest.mark.parametrize("name", SECRET_NAMES)
def test_secret_looking_names(name: str) -> None:
    assert is_secret_name(name)


@pytest.mark.parametrize("name", HARMLESS_NAMES)
def test_harmless_names(name: str) -> None:
    assert not is_secret_name(name)


@pytest.mark.parametrize("name", ["max_tokens", "totalTokens", "token_count", "tokens", "prompt_tokens"])
def test_a_count_of_tokens_is_no_secret(name: str) -> None:
    assert not is_secret_name(name, number=True)
    assert is_secret_name(name), "a text under the same name may be one"


@pytest.mark.parametrize("name", ["password", "token", "otp", "access_token"])
def test_a_number_may_be_a_secret(name: str) -> None:
    assert is_secret_name(name, number=True)


def shown_stream(redactor: Redactor, pieces: list[str], limit: int = 1_000) -> list[str]:
    stream = DeltaStream(redactor, limit=limit)
    fed: list[Piece] = []
    for text in pieces:
        before = {id(piece): len(json.dumps(piece.shown, ensure_ascii=False).encode()) for piece in fed}
        fed.append(stream.feed(text))
        for piece in stream.changed:
            assert len(json.dumps(piece.shown, ensure_ascii=False).encode()) <= before[id(piece)]
    return [piece.shown for piece in fed]


@pytest.mark.parametrize("size", [1, 2, 3, 4, 7, 50])
@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("before hunter2-hunter2 after", "hunter2-hunter2"),
        ("before Bearer abc123def456ghi after", "abc123def456ghi"),
        ("before sk-abc123def456 after", "abc123def456"),
        ('{"password": "correct horse battery"}', "correct horse"),
        ("at postgres://ada:secretword@db/desk", "secretword"),
        ("before Bearer " + "a1b2c3d4" * 100 + " after", "a1b2c3d4"),
    ],
    ids=["own secret", "bearer", "prefix", "JSON", "URL", "long"],
)
def test_a_secret_that_is_streamed_in_pieces_goes_too(text: str, secret: str, size: int) -> None:
    pieces = [text[start : start + size] for start in range(0, len(text), size)]
    shown = shown_stream(Redactor(["hunter2-hunter2"]), pieces)
    assert len(shown) == len(pieces)
    assert all(shown), "no piece may become empty"
    assert secret not in "".join(shown)
    assert "".join(shown).startswith(("before", "{", "at"))
    assert "".join(shown).endswith(("after", "}", "desk"))


@given(st.lists(st.text("abk- .", min_size=1, max_size=6), max_size=30))
@example(["sk-", "a", "b", "a", "b", "a", "b", " ", "sk-a", "babab"])
def test_streamed_text_without_secrets_stays_and_with_secrets_has_none(pieces: list[str]) -> None:
    redactor = Redactor(["ab-ab"])
    whole = "".join(pieces)
    shown = "".join(shown_stream(redactor, pieces))
    if redactor.spans(whole):
        assert "ab-ab" not in shown
    else:
        assert shown == whole


def test_a_piece_over_the_limit_is_cut_and_ends_the_context() -> None:
    assert shown_stream(Redactor(), ["a" * 20, "sk-", "abcdef"], limit=10) == ["a" * 10, "*", MARK]
    assert shown_stream(Redactor(), ["sk-", "a" * 20, "abcdef"], limit=10) == ["sk-", "a" * 10, "abcdef"]
