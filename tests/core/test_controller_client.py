"""The State Controller's client: what it repeats, what it waits for, and what it does not believe."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from agentbeat_core.clients import ClientPool, ControllerClient, Peer
from agentbeat_core.credentials import Redactor, Secret
from agentbeat_core.failures import ControllerError
from agentbeat_core.plans import ControllerPlan, Endpoint
from agentbeat_protocol.evaluation import PinnedProfile
from agentbeat_protocol.origins import Origin
from support.evaluations import (
    CASE_ID,
    CONTROLLER_ID,
    CONTROLLER_SECRET,
    DEPLOYMENT,
    PROFILE_DIGEST,
    PROFILE_ID,
    RUN_ID,
)
from support.fakes import FakeController, error
from support.loopback import Answer, Seen

NONCE = "0f" * 16


@pytest.fixture
async def controller() -> AsyncIterator[FakeController]:
    async with FakeController() as fake:
        yield fake


@pytest.fixture
async def client(controller: FakeController) -> AsyncIterator[ControllerClient]:
    async with ClientPool() as pool:
        yield client_for(pool, controller.url)


def client_for(pool: ClientPool, url: str, *, secret: str = CONTROLLER_SECRET) -> ControllerClient:
    endpoint = Endpoint(base=url, origin=Origin.parse(url), secret=Secret(secret))
    plan = ControllerPlan(
        controller_id=CONTROLLER_ID,
        endpoint=endpoint,
        profile=PinnedProfile(profile_id=PROFILE_ID, profile_digest=PROFILE_DIGEST),
        binding_mode="deployment_static",
        injection=None,
        verify_key=None,
    )
    return ControllerClient(
        peer=Peer(pool=pool, endpoint=endpoint, keep_alive=True, connect_seconds=1.0),
        plan=plan,
        deployment_profile_id=DEPLOYMENT,
        run_id=RUN_ID,
        case_id=CASE_ID,
        seconds=2.0,
        redactor=Redactor(),
    )


def once(handled: Any) -> Callable[[Seen], Any]:
    """Misbehave the first time, and be good afterwards."""
    times = [handled]
    return lambda seen: times.pop() if times else None


async def hang_up(writer: asyncio.StreamWriter) -> None:
    del writer


@pytest.mark.parametrize(
    "fault",
    [hang_up, error("controller_unavailable", 503), Answer(503, b"")],
    ids=["hangs-up", "unavailable", "503"],
)
async def test_a_step_without_an_answer_is_repeated_with_the_same_bytes(
    controller: FakeController, client: ControllerClient, fault: Any
) -> None:
    controller.fail["reset"] = once(fault)
    answer = await client.reset(attempt_nonce=NONCE, snapshots=True)
    assert answer.lease_id == "lease-1"
    first, second = controller.seen
    assert first.body == second.body


async def test_steps_share_a_connection(controller: FakeController, client: ControllerClient) -> None:
    answer = await client.reset(attempt_nonce=NONCE, snapshots=True)
    await client.snapshot(answer.lease_id, "before")
    await client.release(answer.lease_id)
    assert controller.connections == 1


async def test_a_connection_that_the_controller_closed_meanwhile_costs_nothing(
    controller: FakeController, client: ControllerClient
) -> None:
    answer = await client.reset(attempt_nonce=NONCE, snapshots=True)
    port = controller.port
    await controller.stop()
    controller.port = port
    async with controller:
        await client.snapshot(answer.lease_id, "before")


@pytest.mark.parametrize(
    ("fault", "code", "uncertain", "times"),
    [
        (error("unauthorized", 401), "controller_refused", False, 1),
        (error("profile_not_found", 404), "controller_refused", False, 1),
        (error("binding_conflict", 409), "controller_refused", False, 1),
        (error("internal_error", 500), "controller_unavailable", True, 1),
        (error("controller_unavailable", 503), "controller_unavailable", True, 3),
        (hang_up, "controller_unavailable", True, 3),
        (Answer(302, b"", {"Location": "/"}), "controller_contract_failed", True, 1),
        (Answer(200, b"{}"), "controller_contract_failed", True, 1),
        (Answer(200, b"no"), "controller_contract_failed", True, 1),
    ],
    ids=["401", "404", "409", "500", "503", "hangs-up", "redirect", "other-shape", "no-json"],
)
async def test_a_failed_step_says_whether_it_may_have_been_done_all_the_same(
    controller: FakeController,
    client: ControllerClient,
    monkeypatch: pytest.MonkeyPatch,
    fault: Any,
    code: str,
    uncertain: bool,
    times: int,
) -> None:
    monkeypatch.setattr("agentbeat_core.clients.controller_client._PAUSES", (0.01, 0.01))
    controller.fail["reset"] = lambda seen: fault
    with pytest.raises(ControllerError) as caught:
        await client.reset(attempt_nonce=NONCE, snapshots=False)
    assert caught.value.failure.code == code
    assert caught.value.uncertain is uncertain
    assert len(controller.seen) == times


@pytest.mark.parametrize("member", ["run_id", "case_id", "profile_id"])
async def test_an_answer_that_speaks_of_another_run_is_not_believed(
    controller: FakeController, client: ControllerClient, member: str
) -> None:
    from support.loopback import json_answer

    def other(seen: Seen) -> Answer:
        request = seen.json()
        common = {name: request[name] for name in ("schema_version", "run_id", "case_id", "profile_id")}
        return json_answer(common | {member: request[member] + "x"} | controller._reset(request))

    controller.fail["reset"] = other
    with pytest.raises(ControllerError) as caught:
        await client.reset(attempt_nonce=NONCE, snapshots=False)
    assert (caught.value.failure.code, caught.value.failure.path) == (
        "controller_contract_failed",
        f"/{member}",
    )


async def test_an_answer_for_the_other_phase_is_not_believed(
    controller: FakeController, client: ControllerClient
) -> None:
    answer = await client.reset(attempt_nonce=NONCE, snapshots=True)

    def other_phase(seen: Seen) -> Answer:
        from support.loopback import json_answer

        request = seen.json()
        common = {name: request[name] for name in ("schema_version", "run_id", "case_id", "profile_id")}
        return json_answer(common | controller._snapshot(request) | {"phase": "before"})

    controller.fail["snapshot_after"] = other_phase
    with pytest.raises(ControllerError) as caught:
        await client.snapshot(answer.lease_id, "after")
    assert caught.value.failure.path == "/phase"


async def test_the_control_secret_is_in_no_failure(controller: FakeController) -> None:
    async with ClientPool() as pool:
        with pytest.raises(ControllerError) as caught:
            await client_for(pool, controller.url, secret="a-wrong-secret").reset(
                attempt_nonce=NONCE, snapshots=False
            )
    assert "a-wrong-secret" not in f"{caught.value!r} {caught.value.failure!r}"
    assert "unauthorized" in caught.value.failure.message
