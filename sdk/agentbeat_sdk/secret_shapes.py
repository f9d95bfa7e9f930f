"""What a secret looks like: names that announce one, and texts that are shaped like one (EVD-13).

A *name* is secret-looking when one of its words is (`password`, `clientSecret`, `X-Api-Key`). A name that
only counts tokens is not, as long as its value is a number: `max_tokens: 512` stays.

A *text* holds a secret where it says `Bearer …`, where a token has a well-known prefix (`sk-…`), and where it
spells out a secret-looking name with its value, as tools do that return JSON, headers or shell output.

>>> is_secret_name("clientSecret"), is_secret_name("max_tokens", number=True), is_secret_name("task")
(True, False, False)
>>> text = "curl -H 'Authorization: Bearer abc.def.123' https://support.example/?password=hunter2"
>>> sorted({text[start:end] for start, end in shaped_spans(text)})
['Bearer abc.def.123', 'hunter2']
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from itertools import pairwise
from typing import Final

__all__ = ["MARK", "REACH", "is_secret_name", "shaped_spans"]

#: What stands in the place of a secret.
MARK: Final = "[redacted]"

#: How many code points after its first one may be needed to recognise a secret by its shape.
REACH: Final = 4_096

_SECRET_WORD: Final = re.compile(
    "authorization|bearer|cookies?|credentials?|cvc|cvv|jwt|otp|passcode|passphrase|passwd|passwords?|pwd"
    "|secrets?|tokens?"
)
#: `private_key` and its like: `key` alone is a word of every dictionary.
_BEFORE_KEY: Final = re.compile(
    "access|account|api|auth|encryption|master|private|secret|service|session|shared|signing|ssh"
)
#: What is also written without any separator, such as `dbpassword` and `apikey`.
_COMPOUND: Final = re.compile(
    "password|passwd|passphrase|credential|authorization|secretkey|clientsecret|setcookie"
    "|(?:api|access|private|signing|encryption|session)key"
    "|(?:access|auth|bearer|id|refresh|session|csrf)token"
)
_TOKEN: Final = re.compile("tokens?")
_COUNTING: Final = re.compile(
    "budget|cached|completion|count|input|limit|max|min|output|prompt|reasoning|remaining|tokens|total|usage|used"
)
_WORD: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[^\W\dA-Za-z_]+")


def is_secret_name(name: str, *, number: bool = False) -> bool:
    """Whether a member called `name` is taken to hold a secret.

    Args:
        number: the member's value is a number, true or false, so that `total_tokens` is a count and no token.
    """
    return _is_secret_name(name[-256:], number)


@lru_cache(maxsize=2_048)
def _is_secret_name(name: str, number: bool) -> bool:
    words = [word.lower() for word in _WORD.findall(unicodedata.normalize("NFKC", name))]
    found = [word for word in words if _SECRET_WORD.fullmatch(word)]
    if number and found and all(map(_TOKEN.fullmatch, found)) and any(map(_COUNTING.fullmatch, words)):
        return False
    return (
        bool(found)
        or words == ["auth"]
        or any(word in ("key", "keys") and _BEFORE_KEY.fullmatch(before) for before, word in pairwise(words))
        or _COMPOUND.search("".join(words)) is not None
    )


# A token runs to white space, a quote, a bracket or a separator. `[redacted]` begins with a bracket, so what
# has been redacted once is left alone; only `Bearer [redacted]` is taken whole.
_BEARER: Final = re.compile(
    r"(?<![A-Za-z0-9])(?P<scheme>bearer)(?:\s|%20|[+:]){1,8}"
    r"(?:\[redacted\]|(?P<token>[^\s\"'`,;&<>()\[\]{}\\]{2,}[^\s\"'`,;&<>()\[\]{}\\.:!?]))",
    re.IGNORECASE,
)
_TOKENS: Final = re.compile(
    r"""
      (?<![A-Za-z]) sk-[A-Za-z0-9_\-]{6,}                                   # model providers
    | (?<![A-Za-z0-9]) (?:
          [rs]k_(?:live|test)_[A-Za-z0-9]{6,}
        | gh[oprsu]_[A-Za-z0-9]{20,} | github_pat_[A-Za-z0-9_]{20,}
        | xox[abeprs]-[A-Za-z0-9\-]{8,}
        | (?:AKIA|ASIA)[A-Z0-9]{16}
        | AIza[A-Za-z0-9_\-]{30,}
        | eyJ[A-Za-z0-9_\-]{8,}\.[A-Za-z0-9_\-]{8,}(?:\.[A-Za-z0-9_\-]*)?   # JSON Web Tokens
      )
    | -----BEGIN\ [A-Z ]{0,32}PRIVATE\ KEY-----.*?(?:-----END\ [A-Z ]{0,32}PRIVATE\ KEY-----|\Z)
    | (?<=://) [^\s/@:"'<>]{0,128} : [^\s/@"'<>]{1,512} (?=@)               # user:password@ in a URL
    """,
    re.VERBOSE | re.DOTALL,
)
_HEADER: Final = re.compile(
    r"(?<![\w\-])(?:(?:proxy-)?authorization|(?:set-)?cookie|x-api-key)[ \t]{0,4}:[ \t]{0,4}"
    r"(?P<value>[^\s\"'][^\r\n\"']*)",
    re.IGNORECASE,
)
# What may stand before a named value: `"name":` of JSON and Python, also escaped to stand in other JSON;
# `name=` of shells, URLs and reprs; `--name ` of command lines.
_NAME: Final = re.compile(
    r"""
      (?P<quote>\\{0,8}["']) (?P<member>[\w.\- ]{1,64}) (?P=quote) \s{0,8} : \s{0,8}
    | (?<![\w.\-]) (?P<variable>[\w.\-]{1,64}) =
    | (?<!\S) --? (?P<option>[A-Za-z][\w\-]{1,63}) [ \t]{1,8} (?!-)
    """,
    re.VERBOSE,
)
# A quoted value runs to its closing quote, or to the end where that is missing.
_VALUE: Final = re.compile(
    r"""(?P<open>\\{0,8}["']) (?P<quoted>(?:(?!(?<!\\)(?P=open)).)+) | (?P<plain>[^\s"'\\&,;\[\]{}()]+)""",
    re.VERBOSE | re.DOTALL,
)
_NUMBER: Final = re.compile(r"-?[0-9]+(?:\.[0-9]+)?|true|false", re.IGNORECASE)
_PROSE: Final = re.compile(
    "auth|authentication|authorization|credentials|header|realm|scheme|secret|tokens?", re.IGNORECASE
)


# What a text holds in which an expression can find anything. To look for these first is a hundred times as
# fast, and most texts hold none. In those that any case of letters spells, `i` and `s` are left out:
# `re.IGNORECASE` finds these two also in letters that are others to `str.lower`.
_BEARER_SIGN: Final = "bearer"
_HEADER_SIGNS: Final = ("author", "cook", "x-ap")
_TOKEN_SIGNS: Final = (
    *("sk-", "k_live_", "k_test_", "gho_", "ghp_", "ghr_", "ghs_", "ghu_", "github_pat_", "xox"),
    *("AKIA", "ASIA", "AIza", "eyJ", "-----BEGIN "),
)


def shaped_spans(text: str) -> Iterator[tuple[int, int]]:
    """Where in `text` something is shaped like a secret; spans may overlap and come in no order."""
    lowered = text.lower()
    if _BEARER_SIGN in lowered:
        for match in _BEARER.finditer(text):
            if not _is_prose(match["scheme"], match["token"] or ""):
                yield match.span()
    if ("@" in text and "://" in text) or any(sign in text for sign in _TOKEN_SIGNS):
        for match in _TOKENS.finditer(text):
            yield match.span()
    if ":" in text and any(sign in lowered for sign in _HEADER_SIGNS):
        for match in _HEADER.finditer(text):
            yield match.span("value")
    if "=" in text or "-" in text or (":" in text and ('"' in text or "'" in text)):
        yield from _named_values(text)


def _is_prose(scheme: str, word: str) -> bool:
    """`a Bearer token`, `the bearer must …`: English, its words short and in small letters."""
    if _PROSE.fullmatch(word.rstrip(".:!?")):
        return True
    return scheme.islower() and len(word) < 12 and word.isalpha() and word.islower()


def _named_values(text: str) -> Iterator[tuple[int, int]]:
    covered = 0
    for match in _NAME.finditer(text):
        name = match["member"] or match["variable"] or match["option"]
        if match.end() < covered or not is_secret_name(name):
            continue
        value = _VALUE.match(text, match.end())
        if value is None:
            continue
        group = "plain" if value["quoted"] is None else "quoted"
        if not _NUMBER.fullmatch(value[group]) or is_secret_name(name, number=True):
            yield value.span(group)
            covered = value.end()
