"""AgentDojo's tools over HTTP, with a real door, lease and log."""

import sys

import jsonschema
import pytest
from openapi_spec_validator import OpenAPIV31SpecValidator

from agentbeat_protocol import read_json
from support.agentdojo_runs import PREFIX, planted
from support.controllers import Rig, Run, code_of
from support.postgres import both_databases

TASK = f"{PREFIX}-banking-user_task_0"
PAIR = f"{PREFIX}-banking-user_task_0-injection_task_0"


@pytest.fixture
def rig(database, agentdojo):
    rig = Rig(database, environment=agentdojo)
    yield rig
    rig.close()


def run_of(client, agentdojo, name="a", profile=TASK, **changes):
    """A run of a profile of the benchmark."""
    digest = agentdojo.profiles[profile].profile_digest
    return Run(client, name, profile, profile_digest=digest, **changes)


async def opened(rig, agentdojo, **settings):
    """A run whose window is open, and its business client."""
    run = run_of(rig.control(), agentdojo, **settings)
    await run.through("reset", "before")
    return run, rig.business(run_id=run.common["run_id"])


async def state_of(run, phase):
    answer = await run.client.get(run.snapshot_path(phase))
    return read_json(answer.content)


@both_databases
async def test_a_ground_truth_over_http_passes_and_its_receipt_says_so(rig, agentdojo):
    run, tools = await opened(rig, agentdojo, profile=PAIR, injection=planted().model_dump())
    task, _ = agentdojo.oracles(agentdojo.profiles[PAIR], injection=planted())
    for call in task.calls:
        suite, _, tool = call.operation.partition("_")
        answer = await tools.post(f"/{suite}/{tool}", json=dict(call.arguments))
        assert (answer.status_code, answer.json()["error"]) == (200, None)
    await run.through("after")
    verified = (await run.post("verify", final_response=task.final_response)).json()
    assert {name: each["verdict"] for name, each in verified["verdicts"].items()} == {
        "utility": "pass",
        "security": "not_applicable",
        "attack": "attack_blocked",
    }
    assert verified["native_score"] == {"numerator": 2, "denominator": 2, "value": 1.0}
    assert verified["receipt"]["verdicts"] == verified["verdicts"]


async def test_the_after_snapshot_has_the_ordered_log_of_all_calls(rig, agentdojo):
    """Failed ones and refused ones too (CTL-8)."""
    run, tools = await opened(rig, agentdojo)
    await tools.post("/banking/get_iban", json={})
    await tools.post("/banking/send_money", json={"recipient": "CH93", "amount": "no number"})
    await tools.post("/slack/get_channels", json={})
    await tools.post("/banking/get_iban", content=b"[1]", headers={"Content-Type": "application/json"})
    await run.through("after")
    before, after = await state_of(run, "before"), await state_of(run, "after")
    logged = [(line["operation"], line["status"], line["error"]) for line in after["calls"]]
    assert logged == [
        ("banking_get_iban", 200, None),
        ("banking_send_money", 200, None),
        ("slack_get_channels", 404, "not_found"),
        ("banking_get_iban", 400, "invalid_request"),
    ]
    assert before["calls"] == []
    assert before["environment"] == after["environment"]


async def test_a_tool_that_fails_says_why_in_the_benchmarks_words(rig, agentdojo):
    """It is an answer of the application: the Agent reads it and goes on."""
    _, tools = await opened(rig, agentdojo)
    wrong = (await tools.post("/banking/send_money", json={"recipient": "CH93"})).json()
    late = (await tools.post("/banking/update_scheduled_transaction", json={"id": 999})).json()
    assert wrong["result"] == ""
    assert wrong["error"].startswith("ValidationError: ")
    assert late == {"result": "", "error": "ValueError: Transaction with ID 999 not found."}


async def test_failed_calls_count_for_the_benchmark_as_they_do_upstream(rig, agentdojo):
    """It judges this attack by the calls that were proposed, and these three all fail."""
    pair = f"{PREFIX}-slack-user_task_0-injection_task_5"
    run, tools = await opened(rig, agentdojo, profile=pair)
    for tool in ("invite_user_to_slack", "add_user_to_channel", "remove_user_from_slack"):
        answer = await tools.post(f"/slack/{tool}", json={"user": "Fred", "channel": "general"})
        if tool != "remove_user_from_slack":
            assert answer.json()["error"]
    await run.through("after")
    verified = await run.through("verify")
    attack = next(check for check in verified["checks"] if check["dimension"] == "attack")
    assert (attack["actual"], attack["passed"]) == (True, None)


async def test_what_a_tool_did_before_it_failed_is_kept_as_upstream_keeps_it(rig, agentdojo):
    """The event is cancelled, and only then the mail about it is refused."""
    task = f"{PREFIX}-workspace-user_task_0"
    run, tools = await opened(rig, agentdojo, profile=task)
    added = {"event_id": "1", "participants": ["no address"]}
    assert (await tools.post("/workspace/add_calendar_event_participants", json=added)).json()[
        "error"
    ] is None
    answer = (await tools.post("/workspace/cancel_calendar_event", json={"event_id": "1"})).json()
    assert answer["error"].startswith("ValidationError: ")
    await run.through("after")
    events = (await state_of(run, "after"))["environment"]["calendar"]["initial_events"]
    assert next(event["status"] for event in events if event["id_"] == "1") == "canceled"


async def test_a_tool_of_another_suite_is_not_found_and_changes_nothing(rig, agentdojo):
    run, tools = await opened(rig, agentdojo)
    other = await tools.post("/slack/remove_user_from_slack", json={"user": "Bob"})
    unknown = await tools.post("/banking/no_such_tool", json={})
    assert (code_of(other), code_of(unknown)) == ((404, "not_found"), (404, "not_found"))
    await run.through("after")
    before, after = await state_of(run, "before"), await state_of(run, "after")
    assert after["environment"] == before["environment"]


@both_databases
@pytest.mark.parametrize(
    "arguments",
    [
        {
            "file_path": "bill-december-2023.txt",
            "self": 1,
            "filesystem": None,
            "model_dump": [],
            "__class__": "x",
        },
        {"file_path": {"a": [1, None, {"b": 1e308}]}},
        {"file_path": 2**60},
        {"file_path": "\0\ud7ff\U0001f600"},
    ],
    ids=["more members", "nested", "large number", "odd text"],
)
async def test_odd_arguments_are_answered_and_logged(rig, agentdojo, arguments):
    run, tools = await opened(rig, agentdojo)
    answer = await tools.post("/banking/read_file", json=arguments)
    assert answer.status_code in (200, 400)
    await run.through("after")
    before, after = await state_of(run, "before"), await state_of(run, "after")
    assert len(after["calls"]) == 1
    assert after["environment"] == before["environment"]


@both_databases
async def test_numbers_that_json_has_no_word_for_survive_in_the_state(rig, agentdojo):
    """The benchmark takes the text "inf" for a number."""
    run, tools = await opened(rig, agentdojo)
    sent = {"recipient": "CH93", "subject": "x", "date": "2024-01-01"}
    for amount in ("inf", "-inf", "nan"):
        answer = await tools.post("/banking/send_money", json={**sent, "amount": amount})
        assert answer.json()["error"] is None
    listed = (await tools.post("/banking/get_most_recent_transactions", json={"n": 3})).json()["result"]
    await run.through("after", "verify")
    transactions = (await state_of(run, "after"))["environment"]["bank_account"]["transactions"]
    assert [each["amount"] for each in transactions[-3:]] == ["Infinity", "-Infinity", "NaN"]
    assert [word in listed for word in (".inf", "-.inf", ".nan")] == [True] * 3


async def test_one_object_at_two_places_changes_at_both(rig, agentdojo):
    """An invitation holds the event itself; between two calls there is only JSON."""
    run, tools = await opened(rig, agentdojo, profile=f"{PREFIX}-workspace-user_task_0")
    event = {
        "title": "Review",
        "start_time": "2024-06-01 10:00",
        "end_time": "2024-06-01 11:00",
        "participants": ["ada@bluesparrowtech.com"],
    }
    created = (await tools.post("/workspace/create_calendar_event", json=event)).json()["result"]
    moved = {"event_id": created.split("id_: '")[1].split("'")[0], "new_start_time": "2024-06-02 10:00"}
    await tools.post("/workspace/reschedule_calendar_event", json=moved)
    sent = (await tools.post("/workspace/get_sent_emails", json={})).json()["result"]
    invitation = sent.split("subject: 'Invitation: Review'")[0].rsplit("attachments", 1)[1]
    assert "2024-06-02 10:00:00" in invitation
    assert "2024-06-01" not in invitation
    await run.through("after")


async def test_two_runs_do_not_see_each_other(rig, agentdojo):
    """CTL-6, at the same time in one suite."""
    _, first = await opened(rig, agentdojo, name="a")
    _, second = await opened(rig, agentdojo, name="b")
    await first.post("/banking/update_password", json={"password": "canary-a"})
    await first.post("/banking/update_user_info", json={"street": "Canary Street"})
    told = await second.post("/banking/get_user_info", json={})
    assert "Canary" not in told.text
    assert "Canary" in (await first.post("/banking/get_user_info", json={})).text


def test_the_openapi_document_is_valid_and_has_the_benchmarks_own_schemas(agentdojo):
    document = agentdojo.document
    OpenAPIV31SpecValidator(document).validate()
    assert len(document["paths"]) == len(agentdojo.operations) == 74
    body = document["paths"]["/workspace/share_file"]["post"]["requestBody"]["content"]["application/json"]
    schema = body["schema"]
    assert set(schema["required"]) == {"file_id", "email", "permission"}
    jsonschema.validate({"file_id": "1", "email": "a@b.example", "permission": "rw"}, schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({"file_id": "1", "email": "a@b.example", "permission": "all"}, schema)


def test_every_ground_truth_fits_the_schemas_that_agents_are_shown(agentdojo):
    """All 97 tasks and 35 attacks: what an Agent has to send, it is told that it may."""
    schemas = {each.name: each.arguments_schema() for each in agentdojo.operations}
    first = {
        name.split("-user_task_")[0]: name
        for name in reversed(list(agentdojo.profiles))
        if "-inj" not in name
    }
    names = [name for name in agentdojo.profiles if "-inj" not in name]
    names += [
        name for name in agentdojo.profiles if name.startswith(tuple(f"{each}-i" for each in first.values()))
    ]
    calls = [
        call for name in names for each in agentdojo.oracles(agentdojo.profiles[name]) for call in each.calls
    ]
    assert len(names) == 97 + 35
    for call in calls:
        jsonschema.validate(dict(call.arguments), schemas[call.operation])


def test_an_operation_stands_in_one_suite_and_a_profile_offers_its_own(agentdojo):
    for suite, count in {"workspace": 24, "travel": 28, "banking": 11, "slack": 11}.items():
        offered = agentdojo.operations_of(agentdojo.profiles[f"{PREFIX}-{suite}-user_task_0"])
        assert [each.path.split("/")[1] for each in offered] == [suite] * count
        assert all(each.name == f"{suite}_{each.path.split('/')[2]}" for each in offered)


def test_this_process_never_imports_the_benchmark(agentdojo):
    assert agentdojo.profiles
    assert not [name for name in sys.modules if name.split(".")[0] in ("agentdojo", "deepdiff", "openai")]
