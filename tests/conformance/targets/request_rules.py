"""What a Target refuses of an invocation, with the standard library alone: INV-3, INV-5 and INV-8."""

import json
import math
import re
import unicodedata

MAX_TEXT = 512 * 1024
WORDS = re.compile(
    r"(?<![a-z])(?:model|endpoint|key|token|secret|workspace|cwd|sandbox|tools?|mcp|runtime|executor|profile"
    r"|fixture|state|verifier|oracle|control|sidecar)(?![a-z])"
)
PAIRS = ("modelid", "baseurl", "apikey")
#: Cyrillic and Greek letters, and the ASCII letters that they look like.
LOOK_ALIKES = str.maketrans(
    "авсԁеԍһіјӏкмոорԛѕтуѵѡхᴢαεικνορτυχАВСЕНІЈКМОРЅТУХΑΒΕΖΗΙΚΜΝΟΡΤΥΧ",
    "abcdeghijlkmnopqstuvwxzaeikvoptuxABCEHIJKMOPSTYXABEZHIKMNOPTYX",
)


class Refused(Exception):  # noqa: N818
    """An answer other than 200: status, code, a message without values of the request, header fields."""

    def __init__(self, status, code, message, **fields):
        self.status, self.code, self.message, self.fields = status, code, message, fields


def read_json(raw):
    """INV-8: JSON that no two readers understand differently."""

    def members(pairs):
        if len(dict(pairs)) < len(pairs):
            raise ValueError("a member named twice")
        return dict(pairs)

    def number(kind):
        def read(digits):
            if not math.isfinite(float(digits)):
                raise ValueError("beyond a double")
            return kind(digits)

        return read

    try:
        value = json.loads(
            raw.decode(),
            object_pairs_hook=members,
            parse_int=number(int),
            parse_float=number(float),
            parse_constant=number(float),
        )
        json.dumps(value, ensure_ascii=False).encode()  # a lone surrogate has no UTF-8
    except (ValueError, RecursionError):
        raise Refused(400, "invalid_json", "expected one JSON value in UTF-8") from None
    return value


def check_members(value, required, optional, code):
    """INV-3: an object with these members and no other."""
    if not isinstance(value, dict) or not required <= value.keys() <= required | optional:
        raise Refused(400, code, f"expected an object with {', '.join(sorted(required))}")


def check_invocation(value):
    """INV-3 and INV-5: the shape of an invocation."""
    check_members(
        value, {"schema_version", "run_id", "case_id", "input"}, {"metadata"}, "invalid_request_schema"
    )
    if value["schema_version"] != "target-invocation-v1":
        raise Refused(400, "target_invocation_schema_invalid", "expected target-invocation-v1")
    for name, longest in (("run", 160), ("case", 200)):
        given = value[f"{name}_id"]
        if not isinstance(given, str) or len(given) > longest or not is_id(name, given):
            raise Refused(400, f"invalid_{name}_id", f"expected {name}-[a-z0-9][a-z0-9-]*")
    check_members(value["input"], {"text"}, set(), "invalid_input")
    text = value["input"]["text"]
    if not isinstance(text, str) or not text.strip() or len(text.encode()) > MAX_TEXT:
        raise Refused(400, "invalid_input", f"expected text that is not blank, at most {MAX_TEXT} bytes")
    if not isinstance(value.get("metadata", {}), dict):
        raise Refused(400, "invalid_metadata", "expected an object")
    check_metadata(value.get("metadata", {}), 1)


def is_id(name, given):
    return re.fullmatch(name + "-[a-z0-9][a-z0-9-]*", given) is not None


def check_metadata(value, level):
    """INV-5: nothing that would configure the runtime, at any depth."""
    if level > 8:
        raise Refused(400, "invalid_metadata", "expected at most 8 levels")
    for name, member in value.items() if isinstance(value, dict) else enumerate(value):
        if isinstance(name, str) and is_override(name):
            raise Refused(400, "runtime_override_forbidden", "expected no setting of the runtime")
        if isinstance(member, dict | list):
            check_metadata(member, level + 1)


def is_override(name):
    seen = unicodedata.normalize("NFKC", name).translate(LOOK_ALIKES)
    seen = "".join(c for c in seen if unicodedata.category(c) not in ("Cf", "Mn"))
    split = re.sub(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|(?<=[a-zA-Z])(?=[0-9])", "_", seen)
    joined = re.sub(r"[\W_]+", "", seen).lower()
    return bool(WORDS.search(f"{seen} {split}".lower())) or any(pair in joined for pair in PAIRS)
