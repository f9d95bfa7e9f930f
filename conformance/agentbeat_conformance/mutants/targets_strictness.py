"""Targets that do not what INV-6 and INV-8 ask, which are SHOULD: no MUST check may fail on one of them."""

# ruff: noqa: ARG002 - an override keeps its parent's signature
from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, ClassVar

from agentbeat_conformance.mutants.base_target import Asked, BaseTarget, Refused
from agentbeat_conformance.mutants.registry import target_mutant
from agentbeat_protocol import CASE_ID_HEADER, RUN_ID_HEADER, Invocation, JSONError

__all__: list[str] = []


class _Correlating(BaseTarget):
    """Compares the correlation headers in its own way; without overrides it is right."""

    def check_correlation(self, invocation: Invocation, asked: Asked) -> None:
        run = self.is_right(asked.values(RUN_ID_HEADER), invocation.run_id)
        case = self.is_right_case(asked.values(CASE_ID_HEADER), invocation.case_id)
        if not (run and case):
            raise Refused("correlation_binding_mismatch", "expected the headers equal to the body's ids")

    def is_right(self, values: Sequence[str], id: str) -> bool:
        return list(values) == [id]

    def is_right_case(self, values: Sequence[str], id: str) -> bool:
        return list(values) == [id]


@target_mutant(
    "ignores-correlation",
    breaks={"INV-6.a", "INV-6.b"},
    text="It does not look at the correlation headers.",
)
class IgnoresCorrelation(BaseTarget):
    def check_correlation(self, invocation: Invocation, asked: Asked) -> None:
        """Nothing."""


@target_mutant("run-header-is-optional", breaks={"INV-6.a"}, text="It takes requests without the run header.")
class RunHeaderIsOptional(_Correlating):
    def is_right(self, values: Sequence[str], id: str) -> bool:
        return not values or super().is_right(values, id)


@target_mutant(
    "run-header-by-its-beginning", breaks={"INV-6.a"}, text="It looks at the run header's beginning only."
)
class RunHeaderByItsBeginning(_Correlating):
    def is_right(self, values: Sequence[str], id: str) -> bool:
        return len(values) == 1 and values[0].startswith(id)


@target_mutant("ignores-case-header", breaks={"INV-6.b"}, text="It does not look at the case header.")
class IgnoresCaseHeader(_Correlating):
    def is_right_case(self, values: Sequence[str], id: str) -> bool:
        return True


@target_mutant("first-header-counts", breaks={"INV-6.a"}, text="Of several run headers the first counts.")
class FirstHeaderCounts(_Correlating):
    def is_right(self, values: Sequence[str], id: str) -> bool:
        return list(values[:1]) == [id]


@target_mutant("last-header-counts", breaks={"INV-6.a"}, text="Of several run headers the last counts.")
class LastHeaderCounts(_Correlating):
    def is_right(self, values: Sequence[str], id: str) -> bool:
        return list(values[-1:]) == [id]


class _Forgiving(BaseTarget):
    """Reads with a lenient reader what the strict one refuses for one of these rules."""

    forgives: ClassVar[frozenset[str]] = frozenset()

    def decode(self, raw: bytes) -> Any:
        try:
            return super().decode(raw)
        except JSONError as error:
            if error.rule not in self.forgives:
                raise
            try:
                return self.leniently(raw)
            except ValueError:
                pass
            raise

    def leniently(self, raw: bytes) -> Any:
        return json.loads(raw.decode())


@target_mutant(
    "last-duplicate-counts", breaks={"INV-8.a"}, text="Of several members of a name the last counts."
)
class LastDuplicateCounts(_Forgiving):
    forgives = frozenset({"J-DUPKEY"})


@target_mutant("takes-nan", breaks={"INV-8.b"}, text="It takes NaN and Infinity for numbers.")
class TakesNaN(_Forgiving):
    forgives = frozenset({"J-NONFINITE", "J-SYNTAX"})

    def leniently(self, raw: bytes) -> Any:
        if b"NaN" not in raw and b"Infinity" not in raw:
            raise ValueError("another number")
        return super().leniently(raw)


@target_mutant("takes-a-byte-order-mark", breaks={"INV-8.c"}, text="It drops a byte-order mark.")
class TakesAByteOrderMark(_Forgiving):
    forgives = frozenset({"J-BOM"})

    def leniently(self, raw: bytes) -> Any:
        return json.loads(raw.decode("utf-8-sig"))


@target_mutant("guesses-the-encoding", breaks={"INV-8.c"}, text="It reads JSON in UTF-16 and UTF-32 as well.")
class GuessesTheEncoding(_Forgiving):
    forgives = frozenset({"J-UTF8", "J-SYNTAX"})

    def leniently(self, raw: bytes) -> Any:
        if b"\0" not in raw[:4]:
            raise ValueError("no such encoding")
        return json.loads(raw)


@target_mutant(
    "mends-invalid-utf-8", breaks={"INV-8.d"}, text="It puts U+FFFD in the place of invalid UTF-8."
)
class MendsInvalidUTF8(_Forgiving):
    forgives = frozenset({"J-UTF8"})

    def leniently(self, raw: bytes) -> Any:
        return json.loads(raw.decode("utf-8", "replace"))


@target_mutant("takes-lone-surrogates", breaks={"INV-8.e"}, text="It takes lone surrogates as they come.")
class TakesLoneSurrogates(_Forgiving):
    forgives = frozenset({"J-SURROGATE"})


@target_mutant(
    "takes-infinite-numbers", breaks={"INV-8.f"}, text="It takes a number beyond a double for infinite."
)
class TakesInfiniteNumbers(_Forgiving):
    forgives = frozenset({"J-NONFINITE"})

    def leniently(self, raw: bytes) -> Any:
        if b"NaN" in raw or b"Infinity" in raw:
            raise ValueError("no number")
        return super().leniently(raw)
