"""The two kinds of wire object, and how a shape that does not fit becomes a `ProtocolError`.

`Strict` objects are ours: a member that the specs do not name is refused. `Public` objects belong to a
shape that others extend: unknown members are kept, so that they survive a round trip, and ignored.

Values come from `read_json`, so pydantic runs in strict mode: `"0"` is no integer and `0` is no boolean.
The one leniency is JSON's own, an integer may be written `1.0` or `1e0`.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from decimal import Decimal
from typing import Annotated, Any, Final, TypeVar

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    PlainSerializer,
    PlainValidator,
    StringConstraints,
    ValidationError,
    WithJsonSchema,
)
from pydantic import Strict as Strictness
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, ErrorDetails, PydanticCustomError, core_schema

from agentbeat_protocol.errors import ProtocolError, SchemaError, cut, json_pointer
from agentbeat_protocol.instants import Instant

__all__ = [
    "Array",
    "At",
    "Count",
    "Digest",
    "ExactDecimal",
    "Integer",
    "Integral",
    "JSONObject",
    "Name",
    "NotNull",
    "Public",
    "Ratio",
    "Strict",
    "describe",
    "rule_error",
    "validated",
]

#: Any JSON object; its values were made by `read_json` and need no second look.
JSONObject = dict[str, Any]

#: The largest integer that every JSON reader keeps (RFC 7493, section 2.2).
MAX_SAFE_INTEGER: Final = 2**53 - 1

Item = TypeVar("Item")
ModelT = TypeVar("ModelT", bound=BaseModel)


class Strict(BaseModel):
    """A wire object of the specs: frozen, and no member beyond those named."""

    # A NaN stays one, for the writer to refuse; pydantic would make it null.
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, ser_json_inf_nan="constants")


class Public(BaseModel):
    """A wire object that others extend: frozen, unknown members kept and ignored."""

    model_config = ConfigDict(frozen=True, extra="allow", strict=True)


def rule_error(rule: str, expected: str) -> PydanticCustomError:
    """An error for a validator to raise: the rule's code, and what it asks for."""
    return PydanticCustomError(rule, "{expected}", {"expected": expected})


def _integral(value: Any) -> Any:
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _instant(value: Any) -> Instant:
    if isinstance(value, Instant):
        return value
    if not isinstance(value, str):
        raise rule_error("S-TYPE", "an RFC 3339 time as a string")
    try:
        return Instant.parse(value)
    except ProtocolError as error:
        raise rule_error(error.rule, error.expected) from None


def _decimal(value: Any) -> Decimal:
    if isinstance(value, Decimal):
        return value
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise rule_error("S-TYPE", "a number")
    return Decimal(repr(value))


#: Lets an integer be written `1.0` or `1e0` (JSON Schema, "integer"); stands after the bounds, so runs first.
Integral: Final = BeforeValidator(_integral)
Integer = Annotated[int, Integral]
#: A number of things, or of nanoseconds.
Count = Annotated[int, Field(ge=0), Integral]
#: A JSON array, held as a tuple so that a frozen object stays so.
Array = Annotated[tuple[Item, ...], Strictness(False)]
#: An RFC 3339 instant with an offset, exact to its last digit; written back as it was read (EVD-4).
At = Annotated[
    Instant,
    PlainValidator(_instant),
    PlainSerializer(lambda instant: instant.text, return_type=str),
    WithJsonSchema({"type": "string", "format": "date-time"}),
]
#: A decimal as it was written: a JSON number's shortest text, not its binary value.
ExactDecimal = Annotated[
    Decimal,
    PlainValidator(_decimal),
    PlainSerializer(float, return_type=float, when_used="json"),
    WithJsonSchema({"type": "number"}),
]
#: `sha256:` and 64 lower-case hex digits.
Digest = Annotated[str, StringConstraints(pattern=r"^sha256:[0-9a-f]{64}$")]
#: A short non-empty label.
Name = Annotated[str, StringConstraints(min_length=1, max_length=256)]


class _NotNull:
    """Marks an optional member that may be absent, but is never null (S-TYPE)."""

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_before_validator_function(self._refuse, handler(source))

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        shape = handler(schema)
        choices = [choice for choice in shape.get("anyOf", ()) if choice != {"type": "null"}]
        return choices[0] if len(choices) == 1 else shape

    @staticmethod
    def _refuse(value: Any) -> Any:
        if value is None:
            raise rule_error("S-TYPE", "a value, or no such member")
        return value


NotNull: Final = _NotNull()


class Ratio(Strict):
    """An exact share: two integers, unreduced, and the nearest double for people and plots."""

    numerator: Integer
    denominator: Integer
    value: float

    @classmethod
    def of(cls, numerator: int, denominator: int) -> Ratio:
        """The share `numerator` of `denominator`, which is positive."""
        return cls(numerator=numerator, denominator=denominator, value=numerator / denominator)


def validated(model: type[ModelT], value: Any, *, rule: str | None = None, code: str | None = None) -> ModelT:
    """`value`, as read by `read_json`, as a `model`.

    Args:
        rule: the requirement that asks for this shape; without it the error carries its own S-* code.
        code: the wire's error code, when it is not `invalid_request_schema`.

    Raises:
        SchemaError: with the first thing that does not fit.
    """
    try:
        return model.model_validate(value)
    except ValidationError as error:
        raise _schema_error(error.errors(include_url=False)[0], value, rule, code) from None


def describe(value: Any) -> str:
    """What kind of JSON value this is, and how long, without the value itself."""
    match value:
        case None:
            return "null"
        case bool():
            return "a boolean"
        case str():
            return f"a string of {len(value)} characters"
        case int() | float():
            return f"the number {cut(str(value), 24)}" if abs(value) < 1e16 else "a large number"
        case Mapping():
            return f"an object of {len(value)} members"
        case Sequence():
            return f"an array of {len(value)} items"
    return f"a {type(value).__name__}"


_RULES: Final[Mapping[str, str]] = {
    "missing": "S-REQUIRED",
    "extra_forbidden": "S-ADDPROP",
    "literal_error": "S-ENUM",
    "union_tag_invalid": "S-ENUM",
    "union_tag_not_found": "S-REQUIRED",
    "string_too_short": "S-LEN",
    "string_too_long": "S-LEN",
    "too_short": "S-COUNT",
    "too_long": "S-COUNT",
    "string_pattern_mismatch": "S-PATTERN",
    "greater_than": "S-RANGE",
    "greater_than_equal": "S-RANGE",
    "less_than": "S-RANGE",
    "less_than_equal": "S-RANGE",
}

_EXPECTED: Final[Mapping[str, str]] = {
    "missing": "this member",
    "extra_forbidden": "no such member",
    "literal_error": "{expected}",
    "union_tag_invalid": "one of {expected_tags}",
    "union_tag_not_found": "a member {discriminator}",
    "string_too_short": "at least {min_length} characters",
    "string_too_long": "at most {max_length} characters",
    "too_short": "at least {min_length} items",
    "too_long": "at most {max_length} items",
    "string_pattern_mismatch": "a match of {pattern}",
    "greater_than": "more than {gt}",
    "greater_than_equal": "at least {ge}",
    "less_than": "less than {lt}",
    "less_than_equal": "at most {le}",
    "string_type": "a string",
    "int_type": "an integer",
    "int_from_float": "an integer",
    "float_type": "a number",
    "bool_type": "true or false",
    "dict_type": "an object",
    "model_type": "an object",
    "model_attributes_type": "an object",
    "tuple_type": "an array",
}


def _schema_error(error: ErrorDetails, document: Any, rule: str | None, code: str | None) -> SchemaError:
    kind, found = error["type"], error["input"]
    context = error.get("ctx", {})
    if kind in ("missing", "union_tag_not_found"):
        got = "nothing"
    elif kind in ("literal_error", "union_tag_invalid"):
        found = found.get("type") if kind == "union_tag_invalid" and isinstance(found, Mapping) else found
        got = repr(cut(found, 32)) if isinstance(found, str) else describe(found)
    else:
        got = describe(found)
    expected = context["expected"] if "-" in kind else _EXPECTED.get(kind, error["msg"])
    return SchemaError(
        rule or (kind if "-" in kind else _RULES.get(kind, "S-TYPE")),
        code=code,
        path=_pointer(error["loc"], document),
        got=got,
        expected=expected.format_map(context) if "{" in expected and "-" not in kind else expected,
    )


def _places(value: Any) -> Container[object]:
    """The indexes of an array, or the member names of an object."""
    if isinstance(value, Mapping):
        return value
    return range(len(value)) if isinstance(value, list | tuple) else ()


def _pointer(location: Sequence[int | str], document: Any) -> str:
    """The pointer of a pydantic location, without the union tags that pydantic puts between."""
    parts: list[int | str] = []
    current = document
    for position, part in enumerate(location):
        if part in _places(current):
            current = current[part]
        elif position < len(location) - 1:
            continue
        parts.append(part)
    return json_pointer(parts)
