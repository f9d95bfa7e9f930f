"""What the small Core publishes: an `eval-run-response-v1` with the members that spec 3 names."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final

from agentbeat_conformance.core_side.cores.preflight import Run
from agentbeat_conformance.core_side.cores.scoring import DIMENSIONS, Part, Trace, mean, verdict
from agentbeat_protocol.evaluation import TIER_CHANNELS, EvalRunRequest

if TYPE_CHECKING:
    from agentbeat_conformance.core_side.cores.small import SmallCore
    from agentbeat_conformance.core_side.cores.state_side import State

__all__ = ["answered", "completed"]

Object = dict[str, Any]

_KINDS: Final = {
    "message_event": ("message", "message.delta", "run.error", "lifecycle"),
    "tool_call": ("tool.call",),
    "tool_result": ("tool.result", "command.result"),
}
_BAD: Final = frozenset({"fail", "attack_succeeded"})


def answered(request: EvalRunRequest, status: str, *, code: str) -> Object:
    """A result without an evaluation."""
    return {
        "schema_version": "eval-run-response-v1",
        "eval_run": {"run_id": request.run_id, "status": status},
        "target_invocations": 0,
        "judge_model_calls": 0,
        "evaluation": None,
        "failure": {"code": code},
    }


def completed(
    core: SmallCore,
    run: Run,
    answer: str,
    traced: tuple[Trace | None, str | None],
    state: State | None,
    scores: dict[str, Fraction] | None,
) -> Object:
    """The result of a run whose Agent answered."""
    trace = traced[0]
    observations = _observations(run, traced, state)
    missing = [each["channel"] for each in observations if each["state"] in ("missing", "truncated")]
    parts = (core.deterministic(run, answer, trace, state), _judge_part(run, scores, whole=not missing))
    provisional = mean([(part.weight, part.score) for part in parts])
    final = core.final(parts, provisional)
    official = core.is_official(
        complete=run.tier == "L3" and not missing and final is not None, signed=bool(state and state[2])
    )
    return core.told(
        {
            "schema_version": "eval-run-response-v1",
            "eval_run": {"run_id": run.run_id, "status": "completed"},
            "target_invocations": 1,
            "judge_model_calls": int(run.judge is not None),
            "evaluation": {
                "negotiation": {"requested_tier": run.tier, "observed_tier": _tier(run, missing)},
                "evidence": {
                    "channels": list(TIER_CHANNELS[run.tier]),
                    "missing_channels": missing,
                    "status": "partial" if missing else "complete",
                    "observations": observations,
                },
                "score": {
                    "provisional_score": _number(provisional),
                    "final_score": _number(final),
                    "available_weight": float(sum(p.weight for p in parts if p.score is not None)),
                    "evidence_coverage": float(sum(p.weight for p in parts if p.complete)),
                },
                "metrics": _metrics(parts, official),
            },
        }
    )


def _observations(run: Run, traced: tuple[Trace | None, str | None], state: State | None) -> list[Object]:
    trace, reason = traced
    observations = [_channel("final_response", "observed")]
    if run.tier == "L1":
        return observations
    for channel, kinds in _KINDS.items():
        if trace is None:
            observations.append(_channel(channel, "missing", reason))
        elif trace.dropped & set(kinds):
            observations.append(_channel(channel, "truncated", "events were dropped"))
        else:
            seen = any(event["type"] in kinds for event in trace.events)
            observations.append(_channel(channel, "observed" if seen else "observed_empty"))
    if run.tier == "L3":
        accepted, refused = (state[0], state[1]) if state else (None, "no State Controller")
        for channel in ("state_before_after", "native_score"):
            observations.append(_channel(channel, "observed" if accepted else "missing", refused))
    return observations


def _channel(channel: str, state: str, reason: str | None = None) -> Object:
    return {"channel": channel, "state": state, "reason": reason}


def _judge_part(run: Run, scores: dict[str, Fraction] | None, *, whole: bool) -> Part:
    if scores is None:
        return Part(weight=run.weights[1], words=dict.fromkeys(DIMENSIONS))
    words: dict[str, Fraction | None] = {name: scores[f"{name}_score"] for name in DIMENSIONS}
    return Part(weight=run.weights[1], score=scores["score"], complete=whole, words=words)


def _metrics(parts: tuple[Part, Part], official: bool) -> Object:
    metrics: Object = {}
    for name in DIMENSIONS:
        score = mean([(part.weight, part.words[name]) for part in parts])
        metrics[name] = {"verdict": verdict(name, score), "score": _number(score), "official": official}
    words = {metric["verdict"] for metric in metrics.values()}
    overall = "fail" if words & _BAD else "not_observed" if "not_observed" in words else "pass"
    metrics["overall"] = {"verdict": overall, "score": None, "official": official}
    return {**metrics, "official_benchmark": official}


def _tier(run: Run, missing: list[str]) -> str | None:
    tiers = [tier for tier, channels in TIER_CHANNELS.items() if not set(channels) & set(missing)]
    return max((tier for tier in tiers if tier <= run.tier), default=None)


def _number(value: Fraction | None) -> float | None:
    return None if value is None else float(value)
