"""Where a URL leads: its parts by RFC 3986, and its origin (scheme, host, port).

One reading, and a strict one. Parsers in the field disagree on backslashes, tabs, `///host`, full-width
letters and `http://2130706433`; what they disagree on is refused here instead of repaired. Two origins are
equal when scheme, host and effective port are: `localhost` is not `127.0.0.1`, `example.com.` is not
`example.com`, and no name is ever looked up.

Normalised are only the spellings that RFC 3986, section 6.2.2, calls equal: letter case of scheme and host, a
missing, empty or zero-padded port, and the many ways to write one IPv6 address (RFC 5952).

>>> Origin.parse("HTTPS://Target.example:0443/v1") == Origin("https", "target.example", 443)
True
>>> str(Origin.parse("http://[0:0::1]:8091/")), Origin.parse("http://[::1]/").is_loopback
('http://[::1]:8091', True)
>>> same_origin("http://127.0.0.1:8091/a", "http://localhost:8091/a")
False
"""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from agentbeat_protocol.errors import SchemaError, cut

__all__ = ["Origin", "URLError", "URLParts", "same_origin", "split_url"]

#: The schemes that the protocol speaks, and the port of each when the URL names none.
DEFAULT_PORTS: Final = MappingProxyType({"http": 80, "https": 443})

# Every character that RFC 3986 lets stand in a URI: unreserved, gen-delims, sub-delims and the percent sign.
_FOREIGN = re.compile(r"[^A-Za-z0-9\-._~:/?#\[\]@!$&'()*+,;=%]")

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.\-]*):")

# An authority without userinfo. The host is an IPv6 literal or a name of the letters that host names have
# (RFC 952, RFC 1123, and the underscore): RFC 3986 would allow escapes and punctuation, which clients read
# differently.
_AUTHORITY = re.compile(r"(?:\[(?P<ipv6>[0-9A-Fa-f:.]+)\]|(?P<name>[A-Za-z0-9._\-]+))(?::(?P<port>[0-9]*))?")

# A name whose last label is a number is an IPv4 address to some clients, in octal or hexadecimal too.
_NUMERIC_NAME = re.compile(r"(?:[^:]*\.)?(?:[0-9]+|0x[0-9a-f]*)\.?")


class URLError(SchemaError):
    """A URL cannot be read in one way only, or is none of ours: O-CHARS, O-PARSE, O-SCHEME or O-USERINFO."""

    default_code = "invalid_request"


@dataclass(frozen=True, slots=True)
class Origin:
    """Scheme, host and effective port: what decides who gets a secret.

    Attributes:
        scheme: `http` or `https`.
        host: in lower case; an IPv6 address without its brackets, in the form of RFC 5952.
        port: 0 to 65535, the scheme's own where the URL names none.
    """

    scheme: str
    host: str
    port: int

    @classmethod
    def parse(cls, url: str) -> Origin:
        """The origin of an absolute http or https URL of our own configuration.

        Raises:
            URLError: the URL is relative or malformed, has userinfo, another scheme, port 0, or a host that
                is an IPv4 address to one client and a name to another (`2130706433`, `127.1`, `0x7f.0.0.1`).
        """
        parts = split_url(url)
        if parts.scheme is None:
            raise URLError("O-PARSE", got="a relative URL", expected="an absolute http or https URL")
        origin = cls.of(parts.scheme, parts.authority)
        if _NUMERIC_NAME.fullmatch(origin.host) and _ipv4(origin.host) is None:
            raise URLError(
                "O-PARSE", got="a number as host", expected="an IPv4 address as four decimal numbers"
            )
        if origin.port == 0:
            raise URLError("O-PARSE", got="port 0", expected="a port from 1 to 65535")
        return origin

    @classmethod
    def of(cls, scheme: str, authority: str | None) -> Origin:
        """The origin of a URL with this scheme and authority, as `split_url` gives them.

        Raises:
            URLError: O-SCHEME, O-USERINFO or O-PARSE.
        """
        scheme = scheme.lower()
        if scheme not in DEFAULT_PORTS:
            raise URLError("O-SCHEME", got=f"the scheme {cut(scheme)}", expected="http or https")
        if not authority:
            got = "no authority" if authority is None else "an empty authority"
            raise URLError("O-PARSE", got=got, expected=f"{scheme}://host")
        # Neither of the next two is repeated: what should be a host may be a password.
        if "@" in authority:
            raise URLError("O-USERINFO", got="userinfo before the host", expected="a host and at most a port")
        match = _AUTHORITY.fullmatch(authority)
        if match is None:
            raise URLError(
                "O-PARSE", got="a malformed host or port", expected="host, host:port or [IPv6]:port"
            )
        host = match["name"].lower() if match["name"] else _ipv6(match["ipv6"])
        return cls(scheme, host, _port(match["port"]) if match["port"] else DEFAULT_PORTS[scheme])

    @property
    def is_loopback(self) -> bool:
        """Whether the host is this machine by its spelling alone: 127.0.0.0/8, ::1 or `localhost`.

        An IPv4-mapped address is not: where it leads is up to the socket.
        """
        address = _ipv4(self.host)
        return self.host in ("localhost", "::1") if address is None else address.is_loopback

    def __str__(self) -> str:
        """The origin as a URL without a path; the scheme's own port is left out."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        port = "" if self.port == DEFAULT_PORTS.get(self.scheme) else f":{self.port}"
        return f"{self.scheme}://{host}{port}"


@dataclass(frozen=True, slots=True)
class URLParts:
    """The five parts of a URL reference, as written; None is absent, which is not the same as empty."""

    scheme: str | None
    authority: str | None
    path: str
    query: str | None
    fragment: str | None


def split_url(url: str) -> URLParts:
    """The parts of a URL or relative reference (RFC 3986, sections 3 and 4.2).

    Raises:
        URLError: O-CHARS, a character that no URL has: white space, controls, a backslash, anything that is
            not ASCII; O-PARSE, a colon in the first segment of a relative path.
    """
    foreign = _FOREIGN.search(url)
    if foreign:
        raise URLError(
            "O-CHARS",
            got=f"U+{ord(foreign[0]):04X} at character {foreign.start()}",
            expected="only the ASCII characters of RFC 3986",
        )
    # From the outside in, each part ends where RFC 3986 ends it: `#`, then `?`, then `:` of the scheme.
    rest, has_fragment, fragment = url.partition("#")
    rest, has_query, query = rest.partition("?")
    match = _SCHEME.match(rest)
    scheme = match[1] if match else None
    rest = rest[match.end() :] if match else rest
    authority = None
    if rest.startswith("//"):
        authority, slash, path = rest[2:].partition("/")
        rest = slash + path
    elif scheme is None and ":" in rest.partition("/")[0]:
        raise URLError("O-PARSE", got="a colon in the first segment", expected="a scheme or a path")
    return URLParts(scheme, authority, rest, query if has_query else None, fragment if has_fragment else None)


def same_origin(url_a: str, url_b: str) -> bool:
    """Whether two absolute http(s) URLs have the same scheme, host and effective port.

    Raises:
        URLError: one of them has no origin to compare (see `Origin.parse`).
    """
    return Origin.parse(url_a) == Origin.parse(url_b)


def _port(text: str) -> int:
    digits = text.lstrip("0") or "0"
    # The length is looked at first: `int` refuses thousands of digits with an error of its own.
    if len(digits) > 5 or int(digits) > 65535:
        raise URLError("O-PARSE", got="a port above 65535", expected="a port up to 65535")
    return int(digits)


def _ipv6(text: str) -> str:
    try:
        address = ipaddress.IPv6Address(text)
    except ValueError:
        raise URLError(
            "O-PARSE", got=f"the literal [{cut(text)}]", expected="an IPv6 address in brackets"
        ) from None
    # Python versions differ in how they print these: RFC 5952, section 5, recommends the dotted form.
    mapped = address.ipv4_mapped
    return f"::ffff:{mapped}" if mapped else address.compressed


def _ipv4(host: str) -> ipaddress.IPv4Address | None:
    try:
        return ipaddress.IPv4Address(host)
    except ValueError:
        return None
