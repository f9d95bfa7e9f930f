"""Metadata that would configure the Target's runtime (INV-5), and the shape of metadata (INV-3).

Only member names are judged, values may say anything. A name is normalised, so that spelling does not matter,
and refused when one of these words is in it: model, endpoint, key, token, secret, workspace, cwd, sandbox,
tool, tools, mcp, runtime, executor, profile, fixture, state, verifier, oracle, control, sidecar. The pairs
model_id, base_url and api_key are found without separators as well, anywhere in the name (`openaiapikey`).

A name is a sequence of words. Separators part them, and so do `camelCase`, the end of an acronym
(`APIKey`, `MCPserver`), a digit beside a letter (`model2` is `model_2`: numbering a setting does not make it
another one) and an ASCII letter beside one of another script. Borders that only letter case or an ignorable
code point shows are soft: `mOdEl` is both `m_od_el` and `model`.

The rule errs on the side of refusal: `trace_state` and `idempotency_key` hold a word of the list, and
`database_url` holds `baseurl`. `tracestate` and `keyboard` do not.

>>> [is_runtime_override(name) for name in ("APIKey", "openai-base.url", "mo\\u200bd\\u0435l", "traceparent")]
[True, True, True, False]
>>> try:
...     check_metadata({"labels": [{"API key": "…"}]})
... except SchemaError as error:
...     error.code, error.path
('runtime_override_forbidden', '/metadata/labels/0/API key')
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from typing import Final, TypeAlias

from agentbeat_protocol.confusables import fold, is_ignorable
from agentbeat_protocol.errors import SchemaError, json_pointer
from agentbeat_protocol.look_alikes import BEFORE_NFKC, SECOND_READINGS

__all__ = ["MAX_METADATA_DEPTH", "check_metadata", "is_runtime_override"]

Container: TypeAlias = dict[object, object] | list[object]

#: How many objects and arrays may stand one inside the other, the metadata itself counted.
MAX_METADATA_DEPTH: Final = 8

_WORDS: Final = (
    "model",
    "endpoint",
    "key",
    "token",
    "secret",
    "workspace",
    "cwd",
    "sandbox",
    "tool",
    "tools",
    "mcp",
    "runtime",
    "executor",
    "profile",
    "fixture",
    "state",
    "verifier",
    "oracle",
    "control",
    "sidecar",
)
# Word pairs; also found without their separator, and with separators elsewhere.
_PAIRS: Final = ("modelid", "baseurl", "apikey")

# In a marked name `_` is a separator and `-` a soft border: a name can be read with and without it. Ignorable
# code points are soft borders too, since they join for one reader and part for another.
_IGNORED: Final = "\0"
_IGNORED_RUN = re.compile(f"{_IGNORED}+")
_SEPARATORS = re.compile(rf"(?:[^\w{_IGNORED}]|_)+")
_SOFT_BORDER = re.compile(
    r"(?<=[a-z])(?=[A-Z])"  # modelId -> model-Id
    r"|(?<=[A-Z])(?=[A-Z]-?[a-z])"  # APIKey -> API-Key
    r"|(?<=[A-Z]{2})(?=[a-z])|(?<=[A-Z]-[A-Z])(?=[a-z])"  # MCPserver -> MC-P-server: either may be meant
    r"|(?<=[A-Za-z])(?=[0-9])|(?<=[0-9])(?=[A-Za-z])"
    r"|(?<=[A-Za-z0-9])(?=[^\W_A-Za-z0-9])|(?<=[^\W_A-Za-z0-9])(?=[A-Za-z0-9])"
)
_FORBIDDEN_WORD = re.compile("(?:^|[_-])(?:" + "|".join("-?".join(word) for word in _WORDS) + ")(?=$|[_-])")
_FORBIDDEN_PAIR = re.compile("|".join("[_-]*".join(pair) for pair in _PAIRS))


def is_runtime_override(key: str) -> bool:
    """Whether a metadata member of this name would configure the Target's runtime (INV-5)."""
    return any(
        _FORBIDDEN_WORD.search(marked) or _FORBIDDEN_PAIR.search(marked) for marked in _marked_readings(key)
    )


def check_metadata(metadata: object, *, path: str = "/metadata") -> None:
    """Refuse metadata that is no object, is nested too deep, or would configure the Target's runtime.

    Args:
        metadata: a JSON value, as `read_json` gives it.
        path: where it stands in its document, an RFC 6901 pointer.

    Raises:
        SchemaError: INV-3 with code `invalid_metadata`, no object or over 8 levels of objects and arrays; or
            INV-5 with code `runtime_override_forbidden`. The first offence in document order is named, each
            member name on the way to it cut to 64 characters.
    """
    if not isinstance(metadata, dict):
        raise SchemaError("INV-3", code="invalid_metadata", path=path, got="no object", expected="an object")
    _check_container(metadata, path, ())


def _check_container(container: Container, path: str, names: tuple[object, ...]) -> None:
    """Check a container that lies under the `names` in the metadata at `path`."""
    # The recursion ends at the level that the protocol allows, far from Python's own limit.
    if len(names) >= MAX_METADATA_DEPTH:
        raise SchemaError(
            "INV-3",
            code="invalid_metadata",
            path=path + json_pointer(names),
            got="another level",
            expected=f"at most {MAX_METADATA_DEPTH} levels of objects and arrays",
        )
    members = container.items() if isinstance(container, dict) else enumerate(container)
    for name, value in members:
        if isinstance(name, str) and is_runtime_override(name):
            raise SchemaError(
                "INV-5",
                code="runtime_override_forbidden",
                path=path + json_pointer((*names, name)),
                got="a runtime override",
                expected="no member that configures the Target's runtime",
            )
        if isinstance(value, dict | list):
            _check_container(value, path, (*names, name))


def _marked_readings(key: str) -> Iterator[str]:
    """The name in lower case, with separators and soft borders marked.

    There is a second reading when letters are in it that pass for two. The work is linear in the length.
    """
    if key.isascii() and key.isprintable():
        yield _marked(key)
        return
    text = unicodedata.normalize("NFKC", key.translate(BEFORE_NFKC))
    characters = set(text)
    first = {ord(c): _IGNORED if is_ignorable(c) else fold(c) for c in characters}
    yield _marked(text.translate(first))
    second = {ord(c): SECOND_READINGS[c] for c in characters & SECOND_READINGS.keys()}
    if second:
        yield _marked(text.translate(first | second))


def _marked(text: str) -> str:
    separated = _SEPARATORS.sub("_", text)
    return _SOFT_BORDER.sub("-", _IGNORED_RUN.sub("-", separated)).lower()
