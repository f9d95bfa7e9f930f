"""The control plane's front: secrets, routes, bodies and headers, in their order (CTL-9, INV-2, 7, 8, 10)."""

import asyncio
import json

import pytest

from agentbeat_controller import ControllerLimits
from support.controllers import BUSINESS_SECRETS, CONTROL_SECRET, Run, code_of, reset_body

POSTS = ("reset", "snapshot", "verify", "renew", "release")
GETS = ("profiles", "snapshots/snapshot-x")
CONTROL = f"Bearer {CONTROL_SECRET}".encode()
JSON = (b"content-type", b"application/json")


class Exchange:
    """One request given to an ASGI application by hand, and everything that it sent."""

    def __init__(self, app, method, path, headers=(), *, body=(), raw_path=None):
        self.app = app
        self.scope = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": method,
            "path": path,
            "raw_path": raw_path or path.encode(),
            "query_string": b"",
            "scheme": "http",
            "server": ("controller.test", 80),
            "client": ("127.0.0.1", 1),
            "root_path": "",
            "headers": list(headers),
        }
        self.body = list(body)
        self.reads = 0
        self.sent = []

    async def receive(self):
        self.reads += 1
        if self.body:
            part = self.body.pop(0)
            return {"type": "http.request", "body": part, "more_body": True}
        await asyncio.Event().wait()  # a client that sends nothing more and stays
        raise AssertionError("unreachable")

    async def send(self, message):
        self.sent.append((message, self.reads))

    async def run(self):
        await self.app(self.scope, self.receive, self.send)
        return self

    @property
    def status(self):
        return self.sent[0][0]["status"]

    @property
    def headers(self):
        return dict(self.sent[0][0]["headers"])

    @property
    def answer(self):
        return json.loads(b"".join(message.get("body", b"") for message, _ in self.sent[1:]))


# 401


@pytest.mark.parametrize(
    "authorization",
    [
        None,
        "",
        "Bearer",
        "Bearer ",
        CONTROL_SECRET,
        f"Basic {CONTROL_SECRET}",
        f"Bearer {CONTROL_SECRET}x",
        f"Bearer {CONTROL_SECRET[:-1]}",
        f"Bearer {CONTROL_SECRET} {CONTROL_SECRET}",
        f"Bearer {CONTROL_SECRET.upper()}",
        f"Bearer {BUSINESS_SECRETS['deployment-a']}",
        "Bearer \u00e9\u00e9",
    ],
    ids=range(12),
)
async def test_without_the_control_secret_every_route_is_401(rig, authorization):
    """A business secret does not open the control plane, and an unknown route tells nothing either."""
    rows = rig.rows()
    headers = [] if authorization is None else [(b"authorization", authorization.encode("latin-1"))]
    for route in (*POSTS, *GETS, "unknown", ""):
        for method in ("GET", "POST"):
            exchange = Exchange(rig.control_app, method, f"/v1/environment/{route}", [*headers, JSON])
            await exchange.run()
            assert (exchange.status, exchange.answer["error"]["code"]) == (401, "unauthorized")
            assert exchange.headers[b"www-authenticate"] == b"Bearer"
    assert rig.rows() == rows


async def test_the_control_secret_does_not_open_the_business_plane(rig):
    async with rig.control() as client:
        await Run(client).through("reset", "before")
    rows = rig.rows()
    for secret in (CONTROL_SECRET, BUSINESS_SECRETS["deployment-a"] + "x", "x"):
        async with rig.business(run_id="run-a", secret=secret) as tools:
            answer = await tools.post("/entries", json={"name": "cash", "amount": 1})
            assert code_of(answer) == (401, "unauthorized")
    assert rig.rows() == rows


async def test_two_authorization_headers_are_none(rig):
    headers = [(b"authorization", CONTROL), (b"authorization", CONTROL)]
    exchange = await Exchange(rig.control_app, "GET", "/v1/environment/profiles", headers).run()
    assert exchange.status == 401


@pytest.mark.parametrize("scheme", ["Bearer ", "bearer ", "BEARER  "])
async def test_the_scheme_is_read_in_any_case(rig, scheme):
    async with rig.control(secret=None) as client:
        client.headers["Authorization"] = scheme + CONTROL_SECRET
        assert (await client.get("/v1/environment/profiles")).status_code == 200


@pytest.mark.parametrize("path", ["/v1/environment/reset", "/v1/environment/unknown"])
async def test_401_does_not_wait_for_the_body(rig, path):
    """The whole answer is out before anything is read; the client has announced a body and sends none."""
    restarted = rig.restart(limits=ControllerLimits(early_answer_seconds=1))
    headers = [JSON, (b"content-length", b"100")]
    exchange = Exchange(restarted.control_app, "POST", path, headers)
    task = asyncio.ensure_future(exchange.run())
    while len(exchange.sent) < 2:
        await asyncio.sleep(0.001)
    assert (exchange.status, exchange.answer["error"]["code"]) == (401, "unauthorized")
    assert [reads for _, reads in exchange.sent] == [0, 0]
    assert exchange.headers[b"connection"] == b"close"
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    restarted.close()


# 404, 405


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/metrics",
        "/v1/environment",
        "/v1/environment/",
        "/v1/environment/Reset",
        "/v1/environment/reset/",
        "/v1/environment/snapshots",
        "/v1//environment/reset",
    ],
)
async def test_an_unknown_route_is_404(rig, path):
    async with rig.control() as client:
        for method in ("GET", "POST"):
            assert code_of(await client.request(method, path)) == (404, "not_found")


async def test_a_path_with_an_escape_is_404(rig):
    """There is one way to write each route."""
    exchange = Exchange(
        rig.control_app,
        "GET",
        "/v1/environment/profiles",
        [(b"authorization", CONTROL)],
        raw_path=b"/v1/environment/%70rofiles",
    )
    assert (await exchange.run()).status == 404


@pytest.mark.parametrize(
    ("method", "route", "allow"),
    [
        *(("GET", f"/v1/environment/{route}", "POST") for route in POSTS),
        *(("POST", f"/v1/environment/{route}", "GET") for route in GETS),
        ("DELETE", "/v1/environment/reset", "POST"),
        ("HEAD", "/v1/environment/profiles", "GET"),
        ("POST", "/healthz", "GET"),
    ],
)
async def test_another_method_is_405_and_says_which_one(rig, method, route, allow):
    async with rig.control() as client:
        response = await client.request(method, route)
    assert (response.status_code, response.headers["Allow"]) == (405, allow)


# 415, 413, 431, 408, 400


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


# What every answer has


async def test_the_catalogue_lists_every_profile_with_its_digest(rig):
    async with rig.control() as client:
        catalogue = (await client.get("/v1/environment/profiles")).json()
    assert catalogue["controller_id"] == "controller-under-test"
    listed = {entry["profile_id"]: entry for entry in catalogue["profiles"]}
    assert list(listed) == ["ledger-note", "ledger-plain", "ledger-catalog"]
    assert listed["ledger-note"]["dimensions"] == ["utility", "security"]
    assert listed["ledger-note"]["surfaces"] == ["note"]
    assert listed["ledger-catalog"]["binding_modes"] == ["catalog"]
    assert {name: entry["profile_digest"] for name, entry in listed.items()} == {
        name: profile.profile_digest for name, profile in rig.environment.profiles.items()
    }


async def test_health_needs_no_secret_and_has_none(rig):
    async with rig.control(secret=None) as client:
        answer = await client.get("/healthz")
    assert answer.json() == {
        "status": "ok",
        "controller_id": "controller-under-test",
        "protocol": "state-controller-v1",
        "active_leases": 0,
        "signing_key_id": rig.signer.key_id,
    }


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/healthz", 200),
        ("GET", "/v1/environment/profiles", 200),
        ("GET", "/v1/environment/snapshots/x", 404),
        ("POST", "/v1/environment/reset", 415),
        ("PUT", "/v1/environment/reset", 405),
    ],
)
async def test_every_answer_is_json_that_nobody_stores_or_sniffs(rig, method, path, status):
    async with rig.control() as client:
        answer = await client.request(method, path)
    assert answer.status_code == status
    assert answer.headers["Content-Type"] == "application/json"
    assert answer.headers["Cache-Control"] == "no-store"
    assert answer.headers["X-Content-Type-Options"] == "nosniff"


async def test_a_fault_of_ours_is_500_without_a_trace_and_nothing_has_changed(rig, caplog):
    async with rig.control() as client:
        run = Run(client)
        await run.through("reset")
        rows = rig.rows()
        rig.environment.state = lambda connection, environment_id: {"x": object()}
        failed = await run.post("before")
        assert code_of(failed) == (500, "internal_error")
        rig.environment.state = lambda connection, environment_id: 1 / 0
        failed = await run.post("before")
        assert code_of(failed) == (500, "internal_error")
        assert "ZeroDivisionError" not in failed.text
        assert failed.headers["Cache-Control"] == "no-store"
        del rig.environment.state
        assert rig.rows() == rows
        await run.through("before")
    assert "ZeroDivisionError" in caplog.text


async def test_a_state_that_no_reader_would_take_is_refused_and_not_kept(rig):
    """Core stops reading a snapshot at 16 MiB; here the bound is lower."""
    restarted = rig.restart(limits=ControllerLimits(max_snapshot_bytes=50))
    async with restarted.control() as client:
        run = Run(client)
        await run.through("reset")
        rows = restarted.rows()
        assert code_of(await run.post("before")) == (500, "internal_error")
        assert restarted.rows() == rows
    restarted.close()
