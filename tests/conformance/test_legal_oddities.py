"""Legal, however odd: none is accused, and each is legal by the protocol's own reading and odd as it says."""

from __future__ import annotations

import json
from fnmatch import fnmatchcase

import httpx
import pytest

from agentbeat_conformance.mutants import load as load_mutants
from agentbeat_conformance.mutants.base_target import TASKS
from agentbeat_conformance.outcomes import Outcome, Verdict
from agentbeat_protocol import read_evidence, read_invocation_response, resolve_evidence_ref
from support.judged_targets import judge_mutant, shown

ODDITIES = {name: mutant for name, mutant in load_mutants().items() if mutant.kind == "oddity"}
TARGETS = {name: mutant for name, mutant in ODDITIES.items() if mutant.tier != "controller"}
#: The SHOULDs that an oddity does not meet, as patterns; all others meet every one.
NOT_MET = {
    "sequence-from-seven": ("EVD-5.e",),
    "event-ids-with-leading-zeros": ("EVD-5.e",),
    "no-more-than-it-must": (
        *("HLT-2.?", "INV-6.?", "INV-8.?", "INV-9*", "INV-11.?"),
        *("EVD-5.e", "EVD-12", "EVD-13.b", "EVD-14"),
    ),
}
HOST = "target.example"


@pytest.mark.parametrize("name", TARGETS)
async def test_an_oddity_is_found_conformant(name):
    # What is odd about a document only the rules of evidence can tell; the self-test tries all on all.
    of_documents = TARGETS[name].make.__module__.endswith(("_documents", "_events"))
    run = await judge_mutant(TARGETS[name], only={"EVD"} if of_documents else ())
    assert shown(run, Outcome.FAIL, Outcome.COULD_NOT_RUN, Outcome.ERROR) == {}
    assert run.verdict is (Verdict.INCOMPLETE if of_documents else Verdict.CONFORMANT)
    warned = shown(run, Outcome.WARN)
    patterns = NOT_MET.get(name, ())
    assert [id for id in warned if not any(fnmatchcase(id, pattern) for pattern in patterns)] == []
    assert bool(warned) == bool(patterns)


def test_there_are_at_least_thirty_of_them():
    assert len(TARGETS) >= 30
    assert NOT_MET.keys() <= TARGETS.keys()


IN_PROCESS = [name for name, mutant in TARGETS.items() if not mutant.on_socket and mutant.tier == "target-L2"]


@pytest.mark.parametrize("name", IN_PROCESS)
async def test_what_an_oddity_serves_is_legal_by_the_protocols_own_reading(name):
    mutant = TARGETS[name]
    transport = httpx.ASGITransport(mutant.make().app)
    headers = {"Authorization": f"Bearer {mutant.secret}"} if mutant.secret else {}
    async with httpx.AsyncClient(
        transport=transport, base_url=f"http://{HOST}", headers=headers, timeout=10
    ) as client:
        for number, task in enumerate((*TASKS, "Say that you are ready.")):
            ids = {"run_id": f"run-odd-{number}", "case_id": f"case-odd-{number}"}
            body = {"schema_version": "target-invocation-v1", **ids, "input": {"text": task}}
            bound = {"X-AIBeat-Run-ID": ids["run_id"], "X-AIBeat-Case-ID": ids["case_id"]}
            answer = await client.post("/v1/agent/invocations", json=body, headers=bound)
            response = read_invocation_response(answer.content, **ids)
            registered = f"http://{HOST}/v1/agent/invocations"
            url = resolve_evidence_ref(registered, response.evidence_ref, run_id=ids["run_id"])
            assert read_evidence((await client.get(url)).content, **ids).events


async def evidence_of(name: str, task: str = TASKS[0]) -> bytes:
    server = TARGETS[name].make()
    ids = {"run_id": "run-odd", "case_id": "case-odd"}
    body = {"schema_version": "target-invocation-v1", **ids, "input": {"text": task}}
    headers = {"Authorization": f"Bearer {TARGETS[name].secret}", "X-AIBeat-Run-ID": "run-odd"}
    headers["X-AIBeat-Case-ID"] = "case-odd"
    async with httpx.AsyncClient(
        transport=httpx.ASGITransport(server.app), base_url=f"http://{HOST}", headers=headers
    ) as client:
        await client.post("/v1/agent/invocations", json=body)
        return (await client.get("/v1/evidence/run-odd")).content


@pytest.mark.parametrize(
    ("name", "odd"),
    [
        ("members-in-reverse-order", lambda raw: raw.startswith(b'{"events": [{"data": {"attributes"')),
        ("pretty-printed-with-crlf", lambda raw: b"\r\n\t" in raw and raw.endswith(b"}\r\n")),
        ("escaped-member-names", lambda raw: b'"\\u0072un_id"' in raw and b"tool\\u002ecall" in raw),
        ("integers-as-numbers", lambda raw: b": 1.0," in raw and b": 2E0," in raw),
        ("nanoseconds", lambda raw: b".123456788999999Z" in raw),
        ("leap-second", lambda raw: b"23:59:60Z" in raw and b"08:59:60.5+09:00" in raw),
        ("offsets-of-all-kinds", lambda raw: b"-00:00" in raw and b"+00:00" in raw and b"t10:00:03z" in raw),
        ("sequence-from-seven", lambda raw: json.loads(raw)["events"][0]["sequence"] == 7),
        ("texts-beyond-the-basic-plane", lambda raw: "\U0001f600" * 32_768 in raw.decode()),
        ("answer-with-redacted-part", lambda raw: b"Ask for [redacted] at the desk" in raw),
        ("parallel-calls-interleaved", lambda raw: order_of_calls(raw) == ["+1", "+2", "-2", "-1"]),
        ("call-unanswered", lambda raw: order_of_calls(raw) == ["+1", "+2", "-1"]),
        ("files-channel", lambda raw: b"../../etc/passwd" in raw),
        ("evidence-truncated", lambda raw: b'"dropped"' in raw),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
async def test_an_oddity_is_as_odd_as_it_says(name, odd):
    assert odd(await evidence_of(name))


@pytest.mark.parametrize(
    ("name", "task", "size"),
    [("sixteen-mib", TASKS[1], 16 * 1024 * 1024), ("five-thousand-events", TASKS[1], None)],
)
async def test_the_largest_documents_are_as_large_as_may_be(name, task, size):
    raw = await evidence_of(name, task)
    assert len(raw) == size if size else len(json.loads(raw)["events"]) == 5_000


def order_of_calls(raw: bytes) -> list[str]:
    """Calls as `+1`, results as `-1`, with the number of the call."""
    events = json.loads(raw)["events"]
    marks = {"tool.call": "+", "tool.result": "-"}
    return [marks[e["type"]] + e["data"]["call_id"].rpartition("-")[2] for e in events if e["type"] in marks]
