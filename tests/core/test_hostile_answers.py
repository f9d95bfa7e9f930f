"""Answers with something odd anywhere in them: no run ends in a fault of Core, no lease is left behind.

Each answer of Target, State Controller and judge is changed at random places, by a seed, and the whole run
goes over HTTP. What a changed answer means is other tests' matter; here it is only never `harness_error`, and
an answer that was changed after it was signed is never official.
"""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from agentbeat_core.core import Core
from agentbeat_core.judge.client import judge_from_environment
from support.evaluations import ENVIRON, eval_request, registry
from support.fakes import FakeController, FakeJudge, FakeTarget, scores
from support.loopback import Answer, Handled, Seen

ODD: list[Any] = [
    *(None, True, 0, -1, 2**53, 10**300, 0.5, 1e308, "", " ", "a" * 40_000, [], {}, [1], {"a": 1}),
    *("sha256:" + "0" * 64, "0000-01-01T00:00:00+23:59", "9999-12-31T23:59:60-23:59", "\0", "not_observed"),
    *("../x", "run-core-001", "lease-2", float("nan"), [[[[[[]]]]]]),
]
SIGNED = {"verify", "receipt"}


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The path of every place inside `value`."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, member in items:
        yield (*path, name)
        yield from places(member, (*path, name))


def changed(value: Any, chance: random.Random) -> Any:
    """A copy with one odd thing in it."""
    before, value = json.dumps(value), copy.deepcopy(value)
    *parents, last = chance.choice(list(places(value)))
    holder = value
    for name in parents:
        holder = holder[name]
    match chance.choice(["replace", "replace", "replace", "remove", "add"]):
        case "remove":
            del holder[last]
        case "add" if isinstance(holder, dict):
            holder["unheard_of"] = chance.choice(ODD)
        case "add":
            holder.append(holder[last])
        case _:
            holder[last] = chance.choice(ODD)
    return value if json.dumps(value) != before else changed(value, chance)


def change_step(controller: FakeController, step: str, change: Callable[[Any], Any]) -> None:
    """Change the Controller's answers to one step."""

    async def answer(seen: Seen) -> Handled:
        handled = await controller._answer(seen)
        if isinstance(handled, Answer) and handled.status == 200 and seen.path.endswith(f"/{step}"):
            return Answer(200, json.dumps(change(json.loads(handled.body))).encode())
        return handled

    controller.handler = answer


def hostile(
    kind: str, change: Callable[[Any], Any], target: FakeTarget, controller: FakeController, judge: FakeJudge
) -> None:
    """Have one kind of answer changed."""
    match kind:
        case "response":
            target.reply = change
        case "evidence":
            target.document = change
        case "completion":
            judge.completion = change
        case "judgement":
            judge.text = json.dumps(change(json.loads(scores())))
        case "receipt":
            controller.tamper = lambda answer: answer.update(receipt=change(answer["receipt"]))
        case _:
            change_step(controller, kind, change)


@pytest.mark.parametrize(
    "kind",
    ["response", "evidence", "completion", "judgement", "receipt", "reset", "snapshot", "verify", "release"],
)
async def test_no_odd_answer_is_a_fault_of_core(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agentbeat_core.clients.controller_client._PAUSES", ())
    chance = random.Random(kind)
    for _ in range(12):
        made: list[Any] = []

        def change(value: Any, made: list[Any] = made) -> Any:
            made.append(changed(value, chance))
            return made[-1]

        async with FakeTarget() as target, FakeController() as controller, FakeJudge() as judge:
            hostile(kind, change, target, controller, judge)
            environ = ENVIRON | {"DESK_URL": target.url, "CONTROL_URL": controller.url}
            core = Core(
                registry(environ, state_controller__verify_key=controller.verify_key),
                judge=judge_from_environment(judge.environ),
            )
            response = await core.evaluate(eval_request("L3"))
        odd = json.dumps(made[-1])[:2_000]
        assert response.failure is None or response.failure.code != "harness_error", odd
        assert json.loads(response.model_dump_json())["eval_run"]["status"] in ("completed", "failed"), odd
        assert kind == "reset" or controller.released, odd
        if kind in SIGNED and response.evaluation is not None:
            assert not response.evaluation.metrics.official_benchmark, odd
