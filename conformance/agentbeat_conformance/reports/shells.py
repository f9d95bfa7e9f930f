"""Bytes and words as a POSIX shell writes them, with a variable in the place of each secret.

>>> word("Authorization: Bearer s3cret", {"s3cret": "AGENT_TOKEN"})
'"Authorization: Bearer $AGENT_TOKEN"'
>>> writer(b"a\\r\\n%" + b"[" * 4096, {})
"{ printf 'a\\\\r\\\\n%%'; yes '[' | head -n 4096 | tr -d '\\\\n'; }"
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping
from typing import Final

__all__ = ["LONGEST_COMMAND", "Variables", "word", "writer"]

#: What must not be printed (or its mark), and the shell variable that holds it: `AGENT_TOKEN`, or with an
#: expansion, `AGENT_TOKEN%?`.
Variables = Mapping[str, str]

#: Where a command stops being one that a person would copy, in characters.
LONGEST_COMMAND: Final = 4000

#: Shorter texts are written out even where they repeat themselves.
_WORTH_FOLDING: Final = 512
#: A unit of 1 to 12 bytes, again and again.
_REPEATS: Final = re.compile(rb"([^\n]{1,12}?)\1{63,}", re.DOTALL)
_PLAIN: Final = re.compile(r"[A-Za-z0-9 :;_./,@=+-]*")
_NAME_FOLLOWS: Final = re.compile(r"[A-Za-z0-9_]")
_ESCAPES: Final[Mapping[int, str]] = {
    0x0A: r"\n",
    0x0D: r"\r",
    0x09: r"\t",
    0x25: "%%",
    0x27: r"\047",
    0x5C: r"\\",
}


def word(text: str, variables: Variables) -> str:
    """`text` as one word of a command line; `text` holds no control characters."""
    parts = _parts(text, variables)
    if not any(is_variable for _, is_variable in parts):
        return shlex.quote(text)
    if all(is_variable or _PLAIN.fullmatch(part) for part, is_variable in parts):
        inner = ""
        for position, (part, is_variable) in enumerate(parts):
            after = parts[position + 1][0] if position + 1 < len(parts) else ""
            inner += _expansion(part, after) if is_variable else part
        return f'"{inner}"'
    return "".join(
        f'"{_expansion(part)}"' if is_variable else shlex.quote(part) for part, is_variable in parts
    )


def writer(raw: bytes, variables: Variables) -> str | None:
    """A command that writes exactly `raw` to its standard output; None when it would be too long to copy."""
    steps = list(_steps(raw, variables))
    command = steps[0] if len(steps) == 1 else f"{{ {'; '.join(steps)}; }}"
    return command if len(command) <= LONGEST_COMMAND else None


def _steps(raw: bytes, variables: Variables) -> Iterator[str]:
    done = 0
    if len(raw) >= _WORTH_FOLDING:
        for found in _REPEATS.finditer(raw):
            if found.start() > done:
                yield _printf(raw[done : found.start()], variables)
            unit = found[1]
            times = len(found[0]) // len(unit)
            if unit.isascii() and unit.decode("ascii").isprintable() and not unit.startswith(b"-"):
                yield f"yes {shlex.quote(unit.decode('ascii'))} | head -n {times} | tr -d '\\n'"
            else:
                yield f"for _ in $(seq {times}); do {_printf(unit, {})}; done"
            done = found.end()
    if done < len(raw) or not raw:
        yield _printf(raw[done:], variables)


def _printf(raw: bytes, variables: Variables) -> str:
    shape, arguments = "", ""
    for part, is_variable in _parts(raw.decode("latin-1"), variables):
        if is_variable:
            shape += "%s"
            arguments += f' "{_expansion(part)}"'
        else:
            shape += "".join(_escaped(ord(character)) for character in part)
    # A leading hyphen would be an option.
    shape = shape.replace("-", r"\055", 1) if shape.startswith("-") else shape
    return f"printf '{shape}'{arguments}"


def _expansion(variable: str, after: str = "") -> str:
    """The variable's value, in double quotes, where `after` follows."""
    return (
        f"${variable}" if variable.isidentifier() and not _NAME_FOLLOWS.match(after) else f"${{{variable}}}"
    )


def _escaped(byte: int) -> str:
    if byte in _ESCAPES:
        return _ESCAPES[byte]
    # Three digits always, so that a digit that follows is not read with them.
    return chr(byte) if 0x20 <= byte < 0x7F else f"\\{byte:03o}"


def _parts(text: str, variables: Variables) -> list[tuple[str, bool]]:
    """`text` in pieces: as it stands, or the name of a variable with True."""
    secrets = [secret for secret in sorted(variables, key=len, reverse=True) if secret]
    if not secrets:
        return [(text, False)]
    pieces = re.split("(" + "|".join(re.escape(secret) for secret in secrets) + ")", text)
    return [(variables.get(piece, piece), piece in variables) for piece in pieces if piece]
