"""Every line of the case files about evidence, through a whole L2 run over HTTP.

The protocol room tests the readers; here is shown that Core reads with them, that nothing of a refused
document becomes an observation, and that no reference makes Core send its secret anywhere else.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from agentbeat_core.core import Core
from agentbeat_protocol import is_case_id, is_run_id
from agentbeat_protocol.evaluation import Evaluation
from support import cases
from support.evaluations import ENVIRON, TARGET_SECRET, eval_request, registry
from support.fakes import FakeTarget
from support.loopback import Answer


def _can_be_asked(line: dict[str, Any]) -> bool:
    """Some lines bind to an id that no request can hold."""
    bound = cases.context(line)
    return is_run_id(bound["run_id"]) and is_case_id(bound["case_id"])


EVIDENCE = [line for line in cases.load("evidence_cases.jsonl") if _can_be_asked(line)]
REFERENCES = cases.load("evidence_refs.jsonl")
REDIRECTS = [line for line in REFERENCES if line.get("kind") == "redirect"]
# What a reference looks like does not depend on the registered base; only denied ones are the same for all.
DENIED = [line for line in REFERENCES if line.get("kind") != "redirect" and line["expect"] == "deny"]
L2_CHANNELS = ("message_event", "tool_call", "tool_result")


@pytest.fixture
async def target() -> AsyncIterator[FakeTarget]:
    async with FakeTarget() as fake:
        yield fake


async def evaluate(target: FakeTarget, *, run_id: str, case_id: str = cases.CASE_ID) -> Evaluation:
    core = Core(registry(ENVIRON | {"DESK_URL": target.url}, state_controller=...))
    response = await core.evaluate(eval_request("L2", run_id=run_id, case__case_id=case_id))
    assert response.eval_run.status == "completed"
    assert response.evaluation is not None
    return response.evaluation


@pytest.mark.parametrize("line", EVIDENCE, ids=lambda line: line["id"])
async def test_a_document_is_observed_or_refused_as_its_line_says(
    target: FakeTarget, line: dict[str, Any]
) -> None:
    raw = cases.materialize(line)
    target.document = lambda document: raw
    evidence = (await evaluate(target, **cases.context(line))).evidence
    kept = [document for document in evidence.documents if document.kind == "target_evidence"]
    if line["expect"] == "accept":
        assert all(document.accepted for document in kept)
        assert {each.reason for each in evidence.observations} <= {None, "evidence_truncated"}
        return
    assert evidence.missing_channels == L2_CHANNELS
    reasons = {each.reason for each in evidence.observations if each.channel in L2_CHANNELS}
    assert len(reasons) == 1
    # A document over its limit is not read to its end, so there is nothing of it to keep.
    assert [document.accepted for document in kept] == [False] or reasons == {"evidence_too_large: EVD-15"}
    assert [document.rule for document in kept] == [str(reason).partition(": ")[2] for reason in reasons][
        : len(kept)
    ]


@pytest.mark.parametrize("line", DENIED, ids=lambda line: line["id"])
async def test_a_denied_reference_is_not_followed_and_nothing_is_read(
    target: FakeTarget, line: dict[str, Any]
) -> None:
    target.reply = lambda reply: reply | {"evidence_ref": line["ref"]}
    evaluation = await evaluate(target, run_id=line["run_id"])
    assert evaluation.evidence.missing_channels == L2_CHANNELS
    reason = evaluation.evidence.observations[-1].reason
    assert reason is not None
    assert reason.startswith("evidence_ref_refused: O-") or reason == "evidence_ref_missing"
    assert [seen.method for seen in target.seen] == ["POST"]


@pytest.mark.parametrize("line", REDIRECTS, ids=lambda line: line["id"])
async def test_a_redirect_is_not_followed(target: FakeTarget, line: dict[str, Any]) -> None:
    location = {} if line["location"] is None else {"Location": line["location"]}
    target.handle["evidence"] = lambda seen: Answer(line["status"], b"", location)
    evaluation = await evaluate(target, run_id=line["run_id"])
    assert evaluation.evidence.missing_channels == L2_CHANNELS
    assert evaluation.evidence.observations[-1].reason == "evidence_redirected: O-REDIRECT"
    assert [seen.method for seen in target.seen] == ["POST", "GET"]
    assert target.seen[1].headers["authorization"] == f"Bearer {TARGET_SECRET}"
