"""What the small Core asks a judge, and how it scores."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import Any, Final

from agentbeat_conformance.core_side.cores.http import UnansweredError
from agentbeat_conformance.core_side.cores.preflight import Run
from agentbeat_conformance.core_side.cores.scoring import Part, Trace, native_part, rule_passes, rules_part
from agentbeat_conformance.core_side.cores.state_side import State
from agentbeat_conformance.core_side.cores.wires import Wires
from agentbeat_protocol import ProtocolError, read_json
from agentbeat_protocol.evaluation import Rule

__all__ = ["Judging"]

Object = dict[str, Any]

_SCORES: Final = ("score", "utility_score", "security_score", "asr_score", "overall_score")


class Judging(Wires):
    """The judge's numbers, the rules, and what may be called final and official."""

    async def judged(self, run: Run, answer: str, trace: Trace | None) -> dict[str, Fraction] | None:
        """The judge's numbers; None when there are none."""
        if run.judge is None:
            return None
        content = self.shown(run, answer, trace)
        question = {"model": run.judge_model, "messages": [{"role": "user", "content": content}]}
        try:
            got = await self.asked(
                "POST",
                run.judge.base + "/chat/completions",
                run.judge.authorization,
                json.dumps(question).encode(),
                seconds=run.seconds["judge"],
                max_bytes=2**20,
            )
        except UnansweredError:
            return None
        if got.status != 200:
            return None
        try:
            completion: Any = read_json(got.body)
            return self.scores(completion["choices"][0]["message"]["content"])
        except (ProtocolError, LookupError, TypeError):
            return None

    def shown(self, run: Run, answer: str, trace: Trace | None) -> str:
        """What the judge is shown."""
        del run
        return json.dumps({"answer": answer, "events": trace.events if trace else None})

    def scores(self, text: Any) -> dict[str, Fraction] | None:
        """The five numbers in the text of a judge."""
        answer = read_json(text.encode()) if isinstance(text, str) else None
        numbers = [answer.get(name) for name in _SCORES] if isinstance(answer, dict) else [None]
        for number in numbers:
            if isinstance(number, bool) or not isinstance(number, int | float) or not 0 <= number <= 1:
                return None
        return dict(zip(_SCORES, (Fraction(repr(n)) for n in numbers), strict=True))

    def deterministic(self, run: Run, answer: str, trace: Trace | None, state: State | None) -> Part:
        """The deterministic component."""
        if run.tier == "L3":
            return native_part(run.weights[0], state[0] if state else None)
        outcomes = [(rule, self.rule(rule, answer, trace)) for rule in run.rules]
        return rules_part(run.weights[0], outcomes)

    def rule(self, rule: Rule, answer: str, trace: Trace | None) -> bool | None:
        """Whether a rule passes; None when it was not observed."""
        return rule_passes(rule, answer, trace)

    def final(self, parts: tuple[Part, Part], provisional: Fraction | None) -> Fraction | None:
        """The final score: only when both parts are complete."""
        return provisional if all(part.complete for part in parts) else None

    def is_official(self, *, complete: bool, signed: bool) -> bool:
        """Whether a result may be called official."""
        return complete and signed

    def told(self, result: Object) -> Object:
        """The result as it is published."""
        return result
