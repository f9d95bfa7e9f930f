"""Targets that break INV-3 in its values: ids off their pattern, texts that are no task."""

# ruff: noqa: ARG002 - an override keeps its parent's signature
from __future__ import annotations

import re
from typing import Any, ClassVar, Final

from agentbeat_conformance.mutants.base_target import Asked, BaseTarget, Refused
from agentbeat_conformance.mutants.registry import target_mutant
from agentbeat_protocol import RUN_ID_HEADER, Invocation, is_case_id, is_run_id

__all__: list[str] = []

MAX_TEXT_BYTES: Final = 512 * 1024


class _LenientIds(BaseTarget):
    """Takes some strings for ids that are none."""

    member: ClassVar[str] = "run_id"

    def tolerates(self, id: str) -> bool:
        raise NotImplementedError

    def validate(self, value: object) -> Invocation:
        given = value.get(self.member) if isinstance(value, dict) else None
        if not isinstance(value, dict) or not isinstance(given, str) or not self.tolerates(given):
            return super().validate(value)
        good = {"run_id": "run-0", "case_id": "case-0"}[self.member]
        return super().validate({**value, self.member: good}).model_copy(update={self.member: given})


@target_mutant("any-run-id-will-do", breaks={"INV-3.e"}, text="It takes any string for a run_id.")
class AnyRunIdWillDo(_LenientIds):
    def tolerates(self, id: str) -> bool:
        return True


@target_mutant("run-id-in-any-case", breaks={"INV-3.e"}, text="It takes a run_id in upper case.")
class RunIdInAnyCase(_LenientIds):
    def tolerates(self, id: str) -> bool:
        return is_run_id(id.lower())


@target_mutant("run-id-by-its-beginning", breaks={"INV-3.e"}, text="It looks at a run_id's beginning only.")
class RunIdByItsBeginning(_LenientIds):
    def tolerates(self, id: str) -> bool:
        return len(id) <= 160 and re.match(r"run-[a-z0-9]", id) is not None


@target_mutant("long-run-ids", breaks={"INV-3.e"}, text="It takes run_ids of any length.")
class LongRunIds(_LenientIds):
    def tolerates(self, id: str) -> bool:
        return len(id) > 160 and is_run_id(id[:160])


@target_mutant("any-case-id-will-do", breaks={"INV-3.f"}, text="It takes any string for a case_id.")
class AnyCaseIdWillDo(_LenientIds):
    member = "case_id"

    def tolerates(self, id: str) -> bool:
        return True


@target_mutant("long-case-ids", breaks={"INV-3.f"}, text="It takes case_ids of any length.")
class LongCaseIds(_LenientIds):
    member = "case_id"

    def tolerates(self, id: str) -> bool:
        return len(id) > 200 and is_case_id(id[:200])


@target_mutant("case-id-is-optional", breaks={"INV-3.f"}, text="It takes an invocation without case_id.")
class CaseIdIsOptional(BaseTarget):
    def tolerate(self, members: dict[str, Any]) -> dict[str, Any]:
        return {"case_id": "case-none", **members}

    def check_correlation(self, invocation: Invocation, asked: Asked) -> None:
        """It would differ where the case is made up."""
        if asked.value(RUN_ID_HEADER) != invocation.run_id:
            raise Refused("correlation_binding_mismatch", "expected the body's run_id")


class _Mending(BaseTarget):
    """Makes a task of what is none."""

    def mended(self, given: Any) -> Any:
        """What stands for this `input`; `...` for none."""
        raise NotImplementedError

    def tolerate(self, members: dict[str, Any]) -> dict[str, Any]:
        mended = self.mended(members.get("input", ...))
        return members if mended is ... else {**members, "input": mended}


class _MendingText(_Mending):
    """Makes a text of what is none."""

    def text(self, given: Any) -> Any:
        """What stands for this `input.text`; `...` is an absent one, here and there."""
        raise NotImplementedError

    def mended(self, given: Any) -> Any:
        if not isinstance(given, dict):
            return given
        text = self.text(given.get("text", ...))
        return given if text is ... else {**given, "text": text}


@target_mutant("text-as-input", breaks={"INV-3.g"}, text="It takes a string in the place of input.")
class TextAsInput(_Mending):
    def mended(self, given: Any) -> Any:
        return {"text": given} if isinstance(given, str) else given


@target_mutant("input-is-optional", breaks={"INV-3.g"}, text="Without input it greets.")
class InputIsOptional(_Mending):
    def mended(self, given: Any) -> Any:
        return {"text": "Hello"} if given is ... else given


@target_mutant("text-is-optional", breaks={"INV-3.h"}, text="Without input.text it greets.")
class TextIsOptional(_MendingText):
    def text(self, given: Any) -> Any:
        return "Hello" if given is ... else given


@target_mutant("text-of-any-type", breaks={"INV-3.h"}, text="It makes text of whatever input.text is.")
class TextOfAnyType(_MendingText):
    def text(self, given: Any) -> Any:
        return given if given is ... else str(given)


@target_mutant("empty-text-will-do", breaks={"INV-3.i"}, text="It runs its Agent with an empty text.")
class EmptyTextWillDo(_MendingText):
    def text(self, given: Any) -> Any:
        return "(empty)" if given == "" else given


@target_mutant("blank-text-will-do", breaks={"INV-3.i"}, text="It runs its Agent with a text of white space.")
class BlankTextWillDo(_MendingText):
    def text(self, given: Any) -> Any:
        return "(blank)" if isinstance(given, str) and given and not given.strip(" \t\n") else given


@target_mutant("blank-beyond-ascii", breaks={"INV-3.i"}, text="It knows no white space beyond ASCII.")
class BlankBeyondAscii(_MendingText):
    def text(self, given: Any) -> Any:
        blank = isinstance(given, str) and not given.strip() and given.strip(" \t\r\n")
        return "(blank)" if blank else given


@target_mutant("texts-of-any-length", breaks={"INV-3.j"}, text="It takes texts of any length.")
class TextsOfAnyLength(_MendingText):
    def text(self, given: Any) -> Any:
        return given[: MAX_TEXT_BYTES // 4] if isinstance(given, str) else given


@target_mutant("counts-characters", breaks={"INV-3.j"}, text="It counts a text's characters, not its bytes.")
class CountsCharacters(_MendingText):
    def text(self, given: Any) -> Any:
        short = isinstance(given, str) and len(given) <= MAX_TEXT_BYTES
        return given[: MAX_TEXT_BYTES // 4] if short else given
