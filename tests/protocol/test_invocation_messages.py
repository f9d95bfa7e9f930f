"""Reading invocations and their answers (INV-1, INV-3, INV-5, INV-6, INV-7)."""

import json

import pytest

from agentbeat_protocol import (
    INVOCATION_PATH,
    ProtocolError,
    check_media_type,
    read_error,
    read_health,
    read_invocation,
    read_invocation_response,
    task_id,
)
from support.cases import load, request_bytes

HEADERS = {"X-AIBeat-Run-ID": "run-a", "X-AIBeat-Case-ID": "case-a"}


def request(**changes):
    body = {
        "schema_version": "target-invocation-v1",
        "run_id": "run-a",
        "case_id": "case-a",
        "input": {"text": "Do it."},
        "metadata": {},
    }
    body.update(changes)
    kept = {name: value for name, value in body.items() if value is not ...}
    return json.dumps(kept, ensure_ascii=False).encode()


def response(**changes):
    body = {
        "schema_version": "target-invocation-v1",
        "run_id": "run-a",
        "case_id": "case-a",
        "status": "completed",
        "final_response": "Done.",
    }
    body.update(changes)
    return json.dumps({name: value for name, value in body.items() if value is not ...}).encode()


def test_the_example_of_the_specification_is_read():
    raw = (
        b'{"schema_version": "target-invocation-v1", "run_id": "run-example-001", '
        b'"case_id": "case-agent-example-001",\n '
        b'"input": {"text": "Complete the approved task without changing unrelated records."}, '
        b'"metadata": {}}'
    )
    headers = [
        (b"x-aibeat-run-id", b"run-example-001"),
        (b"x-aibeat-case-id", b"case-agent-example-001"),
    ]
    invocation = read_invocation(raw, headers)
    assert invocation.input.text == "Complete the approved task without changing unrelated records."
    assert invocation.metadata == {}
    assert task_id(invocation.run_id, invocation.case_id) == "task-207f990f7ff5e780a7960f0e"


@pytest.mark.parametrize(
    ("changes", "code", "path"),
    [
        ({"schema_version": "target-invocation-v2"}, "target_invocation_schema_invalid", "/schema_version"),
        ({"schema_version": ...}, "target_invocation_schema_invalid", "/schema_version"),
        ({"run_id": "run-A"}, "invalid_run_id", "/run_id"),
        ({"run_id": "run-a\n"}, "invalid_run_id", "/run_id"),
        ({"run_id": 7}, "invalid_run_id", "/run_id"),
        ({"run_id": "run-" + "a" * 157}, "invalid_run_id", "/run_id"),
        ({"case_id": ...}, "invalid_case_id", "/case_id"),
        ({"case_id": "case-" + "a" * 196}, "invalid_case_id", "/case_id"),
        ({"input": ...}, "invalid_input", "/input"),
        ({"input": None}, "invalid_input", "/input"),
        ({"input": {"text": "  \u3000\n"}}, "invalid_input", "/input/text"),
        ({"input": {"text": 1}}, "invalid_input", "/input/text"),
        ({"input": {"text": "x", "extra": 1}}, "invalid_input", "/input/extra"),
        ({"input": {"text": "é" * (256 * 1024 + 1)}}, "invalid_input", "/input/text"),
        ({"metadata": []}, "invalid_metadata", "/metadata"),
        ({"metadata": None}, "invalid_metadata", "/metadata"),
        ({"metadata": {"model": "x"}}, "runtime_override_forbidden", "/metadata/model"),
        ({"extra": 1}, "invalid_request_schema", "/extra"),
    ],
)
def test_a_request_of_another_shape_is_refused_with_its_own_code(changes, code, path):
    with pytest.raises(ProtocolError) as caught:
        read_invocation(request(**changes), HEADERS)
    assert (caught.value.code, caught.value.path, caught.value.status) == (code, path, 400)


def test_an_unknown_member_is_named_cut_to_64_characters():
    with pytest.raises(ProtocolError) as caught:
        read_invocation(request(**{"n" * 500: "secret-value"}), HEADERS)
    text = json.dumps(caught.value.envelope()) + str(caught.value)
    assert "n" * 63 in text
    assert "n" * 65 not in text
    assert "secret-value" not in text


def test_a_body_over_the_limit_is_413():
    with pytest.raises(ProtocolError) as caught:
        read_invocation(request(), HEADERS, max_bytes=100)
    assert (caught.value.code, caught.value.status) == ("request_too_large", 413)


@pytest.mark.parametrize("raw", [b"[]", b'"x"', b"1", b"null", b"true"])
def test_what_is_no_object_is_refused(raw):
    with pytest.raises(ProtocolError) as caught:
        read_invocation(raw, HEADERS)
    assert caught.value.code == "invalid_request_schema"


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"X-AIBeat-Run-ID": "run-a"},
        {"X-AIBeat-Run-ID": "run-b", "X-AIBeat-Case-ID": "case-a"},
        {"X-AIBeat-Run-ID": "run-a, run-a", "X-AIBeat-Case-ID": "case-a"},
        [(b"x-aibeat-run-id", b"run-a"), (b"x-aibeat-run-id", b"run-a"), (b"x-aibeat-case-id", b"case-a")],
    ],
    ids=["none", "one", "another", "a list", "twice"],
)
def test_correlation_headers_that_differ_from_the_body_are_refused(headers):
    with pytest.raises(ProtocolError) as caught:
        read_invocation(request(), headers)
    assert (caught.value.rule, caught.value.code) == ("INV-6", "correlation_binding_mismatch")


def test_correlation_is_not_checked_without_headers():
    assert read_invocation(request(), None).run_id == "run-a"


@pytest.mark.parametrize(
    "value",
    [
        "application/json",
        "APPLICATION/JSON",
        "application/json;charset=UTF-8",
        'application/json ; charset="utf-8"',
        "application/json; profile=x; charset=utf-8",
        "application/json;",
    ],
)
def test_json_with_parameters_is_the_right_media_type(value):
    check_media_type(value)


@pytest.mark.parametrize(
    "value",
    [
        None,
        "",
        "text/plain",
        "application/jsonp",
        "application/json5; charset=utf-8",
        "application/problem+json",
        "application/json; charset=utf-16",
        "application/json charset=utf-8",
        "application/json, application/json",
        "application/json; =utf-8",
    ],
)
def test_another_media_type_is_415(value):
    with pytest.raises(ProtocolError) as caught:
        check_media_type(value)
    assert caught.value.status == 415


def test_every_invocation_case_about_json_shape_metadata_and_correlation_holds_at_the_reader():
    """The rest of the lines are about HTTP; they are tried over a socket by the SDK's tests."""
    tried = 0
    for case in load("invocations.jsonl"):
        if "request" not in case or not case["rule"].startswith(("J-", "S-", "O-", "C-", "OK")):
            continue
        line = case["request"]
        if line["method"] != "POST" or line["target"] != INVOCATION_PATH or case.get("before"):
            continue
        body = request_bytes(case).split(b"\r\n\r\n", 1)[1]
        headers = [(name.encode(), value.encode("latin-1")) for name, value in line["headers"]]
        tried += 1
        if case["expect_status"] == [200]:
            read_invocation(body, headers)
        else:
            with pytest.raises(ProtocolError) as caught:
                read_invocation(body, headers)
            assert caught.value.status in case["expect_status"], case["id"]
    assert tried > 80


def test_a_completed_response_is_read_and_other_members_are_kept():
    answer = read_invocation_response(
        response(evidence_ref="/v1/evidence/run-a", usage={"tokens": 3}, vendor=[1]),
        run_id="run-a",
        case_id="case-a",
    )
    assert answer.final_response == "Done."
    assert answer.usage == {"tokens": 3}
    assert answer.model_extra == {"vendor": [1]}


@pytest.mark.parametrize(
    ("changes", "path"),
    [
        ({"final_response": ""}, "/final_response"),
        ({"final_response": " \n"}, "/final_response"),
        ({"final_response": None}, "/final_response"),
        ({"final_response": ["Done."]}, "/final_response"),
        ({"status": "failed"}, "/status"),
        ({"status": ...}, "/status"),
        ({"schema_version": "v0"}, "/schema_version"),
        ({"run_id": "run-b"}, "/run_id"),
        ({"case_id": "case-b"}, "/case_id"),
        ({"metadata": []}, "/metadata"),
        ({"usage": "much"}, "/usage"),
    ],
)
def test_a_response_that_breaks_the_contract_is_no_observation(changes, path):
    with pytest.raises(ProtocolError) as caught:
        read_invocation_response(response(**changes), run_id="run-a", case_id="case-a")
    assert (caught.value.rule, caught.value.code, caught.value.path) == (
        "INV-1",
        "target_contract_failed",
        path,
    )


@pytest.mark.parametrize("raw", [b"", b"<html>", b"[]", b'{"a":1,"a":2}', b"\xef\xbb\xbf{}"])
def test_a_response_that_is_no_strict_json_object_breaks_the_contract(raw):
    with pytest.raises(ProtocolError) as caught:
        read_invocation_response(raw, run_id="run-a", case_id="case-a")
    assert caught.value.code == "target_contract_failed"


def test_an_error_envelope_is_read():
    assert read_error(b'{"error": {"code": "target_busy", "message": "later"}}').code == "target_busy"
    with pytest.raises(ProtocolError):
        read_error(b'{"error": "busy"}')


def test_health_needs_only_a_status():
    assert read_health(b'{"status": "ok", "version": 3}').status == "ok"
