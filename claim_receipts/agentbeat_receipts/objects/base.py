"""What every object of the room shares: exact members, a canonical body, a type that is signed with it.

A body is frozen and strict: a member that is not declared is refused, and every declared one is there, so one
object has one canonical body. Three things are put right while reading, because they change no meaning: text
declared as NFC is brought to normal form C, a declared set is sorted by canonical bytes, and an integer may
have been spelled `1.0`. Everything else is as written.
"""

from __future__ import annotations

import base64
import binascii
from types import MappingProxyType
from typing import Annotated, Any, ClassVar, Final, TypeVar

from pydantic import AfterValidator, BaseModel, BeforeValidator, Field, StringConstraints, ValidationInfo
from pydantic import Strict as Strictness

from agentbeat_protocol import CanonicalError
from agentbeat_protocol.models import Digest, Strict, rule_error
from agentbeat_receipts.base64_texts import is_base64
from agentbeat_receipts.canonical import MAX_INTEGER, canonical_bytes, canonical_set, nfc, object_digest, pae

__all__ = [
    "NORMAL_FORM",
    "Base64",
    "Body",
    "Commitment",
    "Counted",
    "Digest",
    "ExactInteger",
    "ExactJSON",
    "Id",
    "Null",
    "Pair",
    "Positive",
    "SafeInteger",
    "SetOf",
    "SomeOf",
    "Text",
    "Value",
    "type_name",
]

ItemT = TypeVar("ItemT")

#: The context of validating a value whose texts are known to be in normal form C.
NORMAL_FORM: Final = MappingProxyType({"texts": "NFC"})


def type_name(kind: str) -> str:
    """The type under which objects of a kind are signed and digested."""
    return f"application/vnd.agentbeat.claims.{kind}.v1+json"


class Body(Strict):
    """The part of an object that is signed and digested."""

    #: The object's type, the other half of what is signed.
    TYPE: ClassVar[str]

    def canonical(self) -> bytes:
        """The canonical JSON of this body.

        Raises:
            CanonicalError: a member that was given in Python has no exact form, such as a float.
        """
        return canonical_bytes(self.model_dump(mode="json"))

    def signed_bytes(self) -> bytes:
        """What is signed: the PAE of type and canonical body."""
        return pae(self.TYPE, self.canonical())

    def digest(self) -> str:
        """The object's digest, its signature excluded."""
        return object_digest(self.TYPE, self.canonical())


def _normal_form(value: Any, info: ValidationInfo) -> Any:
    if info.context is NORMAL_FORM:
        return value
    try:
        return nfc(value)
    except CanonicalError as error:
        raise rule_error(error.rule, error.expected) from None


def _element(item: object) -> object:
    return item.model_dump(mode="json") if isinstance(item, BaseModel) else item


def _in_set_order(items: tuple[Any, ...]) -> tuple[Any, ...]:
    try:
        return tuple(canonical_set(items, key=_element))
    except CanonicalError as error:
        raise rule_error(error.rule, error.expected) from None


def _one_base64(text: str) -> str:
    if is_base64(text):
        return text
    # Not so: now for the reason.
    try:
        raw = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise rule_error("S-PATTERN", "standard base64 with padding") from None
    if base64.b64encode(raw).decode() != text:
        raise rule_error("S-PATTERN", "base64 in its one spelling")
    return text


def _beyond_safe(text: str) -> str:
    # Compared by length first: `int` refuses to read very long texts.
    if len(text.lstrip("-")) < len(str(MAX_INTEGER)) or -MAX_INTEGER <= int(text) <= MAX_INTEGER:
        raise rule_error("N-RANGE", "a number, for an integer within ±(2^53-1)")
    return text


#: A name that can stand in a path: of a profile, an arm, an assignment, a value.
Id = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9._-]{0,127}$")]
#: Text for people, in normal form C.
Text = Annotated[str, StringConstraints(min_length=1, max_length=1024), BeforeValidator(_normal_form)]
#: `hmac-sha256:` and 64 lower-case hex digits.
Commitment = Annotated[str, StringConstraints(pattern=r"^hmac-sha256:[0-9a-f]{64}$")]
#: Bytes in standard base64, in its one spelling; never normalised.
Base64 = Annotated[str, AfterValidator(_one_base64)]
#: Any exact JSON value, its texts and member names in normal form C.
ExactJSON = Annotated[Any, BeforeValidator(_normal_form)]
#: A declared set: read in any order, kept in the order of canonical bytes, no element twice.
SetOf = Annotated[tuple[ItemT, ...], Strictness(False), AfterValidator(_in_set_order)]
#: One with an element at least. Said after the validator, the length would be a text's in the schema.
SomeOf = Annotated[tuple[ItemT, ...], Field(min_length=1), Strictness(False), AfterValidator(_in_set_order)]

SafeInteger = Annotated[int, Field(ge=-MAX_INTEGER, le=MAX_INTEGER)]
Counted = Annotated[int, Field(ge=0, le=MAX_INTEGER)]
Positive = Annotated[int, Field(ge=1, le=MAX_INTEGER)]
_LargeInteger = Annotated[
    str, StringConstraints(pattern=r"^-?[1-9][0-9]*$", max_length=128), AfterValidator(_beyond_safe)
]
#: An integer: a JSON number within ±(2^53-1), beyond it a decimal string.
ExactInteger = SafeInteger | _LargeInteger
#: A score, as a decimal string that is kept as written.
_DecimalText = Annotated[
    str, StringConstraints(pattern=r"^(0|-?[1-9][0-9]*|-?(0|[1-9][0-9]*)\.[0-9]+)$", max_length=128)
]


class Pair(Strict):
    """Two integers that only mean something together, such as the ratio W of W*."""

    pair: tuple[ExactInteger, ExactInteger] = Field(strict=False)


class Null(Strict):
    """No value, and why."""

    null: Id


#: A claimed value: an integer, a decimal string, an exact pair, or a typed null.
Value = SafeInteger | _DecimalText | Pair | Null
