"""The evidence reference of an invocation response, held to the endpoint that is registered (EVD-9).

A Target answers with an `evidence_ref`. Core sends its secret to whatever URL it reads, so the reference is
only a statement to check: it must name this run's evidence route on the registered origin. What Core reads
afterwards is built from the *registered* URL, never from the reference.

The reference may be a path, `//host/path` or a full URL; its path is `/v1/evidence/<run_id>`, with or without
the prefix of the registered URL. Escapes of unreserved characters are decoded once, then all is compared
exactly. Nothing is resolved: no dot segments, no relative paths, no redirects.

    O-TYPE      not a string                O-ORIGIN    another scheme, host or port
    O-LEN       over 4,096 characters       O-QUERY     a query, an empty one too
    O-CHARS     a character no URL has      O-FRAGMENT  a fragment, an empty one too
    O-PARSE     no well-formed reference    O-PATH      no plain path, or this run under another route
    O-SCHEME    neither http nor https      O-RUN       a plain path that does not end in this run's id
    O-USERINFO  user or password            O-REDIRECT  the server answers with a redirect

They are looked for in the order of the steps in `resolve_evidence_ref`.

>>> registered = "https://gw.example/tenants/a/v1/agent/invocations"
>>> resolve_evidence_ref(registered, "/v1/evidence/run-7", run_id="run-7")
'https://gw.example/tenants/a/v1/evidence/run-7'
>>> try:
...     resolve_evidence_ref(registered, "//evil.example/v1/evidence/run-7", run_id="run-7")
... except EvidenceRefError as error:
...     error.rule, error.got, error.expected
('O-ORIGIN', 'https://evil.example', 'https://gw.example')
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, NoReturn

from agentbeat_protocol.errors import EvidenceRefError, ProtocolError, SchemaError, cut
from agentbeat_protocol.identifiers import is_run_id
from agentbeat_protocol.invocations import EVIDENCE_PATH, INVOCATION_PATH
from agentbeat_protocol.origins import Origin, URLError, URLParts, split_url

__all__ = ["check_no_redirect", "resolve_evidence_ref"]

#: The longest reference, in characters: room for a long prefix, a run id of 160 and escapes.
MAX_REFERENCE: Final = 4096

#: Where the reference stands in the invocation response.
_PATH: Final = "/evidence_ref"

_ESCAPE = re.compile(r"%([0-9A-Fa-f]{2})")
_BROKEN_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2})")
_UNRESERVED = re.compile(r"[A-Za-z0-9\-._~]")
# RFC 3986 `path-absolute` with every segment filled and no escape left: nothing for a server to interpret.
_PLAIN_PATH = re.compile(r"(?:/[A-Za-z0-9\-._~!$&'()*+,;=:@]+)+")
# A registered prefix may hold escapes of reserved characters; it is compared and sent as it is.
_PREFIX = re.compile(r"(?:/(?:[A-Za-z0-9\-._~!$&'()*+,;=:@]|%[0-9A-Fa-f]{2})+)*")

_JSON_TYPES = ((bool, "a boolean"), (int | float, "a number"), (list, "an array"), (dict, "an object"))


def resolve_evidence_ref(registered_url: str, ref: object, *, run_id: str) -> str:
    """The URL to read this run's evidence from, once the reference is found to name it (EVD-9).

    Args:
        registered_url: the invocation URL of the registry, `<origin><prefix>/v1/agent/invocations`.
        ref: the response's `evidence_ref`, any JSON value.
        run_id: the run that Core asked for.

    Returns:
        The registered origin and prefix, normalised, followed by `/v1/evidence/<run_id>`.

    Raises:
        EvidenceRefError: the reference names anything else; `rule` says which O-* rule it breaks.
        ProtocolError: the registered URL or the run id, which are ours, are not usable.
    """
    # The other side of every comparison first: what is registered.
    endpoint = _Endpoint.parse(registered_url)
    if not is_run_id(run_id):
        raise SchemaError("S-PATTERN", code="invalid_run_id", got="another text", expected="a run id")
    route = EVIDENCE_PATH + run_id

    # Step 1. A string of bounded length (O-TYPE, O-LEN).
    if not isinstance(ref, str):
        _refuse("O-TYPE", got=_type_name(ref), expected="a string")
    if len(ref) > MAX_REFERENCE:
        _refuse("O-LEN", got=f"{len(ref)} characters", expected=f"at most {MAX_REFERENCE}")

    # Step 2. Only characters of RFC 3986, split in its one way (O-CHARS, O-PARSE);
    # Step 3. the origin, when it names one, is well-formed (O-SCHEME, O-PARSE, O-USERINFO) …
    try:
        parts = split_url(ref)
        origin = _origin_of(parts, endpoint.origin)
    except URLError as error:
        _refuse(error.rule, got=error.got, expected=error.expected)
    # … and is the registered one (O-ORIGIN).
    if origin != endpoint.origin:
        _refuse("O-ORIGIN", got=cut(str(origin)), expected=cut(str(endpoint.origin)))

    # Step 4. Nothing beside the path (O-QUERY, O-FRAGMENT). Neither is repeated: both are places for secrets.
    if parts.query is not None:
        _refuse("O-QUERY", got="a query", expected="a path alone")
    if parts.fragment is not None:
        _refuse("O-FRAGMENT", got="a fragment", expected="a path alone")

    # Step 5. The path is this run's route, exactly (O-PATH, O-RUN).
    _check_path(parts.path, accepted=(route, endpoint.prefix + route), run_id=run_id)

    # Step 6. The answer holds nothing of the reference.
    return f"{endpoint.origin}{endpoint.prefix}{route}"


def check_no_redirect(status: int, location: str | None = None) -> None:
    """Refuse a redirect in answer to a request that carries the secret (EVD-9).

    Args:
        status: the HTTP status of the answer.
        location: its `Location`, None when it has none. Even one that leads to the same URL is refused.

    Raises:
        EvidenceRefError: O-REDIRECT, for any status from 300 to 399.
    """
    if 300 <= status <= 399:
        # Where to is not repeated: a Location may hold secrets of its own.
        got = f"status {status} {'without' if location is None else 'with'} a Location"
        _refuse("O-REDIRECT", got=got, expected="the document from the registered endpoint itself")


@dataclass(frozen=True, slots=True)
class _Endpoint:
    """The registered invocation URL, taken apart: `<origin><prefix>/v1/agent/invocations`."""

    origin: Origin
    prefix: str

    @classmethod
    def parse(cls, url: str) -> _Endpoint:
        try:
            parts = split_url(url)
            origin = Origin.parse(url)
        except URLError as error:
            raise _unusable(error.got, error.expected) from None
        if parts.query is not None or parts.fragment is not None:
            raise _unusable("a query or a fragment", "a URL that ends in its path")
        path = _decoded(parts.path)
        if not path.endswith(INVOCATION_PATH):
            raise _unusable(f"the path {cut(parts.path)}", f"a path that ends in {INVOCATION_PATH}")
        prefix = path.removesuffix(INVOCATION_PATH)
        if not _PREFIX.fullmatch(prefix) or _has_dot_segments(prefix):
            raise _unusable(f"the prefix {cut(prefix)}", "filled segments, no dot segments, whole escapes")
        return cls(origin, prefix)


def _origin_of(parts: URLParts, base: Origin) -> Origin:
    """The origin that a reference names, or `base` when it is a path only."""
    if parts.scheme is None and parts.authority is None:
        return base
    return Origin.of(parts.scheme or base.scheme, parts.authority)


def _check_path(path: str, *, accepted: tuple[str, ...], run_id: str) -> None:
    # A half escape could become a whole one by decoding (`%2%35`), so it goes first.
    if _BROKEN_ESCAPE.search(path):
        _refuse("O-PATH", got=f"a broken escape in {cut(path)}", expected=accepted[0])
    decoded = _decoded(path)
    if decoded in accepted:
        return
    # It is refused; the rest only finds the rule that says why.
    if not _PLAIN_PATH.fullmatch(decoded) or _has_dot_segments(decoded):
        _refuse("O-PATH", got=cut(path) or "an empty path", expected=f"{accepted[0]}, spelled plainly")
    same_run = decoded.rpartition("/")[2] == run_id
    _refuse("O-PATH" if same_run else "O-RUN", got=cut(path), expected=accepted[0])


def _decoded(path: str) -> str:
    """`path` with escapes of unreserved characters decoded, once; others stay (RFC 3986, section 6.2.2.2)."""

    def plain(escape: re.Match[str]) -> str:
        character = chr(int(escape[1], 16))
        return character if _UNRESERVED.fullmatch(character) else escape[0]

    return _ESCAPE.sub(plain, path)


def _has_dot_segments(path: str) -> bool:
    return not {".", ".."}.isdisjoint(path.split("/"))


def _type_name(value: object) -> str:
    return (
        "null"
        if value is None
        else next((name for kind, name in _JSON_TYPES if isinstance(value, kind)), "no JSON")
    )


def _refuse(rule: str, *, got: str, expected: str) -> NoReturn:
    raise EvidenceRefError(rule, path=_PATH, got=got, expected=expected) from None


def _unusable(got: str, expected: str) -> ProtocolError:
    return SchemaError("EVD-9", code="invalid_request", got=f"a registered URL with {got}", expected=expected)
