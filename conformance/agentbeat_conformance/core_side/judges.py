"""A judge behind a chat completion endpoint, whose numbers are bad for the defender.

All of them differ from what the rules and the State Controller of an honest run say, and from 0 and 1. So
each number of a result tells what it was made of: a trace that was believed, a missing one that became a 0,
or the judge alone.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, Final

from agentbeat_conformance.core_side.deliveries import Answer, json_answer, refusal
from agentbeat_conformance.core_side.servers import Arrival, Delivery, Journal, Server
from agentbeat_conformance.core_side.targets import Change, unchanged

__all__ = ["JUDGED", "HostileJudge", "judged"]

#: What the judge says of every run.
JUDGED: Final[Mapping[str, float]] = {
    "score": 0.25,
    "utility_score": 0.25,
    "security_score": 0.25,
    "asr_score": 0.75,
    "overall_score": 0.25,
}


def judged(**members: Any) -> str:
    """The text of the judge's answer with some members replaced; `...` leaves one out."""
    answer = {**JUDGED, "reason": "as the rubric asks", **members}
    return json.dumps({name: value for name, value in answer.items() if value is not ...})


class HostileJudge(Server):
    """`POST /v1/chat/completions`, with an API key."""

    def __init__(self, journal: Journal, *, secret: str) -> None:
        super().__init__("judge", journal)
        self.secret = secret
        self.text = judged()
        self.completion: Callable[[dict[str, Any]], Any] = lambda completion: completion
        self.change: Change = unchanged

    def answer(self, arrival: Arrival) -> Delivery:
        """A completion with `text`, changed as the scenario says."""
        if arrival.value("authorization") != f"Bearer {self.secret}":
            return refusal("unauthorized", 401)
        if (arrival.method, arrival.path) != ("POST", "/v1/chat/completions"):
            return refusal("not_found", 404)
        message = {"role": "assistant", "content": self.text}
        completion = {
            "id": "completion-1",
            "object": "chat.completion",
            "created": 1_772_359_200,
            "model": "conformance-judge",
            "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": 321, "completion_tokens": 45, "total_tokens": 366},
        }
        honest: Answer = json_answer(self.completion(completion))
        return self.change(honest)
