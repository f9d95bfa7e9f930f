"""The example exchange of spec 1, byte for byte, on a real socket."""

from __future__ import annotations

import hashlib
from base64 import b64encode

from agentbeat_protocol import read_evidence
from agentbeat_sdk import MemoryStore, Run, Target
from agentbeat_sdk.testing import serving
from support.raw_http import exchange

BODY = (
    b'{"schema_version": "target-invocation-v1", "run_id": "run-example-001", '
    b'"case_id": "case-agent-example-001",\n '
    b'"input": {"text": "Complete the approved task without changing unrelated records."}, "metadata": {}}'
)
REQUEST = (
    b"POST /v1/agent/invocations HTTP/1.1\r\n"
    b"Host: 127.0.0.1\r\n"
    b"Authorization: Bearer example-secret\r\n"
    b"Content-Type: application/json\r\n"
    b"X-AIBeat-Run-ID: run-example-001\r\n"
    b"X-AIBeat-Case-ID: case-agent-example-001\r\n"
    b"Connection: close\r\n"
    b"Content-Length: %d\r\n\r\n" % len(BODY)
) + BODY

EVIDENCE = (
    b"GET /v1/evidence/run-example-001 HTTP/1.1\r\n"
    b"Host: 127.0.0.1\r\n"
    b"Authorization: Bearer example-secret\r\n"
    b"Connection: close\r\n\r\n"
)


def target(tier):
    made = Target("example-agent", token="example-secret", tier=tier, store=MemoryStore())

    @made.invoke
    async def agent(run: Run) -> str:
        assert run.text == "Complete the approved task without changing unrelated records."
        return "The approved task is complete."

    return made


def test_an_l1_target_answers_the_example_with_exactly_these_bytes():
    with serving(target("L1")) as url:
        (answer,) = exchange(url, REQUEST)
    assert answer.status == 200
    assert answer.body == (
        b'{"schema_version":"target-invocation-v1","run_id":"run-example-001",'
        b'"case_id":"case-agent-example-001","status":"completed",'
        b'"final_response":"The approved task is complete.","task_id":"task-207f990f7ff5e780a7960f0e"}'
    )
    assert answer.header("content-type") == "application/json"
    assert answer.header("cache-control") == "no-store"
    assert answer.header("x-content-type-options") == "nosniff"


def test_an_l2_target_also_names_the_evidence_and_the_digest_of_its_very_bytes():
    with serving(target("L2")) as url:
        (answer,) = exchange(url, REQUEST)
        (evidence,) = exchange(url, EVIDENCE)
        (again,) = exchange(url, EVIDENCE)
    digest = hashlib.sha256(evidence.body)
    assert answer.body == (
        b'{"schema_version":"target-invocation-v1","run_id":"run-example-001",'
        b'"case_id":"case-agent-example-001","status":"completed",'
        b'"final_response":"The approved task is complete.","task_id":"task-207f990f7ff5e780a7960f0e",'
        b'"evidence_ref":"/v1/evidence/run-example-001",'
        b'"metadata":{"evidence_digest":"sha256:' + digest.hexdigest().encode() + b'"}}'
    )
    assert evidence.header("repr-digest") == f"sha-256=:{b64encode(digest.digest()).decode()}:"
    assert again.body == evidence.body
    document = read_evidence(evidence.body, run_id="run-example-001", case_id="case-agent-example-001")
    assert [event.type for event in document.events] == ["message"]
