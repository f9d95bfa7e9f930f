"""The control plane's front: secrets, routes and what every answer has (CTL-9, INV-2, INV-10, INV-11)."""

import asyncio

import pytest

from agentbeat_controller import ControllerLimits
from agentbeat_protocol import canonical_json
from support.asgi import Exchange
from support.controllers import BUSINESS_SECRETS, CONTROL_SECRET, Run, code_of

POSTS = ("reset", "snapshot", "verify", "renew", "release")
GETS = ("profiles", "snapshots/snapshot-x")
CONTROL = f"Bearer {CONTROL_SECRET}".encode()
JSON = (b"content-type", b"application/json")


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
    """Core stops reading a snapshot at 16 MiB; here the bound is lower. A reset on it could not be judged."""
    async with rig.control() as client:
        run = Run(client)
        await run.through("reset")
        size = len(canonical_json(state_of(rig, run)))
    restarted = rig.restart(limits=ControllerLimits(max_snapshot_bytes=size - 1))
    rows = restarted.rows()
    async with restarted.control() as client:
        run.client, other = client, Run(client, "b")
        for refused in (await run.post("before"), await other.post("reset")):
            assert code_of(refused) == (500, "internal_error")
            assert f"a state of at most {size - 1} bytes; it has {size}" in refused.text
    assert restarted.rows() == rows
    restarted.close()
    exact = rig.restart(limits=ControllerLimits(max_snapshot_bytes=size))
    async with exact.control() as client:
        await Run(client, "b").through("reset", "before")
    exact.close()


def state_of(rig, run):
    """The state of a run's environment, read past the control plane."""
    with rig.engine.begin() as connection:
        return rig.environment.state(connection, run.answers["reset"]["environment_id"])
