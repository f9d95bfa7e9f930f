"""The control plane's front: media type, size, time, JSON and shape of a body (CTL-9, INV-7, INV-8)."""

import asyncio
import json

import pytest

from agentbeat_controller import ControllerLimits
from support.asgi import Exchange
from support.controllers import CONTROL_SECRET, Run, code_of, reset_body

POSTS = ("reset", "snapshot", "verify", "renew", "release")
CONTROL = f"Bearer {CONTROL_SECRET}".encode()
JSON = (b"content-type", b"application/json")


@pytest.mark.parametrize("route", POSTS)
@pytest.mark.parametrize(
    "media_type", [None, "text/plain", "application/json; charset=latin-1", "application/jsonx"]
)
async def test_another_media_type_is_415(rig, route, media_type):
    rows = rig.rows()
    async with rig.control() as client:
        headers = {} if media_type is None else {"Content-Type": media_type}
        response = await client.post(f"/v1/environment/{route}", content=b"{}", headers=headers)
    assert code_of(response) == (415, "unsupported_media_type")
    assert rig.rows() == rows


async def test_parameters_of_the_media_type_are_fine(rig):
    async with rig.control() as client:
        response = await client.post(
            "/v1/environment/reset",
            content=json.dumps(reset_body()),
            headers={"Content-Type": 'Application/JSON; charset="utf-8"'},
        )
    assert response.status_code == 200


@pytest.mark.parametrize("announced", [True, False], ids=["announced", "chunked"])
@pytest.mark.parametrize(
    ("route", "limit"), [("reset", 2**20), ("snapshot", 2**20), ("verify", 2**23), ("release", 2**20)]
)
async def test_a_body_over_the_limit_is_413(rig, route, limit, announced):
    """At the limit it is read (and is no JSON: 400), one byte more is refused."""

    async def parts(size):
        for start in range(0, size, 2**18):
            yield b" " * min(2**18, size - start)

    async with rig.control() as client:
        for size, expected in ((limit, (400, "invalid_json")), (limit + 1, (413, "request_too_large"))):
            headers = {"Content-Type": "application/json"}
            content = b" " * size if announced else parts(size)
            response = await client.post(f"/v1/environment/{route}", content=content, headers=headers)
            assert code_of(response) == expected


async def test_an_announced_length_over_the_limit_is_refused_unread(rig):
    headers = [JSON, (b"authorization", CONTROL), (b"content-length", b"99999999999")]
    exchange = Exchange(rig.control_app, "POST", "/v1/environment/reset", headers, body=[b"x"] * 3)
    task = asyncio.ensure_future(exchange.run())
    while len(exchange.sent) < 2:
        await asyncio.sleep(0.001)
    assert (exchange.status, exchange.sent[1][1]) == (413, 0)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


@pytest.mark.parametrize(
    "headers",
    [[(b"x-large", b"x" * 40_000)], [(b"x-%d" % number, b"1") for number in range(101)]],
    ids=["long", "many"],
)
async def test_a_head_over_its_bounds_is_431(rig, headers):
    exchange = await Exchange(rig.control_app, "GET", "/healthz", headers).run()
    assert (exchange.status, exchange.answer["error"]["code"]) == (431, "request_header_too_large")


async def test_a_body_that_does_not_end_is_408(rig):
    restarted = rig.restart(limits=ControllerLimits(body_seconds=1, early_answer_seconds=1))
    headers = [JSON, (b"authorization", CONTROL), (b"content-length", b"100")]
    exchange = Exchange(restarted.control_app, "POST", "/v1/environment/reset", headers, body=[b"{"])
    task = asyncio.ensure_future(exchange.run())
    while len(exchange.sent) < 2:
        await asyncio.sleep(0.01)
    assert (exchange.status, exchange.answer["error"]["code"]) == (408, "request_timeout")
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    restarted.close()


@pytest.mark.parametrize(
    ("raw", "code"),
    [
        (b"", "invalid_json"),
        (b"{", "invalid_json"),
        (b"\xef\xbb\xbf{}", "invalid_json"),
        (b'{"a": NaN}', "invalid_json"),
        (b'{"run_id": "run-a", "run_id": "run-a"}', "invalid_json"),
        (b'{"a": "\\ud800"}', "invalid_json"),
        (b"\xff", "invalid_json"),
        (b"[" * 2_000, "invalid_json"),
        (b"[]", "invalid_request_schema"),
        (b"null", "invalid_request_schema"),
        (b"{}", "invalid_request_schema"),
    ],
)
@pytest.mark.parametrize("route", POSTS)
async def test_anything_but_strict_json_of_the_right_shape_is_400(rig, route, raw, code):
    rows = rig.rows()
    async with rig.control() as client:
        headers = {"Content-Type": "application/json"}
        response = await client.post(f"/v1/environment/{route}", content=raw, headers=headers)
    assert code_of(response) == (400, code)
    assert rig.rows() == rows


@pytest.mark.parametrize("step", ["reset", "before", "verify", "renew", "release"])
async def test_an_unknown_member_is_400(rig, step):
    """CTL-9, on a call that would be in order otherwise."""
    done = {"reset": [], "verify": ["reset", "before", "after"]}
    async with rig.control() as client:
        run = Run(client)
        for earlier in done.get(step, ["reset"]):
            await run.through(earlier)
        rows = rig.rows()
        response = await run.post(step, extra="secret-value")
        assert code_of(response) == (400, "invalid_request_schema")
        assert "secret-value" not in response.text
        assert rig.rows() == rows


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"profile_id": "no-such-profile"}, (404, "profile_not_found")),
        ({"deployment_profile_id": "deployment-x"}, (404, "not_found")),
        ({"profile_digest": "sha256:" + "0" * 64}, (409, "profile_changed")),
        ({"injection": {"surface": "no-such-surface", "text": "x"}}, (400, "invalid_request")),
        ({"injection": {"surface": "note", "text": ""}}, (400, "invalid_request_schema")),
        ({"attempt_nonce": "0" * 31}, (400, "invalid_request_schema")),
        ({"attempt_nonce": "A" * 32}, (400, "invalid_request_schema")),
        ({"binding_mode": "shared"}, (400, "invalid_request_schema")),
        ({"schema_version": "state-controller-v2"}, (400, "invalid_request_schema")),
        ({"run_id": "run-A"}, (400, "invalid_request_schema")),
        ({"run_id": "run-a\n"}, (400, "invalid_request_schema")),
        ({"snapshots": "yes"}, (400, "invalid_request_schema")),
    ],
)
async def test_a_reset_that_cannot_be_meant_is_refused_and_leaves_nothing(rig, changes, expected):
    rows = rig.rows()
    async with rig.control() as client:
        assert code_of(await Run(client).post("reset", **changes)) == expected
        assert rig.rows() == rows
        assert (await Run(client).post("reset")).status_code == 200


async def test_a_binding_mode_that_the_profile_does_not_have_is_400(rig):
    async with rig.control() as client:
        run = Run(client, profile="ledger-catalog", binding_mode="deployment_static")
        assert code_of(await run.post("reset")) == (400, "invalid_request")
