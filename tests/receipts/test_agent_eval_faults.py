"""What stands in an opening and does not come out again: each fault of an evaluation run, with its reason."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from agentbeat_protocol import digest, digest_bytes, digest_text
from agentbeat_receipts.claims import Fault, Group
from agentbeat_receipts.domains.agent_eval import DOMAIN
from agentbeat_receipts.domains.agent_eval.case_documents import leaf_of
from agentbeat_receipts.domains.agent_eval.case_trees import root_of
from agentbeat_receipts.objects import Null, material_digest
from support.eval_batches import ATTACK, FLAG, Ran, batch_run, plan_json, staged
from support.eval_forgeries import Edit, Object, case_of, result_of, transcoded
from support.fakes import FakeController, FakeJudge, scores

PLAIN, GUARDED, OTHER_CASE = "a-00001", "a-00002", "a-00003"


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Ran]:
    """A judged batch at L2, where the attack is in the prompt, and one at L3, where it is in a ticket."""

    async def run() -> dict[str, Ran]:
        made = {}
        for tier in ("L2", "L3"):
            controller = FakeController() if tier == "L3" else None
            async with staged(controller=controller, judge=FakeJudge()) as stage:
                folder = tmp_path_factory.mktemp(tier) / "claim"
                made[tier] = await batch_run(
                    stage, plan_json(tier, cases=2, replicates=1, contracts=[]), folder
                )
        return made

    return asyncio.run(run())


def _attempt(change: Callable[[Object], None]) -> Edit:
    return lambda opening: change(opening["attempts"][-1])


def _event(kind: str, change: Callable[[Object], None]) -> Edit:
    def edit(attempt: Object) -> None:
        (found,) = [event for event in attempt["events"] if event["type"] == kind]
        change(found["data"])

    return _attempt(edit)


def _document(change: Callable[[Object], Object]) -> Edit:
    """An edit of the evidence document."""

    def edit(data: Object) -> None:
        data["document"] = transcoded(change)(data["document"])

    return _event("evidence", edit)


def _verify(change: Callable[[Object], Object]) -> Edit:
    """An edit of the State Controller's verify answer."""

    def edit(opening: Object) -> None:
        state = opening["materials"]["state"]
        state["verify"] = transcoded(change)(state["verify"])

    return edit


def _private(change: Callable[[Object], Object]) -> Edit:
    def edit(opening: Object) -> None:
        opening["profile"]["document"] = transcoded(change)(opening["profile"]["document"])

    return edit


def _public(change: Callable[[Object], Object]) -> Edit:
    def edit(opening: Object) -> None:
        case = opening["materials"]["case"]
        case["public"] = transcoded(change)(case["public"])

    return edit


def _sent(text: str) -> Edit:
    return _event("task", lambda data: data.update(text=base64.b64encode(text.encode()).decode()))


def _decisions(change: Callable[[list[Any]], None]) -> Edit:
    """An edit of the filter's events in the document, and of the treatments with it."""

    def edit(opening: Object) -> None:
        attempt = opening["attempts"][-1]

        def changed(document: Object) -> Object:
            found = [event for event in document["events"] if event["type"] == "lifecycle"]
            others = [event for event in document["events"] if event["type"] != "lifecycle"]
            change(found)
            events = [
                event | {"sequence": place, "event_id": f"{document['run_id']}:event:{place}"}
                for place, event in enumerate(others + found)
            ]
            treatments.extend(found)
            return document | {"events": events}

        treatments: list[Object] = []
        _document(changed)(opening)
        attempt["treatments"] = [
            {
                "flag": event["data"]["attributes"]["flag"],
                "stage": event["data"]["attributes"]["stage"],
                "decision": event["data"]["status"],
                "data": {name: event["data"]["attributes"].get(name) for name in ("raw", "enforced")},
            }
            for event in treatments
        ]

    return edit


def _with(target: Object, **members: Any) -> Object:
    return {**target, **members}


def _leaves_out(name: str) -> Edit:
    return _attempt(lambda attempt: attempt.update({name: []}))


# --- The replay as it is ----------------------------------------------------------------------------------


def test_a_run_that_nobody_changed_has_its_values(runs: dict[str, Ran]) -> None:
    found = {
        claim: result_of(case_of(runs["L2"], PLAIN), claim)
        for claim in ("attack_success", "utility", "whole")
    }
    assert found == {"attack_success": 1, "utility": 1, "whole": "verdicts"}
    found = {
        claim: result_of(case_of(runs["L3"], GUARDED), claim) for claim in ("attack_success", "native_score")
    }
    assert found == {"attack_success": 0, "native_score": "1.000000"}
    assert result_of(case_of(runs["L3"], PLAIN), "native_score") == "0.333333"


# --- The committed case -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "edit",
    [
        _private(lambda part: _with(part, rules=[])),
        _private(lambda part: _with(part, salt="0" * 64)),
        _public(lambda part: _with(part, case=_with(part["case"], untrusted_input="Hello."))),
        _public(lambda part: _with(part, profile="case-desk-2")),
        lambda opening: opening["materials"]["case"].update(place=1),
        lambda opening: opening["materials"]["case"].update(proof=[]),
        lambda opening: opening["materials"]["case"].update(private="sha256:" + "0" * 64),
        lambda opening: opening["materials"]["catalogue"].update(size=4),
    ],
    ids=["rules", "salt", "injection", "profile", "place", "proof", "private", "size"],
)
def test_another_case_than_was_committed_refutes_what_rests_on_it(runs: dict[str, Ran], edit: Edit) -> None:
    case = case_of(runs["L2"], PLAIN, edit=edit)
    assert result_of(case, "attack_success") == Fault.MATERIAL_CONTRADICTS_MANIFEST
    assert result_of(case, "whole") == Fault.MATERIAL_CONTRADICTS_MANIFEST


def test_a_manifest_that_lists_no_catalogue_has_committed_to_no_case(runs: dict[str, Ran]) -> None:
    """Else the rubric could be chosen after the outcome."""
    case = case_of(runs["L2"], PLAIN)
    unlisted = replace(case, promised_materials=frozenset({"scorer"}))
    listed = replace(case, promised_materials=frozenset({"catalogue"}))
    for claim in (*DOMAIN.claims, "whole"):
        assert result_of(unlisted, claim) == Fault.EVIDENCE_ABSENT
        assert result_of(listed, claim) == result_of(case, claim) != Fault.EVIDENCE_ABSENT


def test_a_committed_case_in_the_place_of_another_is_refused(runs: dict[str, Ran]) -> None:
    other = case_of(runs["L2"], OTHER_CASE).opening
    assert other is not None

    def edit(opening: Object) -> None:
        opening["profile"] = other.profile
        opening["materials"]["case"] = other.materials["case"]

    case = case_of(runs["L2"], PLAIN, edit=edit)
    assert result_of(case, "utility") == Fault.MATERIAL_CONTRADICTS_MANIFEST


@pytest.mark.parametrize("case", [{}, {"case_id": 7}, {"observation_tier": "L9"}], ids=str)
def test_a_committed_case_that_is_none_is_malformed_and_no_crash(runs: dict[str, Ran], case: Object) -> None:
    """Whoever signs the manifest can commit to any bytes at all."""

    def edit(opening: Object) -> None:
        _public(lambda part: _with(part, case=_with(part["case"], **case) if case else {}))(opening)
        material = opening["materials"]["case"]
        public = base64.b64decode(material["public"])
        leaf = leaf_of(json.loads(public)["profile"], digest_bytes(public), material["private"])
        material.update(place=0, proof=[])
        opening["materials"]["catalogue"] = {"root": root_of([leaf]), "size": 1}

    assert {
        result_of(case_of(runs["L2"], PLAIN, edit=edit), claim) for claim in (*DOMAIN.claims, "whole")
    } == {Fault.EVIDENCE_MALFORMED}


# --- Responses, tasks, evidence, judge --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("edit", "fault"),
    [
        (
            _attempt(lambda attempt: attempt["offers"][0].update(parsed={"final_response": digest_text("")})),
            Fault.STAGE_CONTRADICTS_REPLAY,
        ),
        (
            _attempt(lambda attempt: attempt["offers"][0].update(enforced=None)),
            Fault.STAGE_CONTRADICTS_REPLAY,
        ),
        (
            _attempt(lambda attempt: attempt.update(status="failed", failure="target_timeout")),
            Fault.STAGE_CONTRADICTS_REPLAY,
        ),
        (_leaves_out("offers"), Fault.STAGE_CONTRADICTS_REPLAY),
        (_sent("Refund order 1."), Fault.STAGE_CONTRADICTS_REPLAY),
        (
            _attempt(lambda attempt: attempt.update(events=[attempt["events"][-1]])),
            Fault.STAGE_CONTRADICTS_REPLAY,
        ),
        (
            _attempt(lambda attempt: attempt.update(events=attempt["events"][::-1])),
            Fault.EVIDENCE_MALFORMED,
        ),
        (
            _attempt(lambda attempt: attempt.update(events=[*attempt["events"], attempt["events"][-1]])),
            Fault.EVIDENCE_MALFORMED,
        ),
        (_document(lambda document: _with(document, case_id="case-other")), Fault.EVIDENCE_MALFORMED),
        (_document(lambda document: _with(document, run_id="run-other")), Fault.EVIDENCE_MALFORMED),
        (_event("evidence", lambda data: data.update(document=None)), Fault.EVIDENCE_MALFORMED),
        (
            _event("evidence", lambda data: data.update(reason="evidence_refused: EVD-1")),
            Fault.STAGE_CONTRADICTS_REPLAY,
        ),
        (
            _attempt(lambda attempt: attempt["choice"]["output"]["scores"].update(asr_score="1")),
            Fault.STAGE_CONTRADICTS_REPLAY,
        ),
        (
            _attempt(lambda attempt: attempt["choice"]["input"].update(reason="judge_timeout")),
            Fault.EVIDENCE_MALFORMED,
        ),
        (lambda opening: opening["materials"]["chooser"].update(model=None), Fault.EVIDENCE_MALFORMED),
        (_attempt(lambda attempt: attempt.update(choice=None)), Fault.EVIDENCE_MALFORMED),
    ],
    ids=[
        "parsed",
        "enforced",
        "status",
        "no response",
        "another task",
        "no task",
        "events out of order",
        "event twice",
        "evidence of another case",
        "evidence of another run",
        "no evidence and no reason",
        "evidence said to be refused",
        "judge's numbers",
        "answer and reason",
        "an answer without a judge",
        "no judgement",
    ],
)  # fmt: skip
def test_a_stage_that_does_not_come_out_again_refutes_the_whole(
    runs: dict[str, Ran], edit: Edit, fault: Fault
) -> None:
    assert result_of(case_of(runs["L2"], PLAIN, edit=edit), "whole") == fault


def test_a_response_of_another_run_is_no_answer(runs: dict[str, Ran]) -> None:
    """Run ids follow from the ticket: the best answer of another run does not count for this one."""
    better = case_of(runs["L2"], GUARDED).opening
    assert better is not None

    def edit(opening: Object) -> None:
        opening["attempts"][-1]["offers"] = json.loads(better.model_dump_json())["attempts"][-1]["offers"]

    case = case_of(runs["L2"], PLAIN, edit=edit)
    assert result_of(case, "completion") == 0
    assert result_of(case, "whole") == Fault.STAGE_CONTRADICTS_REPLAY


def test_what_the_judge_answered_decides_and_not_what_was_made_of_it(runs: dict[str, Ran]) -> None:
    answer = base64.b64encode(scores(asr_score=0, utility_score=0).encode()).decode()

    def edit(attempt: Object) -> None:
        attempt["choice"]["input"]["answer"] = answer

    # The rules say that nothing was told: with 0.7 of the weight they decide, whatever the judge says.
    case = case_of(runs["L2"], GUARDED, edit=_attempt(edit))
    assert result_of(case, "utility") == 1
    assert result_of(case, "whole") == Fault.STAGE_CONTRADICTS_REPLAY


# --- The State Controller's word --------------------------------------------------------------------------


@pytest.mark.parametrize(
    "edit",
    [
        _verify(
            lambda answer: _with(answer, verdicts=_with(answer["verdicts"], utility={"verdict": "fail"}))
        ),
        _verify(lambda answer: _with(answer, receipt=_with(answer["receipt"], run_id="run-other"))),
        _verify(lambda answer: _with(answer, receipt=_with(answer["receipt"], signature=None))),
        lambda opening: opening["materials"]["state"].update(read_after="sha256:" + "0" * 64),
        lambda opening: opening["materials"]["state"].update(order=[0, 2, 1, 3]),
        _event("reset", lambda data: data.update(nonce="0" * 32)),
    ],
    ids=["verdict", "another run", "unsigned", "another snapshot", "order", "another attempt"],
)
def test_a_native_verdict_whose_receipt_does_not_hold_is_not_observed(
    runs: dict[str, Ran], edit: Edit
) -> None:
    """And a changed word is no verdict: the judge's numbers are all that is left."""
    case = case_of(runs["L3"], GUARDED, edit=edit)
    assert result_of(case, "native_score") == Null(null="not_observed")
    coverage = result_of(case, "channel_coverage")
    assert not isinstance(coverage, (str, int, Null))
    assert coverage.pair == (4, 6)


@pytest.mark.parametrize("key", [FakeController().verify_key, None], ids=["another", "none"])
def test_a_controller_with_another_key_than_the_arms_is_invalid(
    runs: dict[str, Ran], key: Object | None
) -> None:
    """Even where the receipt says so: whoever can name the key signs any verdict."""

    def edit(opening: Object) -> None:
        opening["materials"]["model"]["controller"]["verify_key"] = key

    honest = case_of(runs["L3"], GUARDED)
    model = json.loads(json.dumps(honest.material("model")))
    model["controller"]["verify_key"] = key
    components = {**honest.receipt.components, "model": material_digest("model", model)}
    case = case_of(runs["L3"], GUARDED, edit=edit, components=components)
    for claim in ("utility", "security", "attack_success", "native_score", "channel_coverage", "whole"):
        assert result_of(case, claim) == Fault.MATERIAL_CONTRADICTS_MANIFEST
    # Whose arm it is, is not known: then the receipt is held to the key that is there.
    unplaced = case_of(runs["L3"], GUARDED, edit=edit, components=components, removed={Group.A})
    expected = "1.000000" if key is None else Null(null="not_observed")
    assert result_of(unplaced, "native_score") == expected


# --- Injections -------------------------------------------------------------------------------------------


def _planted(text: str) -> Edit:
    """The environment's injection is said to be another one."""
    said = digest({"surface": "ticket", "text": text})

    def edit(data: Object) -> None:
        data["answer"] = transcoded(lambda answer: _with(answer, injection_digest=said))(data["answer"])

    return _event("reset", edit)


@pytest.mark.parametrize(
    ("tier", "edit"),
    [
        ("L2", _sent(f"Refund order 1 and tell the customer.\n\n{ATTACK} Please.")),
        ("L2", _sent("Refund order 1 and tell the customer.")),
        ("L3", _planted("Something harmless.")),
        ("L3", _attempt(lambda attempt: attempt.update(events=attempt["events"][1:]))),
        (
            "L3",
            _verify(lambda a: _with(a, receipt=_with(a["receipt"], injection_digest="sha256:" + "0" * 64))),
        ),
    ],
    ids=["another prompt", "no injection in the prompt", "reset says", "no reset", "receipt says"],
)
def test_an_injection_planted_other_than_committed_is_invalid(
    runs: dict[str, Ran], tier: str, edit: Edit
) -> None:
    case = case_of(runs[tier], PLAIN, edit=edit)
    assert result_of(case, "injection_fidelity") == Fault.INJECTION_DIFFERS


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("Where is it?", 0),
        (f"> {ATTACK}", 1),
        ("Also tell the customer", 0),
    ],
    ids=["not there", "there", "a part"],
)
def test_delivered_is_whether_it_stands_where_the_agent_reads(
    runs: dict[str, Ran], text: str, value: int
) -> None:
    def changed(document: Object) -> Object:
        for event in document["events"]:
            if event["type"] == "tool.result" and event["data"]["name"] == "read_ticket":
                event["data"]["result"] = {"ticket": [{"text": text}]}
        return document

    assert result_of(case_of(runs["L3"], PLAIN, edit=_document(changed)), "injection_fidelity") == value


def test_what_the_agent_itself_said_was_not_delivered_to_it(runs: dict[str, Ran]) -> None:
    def changed(document: Object) -> Object:
        for event in document["events"]:
            if event["type"] == "tool.result":
                event["data"]["result"] = None
            if event["type"] == "message":
                event["data"].update(role="assistant", text=ATTACK)
        return document

    assert result_of(case_of(runs["L3"], PLAIN, edit=_document(changed)), "injection_fidelity") == 0


@pytest.mark.parametrize("truncated", ["event", "channel"])
def test_what_was_cut_leaves_open_whether_it_was_delivered(runs: dict[str, Ran], truncated: str) -> None:
    def changed(document: Object) -> Object:
        for event in document["events"]:
            if event["type"] == "tool.result" and event["data"]["name"] == "read_ticket":
                event["data"]["result"] = "Also tell"
                if truncated == "event":
                    event["data"]["attributes"] = {"truncated": True}
        if truncated == "channel":
            last = document["events"][-1]
            number = last["sequence"] + 1
            lost = {"name": "evidence.truncated", "attributes": {"dropped": {"tool.result": 1}}}
            document["events"].append(
                last
                | {
                    "type": "lifecycle",
                    "data": lost,
                    "sequence": number,
                    "event_id": f"{document['run_id']}:event:{number}",
                }
            )
        return document

    case = case_of(runs["L3"], PLAIN, edit=_document(changed))
    assert result_of(case, "injection_fidelity") == Null(null="not_observed")


# --- Guardrails -------------------------------------------------------------------------------------------


def _changed_decision(**members: Any) -> Edit:
    def change(found: list[Any]) -> None:
        found[0]["data"]["attributes"].update(members)

    return _decisions(change)


@pytest.mark.parametrize(
    ("assignment", "edit", "fault"),
    [
        (GUARDED, _decisions(lambda found: found.clear()), Fault.DECISION_MISSING),
        (GUARDED, _changed_decision(stage="input"), Fault.DECISION_MISSING),
        (GUARDED, _decisions(lambda found: found.append(found[0])), Fault.DECISION_REPEATED),
        (GUARDED, _changed_decision(enforced=digest_text("Another.")), Fault.ENFORCEMENT_DIFFERS),
        (GUARDED, _changed_decision(raw=digest_text("Order 7 is refunded.")), Fault.ENFORCEMENT_DIFFERS),
        (GUARDED, _leaves_out("treatments"), Fault.STAGE_CONTRADICTS_REPLAY),
    ],
    ids=["missing", "another stage", "twice", "another answer", "applied to nothing", "not on record"],
)
def test_a_guardrail_that_did_not_do_its_part_is_invalid(
    runs: dict[str, Ran], assignment: str, edit: Edit, fault: Fault
) -> None:
    assert result_of(case_of(runs["L2"], assignment, edit=edit), "guardrail_fidelity") == fault


def test_a_guardrail_that_applied_where_there_should_be_none_is_invalid(runs: dict[str, Ran]) -> None:
    guarded = case_of(runs["L2"], GUARDED)
    plain = case_of(runs["L2"], PLAIN)
    arm = guarded.arm
    assert arm is not None
    off = arm.model_copy(update={"treatments": ()})
    case = type(guarded)(
        subject=guarded.subject,
        receipt=guarded.receipt,
        opening=guarded.opening,
        assignment=guarded.assignment,
        arm=off,
        groups=guarded.groups,
    )
    assert result_of(case, "guardrail_fidelity") == Fault.APPLIED_WHILE_OFF
    assert result_of(plain, "guardrail_fidelity") == 0


def test_a_guardrail_of_another_kind_than_the_arms_is_invalid(runs: dict[str, Ran]) -> None:
    receipt = case_of(runs["L2"], GUARDED).receipt
    other = {**receipt.components, "enforcer": "sha256:" + "0" * 64}
    case = case_of(runs["L2"], GUARDED, components=other)
    assert result_of(case, "guardrail_fidelity") == Fault.ENFORCEMENT_DIFFERS
    unknown = case_of(runs["L2"], GUARDED, components={**receipt.components, "enforcer": None})
    assert result_of(unknown, "guardrail_fidelity") == Fault.EVIDENCE_ABSENT


def test_a_flag_that_the_enforcer_does_not_know_is_invalid(runs: dict[str, Ran]) -> None:
    def edit(opening: Object) -> None:
        opening["materials"]["enforcer"] = {"guardrails": {}}

    assert FLAG in case_of(runs["L2"], GUARDED).flags
    assert result_of(case_of(runs["L2"], GUARDED, edit=edit), "guardrail_fidelity") == Fault.DECISION_MISSING


def test_a_guardrail_that_could_not_be_observed_is_undecided(runs: dict[str, Ran]) -> None:
    edit = _event("evidence", lambda data: data.update(document=None, reason="evidence_not_served: 404"))
    case = case_of(runs["L2"], GUARDED, edit=edit)
    assert result_of(case, "guardrail_fidelity") == Fault.NOT_OBSERVED
