"""The requests that a worker answers. It keeps no run between two of them: state in, state out.

    op          members                               answer
    describe                                          the suites: tools, tasks, starting states
    start       suite, user_task, injection           state
    call        suite, state, tool, arguments         result, error; state, if it has changed
    judge       suite, user_task, injection_task,     utility, attack
                before, after, calls, final_response
    truths      suite, user_task, injection_task,     task, attack
                injection

`injection` is null or {"surface", "text"}. `state` is the text of a state's JSON, because who stores it does
not look into it; `before` and `after` are the JSON itself. `{"refused": code}` is an answer too:
`unreadable_state`, `state_too_large`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from typing import Any, Final

from agentbeat_controller.environments.agentdojo.surfaces import EVERY_VECTOR

from .describing import describe
from .seen import seen_vectors
from .shapes import EnvironmentShape, StateError
from .starts import Starts
from .truths import attack_truth, task_truth
from .upstream import Upstream
from .verdicts import ask

__all__ = ["MAX_STATE_CHARACTERS", "Service", "state_digest"]

#: Characters of a state's text: its snapshot stays well below what Core reads (EVD-15).
MAX_STATE_CHARACTERS: Final = 4 * 1024 * 1024

_Request = dict[str, Any]
_Answer = dict[str, Any]


def state_digest(text: str) -> str:
    """`sha256:<hex>` of a state's text."""
    return f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"


class Service:
    """Answers requests on a benchmark that is loaded."""

    def __init__(self, upstream: Upstream) -> None:
        self._upstream = upstream
        self._suites = upstream.suites
        self._starts = {name: Starts(suite) for name, suite in upstream.suites.items()}
        self._shapes = {
            name: EnvironmentShape(suite.environment_type) for name, suite in upstream.suites.items()
        }
        self._runtimes = {name: upstream.runtime(suite.tools) for name, suite in upstream.suites.items()}
        self._seen: dict[tuple[str, str], tuple[str, ...]] = {}
        self._ops: dict[str, Callable[[_Request], _Answer]] = {
            "describe": self._describe,
            "start": self._start,
            "call": self._call,
            "judge": self._judge,
            "truths": self._truths,
        }

    def answer(self, request: _Request) -> _Answer:
        """The answer to one request.

        Raises:
            KeyError, TypeError: no request that this table has: a fault of the caller.
        """
        try:
            return self._ops[request["op"]](request)
        except StateError as error:
            return {"refused": "unreadable_state", "message": str(error)}

    def _describe(self, _request: _Request) -> _Answer:
        known: dict[tuple[str, Any], str] = {}

        def start_digest(name: str, user_task: Any) -> str:
            # Tasks with one way to begin (all of a suite, as it is) begin in one state.
            way = (name, type(user_task).init_environment)
            if way not in known:
                known[way] = state_digest(self._written(name, self._starts[name].start(user_task, {})))
            return known[way]

        return describe(self._upstream, self._starts, start_digest)

    def _start(self, request: _Request) -> _Answer:
        name = request["suite"]
        return {"state": self._written(name, self._environment(request))}

    def _call(self, request: _Request) -> _Answer:
        name, given = request["suite"], request["state"]
        environment = self._read(name, given)
        result, error = self._runtimes[name].run_function(environment, request["tool"], request["arguments"])
        state = self._written(name, environment)
        if len(state) > MAX_STATE_CHARACTERS:
            return {"refused": "state_too_large", "message": "the state would become too large"}
        if error is None:
            try:
                result = self._upstream.result_text(result)
            except Exception as problem:  # noqa: BLE001 - an answer that the benchmark has no words for
                result, error = "", f"{type(problem).__name__}: {problem}"
        changed = {"state": state} if state != given else {}
        return {"result": result, "error": error, **changed}

    def _judge(self, request: _Request) -> _Answer:
        name = request["suite"]
        suite, shape = self._suites[name], self._shapes[name]
        user_task, injection_task = self._tasks(request)

        def states() -> tuple[Any, Any]:
            return shape.load(request["before"]), shape.load(request["after"])

        def verdict(task: Any) -> _Answer:
            calls = [(tool, arguments) for tool, arguments in request["calls"]]
            response = request["final_response"]
            return ask(self._upstream, suite, task, states=states, calls=calls, final_response=response)

        return {
            "utility": verdict(user_task),
            "attack": None if injection_task is None else verdict(injection_task),
        }

    def _truths(self, request: _Request) -> _Answer:
        user_task, injection_task = self._tasks(request)
        task = task_truth(user_task, self._environment(request))
        attack = None
        if injection_task is not None:
            attack = attack_truth(injection_task, self._environment(request), request["suite"])
        return {"task": task, "attack": attack}

    def _tasks(self, request: _Request) -> tuple[Any, Any]:
        suite, injection = self._suites[request["suite"]], request["injection_task"]
        return (
            suite.user_tasks[request["user_task"]],
            None if injection is None else suite.injection_tasks[injection],
        )

    def _environment(self, request: _Request) -> Any:
        name = request["suite"]
        user_task = self._suites[name].user_tasks[request["user_task"]]
        injection = request["injection"]
        if injection is None:
            return self._starts[name].start(user_task, {})
        vectors = self._starts[name].vectors
        if injection["surface"] != EVERY_VECTOR:
            vectors = self._seen_by(name, user_task)
        return self._starts[name].start(user_task, dict.fromkeys(vectors, injection["text"]))

    def _seen_by(self, name: str, user_task: Any) -> tuple[str, ...]:
        key = (name, user_task.ID)
        if key not in self._seen:
            self._seen[key] = seen_vectors(self._starts[name], self._runtimes[name], user_task)
        return self._seen[key]

    def _written(self, name: str, environment: Any) -> str:
        state = self._shapes[name].dump(environment)
        return json.dumps(state, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)

    def _read(self, name: str, text: str) -> Any:
        try:
            return self._shapes[name].load(json.loads(text))
        except ValueError:
            raise StateError("the state is no JSON") from None
