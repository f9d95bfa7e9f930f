"""What is looked at beside upstream's own objects, in a process of its own: it imports the benchmark.

python -m support.agentdojo_probes states {}
"""

from __future__ import annotations

import hashlib
import importlib
import json
import sys
import types

from pydantic import BaseModel

from agentbeat_controller.environments.agentdojo.worker.seen import seen_vectors
from agentbeat_controller.environments.agentdojo.worker.shapes import EnvironmentShape
from agentbeat_controller.environments.agentdojo.worker.starts import Starts
from agentbeat_controller.environments.agentdojo.worker.truths import attack_truth, task_truth
from agentbeat_controller.environments.agentdojo.worker.upstream import load
from agentbeat_controller.environments.agentdojo.worker.verdicts import ask
from agentbeat_protocol import canonical_json, read_json


def states():
    """Each ground truth alone, on upstream's own objects, and what is left of it in JSON."""
    return list(_each(_looked_at))


def digests():
    """The digest of each state after a ground truth."""
    return [found["digest"] for found in _each(_digested)]


def _each(look):
    upstream = load()
    for name, suite in upstream.suites.items():
        starts, shape = Starts(suite), EnvironmentShape(suite.environment_type)
        first = next(iter(suite.user_tasks.values()))
        tasks = [(task, task, task_truth) for task in suite.user_tasks.values()]
        tasks += [(task, first, attack_truth) for task in suite.injection_tasks.values()]
        for task, user_task, truth in tasks:
            environment = starts.start(user_task, {})
            calls, response = (
                truth(task, environment, name) if truth is attack_truth else truth(task, environment)
            )
            before = environment.model_copy(deep=True)
            runtime = upstream.runtime(suite.tools)
            errors = [runtime.run_function(environment, tool, given)[1] for tool, given in calls]
            found = look(upstream, suite, shape, task, before, environment, calls, response)
            yield {"suite": name, "task": task.ID, "errors": [each for each in errors if each]} | found


def _digested(upstream, suite, shape, task, before, environment, calls, response):
    return {"digest": hashlib.sha256(canonical_json(shape.dump(environment))).hexdigest()}


def _looked_at(upstream, suite, shape, task, before, environment, calls, response):
    kept = canonical_json(shape.dump(environment))
    restored = shape.load(read_json(kept))

    def verdict(first, last, asked=calls, said=response):
        copies = [each.model_copy(deep=True) for each in (first, last)]
        return ask(upstream, suite, task, states=lambda: copies, calls=asked, final_response=said)

    return {
        "digest": hashlib.sha256(kept).hexdigest(),
        "equal": restored == environment and repr(restored) == repr(environment),
        "again": canonical_json(shape.dump(restored)) == kept,
        "same_objects": _shared(restored) == _shared(environment),
        "shared_containers": _shared(environment, kinds=(list, dict)),
        "by_validation": suite.environment_type.model_validate(json.loads(environment.model_dump_json()))
        == environment,
        "verdict": verdict(before, environment),
        "restored_verdict": verdict(shape.load(read_json(canonical_json(shape.dump(before)))), restored),
        "idle_verdict": verdict(before, before, [], ""),
    }


def _shared(value, kinds=(BaseModel,), path="", met=None):
    """The places at which an object stands that stands at another place too."""
    met = {} if met is None else met
    found = []
    if isinstance(value, kinds):
        if id(value) in met:
            return [f"{path} is {met[id(value)]}"]
        met[id(value)] = path
    parts = []
    if isinstance(value, BaseModel):
        if BaseModel not in kinds:
            if id(value) in met:
                return []
            met[id(value)] = path
        parts = value.__dict__.items()
    elif isinstance(value, dict):
        parts = value.items()
    elif isinstance(value, list):
        parts = enumerate(value)
    for name, part in parts:
        found += _shared(part, kinds, f"{path}/{name}", met)
    return found


def plants(texts):
    """Planted without formatting YAML, and by upstream's own way: the suites and texts that differ."""
    upstream = load()
    differing = []
    for name, suite in upstream.suites.items():
        starts = Starts(suite)
        user_task = next(iter(suite.user_tasks.values()))
        for text in texts:
            escaped = json.dumps(text, ensure_ascii=False)[1:-1]
            expected = suite.load_and_inject_default_environment(dict.fromkeys(starts.vectors, escaped))
            if starts.start(user_task, dict.fromkeys(starts.vectors, text)) != expected:
                differing.append([name, text])
        one = {starts.vectors[-1]: "one"}
        if starts.start(user_task, {}) != suite.load_and_inject_default_environment({}):
            differing.append([name, None])
        if starts.start(user_task, one) != suite.load_and_inject_default_environment(one):
            differing.append([name, one])
    return differing


def seen():
    """The vectors that each task meets; of each fourth also as upstream's attacks find them: that is slow."""
    upstream = load()
    attacks = importlib.import_module("agentdojo.attacks.base_attacks")
    found = []
    for suite in upstream.suites.values():
        starts, runtime = Starts(suite), upstream.runtime(suite.tools)
        attack = attacks.FixedJailbreakAttack("x", suite, types.SimpleNamespace(name=None))
        for place, task in enumerate(suite.user_tasks.values()):
            met = seen_vectors(starts, runtime, task)
            found.append([met, attack.get_injection_candidates(task) if place % 4 == 0 else met])
    return found


def modules():
    """The modules that stand in a worker."""
    load()
    return sorted(sys.modules)


if __name__ == "__main__":
    result = globals()[sys.argv[1]](**json.loads(sys.argv[2]))
    json.dump(result, sys.stdout)
