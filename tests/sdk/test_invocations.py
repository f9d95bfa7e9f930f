"""Every line of `invocations.jsonl`, byte for byte over a real socket to `target.run()` in a real process."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from agentbeat_protocol import TARGET_CODES, read_evidence, read_invocation_response
from support.cases import load, request_bytes
from support.raw_http import RawAnswer, exchange
from support.stub_agent import SECRET, StubProcess

CASES = {case["id"]: case for case in load("invocations.jsonl")}


@pytest.fixture(scope="module")
def stub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StubProcess]:
    with StubProcess(tmp_path_factory.mktemp("stub")) as process:
        yield process


def test_the_file_is_the_whole_of_it() -> None:
    assert len(CASES) == 154


@pytest.mark.parametrize("case_id", CASES)
def test_the_answer_is_one_that_the_line_allows_and_the_agent_runs_only_then(
    stub: StubProcess, case_id: str
) -> None:
    case = CASES[case_id]
    for earlier in case.get("before", []):
        # Its run may have been claimed by an earlier test of this module: that is the same state.
        (answer,) = exchange(stub.url, request_bytes(CASES[earlier]))
        assert answer.status in (*CASES[earlier]["expect_status"], 409)

    before = stub.runs
    answers = [answer for answer in exchange(stub.url, request_bytes(case)) if answer.status >= 200]

    if not answers and case.get("may_close"):
        assert stub.runs == before
        return
    (answer,) = answers
    assert answer.status in case["expect_status"], answer.body
    _check_headers(answer)
    ran = stub.runs[len(before) :]
    if answer.status == 200:
        _check_success(case, answer, ran)
    else:
        assert TARGET_CODES[answer.code] == answer.status
        assert set(answer.json()) == {"error"}
        assert set(answer.json()["error"]) == {"code", "message"}
        assert len(ran) == (1 if answer.status == 502 else 0)


def _check_headers(answer: RawAnswer) -> None:
    assert answer.header("content-length") == str(len(answer.body))
    assert answer.header("content-type") == "application/json"
    assert answer.header("cache-control") == "no-store"
    assert answer.header("x-content-type-options") == "nosniff"
    assert answer.header("server") is None
    assert SECRET.encode() not in answer.body
    assert b"Traceback" not in answer.body


def _check_success(case: dict[str, Any], answer: RawAnswer, ran: list[str]) -> None:
    """A 200 is a whole answer to this run, and only an invocation has run the Agent."""
    if case["id"] == "inv-024":
        assert ran == []
        assert answer.json()["status"] == "ok"
    elif case["id"] == "inv-214":
        assert ran == []
        read_evidence(answer.body, run_id="run-inv-001", case_id="case-inv-001")
    else:
        (run_id,) = ran
        case_id = answer.json()["case_id"]
        response = read_invocation_response(answer.body, run_id=run_id, case_id=case_id)
        assert response.final_response.startswith("done")


def test_the_order_of_the_lines_did_not_decide(stub: StubProcess) -> None:
    """inv-194 is refused for its shape; its run id is then free for a good request."""
    exchange(stub.url, request_bytes(CASES["inv-194"]))
    good = dict(CASES["inv-194"]["request"])
    good["body"] = good["body"].replace(', "extra": 1', "")
    (answer,) = exchange(stub.url, request_bytes({"request": good}))
    assert answer.status == 200
