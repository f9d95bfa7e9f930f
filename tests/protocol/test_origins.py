"""Where a URL leads: one strict reading, equal origins, loopback by spelling."""

from __future__ import annotations

import pytest

from agentbeat_protocol.errors import ProtocolError
from agentbeat_protocol.origins import Origin, URLError, URLParts, same_origin, split_url

SAME = {
    "letter case of scheme and host": ("HTTPS://Target.EXAMPLE/a", "https://target.example/b"),
    "the default port of https": ("https://target.example:443", "https://target.example/"),
    "the default port of http": ("http://target.example:80/x", "http://target.example"),
    "an empty port": ("https://target.example:/", "https://target.example/"),
    "a zero-padded port": ("http://target.example:008091/", "http://target.example:8091/"),
    "thousands of zeros": (f"http://target.example:{'0' * 5000}80/", "http://target.example/"),
    "IPv6 letter case": ("http://[2001:DB8::A]/", "http://[2001:db8::a]/"),
    "IPv6 zeros": ("http://[0:0:0:0:0:0:0:1]:8091/", "http://[::1]:8091/"),
    "IPv6 in dotted form": ("http://[::ffff:127.0.0.1]/", "http://[::FFFF:7f00:1]/"),
    "what stands behind the authority": ("https://a.example/?x=1", "https://a.example/b#c"),
}

DIFFERENT = {
    "scheme": ("http://target.example:443/", "https://target.example/"),
    "host": ("https://target.example/", "https://targets.example/"),
    "subdomain": ("https://target.example/", "https://a.target.example/"),
    "trailing dot": ("https://target.example./", "https://target.example/"),
    "port": ("http://127.0.0.1:8091/", "http://127.0.0.1:8092/"),
    "missing port": ("http://127.0.0.1:8091/", "http://127.0.0.1/"),
    "two names of loopback": ("http://localhost:8091/", "http://127.0.0.1:8091/"),
    "two families of loopback": ("http://[::1]:8091/", "http://127.0.0.1:8091/"),
    "an IPv4 address mapped into IPv6": ("http://[::ffff:127.0.0.1]/", "http://127.0.0.1/"),
}

REFUSED = {
    "a path": ("/v1/agent/invocations", "O-PARSE"),
    "nothing": ("", "O-PARSE"),
    "a URL without its scheme": ("//target.example/", "O-PARSE"),
    "a name and a port": ("127.0.0.1:8091/v1", "O-PARSE"),
    "a name that reads as scheme": ("localhost:8091/v1", "O-SCHEME"),
    "another scheme": ("ftp://target.example/", "O-SCHEME"),
    "no authority": ("https:/v1", "O-PARSE"),
    "an empty authority": ("https:///v1", "O-PARSE"),
    "an empty host": ("https://:443/", "O-PARSE"),
    "userinfo": ("https://me:hush@target.example/", "O-USERINFO"),
    "empty userinfo": ("https://@target.example/", "O-USERINFO"),
    "white space": (" https://target.example/", "O-CHARS"),
    "a trailing newline": ("https://target.example/\n", "O-CHARS"),
    "a backslash": ("https://target.example\\@evil.example/", "O-CHARS"),
    "a name that is not ASCII": ("https://bücher.example/", "O-CHARS"),
    "an escaped host": ("https://target%2Eexample/", "O-PARSE"),
    "punctuation in the host": ("https://target.example,evil.example/", "O-PARSE"),
    "letters in the port": ("https://target.example:443x/", "O-PARSE"),
    "two ports": ("https://target.example:443:443/", "O-PARSE"),
    "a port too large": ("https://target.example:65536/", "O-PARSE"),
    "a port of thousands of digits": (f"https://target.example:{'9' * 5000}/", "O-PARSE"),
    "port 0": ("https://target.example:0/", "O-PARSE"),
    "IPv6 without brackets": ("http://::1:8091/", "O-PARSE"),
    "an IPv6 zone": ("http://[fe80::1%25eth0]/", "O-PARSE"),
    "a future address form": ("http://[v1.fe80]/", "O-PARSE"),
    "no address in brackets": ("http://[dead.beef]/", "O-PARSE"),
    "IPv4 as one number": ("http://2130706433:8091/", "O-PARSE"),
    "IPv4 in hexadecimal": ("http://0x7f000001/", "O-PARSE"),
    "IPv4 in octal": ("http://0177.0.0.1/", "O-PARSE"),
    "IPv4 shortened": ("http://127.1/", "O-PARSE"),
    "IPv4 with a trailing dot": ("http://127.0.0.1./", "O-PARSE"),
    "a name that ends in a number": ("http://target.7/", "O-PARSE"),
}


@pytest.mark.parametrize(("url_a", "url_b"), SAME.values(), ids=SAME)
def test_equal_spellings_have_the_same_origin(url_a: str, url_b: str) -> None:
    assert same_origin(url_a, url_b)
    assert hash(Origin.parse(url_a)) == hash(Origin.parse(url_b))
    assert str(Origin.parse(url_a)) == str(Origin.parse(url_b))


@pytest.mark.parametrize(("url_a", "url_b"), DIFFERENT.values(), ids=DIFFERENT)
def test_whatever_else_differs_makes_another_origin(url_a: str, url_b: str) -> None:
    assert not same_origin(url_a, url_b)


@pytest.mark.parametrize(("url", "rule"), REFUSED.values(), ids=REFUSED)
def test_a_url_with_more_than_one_reading_has_no_origin(url: str, rule: str) -> None:
    with pytest.raises(URLError) as caught:
        Origin.parse(url)
    assert caught.value.rule == rule
    assert isinstance(caught.value, ProtocolError)
    assert len(str(caught.value)) < 200


def test_the_refusal_of_userinfo_does_not_repeat_it() -> None:
    """A URL from the environment may hold a password, with the @ or after a slip without it."""
    for url in ("https://me:hush@target.example/", "https://me:hush/"):
        with pytest.raises(URLError) as caught:
            Origin.parse(url)
        assert "hush" not in str(caught.value)
        assert "hush" not in str(caught.value.envelope())


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("http://localhost:8091/", True),
        ("http://LOCALHOST/", True),
        ("http://127.0.0.1/", True),
        ("http://127.255.255.254/", True),
        ("http://[::1]:8091/", True),
        ("http://[0:0::0:1]/", True),
        ("http://128.0.0.1/", False),
        ("http://0.0.0.0/", False),
        ("http://[::]/", False),
        ("http://[::ffff:127.0.0.1]/", False),
        ("http://localhost.evil.example/", False),
        ("http://localhost./", False),
        ("http://127.0.0.1.evil.example/", False),
        ("http://10.0.0.1/", False),
        ("https://target.example/", False),
    ],
)
def test_loopback_is_told_by_spelling_alone(url: str, expected: bool) -> None:
    assert Origin.parse(url).is_loopback is expected


@pytest.mark.parametrize(
    ("url", "text"),
    [
        ("HTTP://Target.example:80/a?b#c", "http://target.example"),
        ("https://target.example:8443", "https://target.example:8443"),
        ("http://[2001:DB8:0:0::1]:8091/", "http://[2001:db8::1]:8091"),
        ("http://[::ffff:7f00:1]/", "http://[::ffff:127.0.0.1]"),
    ],
)
def test_an_origin_prints_as_the_url_that_it_is_the_origin_of(url: str, text: str) -> None:
    assert str(Origin.parse(url)) == text
    assert Origin.parse(text) == Origin.parse(url)


@pytest.mark.parametrize(
    ("url", "parts"),
    [
        ("", URLParts(None, None, "", None, None)),
        ("?", URLParts(None, None, "", "", None)),
        ("#", URLParts(None, None, "", None, "")),
        ("//h/p?q#f", URLParts(None, "h", "/p", "q", "f")),
        ("s:p", URLParts("s", None, "p", None, None)),
        ("https://a#@b/c?d", URLParts("https", "a", "", None, "@b/c?d")),
        ("https://a?@b/#c", URLParts("https", "a", "", "@b/", "c")),
        ("///p", URLParts(None, "", "/p", None, None)),
        ("a/b:c", URLParts(None, None, "a/b:c", None, None)),
        ("/a:b//c", URLParts(None, None, "/a:b//c", None, None)),
    ],
)
def test_the_parts_of_a_url_end_where_rfc_3986_ends_them(url: str, parts: URLParts) -> None:
    assert split_url(url) == parts
