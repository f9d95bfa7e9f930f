"""The application under an ASGI server that is not ours: the gate's rules hold there too."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Iterator

import pytest
import uvicorn

from agentbeat_sdk import MemoryStore
from support.cases import load, request_bytes
from support.raw_http import RawAnswer, exchange
from support.stub_agent import stub_target

#: What this server's parser (h11) takes as good: it joins a folded field to one line (inv-075).
TAKEN_BY_THE_PARSER = {"inv-075"}

#: It closes with the body still coming in, and the kernel then resets the connection: the 413 may be lost.
RESET_BY_THE_SERVER = {"inv-084"}

CASES = {case["id"]: case for case in load("invocations.jsonl") if case["id"] not in TAKEN_BY_THE_PARSER}


class Stub:
    """The stub agent under uvicorn with h11."""

    def __init__(self) -> None:
        self.runs: list[str] = []
        self.url = ""


@pytest.fixture(scope="module")
def stub() -> Iterator[Stub]:
    stub = Stub()
    application = stub_target(stub.runs.append, store=MemoryStore()).app
    config = uvicorn.Config(application, http="h11", lifespan="on", log_config=None, access_log=False)
    server = uvicorn.Server(config)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        stub.url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        thread = threading.Thread(target=server.run, args=([listener],))
        thread.start()
        yield stub
        server.should_exit = True
        thread.join()


@pytest.mark.parametrize("case_id", CASES)
def test_the_answer_is_one_that_the_line_allows_and_the_agent_runs_only_then(
    stub: Stub, case_id: str
) -> None:
    case = CASES[case_id]
    for earlier in case.get("before", []):
        exchange(stub.url, request_bytes(CASES[earlier]))
    before = len(stub.runs)
    answers: list[RawAnswer] = []
    with contextlib.suppress(*[ConnectionResetError] if case_id in RESET_BY_THE_SERVER else []):
        answers = [answer for answer in exchange(stub.url, request_bytes(case)) if answer.status >= 200]
    if answers or not (case.get("may_close") or case_id in RESET_BY_THE_SERVER):
        assert answers[0].status in case["expect_status"], answers[0].body
    is_run = answers and answers[0].status in (200, 502) and case_id not in ("inv-024", "inv-214")
    assert len(stub.runs) - before == int(bool(is_run))
