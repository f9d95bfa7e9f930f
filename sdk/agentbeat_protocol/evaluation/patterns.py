"""Regular expressions in rules: searched for in linear time, whatever the text is.

A rule's pattern is the evaluator's, but the text comes from the Agent. A backtracking engine can be kept busy
for years by a text that is made for the pattern, `(a+)+$` is enough. So the engine is the one that pydantic
brings, Rust's `regex`: its time grows with the pattern's size times the text's length. What cannot be
searched for that way, look-around and back-references, is refused when the rule is read. The syntax is else
the common one; `$` is the end of the text and nothing else, and `(?i)`, `(?m)` and `(?s)` set flags.

Two bounds keep the product small: counted repetitions multiply to at most `MAX_REPETITION`, and no text over
`MAX_SEARCHED` code points is searched. A longer one is not cut: half a text has another end and may lack the
very words. The rule is then undecided.

>>> pattern_found(r"refund(ed)? #[0-9]+", "I refunded #17 today")
True
>>> pattern_found(r"(a+)+$", "a" * 10_000 + "!")
False
"""

from __future__ import annotations

import re
from functools import lru_cache
from math import prod
from typing import Final

from pydantic_core import SchemaError, SchemaValidator, core_schema

from agentbeat_protocol.errors import cut
from agentbeat_protocol.models import rule_error

__all__ = ["MAX_REPETITION", "MAX_SEARCHED", "check_pattern", "pattern_found", "searchable"]

#: The longest text that is searched, in code points.
MAX_SEARCHED: Final = 262_144
#: What the upper bounds of a pattern's counted repetitions, such as `{2,40}`, may multiply to.
MAX_REPETITION: Final = 1_000

# An escaped brace is no repetition, but `\\{` is one of a backslash.
_COUNTED = re.compile(r"(?<!\\)(?:\\\\)*\{([0-9]+)(?:,([0-9]*))?\}")
#: Longer counts are over the limit anyway, and Python limits how many digits `int` takes.
_LONGEST_COUNT = 6


def check_pattern(text: str) -> str:
    """`text` itself, once it is known to be a pattern that can be searched for.

    Raises:
        PydanticCustomError: S-PATTERN, with what is wrong; a validator of a model raises it on.
    """
    if _repetition(text) > MAX_REPETITION:
        raise rule_error("S-PATTERN", f"counted repetitions that multiply to at most {MAX_REPETITION}")
    try:
        _compiled(text)
    except SchemaError as error:
        # The engine's message repeats the pattern; its last line says what is wrong with it.
        cause = str(error).strip().rpartition("\n")[2].strip().removeprefix("error: ")
        raise rule_error("S-PATTERN", f"a regular expression ({cut(cause, 120)})") from None
    return text


def searchable(text: str) -> bool:
    """Whether `text` is short enough to be searched."""
    return len(text) <= MAX_SEARCHED


def pattern_found(pattern: str, text: str) -> bool:
    """Whether the checked `pattern` is found anywhere in `text`, which holds no lone surrogate.

    Raises:
        ValueError: the text is not `searchable`; searching part of it would decide nothing.
    """
    if not searchable(text):
        raise ValueError(f"a text of {len(text)} code points, {MAX_SEARCHED} are searched at most")
    return _compiled(pattern).isinstance_python(text)


@lru_cache(maxsize=128)
def _compiled(pattern: str) -> SchemaValidator:
    return SchemaValidator(core_schema.str_schema(pattern=pattern, regex_engine="rust-regex", strict=True))


def _repetition(pattern: str) -> int:
    counts = ((upper or lower) for lower, upper in _COUNTED.findall(pattern))
    return prod(
        max(1, int(count)) if len(count) <= _LONGEST_COUNT else MAX_REPETITION + 1 for count in counts
    )
